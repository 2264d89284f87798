//! Resource-server keys. None is cached: each request reads the row, so that a revocation counts at once on every node.

use sqlx::{FromRow, query_as, query_scalar};

use super::dialect::{in_tx, read};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::audit::Entry;
use crate::domain::id::{BrandId, Digest, ResourceServerKeyId};
use crate::domain::resource_server_key::ResourceServerKey;

#[derive(FromRow)]
struct KeyRow {
    id: String,
    brand_id: String,
    name: String,
    created_at: i64,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl TryFrom<KeyRow> for ResourceServerKey {
    type Error = StoreError;
    fn try_from(row: KeyRow) -> Result<Self, StoreError> {
        const TABLE: &str = "resource_server_key";
        let key = row.id.clone();
        Ok(Self {
            id: ResourceServerKeyId::parse(row.id).consistent(TABLE, &key)?,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            name: row.name,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_millis),
            revoked_at: row.revoked_at.map(Timestamp::from_millis),
        })
    }
}

impl Store {
    /// Keeps a new key under its `digest`. `false` when there is no such Brand: then nothing changes.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn create_resource_server_key(
        &self,
        key: &ResourceServerKey,
        digest: Digest,
        entry: &Entry,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "INSERT INTO resource_server_key (id, brand_id, name, digest, created_at, expires_at)
            SELECT $1, brand.id, $2, $3, $4, $5 FROM brand
            WHERE brand.id = $6 AND brand.removed_at IS NULL RETURNING id";
        let mut tx = self.0.begin().await?;
        let row = in_tx!(&mut tx, c => query_scalar::<_, String>(SQL)
            .bind(key.id.as_str())
            .bind(&key.name)
            .bind(digest.to_hex())
            .bind(key.created_at.millis())
            .bind(key.expires_at.map(Timestamp::millis))
            .bind(key.brand.as_str())
            .fetch_optional(c))?;
        if row.is_none() {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The key with this digest, live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn resource_server_key_by_digest(&self, digest: Digest) -> Result<Option<ResourceServerKey>, StoreError> {
        const SQL: &str = "SELECT id, brand_id, name, created_at, expires_at, revoked_at FROM resource_server_key
            WHERE digest = $1";
        let row = read!(self, c => query_as::<_, KeyRow>(SQL).bind(digest.to_hex()).fetch_optional(c))?;
        row.map(ResourceServerKey::try_from).transpose()
    }

    /// The key with this id, live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn resource_server_key(&self, id: &ResourceServerKeyId) -> Result<Option<ResourceServerKey>, StoreError> {
        const SQL: &str = "SELECT id, brand_id, name, created_at, expires_at, revoked_at FROM resource_server_key
            WHERE id = $1";
        let row = read!(self, c => query_as::<_, KeyRow>(SQL).bind(id.as_str()).fetch_optional(c))?;
        row.map(ResourceServerKey::try_from).transpose()
    }

    /// The keys of a Brand, or of all, the newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn resource_server_keys(&self, brand: Option<&BrandId>) -> Result<Vec<ResourceServerKey>, StoreError> {
        const SQL: &str = "SELECT id, brand_id, name, created_at, expires_at, revoked_at FROM resource_server_key
            WHERE (CAST($1 AS TEXT) IS NULL OR brand_id = $1) ORDER BY created_at DESC, id DESC";
        let rows = read!(self, c => query_as::<_, KeyRow>(SQL).bind(brand.map(BrandId::as_str)).fetch_all(c))?;
        rows.into_iter().map(ResourceServerKey::try_from).collect()
    }

    /// Revokes a key for good. `false` when it was revoked before or is not there: then nothing changes.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn revoke_resource_server_key(
        &self,
        id: &ResourceServerKeyId,
        entry: &Entry,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE resource_server_key SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL RETURNING id";
        let mut tx = self.0.begin().await?;
        let row = in_tx!(&mut tx, c => query_scalar::<_, String>(SQL)
            .bind(entry.at.millis())
            .bind(id.as_str())
            .fetch_optional(c))?;
        if row.is_none() {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }
}
