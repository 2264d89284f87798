//! What happened under a grant: the decisions that made it what it is, the tokens that were issued, and the receipts.

use sqlx::{FromRow, query_as};

use super::dialect::read;
use super::grant_list::numbered;
use super::{Consistent, Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;
use crate::domain::id::{BrandId, BrandUser, DeviceAuthorizationId, FamilyId, GrantId, Issuer, ReceiptId, TokenId};
use crate::domain::page::{ByTime, Direction, Key, Page, Paging, Place};
use crate::domain::scope::ScopeSet;

/// A delegation token that was issued, with the refresh token beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenRecord {
    /// Its `jti`.
    pub token: TokenId,
    /// The redeemed device code that it descends from.
    pub family: FamilyId,
    /// What it allowed.
    pub scopes: ScopeSet,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it ends, or ended.
    pub expires_at: Timestamp,
    /// When the refresh token beside it was used.
    pub refreshed_at: Option<Timestamp>,
    /// When its family was given up after a theft.
    pub family_revoked_at: Option<Timestamp>,
}

/// A decision of a User.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionRecord {
    /// The request that was decided.
    pub device: DeviceAuthorizationId,
    /// `approved`, `approved_without_page`, `denied` or `withdrawn`.
    pub decision: String,
    /// What was allowed.
    pub granted: ScopeSet,
    /// In which language the page was.
    pub language: String,
    /// When.
    pub decided_at: Timestamp,
}

/// A receipt with whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiptRecord {
    /// Its id in the log.
    pub id: ReceiptId,
    /// Whose key signed it.
    pub brand: BrandId,
    /// Under which grant.
    pub grant: GrantId,
    /// Whose account.
    pub brand_user: BrandUser,
    /// On whose behalf.
    pub issuer: Issuer,
    /// The message that it answers.
    pub message: String,
    /// What was signed.
    pub jws: String,
    /// When.
    pub created_at: Timestamp,
}

/// Which receipts. Absent means any.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReceiptFilter {
    /// Of this Brand.
    pub brand: Option<BrandId>,
    /// Under this grant.
    pub grant: Option<GrantId>,
    /// Of this Brand user.
    pub brand_user: Option<BrandUser>,
    /// Of this personal agent.
    pub issuer: Option<Issuer>,
    /// Signed then or later.
    pub since: Option<Timestamp>,
    /// Signed before then.
    pub until: Option<Timestamp>,
}

#[derive(FromRow)]
struct TokenRow {
    token_id: String,
    family_id: String,
    token_scopes: String,
    created_at: i64,
    token_expires_at: i64,
    used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl TryFrom<TokenRow> for TokenRecord {
    type Error = StoreError;
    fn try_from(row: TokenRow) -> Result<Self, StoreError> {
        const TABLE: &str = "refresh_token";
        let key = row.token_id.clone();
        Ok(Self {
            token: TokenId::parse(&row.token_id).consistent(TABLE, &key)?,
            family: FamilyId::parse(&row.family_id).consistent(TABLE, &key)?,
            scopes: ScopeSet::parse(&row.token_scopes).consistent(TABLE, &key)?,
            issued_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.token_expires_at),
            refreshed_at: row.used_at.map(Timestamp::from_millis),
            family_revoked_at: row.revoked_at.map(Timestamp::from_millis),
        })
    }
}

#[derive(FromRow)]
struct DecisionRow {
    device_authorization_id: String,
    decision: String,
    granted: String,
    language: String,
    decided_at: i64,
}

impl TryFrom<DecisionRow> for DecisionRecord {
    type Error = StoreError;
    fn try_from(row: DecisionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "consent_evidence";
        let key = row.device_authorization_id;
        Ok(Self {
            device: DeviceAuthorizationId::parse(&key).consistent(TABLE, &key)?,
            decision: row.decision,
            granted: ScopeSet::parse(&row.granted).consistent(TABLE, &key)?,
            language: row.language,
            decided_at: Timestamp::from_millis(row.decided_at),
        })
    }
}

#[derive(FromRow)]
struct ReceiptRow {
    id: String,
    brand_id: String,
    grant_id: String,
    brand_user: String,
    pa_issuer: String,
    message_id: String,
    jws: String,
    created_at: i64,
}

impl TryFrom<ReceiptRow> for ReceiptRecord {
    type Error = StoreError;
    fn try_from(row: ReceiptRow) -> Result<Self, StoreError> {
        const TABLE: &str = "receipt";
        let key = row.id;
        Ok(Self {
            id: ReceiptId::parse(&key).consistent(TABLE, &key)?,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            grant: GrantId::parse(row.grant_id).consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            issuer: Issuer::parse(row.pa_issuer).consistent(TABLE, &key)?,
            message: row.message_id,
            jws: row.jws,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}

macro_rules! tokens {
    ($comparison:literal, $order:literal) => {
        concat!(
            "SELECT t.token_id, t.family_id, t.token_scopes, t.created_at, t.token_expires_at, t.used_at, f.revoked_at
            FROM refresh_family f JOIN refresh_token t ON t.family_id = f.id
            WHERE f.grant_id = $1 AND (t.created_at, t.token_id) ",
            $comparison,
            " ($2, $3) ORDER BY t.created_at ",
            $order,
            ", t.token_id ",
            $order,
            " LIMIT $4"
        )
    };
}

/// What narrows the list, and the direction as a comparison and a word.
macro_rules! receipts {
    ($narrowed:literal, $comparison:literal, $order:literal) => {
        concat!(
            "SELECT r.id, r.brand_id, r.grant_id, g.brand_user, g.pa_issuer, r.message_id, r.jws, r.created_at
            FROM receipt r JOIN delegation_grant g ON g.id = r.grant_id WHERE ",
            $narrowed,
            "(CAST($1 AS TEXT) = '*' OR CAST($1 AS TEXT) LIKE '%' || r.brand_id || '%')
            AND (CAST($2 AS TEXT) IS NULL OR r.brand_id = $2) AND (CAST($3 AS TEXT) IS NULL OR r.grant_id = $3)
            AND (CAST($4 AS TEXT) IS NULL OR g.brand_user = $4) AND (CAST($5 AS TEXT) IS NULL OR g.pa_issuer = $5)
            AND r.created_at >= $6 AND r.created_at < $7 AND (r.created_at, r.id) ",
            $comparison,
            " ($8, $9) ORDER BY r.created_at ",
            $order,
            ", r.id ",
            $order,
            " LIMIT $10"
        )
    };
}

impl Store {
    /// A page of the tokens that were issued under a grant.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn grant_tokens(&self, id: &GrantId, paging: &Paging<ByTime>) -> Result<Page<TokenRecord>, StoreError> {
        let sql = match paging.direction {
            Direction::Descending => tokens!("<", "DESC"),
            Direction::Ascending => tokens!(">", "ASC"),
        };
        let (key, after) = numbered(paging);
        let rows = read!(self, c => query_as::<_, TokenRow>(sql)
            .bind(id.as_str())
            .bind(key)
            .bind(&after)
            .bind(paging.limit())
            .fetch_all(c))?;
        let tokens = rows.into_iter().map(TokenRecord::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(paging
            .page(tokens, |token| Place { key: Key::Number(token.issued_at.millis()), id: token.token.to_string() }))
    }

    /// The decisions about a grant, oldest first, at most 1 000.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn grant_decisions(&self, id: &GrantId) -> Result<Vec<DecisionRecord>, StoreError> {
        const SQL: &str =
            "SELECT device_authorization_id, decision, granted, language, decided_at FROM consent_evidence
            WHERE grant_id = $1 ORDER BY decided_at, device_authorization_id LIMIT 1000";
        let rows = read!(self, c => query_as::<_, DecisionRow>(SQL).bind(id.as_str()).fetch_all(c))?;
        rows.into_iter().map(DecisionRecord::try_from).collect()
    }

    /// One receipt.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn receipt_record(&self, id: &ReceiptId) -> Result<Option<ReceiptRecord>, StoreError> {
        const SQL: &str =
            "SELECT r.id, r.brand_id, r.grant_id, g.brand_user, g.pa_issuer, r.message_id, r.jws, r.created_at
            FROM receipt r JOIN delegation_grant g ON g.id = r.grant_id WHERE r.id = $1";
        let row = read!(self, c => query_as::<_, ReceiptRow>(SQL).bind(id.to_string()).fetch_optional(c))?;
        row.map(ReceiptRecord::try_from).transpose()
    }

    /// A page of the receipts that fit `filter`, of the Brands in `reach`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn receipt_records(
        &self,
        filter: &ReceiptFilter,
        reach: &Reach,
        paging: &Paging<ByTime>,
    ) -> Result<Page<ReceiptRecord>, StoreError> {
        macro_rules! narrowed {
            ($narrowed:literal) => {
                match paging.direction {
                    Direction::Descending => receipts!($narrowed, "<", "DESC"),
                    Direction::Ascending => receipts!($narrowed, ">", "ASC"),
                }
            };
        }
        let sql = match (&filter.grant, &filter.brand) {
            (Some(_), _) => narrowed!("r.grant_id = $3 AND "),
            (None, Some(_)) => narrowed!("r.brand_id = $2 AND "),
            (None, None) => narrowed!(""),
        };
        let (key, after) = numbered(paging);
        let rows = read!(self, c => query_as::<_, ReceiptRow>(sql)
            .bind(reach.to_text())
            .bind(filter.brand.as_ref().map(BrandId::as_str))
            .bind(filter.grant.as_ref().map(GrantId::as_str))
            .bind(filter.brand_user.as_ref().map(BrandUser::as_str))
            .bind(filter.issuer.as_ref().map(Issuer::as_str))
            .bind(filter.since.map_or(i64::MIN, Timestamp::millis))
            .bind(filter.until.map_or(i64::MAX, Timestamp::millis))
            .bind(key)
            .bind(&after)
            .bind(paging.limit())
            .fetch_all(c))?;
        let receipts = rows.into_iter().map(ReceiptRecord::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(paging.page(receipts, |receipt| Place {
            key: Key::Number(receipt.created_at.millis()),
            id: receipt.id.to_string(),
        }))
    }
}
