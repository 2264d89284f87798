//! The audit log as somebody reads it: newest first, filtered, a page at a time.

use std::fmt;
use std::str::FromStr;

use sqlx::query_as;

use super::AuditRow;
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;
use crate::domain::audit::Chain;
use crate::domain::audit::recorded::Recorded;
use crate::store::dialect::read;
use crate::store::{Store, StoreError};

/// Which rows to list. Absent means any.
#[derive(Clone, Default, Debug)]
pub struct AuditFilter {
    /// Of this chain.
    pub chain: Option<Chain>,
    /// By this actor, by name: a Brand user's id, a personal agent's issuer, an administrator's name.
    pub actor: Option<String>,
    /// Of this action, by its name.
    pub action: Option<String>,
    /// About this id.
    pub subject: Option<String>,
    /// During this request.
    pub request: Option<String>,
    /// Not before this instant.
    pub since: Option<Timestamp>,
    /// Before this instant.
    pub until: Option<Timestamp>,
}

/// The last row of a page: the next page begins after it. Written as `<milliseconds>.<sequence>.<chain>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditCursor {
    /// Its instant.
    pub at: Timestamp,
    /// Its place in its chain.
    pub sequence: i64,
    /// Its chain.
    pub chain: Chain,
}

/// A text that is no cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a cursor that a page gave")]
pub struct InvalidCursor;

impl AuditCursor {
    /// After `row`.
    ///
    /// # Errors
    /// `InvalidCursor` when the row's chain is nobody's, which nothing here writes.
    pub fn after(row: &Recorded) -> Result<Self, InvalidCursor> {
        let chain = Chain::from_column(&row.brand).map_err(|_| InvalidCursor)?;
        Ok(Self { at: row.at, sequence: row.sequence, chain })
    }
}

impl fmt::Display for AuditCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at.millis(), self.sequence, self.chain)
    }
}

impl FromStr for AuditCursor {
    type Err = InvalidCursor;
    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().ok_or(InvalidCursor);
        let (at, sequence, chain) = (next()?, next()?, next()?);
        Ok(Self {
            at: Timestamp::from_millis(at.parse().map_err(|_| InvalidCursor)?),
            sequence: sequence.parse().map_err(|_| InvalidCursor)?,
            chain: chain.parse().map_err(|_| InvalidCursor)?,
        })
    }
}

impl Store {
    /// One row.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn audit_row(&self, chain: &Chain, sequence: i64) -> Result<Option<Recorded>, StoreError> {
        const SQL: &str = "SELECT brand_id, sequence, at, actor_kind, actor, action, subject, request_id, payload,
            payload_digest, digest, seal, bound_id, bound_digest FROM audit WHERE brand_id = $1 AND sequence = $2";
        let row = read!(self, c => query_as::<_, AuditRow>(SQL)
            .bind(chain.column())
            .bind(sequence)
            .fetch_optional(c))?;
        Ok(row.map(Recorded::from))
    }

    /// At most `limit` audit rows within `reach` that fit `filter`, newest first, from behind `after` on.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn audit_page(
        &self,
        reach: &Reach,
        filter: &AuditFilter,
        after: Option<&AuditCursor>,
        limit: i64,
    ) -> Result<Vec<Recorded>, StoreError> {
        // Ids of Brands are of one length and hold nothing that LIKE reads otherwise.
        const SQL: &str = "SELECT brand_id, sequence, at, actor_kind, actor, action, subject, request_id, payload,
            payload_digest, digest, seal, bound_id, bound_digest FROM audit
            WHERE ($1 = '*' OR (brand_id <> '' AND $1 LIKE '%' || brand_id || '%'))
            AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) AND (CAST($3 AS TEXT) IS NULL OR actor = $3)
            AND (CAST($4 AS TEXT) IS NULL OR action = $4) AND (CAST($5 AS TEXT) IS NULL OR subject = $5)
            AND (CAST($6 AS TEXT) IS NULL OR request_id = $6)
            AND (CAST($7 AS BIGINT) IS NULL OR at >= $7) AND (CAST($8 AS BIGINT) IS NULL OR at < $8)
            AND (CAST($9 AS BIGINT) IS NULL OR (at, brand_id, sequence) < ($9, $10, $11))
            ORDER BY at DESC, brand_id DESC, sequence DESC LIMIT $12";
        let rows = read!(self, c => query_as::<_, AuditRow>(SQL)
            .bind(reach.to_text())
            .bind(filter.chain.as_ref().map(Chain::column))
            .bind(filter.actor.as_deref())
            .bind(filter.action.as_deref())
            .bind(filter.subject.as_deref())
            .bind(filter.request.as_deref())
            .bind(filter.since.map(Timestamp::millis))
            .bind(filter.until.map(Timestamp::millis))
            .bind(after.map(|after| after.at.millis()))
            .bind(after.map(|after| after.chain.column()))
            .bind(after.map(|after| after.sequence))
            .bind(limit)
            .fetch_all(c))?;
        Ok(rows.into_iter().map(Recorded::from).collect())
    }
}
