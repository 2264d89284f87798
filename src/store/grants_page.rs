//! A User's own list of grants: what stands on it, and the page that was shown. It is found by the digest of a random value.

use sqlx::{FromRow, query, query_as};

use super::dialect::{Tx, execute, read};
use super::grant::GrantRow;
use super::{Consistent, Store, StoreError, audit, grant};
use crate::clock::Timestamp;
use crate::domain::audit::Entry;
use crate::domain::consent::SignInRecord;
use crate::domain::grant::{EndedBy, Grant};
use crate::domain::id::{BrandId, BrandUser, Digest, GrantId, ReceiptId};

/// A list of grants that was shown: what the hidden field `session` of its forms stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantsPage {
    /// At which Brand.
    pub brand: BrandId,
    /// To whom, and whose grants.
    pub brand_user: BrandUser,
    /// The live grants that stood on it, and their versions.
    pub shown: Vec<(GrantId, i64)>,
    /// The verified assertion.
    pub sign_in: SignInRecord,
    /// When it was shown.
    pub created_at: Timestamp,
    /// Nothing is revoked from it from then on.
    pub expires_at: Timestamp,
}

/// A receipt of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedReceipt {
    /// Its place in the log of its grant: the instant, and the id among those of one instant.
    pub place: (Timestamp, ReceiptId),
    /// The receipt.
    pub jws: String,
}

#[derive(FromRow)]
struct PageRow {
    brand_id: String,
    brand_user: String,
    shown: String,
    assertion: String,
    created_at: i64,
    expires_at: i64,
}

impl TryFrom<PageRow> for GrantsPage {
    type Error = StoreError;
    fn try_from(row: PageRow) -> Result<Self, StoreError> {
        const TABLE: &str = "grants_page";
        let key = row.brand_user.clone();
        Ok(Self {
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            shown: serde_json::from_str(&row.shown).consistent(TABLE, &key)?,
            sign_in: serde_json::from_str(&row.assertion).consistent(TABLE, &key)?,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        })
    }
}

impl Store {
    /// The live grants of a Brand user, the newest decision first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn live_grants_of(
        &self,
        brand: &BrandId,
        brand_user: &BrandUser,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<Grant>, StoreError> {
        const SQL: &str = "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
            expires_at, last_used_at, state, ended_at, ended_by FROM delegation_grant
            WHERE brand_id = $1 AND brand_user = $2 AND state = 'live' AND expires_at > $3
            ORDER BY decided_at DESC, id DESC LIMIT $4";
        self.grants_of(SQL, brand, brand_user, now, limit).await
    }

    /// Those that have ended or expired, the latest end first, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn past_grants_of(
        &self,
        brand: &BrandId,
        brand_user: &BrandUser,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<Grant>, StoreError> {
        const SQL: &str = "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
            expires_at, last_used_at, state, ended_at, ended_by FROM delegation_grant
            WHERE brand_id = $1 AND brand_user = $2 AND (state = 'ended' OR expires_at <= $3)
            ORDER BY COALESCE(ended_at, expires_at) DESC, id DESC LIMIT $4";
        self.grants_of(SQL, brand, brand_user, now, limit).await
    }

    async fn grants_of(
        &self,
        sql: &'static str,
        brand: &BrandId,
        brand_user: &BrandUser,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<Grant>, StoreError> {
        let rows = read!(self, c => query_as::<_, GrantRow>(sql)
            .bind(brand.as_str())
            .bind(brand_user.as_str())
            .bind(now.millis())
            .bind(limit)
            .fetch_all(c))?;
        rows.into_iter().map(Grant::try_from).collect()
    }

    /// The receipts under a grant, the newest first, at most `limit`; only those that came before the one at `before`,
    /// where one is named.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn latest_receipts(
        &self,
        grant: &GrantId,
        before: Option<(Timestamp, ReceiptId)>,
        limit: i64,
    ) -> Result<Vec<LoggedReceipt>, StoreError> {
        const SQL: &str = "SELECT id, jws, created_at FROM receipt WHERE grant_id = $1
            AND (CAST($2 AS BIGINT) IS NULL OR created_at < $2 OR (created_at = $2 AND id < $3))
            ORDER BY created_at DESC, id DESC LIMIT $4";
        let rows = read!(self, c => query_as::<_, (String, String, i64)>(SQL)
            .bind(grant.as_str())
            .bind(before.map(|(at, _)| at.millis()))
            .bind(before.map(|(_, id)| id.to_string()))
            .bind(limit)
            .fetch_all(c))?;
        let receipt = |(id, jws, at): (String, String, i64)| {
            let id = ReceiptId::parse(&id).consistent("receipt", &id)?;
            Ok(LoggedReceipt { place: (Timestamp::from_millis(at), id), jws })
        };
        rows.into_iter().map(receipt).collect()
    }

    /// Keeps a page that is shown to a live session.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn open_grants_page(&self, digest: Digest, page: &GrantsPage) -> Result<(), StoreError> {
        let mut tx = self.0.begin().await?;
        put_page(&mut tx, digest, page).await?;
        tx.commit().await
    }

    /// The page with this digest at this Brand, unless it was forgotten.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn grants_page(&self, brand: &BrandId, digest: Digest) -> Result<Option<GrantsPage>, StoreError> {
        const SQL: &str = "SELECT brand_id, brand_user, shown, assertion, created_at, expires_at FROM grants_page
            WHERE digest = $1 AND brand_id = $2";
        let row = read!(self, c => query_as::<_, PageRow>(SQL)
            .bind(digest.to_hex())
            .bind(brand.as_str())
            .fetch_optional(c))?;
        row.map(GrantsPage::try_from).transpose()
    }

    /// Ends a grant by its User, if it still is what the User saw. `false` when it is not: then nothing changes.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn end_grant_as_shown(&self, id: &GrantId, version: i64, entry: &Entry) -> Result<bool, StoreError> {
        let mut tx = self.0.begin().await?;
        let ended = grant::end(&mut tx, id, EndedBy::User, Some(version), entry.at).await?;
        if let Some(before) = &ended {
            audit::append(&mut tx, &before.entry(entry)).await?;
            tx.commit().await?;
        }
        Ok(ended.is_some())
    }
}

pub(super) async fn put_page(tx: &mut Tx, digest: Digest, page: &GrantsPage) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO grants_page (digest, brand_id, brand_user, shown, assertion, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let shown = serde_json::to_string(&page.shown)?;
    let record = serde_json::to_string(&page.sign_in)?;
    execute!(
        tx,
        query(SQL)
            .bind(digest.to_hex())
            .bind(page.brand.as_str())
            .bind(page.brand_user.as_str())
            .bind(&shown)
            .bind(&record)
            .bind(page.created_at.millis())
            .bind(page.expires_at.millis())
    )?;
    Ok(())
}
