//! Browsers that signed in, and the consent pages that they were shown. Each is found by the digest of a random value.

use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{Tx, execute, read};
use super::{Consistent, Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::consent::{ShownScopes, SignInRecord};
use crate::domain::id::{BrandId, BrandUser, DeviceAuthorizationId, Digest, GrantId};

/// A browser that came through the Brand's login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrowserSession {
    /// At which Brand.
    pub brand: BrandId,
    /// As whom.
    pub brand_user: BrandUser,
    /// For which code; `None` for who came to see their grants.
    pub device: Option<DeviceAuthorizationId>,
    /// The verified assertion.
    pub sign_in: SignInRecord,
    /// When it began.
    pub created_at: Timestamp,
    /// It is nothing from then on.
    pub expires_at: Timestamp,
}

/// A consent page that was shown: what its hidden field `session` stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsentPage {
    /// At which Brand.
    pub brand: BrandId,
    /// To whom.
    pub brand_user: BrandUser,
    /// For which code.
    pub device: DeviceAuthorizationId,
    /// The scopes and their words.
    pub shown: ShownScopes,
    /// The language of the page, a tag such as `en`.
    pub language: String,
    /// The verified assertion.
    pub sign_in: SignInRecord,
    /// The user code under the master key, since the page may have to be shown anew.
    pub sealed_user_code: String,
    /// The grant that was shown, and its version.
    pub grant: Option<(GrantId, i64)>,
    /// When it was shown.
    pub created_at: Timestamp,
    /// It decides nothing from then on.
    pub expires_at: Timestamp,
}

#[derive(FromRow)]
struct SessionRow {
    brand_id: String,
    brand_user: String,
    device_authorization_id: Option<String>,
    assertion: String,
    created_at: i64,
    expires_at: i64,
}

impl TryFrom<SessionRow> for BrowserSession {
    type Error = StoreError;
    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "browser_session";
        let device = row.device_authorization_id;
        let key = device.clone().unwrap_or_else(|| row.brand_user.clone());
        let device = device.map(|device| DeviceAuthorizationId::parse(&device).consistent(TABLE, &key));
        Ok(Self {
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            device: device.transpose()?,
            sign_in: serde_json::from_str(&row.assertion).consistent(TABLE, &key)?,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        })
    }
}

#[derive(FromRow)]
struct PageRow {
    brand_id: String,
    brand_user: String,
    device_authorization_id: String,
    shown: String,
    language: String,
    assertion: String,
    sealed_user_code: String,
    grant_id: Option<String>,
    grant_version: Option<i64>,
    created_at: i64,
    expires_at: i64,
}

impl TryFrom<PageRow> for ConsentPage {
    type Error = StoreError;
    fn try_from(row: PageRow) -> Result<Self, StoreError> {
        const TABLE: &str = "consent_page";
        let key = row.device_authorization_id;
        let grant = match (row.grant_id, row.grant_version) {
            (Some(id), Some(version)) => Some((GrantId::parse(id).consistent(TABLE, &key)?, version)),
            _ => None,
        };
        Ok(Self {
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            device: DeviceAuthorizationId::parse(&key).consistent(TABLE, &key)?,
            shown: serde_json::from_str(&row.shown).consistent(TABLE, &key)?,
            language: row.language,
            sign_in: serde_json::from_str(&row.assertion).consistent(TABLE, &key)?,
            sealed_user_code: row.sealed_user_code,
            grant,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        })
    }
}

impl Store {
    /// Whether an assertion of this Brand's login with this `jti` was spent.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn is_assertion_spent(&self, brand: &BrandId, jti: &str) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM assertion_jti WHERE brand_id = $1 AND jti = $2";
        let count = read!(self, c => query_scalar::<_, i64>(SQL).bind(brand.as_str()).bind(jti).fetch_one(c))?;
        Ok(count > 0)
    }

    /// Keeps a consent page that is shown to a live session.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn open_consent_page(&self, digest: Digest, page: &ConsentPage) -> Result<(), StoreError> {
        let mut tx = self.0.begin().await?;
        put_page(&mut tx, digest, page).await?;
        tx.commit().await
    }

    /// The live session with this digest at this Brand.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn browser_session(
        &self,
        brand: &BrandId,
        digest: Digest,
        now: Timestamp,
    ) -> Result<Option<BrowserSession>, StoreError> {
        const SQL: &str = "SELECT brand_id, brand_user, device_authorization_id, assertion, created_at, expires_at
            FROM browser_session WHERE digest = $1 AND brand_id = $2 AND expires_at > $3";
        let row = read!(self, c => query_as::<_, SessionRow>(SQL)
            .bind(digest.to_hex())
            .bind(brand.as_str())
            .bind(now.millis())
            .fetch_optional(c))?;
        row.map(BrowserSession::try_from).transpose()
    }

    /// Whether this Brand user has a live session here, on any device.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn has_browser_session(
        &self,
        brand: &BrandId,
        brand_user: &BrandUser,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "SELECT COUNT(*) FROM browser_session WHERE brand_id = $1 AND brand_user = $2 AND expires_at > $3";
        let count = read!(self, c => query_scalar::<_, i64>(SQL)
            .bind(brand.as_str())
            .bind(brand_user.as_str())
            .bind(now.millis())
            .fetch_one(c))?;
        Ok(count > 0)
    }

    /// The consent page with this digest at this Brand, unless it was forgotten.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn consent_page(&self, brand: &BrandId, digest: Digest) -> Result<Option<ConsentPage>, StoreError> {
        const SQL: &str =
            "SELECT brand_id, brand_user, device_authorization_id, shown, language, assertion, sealed_user_code,
            grant_id, grant_version, created_at, expires_at FROM consent_page WHERE digest = $1 AND brand_id = $2";
        let row = read!(self, c => query_as::<_, PageRow>(SQL)
            .bind(digest.to_hex())
            .bind(brand.as_str())
            .fetch_optional(c))?;
        row.map(PageRow::try_into).transpose()
    }
}

pub(super) async fn put_session(tx: &mut Tx, digest: Digest, session: &BrowserSession) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO browser_session (digest, brand_id, brand_user, device_authorization_id, assertion,
        created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let record = serde_json::to_string(&session.sign_in)?;
    execute!(
        tx,
        query(SQL)
            .bind(digest.to_hex())
            .bind(session.brand.as_str())
            .bind(session.brand_user.as_str())
            .bind(session.device.map(|device| device.to_string()))
            .bind(&record)
            .bind(session.created_at.millis())
            .bind(session.expires_at.millis())
    )?;
    Ok(())
}

pub(super) async fn put_page(tx: &mut Tx, digest: Digest, page: &ConsentPage) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO consent_page (digest, brand_id, brand_user, device_authorization_id, shown, language,
        assertion, sealed_user_code, grant_id, grant_version, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let shown = serde_json::to_string(&page.shown)?;
    let record = serde_json::to_string(&page.sign_in)?;
    execute!(
        tx,
        query(SQL)
            .bind(digest.to_hex())
            .bind(page.brand.as_str())
            .bind(page.brand_user.as_str())
            .bind(page.device.to_string())
            .bind(&shown)
            .bind(&page.language)
            .bind(&record)
            .bind(&page.sealed_user_code)
            .bind(page.grant.as_ref().map(|(id, _)| id.as_str()))
            .bind(page.grant.as_ref().map(|(_, version)| *version))
            .bind(page.created_at.millis())
            .bind(page.expires_at.millis())
    )?;
    Ok(())
}
