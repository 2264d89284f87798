//! Grants in lists: filtered, counted, and taken back many at a time.
//!
//! A list is read by the index of whatever narrows it most. Many grants end in batches, each of one Brand and in the order of
//! their ids: two revocations at once meet each other's rows in the same order, and no batch holds up others for long.

use sqlx::{query_as, query_scalar};

use super::dialect::{in_tx, read};
use super::grant::{self, GrantRow};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;
use crate::domain::audit::Entry;
use crate::domain::grant::{EndedBy, Grant};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::page::{Direction, Key, Page, Paging, Place, Sort};

/// Which grants. Absent means any.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct GrantFilter {
    /// Of this Brand.
    pub brand: Option<BrandId>,
    /// Of this Brand user.
    pub brand_user: Option<BrandUser>,
    /// Of this personal agent.
    pub issuer: Option<Issuer>,
    /// In this state.
    pub state: Option<GrantStanding>,
    /// Made then or later.
    pub since: Option<Timestamp>,
    /// Made before then.
    pub until: Option<Timestamp>,
}

/// The state of a grant as people see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantStanding {
    /// It allows something.
    Live,
    /// Nobody ended it, and its time is over.
    Expired,
    /// Somebody ended it.
    Ended,
}

impl GrantStanding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Live, Self::Expired, Self::Ended];

    /// As surfaces name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Expired => "expired",
            Self::Ended => "ended",
        }
    }
}

/// By what grants can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantSort {
    /// When they were made.
    Created,
    /// When they expire.
    Expires,
    /// When they were used last; never is before everything else.
    Used,
}

impl Sort for GrantSort {
    const ALL: &'static [Self] = &[Self::Created, Self::Expires, Self::Used];

    fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Expires => "expires",
            Self::Used => "used",
        }
    }
}

/// How many grants there are, and of how many Brands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GrantCount {
    /// Grants.
    pub grants: i64,
    /// Brands that have any of them.
    pub brands: i64,
}

/// What became of one batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedBatch {
    /// How many grants ended in it.
    pub ended: usize,
    /// The last grant that was looked at, after which the next batch begins; `None` when there are no more.
    pub last: Option<GrantId>,
}

/// What the filter says, as a condition on `$1` (the reach) to `$8`.
macro_rules! fits {
    () => {
        "(CAST($1 AS TEXT) = '*' OR CAST($1 AS TEXT) LIKE '%' || brand_id || '%')
        AND (CAST($2 AS TEXT) IS NULL OR brand_id = $2) AND (CAST($3 AS TEXT) IS NULL OR brand_user = $3)
        AND (CAST($4 AS TEXT) IS NULL OR pa_issuer = $4)
        AND (CAST($5 AS TEXT) IS NULL OR (CAST($5 AS TEXT) = 'ended' AND state = 'ended')
            OR (CAST($5 AS TEXT) = 'live' AND state = 'live' AND expires_at > $6)
            OR (CAST($5 AS TEXT) = 'expired' AND state = 'live' AND expires_at <= $6))
        AND created_at >= $7 AND created_at < $8"
    };
}

/// A page: what narrows it, the column, and the direction as a comparison and a word.
macro_rules! listed {
    ($narrowed:literal, $column:literal, $comparison:literal, $order:literal) => {
        concat!(
            "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at, expires_at,
            last_used_at, state, ended_at, ended_by FROM delegation_grant WHERE ",
            $narrowed,
            fits!(),
            " AND (",
            $column,
            ", id) ",
            $comparison,
            " ($9, $10) ORDER BY ",
            $column,
            " ",
            $order,
            ", id ",
            $order,
            " LIMIT $11"
        )
    };
}

macro_rules! ordered {
    ($narrowed:literal, $sort:expr, $direction:expr) => {
        match ($sort, $direction) {
            (GrantSort::Created, Direction::Descending) => listed!($narrowed, "created_at", "<", "DESC"),
            (GrantSort::Created, Direction::Ascending) => listed!($narrowed, "created_at", ">", "ASC"),
            (GrantSort::Expires, Direction::Descending) => listed!($narrowed, "expires_at", "<", "DESC"),
            (GrantSort::Expires, Direction::Ascending) => listed!($narrowed, "expires_at", ">", "ASC"),
            (GrantSort::Used, Direction::Descending) => listed!($narrowed, "COALESCE(last_used_at, 0)", "<", "DESC"),
            (GrantSort::Used, Direction::Ascending) => listed!($narrowed, "COALESCE(last_used_at, 0)", ">", "ASC"),
        }
    };
}

/// The SQL of a page, and the SQL that counts all of its list, by the index of what narrows it most.
const fn statements(filter: &GrantFilter, sort: GrantSort, direction: Direction) -> (&'static str, &'static str) {
    macro_rules! narrowed {
        ($narrowed:literal) => {
            (
                ordered!($narrowed, sort, direction),
                concat!("SELECT COUNT(*), COUNT(DISTINCT brand_id) FROM delegation_grant WHERE ", $narrowed, fits!()),
            )
        };
    }
    if filter.brand_user.is_some() {
        narrowed!("brand_user = $3 AND ")
    } else if filter.issuer.is_some() {
        narrowed!("pa_issuer = $4 AND ")
    } else if filter.brand.is_some() {
        narrowed!("brand_id = $2 AND ")
    } else {
        narrowed!("")
    }
}

/// Binds the filter, in the order in which `fits!` numbers it.
macro_rules! bound {
    ($query:expr, $filter:expr, $reach:expr, $now:expr) => {
        $query
            .bind($reach.to_text())
            .bind($filter.brand.as_ref().map(BrandId::as_str))
            .bind($filter.brand_user.as_ref().map(BrandUser::as_str))
            .bind($filter.issuer.as_ref().map(Issuer::as_str))
            .bind($filter.state.map(GrantStanding::name))
            .bind($now.millis())
            .bind($filter.since.map_or(i64::MIN, Timestamp::millis))
            .bind($filter.until.map_or(i64::MAX, Timestamp::millis))
    };
}

impl Store {
    /// A page of the grants that fit `filter`, of the Brands in `reach`, as they are at `now`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn grants(
        &self,
        filter: &GrantFilter,
        reach: &Reach,
        paging: &Paging<GrantSort>,
        now: Timestamp,
    ) -> Result<Page<Grant>, StoreError> {
        let (sql, _) = statements(filter, paging.sort, paging.direction);
        let (key, id) = numbered(paging);
        let rows = read!(self, c => bound!(query_as::<_, GrantRow>(sql), filter, reach, now)
            .bind(key)
            .bind(id)
            .bind(paging.limit())
            .fetch_all(c))?;
        let grants = rows.into_iter().map(Grant::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(paging.page(grants, |grant| {
            let at = match paging.sort {
                GrantSort::Created => grant.created_at.millis(),
                GrantSort::Expires => grant.expires_at.millis(),
                GrantSort::Used => grant.last_used_at.map_or(0, Timestamp::millis),
            };
            Place { key: Key::Number(at), id: grant.id.to_string() }
        }))
    }

    /// How many grants fit `filter`, of the Brands in `reach`, at `now`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn count_grants(
        &self,
        filter: &GrantFilter,
        reach: &Reach,
        now: Timestamp,
    ) -> Result<GrantCount, StoreError> {
        let (_, sql) = statements(filter, GrantSort::Created, Direction::Descending);
        let (grants, brands) =
            read!(self, c => bound!(query_as::<_, (i64, i64)>(sql), filter, reach, now).fetch_one(c))?;
        Ok(GrantCount { grants, brands })
    }

    /// The Brands in `reach` that have grants which fit `filter` at `now`, with how many each.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn count_grants_by_brand(
        &self,
        filter: &GrantFilter,
        reach: &Reach,
        now: Timestamp,
    ) -> Result<Vec<(BrandId, i64)>, StoreError> {
        const SQL: &str = concat!(
            "SELECT brand_id, COUNT(*) FROM delegation_grant WHERE ",
            fits!(),
            " GROUP BY brand_id ORDER BY brand_id"
        );
        let rows = read!(self, c => bound!(query_as::<_, (String, i64)>(SQL), filter, reach, now).fetch_all(c))?;
        let brand =
            |(id, count): (String, i64)| Ok((BrandId::parse(id.clone()).consistent("delegation_grant", &id)?, count));
        rows.into_iter().map(brand).collect()
    }

    /// Ends the next `most` live grants of `brand` that fit `filter`, after the grant `after`: all of the batch or nothing.
    /// `entry` is each one's audit row but for its subject and what the grant was before.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing of this batch was.
    pub async fn end_grants(
        &self,
        brand: &BrandId,
        filter: &GrantFilter,
        after: Option<&GrantId>,
        most: u16,
        by: EndedBy,
        entry: &Entry,
    ) -> Result<EndedBatch, StoreError> {
        const NEXT: &str = concat!(
            "SELECT id FROM delegation_grant WHERE brand_id = $9 AND state = 'live' AND expires_at > $6 AND id > $10 AND ",
            fits!(),
            " ORDER BY id LIMIT $11"
        );
        let mut tx = self.0.begin().await?;
        let ids = in_tx!(&mut tx, c => bound!(query_scalar::<_, String>(NEXT), filter, Reach::All, entry.at)
            .bind(brand.as_str())
            .bind(after.map_or("", GrantId::as_str))
            .bind(i64::from(most))
            .fetch_all(c))?;
        let ids = ids.into_iter().map(|id| GrantId::parse(id.clone()).consistent("delegation_grant", &id));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        let mut ended = Vec::with_capacity(ids.len());
        for id in &ids {
            if let Some(before) = grant::end(&mut tx, id, by, None, entry.at).await? {
                ended.push(Entry { subject: id.to_string(), ..before.entry(entry) });
            }
        }
        // After all the grants' rows: the head of the chain is locked from here on.
        for entry in &ended {
            audit::append(&mut tx, entry).await?;
        }
        let ended = ended.len();
        tx.commit().await?;
        let is_full = ids.len() == usize::from(most);
        Ok(EndedBatch { ended, last: ids.into_iter().next_back().filter(|_| is_full) })
    }
}

/// Where a page by time begins: before or after everything, or behind the last row of the page before.
pub(super) fn numbered<S: Sort>(paging: &Paging<S>) -> (i64, String) {
    match (&paging.after, paging.direction) {
        (Some(Place { key: Key::Number(key), id }), _) => (*key, id.clone()),
        (Some(Place { key: Key::Text(_), .. }) | None, Direction::Descending) => (i64::MAX, String::new()),
        (Some(Place { key: Key::Text(_), .. }) | None, Direction::Ascending) => (i64::MIN, String::new()),
    }
}
