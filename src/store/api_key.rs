//! API keys. Only their digests are stored; one that was revoked stays, so that the audit log's name of it means something.

use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::account::{ApiKey, StoredApiKey};
use crate::domain::administrator::{Access, Reach};
use crate::domain::audit::Entry;
use crate::domain::id::{ApiKeyId, Digest};

const TABLE: &str = "api_key";

#[derive(FromRow)]
struct ApiKeyRow {
    id: String,
    name: String,
    role: String,
    reach: String,
    created_by: String,
    created_at: i64,
    expires_at: i64,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl TryFrom<ApiKeyRow> for ApiKey {
    type Error = StoreError;
    fn try_from(row: ApiKeyRow) -> Result<Self, StoreError> {
        let key = row.id.clone();
        Ok(Self {
            id: ApiKeyId::parse(row.id).consistent(TABLE, &key)?,
            name: row.name,
            access: Access {
                role: row.role.parse().consistent(TABLE, &key)?,
                reach: Reach::parse(&row.reach).consistent(TABLE, &key)?,
            },
            created_by: row.created_by,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
        })
    }
}

impl Store {
    /// The key with this digest, live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn api_key_by_digest(&self, digest: Digest) -> Result<Option<ApiKey>, StoreError> {
        const SQL: &str = "SELECT id, name, role, reach, created_by, created_at, expires_at, last_used_at, revoked_at
            FROM api_key WHERE digest = $1";
        let row = read!(self, c => query_as::<_, ApiKeyRow>(SQL).bind(digest.to_hex()).fetch_optional(c))?;
        row.map(ApiKey::try_from).transpose()
    }

    /// The key with this id, live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn api_key(&self, id: &ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        const SQL: &str = "SELECT id, name, role, reach, created_by, created_at, expires_at, last_used_at, revoked_at
            FROM api_key WHERE id = $1";
        let row = read!(self, c => query_as::<_, ApiKeyRow>(SQL).bind(id.as_str()).fetch_optional(c))?;
        row.map(ApiKey::try_from).transpose()
    }

    /// All keys, newest first. Owners alone make them, so that there are never too many to hold.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        const SQL: &str = "SELECT id, name, role, reach, created_by, created_at, expires_at, last_used_at, revoked_at
            FROM api_key ORDER BY created_at DESC, id DESC";
        let rows = read!(self, c => query_as::<_, ApiKeyRow>(SQL).fetch_all(c))?;
        rows.into_iter().map(ApiKey::try_from).collect()
    }

    /// Keeps a new key.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn create_api_key(&self, stored: &StoredApiKey, entry: &Entry) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO api_key (id, name, digest, role, reach, created_by, created_at, expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let StoredApiKey { digest, key } = stored;
        let mut tx = self.0.begin().await?;
        execute!(
            &mut tx,
            query(SQL)
                .bind(key.id.as_str())
                .bind(&key.name)
                .bind(digest.to_hex())
                .bind(key.access.role.name())
                .bind(key.access.reach.to_text())
                .bind(&key.created_by)
                .bind(key.created_at.millis())
                .bind(key.expires_at.millis())
        )?;
        audit::append(&mut tx, entry).await?;
        tx.commit().await
    }

    /// Revokes a key. `false` when it was revoked before: then nothing changes and nothing is recorded.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn revoke_api_key(&self, id: &ApiKeyId, entry: &Entry) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE api_key SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL RETURNING id";
        let mut tx = self.0.begin().await?;
        let at = entry.at.millis();
        let revoked =
            in_tx!(&mut tx, c => query_scalar::<_, String>(SQL).bind(at).bind(id.as_str()).fetch_optional(c))?;
        if revoked.is_none() {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Notes that a key was used, unless that was noted after `before`.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn touch_api_key(&self, id: &ApiKeyId, now: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE api_key SET last_used_at = $1
            WHERE id = $2 AND (last_used_at IS NULL OR last_used_at <= $3)";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(SQL).bind(now.millis()).bind(id.as_str()).bind(before.millis()))?;
        tx.commit().await
    }
}
