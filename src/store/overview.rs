//! The numbers an operator asks for first.

use sqlx::{FromRow, query_as, query_scalar};

use super::dialect::read;
use super::{GrantCount, GrantFilter, GrantStanding, Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;

const HOUR: i64 = 3_600_000;
const HOURS: i64 = 24;

/// How things stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overview {
    /// Live grants, and at how many Brands.
    pub live: GrantCount,
    /// Device codes, of step-ups too, that a User could still decide.
    pub pending_codes: i64,
    /// The last 24 hours of the clock, in UTC, the present one last.
    pub hours: Vec<Hour>,
}

/// What Users decided in one hour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hour {
    /// When it began.
    pub from: Timestamp,
    /// Requests that were allowed, without a page too.
    pub approved: i64,
    /// Requests that were not, a grant that was given up in answer to one too.
    pub denied: i64,
}

#[derive(FromRow)]
struct HourRow {
    hour: i64,
    approved: i64,
    denied: i64,
}

impl Store {
    /// How things stand at `now`, at the Brands in `reach`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn overview(&self, reach: &Reach, now: Timestamp) -> Result<Overview, StoreError> {
        const PENDING: &str = "SELECT COUNT(*) FROM device_authorization WHERE state = 'pending' AND expires_at > $2
            AND (CAST($1 AS TEXT) = '*' OR CAST($1 AS TEXT) LIKE '%' || brand_id || '%')";
        const DECIDED: &str = "SELECT decided_at / 3600000 AS hour,
            CAST(SUM(CASE WHEN decision IN ('approved', 'approved_without_page') THEN 1 ELSE 0 END) AS BIGINT) AS approved,
            CAST(SUM(CASE WHEN decision IN ('denied', 'withdrawn') THEN 1 ELSE 0 END) AS BIGINT) AS denied
            FROM consent_evidence WHERE decided_at >= $2
            AND (CAST($1 AS TEXT) = '*' OR CAST($1 AS TEXT) LIKE '%' || brand_id || '%')
            GROUP BY decided_at / 3600000";
        let live = GrantFilter { state: Some(GrantStanding::Live), ..GrantFilter::default() };
        let live = self.count_grants(&live, reach, now).await?;
        let pending_codes = read!(self, c => query_scalar::<_, i64>(PENDING)
            .bind(reach.to_text())
            .bind(now.millis())
            .fetch_one(c))?;
        let first = now.millis().div_euclid(HOUR) - (HOURS - 1);
        let rows = read!(self, c => query_as::<_, HourRow>(DECIDED)
            .bind(reach.to_text())
            .bind(first * HOUR)
            .fetch_all(c))?;
        let hour = |hour: i64| {
            let row = rows.iter().find(|row| row.hour == hour);
            let (approved, denied) = row.map_or((0, 0), |row| (row.approved, row.denied));
            Hour { from: Timestamp::from_millis(hour * HOUR), approved, denied }
        };
        Ok(Overview { live, pending_codes, hours: (first..first + HOURS).map(hour).collect() })
    }
}
