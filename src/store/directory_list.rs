//! Personal agents and Brands in lists, with how many grants live under each.

use sqlx::{FromRow, query_as};

use super::dialect::read;
use super::directory::{BrandRow, PersonalAgentRow};
use super::grant_list::numbered;
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;
use crate::domain::brand::Brand;
use crate::domain::id::{BrandId, Issuer};
use crate::domain::page::{Direction, Key, Page, Paging, Place, Sort};
use crate::domain::personal_agent::PersonalAgent;

/// A personal agent with what administrators see beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonalAgentRecord {
    /// The personal agent.
    pub agent: PersonalAgent,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Its latest change.
    pub updated_at: Timestamp,
    /// Its live grants.
    pub live_grants: i64,
    /// At how many Brands they are.
    pub brands: i64,
}

/// Which personal agents. Absent means any.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PersonalAgentFilter {
    /// Whose name has a word that begins so, or whose issuer does, with or without its scheme; in any case.
    pub search: Option<String>,
    /// Whether it may call.
    pub enabled: Option<bool>,
}

/// By what personal agents can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersonalAgentSort {
    /// What they are called.
    Name,
    /// When they were registered.
    Created,
}

impl Sort for PersonalAgentSort {
    const ALL: &'static [Self] = &[Self::Name, Self::Created];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Created => "created",
        }
    }
}

/// A Brand with what administrators see beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrandRecord {
    /// The Brand; without delegation once it was removed.
    pub brand: Brand,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its latest change.
    pub updated_at: Timestamp,
    /// When it was removed.
    pub removed_at: Option<Timestamp>,
    /// Its live grants.
    pub live_grants: i64,
}

/// Which Brands. Absent means any.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BrandFilter {
    /// With this id.
    pub id: Option<BrandId>,
    /// Whose name has a word that begins so, or whose id does; in any case.
    pub search: Option<String>,
    /// Whether it was removed.
    pub removed: Option<bool>,
}

/// By what Brands can be ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrandSort {
    /// What they are called.
    Name,
    /// When they were made.
    Created,
}

impl Sort for BrandSort {
    const ALL: &'static [Self] = &[Self::Name, Self::Created];

    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Created => "created",
        }
    }
}

#[derive(FromRow)]
struct ListedAgentRow {
    #[sqlx(flatten)]
    agent: PersonalAgentRow,
    created_at: i64,
    updated_at: i64,
    live_grants: i64,
    brands: i64,
}

impl TryFrom<ListedAgentRow> for PersonalAgentRecord {
    type Error = StoreError;
    fn try_from(row: ListedAgentRow) -> Result<Self, StoreError> {
        Ok(Self {
            agent: row.agent.try_into()?,
            created_at: Timestamp::from_millis(row.created_at),
            updated_at: Timestamp::from_millis(row.updated_at),
            live_grants: row.live_grants,
            brands: row.brands,
        })
    }
}

#[derive(FromRow)]
struct ListedBrandRow {
    #[sqlx(flatten)]
    brand: BrandRow,
    created_at: i64,
    updated_at: i64,
    removed_at: Option<i64>,
    live_grants: i64,
}

impl TryFrom<ListedBrandRow> for BrandRecord {
    type Error = StoreError;
    fn try_from(row: ListedBrandRow) -> Result<Self, StoreError> {
        Ok(Self {
            brand: row.brand.try_into()?,
            created_at: Timestamp::from_millis(row.created_at),
            updated_at: Timestamp::from_millis(row.updated_at),
            removed_at: row.removed_at.map(Timestamp::from_millis),
            live_grants: row.live_grants,
        })
    }
}

/// A page of personal agents: where it begins, and the order, by its column and a word. The grants of those on
/// the page alone are counted.
macro_rules! agents {
    ($begins:literal, $column:literal, $order:literal) => {
        concat!(
            "SELECT a.issuer, a.name, a.jwks_uri, a.enabled, a.created_at, a.updated_at,
            (SELECT COUNT(*) FROM delegation_grant g WHERE g.pa_issuer = a.issuer AND g.state = 'live'
                AND g.expires_at > $1) AS live_grants,
            (SELECT COUNT(DISTINCT g.brand_id) FROM delegation_grant g WHERE g.pa_issuer = a.issuer
                AND g.state = 'live' AND g.expires_at > $1) AS brands
            FROM (SELECT issuer, name, jwks_uri, enabled, created_at, updated_at FROM personal_agent
                WHERE (CAST($2 AS TEXT) IS NULL OR ' ' || LOWER(name) LIKE '% ' || CAST($2 AS TEXT) || '%' ESCAPE '!'
                    OR LOWER(issuer) LIKE CAST($2 AS TEXT) || '%' ESCAPE '!'
                    OR LOWER(issuer) LIKE '%://' || CAST($2 AS TEXT) || '%' ESCAPE '!')
                AND (CAST($3 AS BOOLEAN) IS NULL OR enabled = $3) AND ",
            $begins,
            " ORDER BY ",
            $column,
            " ",
            $order,
            ", issuer ",
            $order,
            " LIMIT $6) a ORDER BY a.",
            $column,
            " ",
            $order,
            ", a.issuer ",
            $order
        )
    };
}

/// The same of Brands.
macro_rules! brands {
    ($begins:literal, $column:literal, $order:literal) => {
        concat!(
            "SELECT b.id, b.name, b.profile, b.delegation, b.created_at, b.updated_at, b.removed_at,
            (SELECT COUNT(*) FROM delegation_grant g WHERE g.brand_id = b.id AND g.state = 'live'
                AND g.expires_at > $1) AS live_grants
            FROM (SELECT id, name, profile, delegation, created_at, updated_at, removed_at FROM brand
                WHERE (CAST($2 AS TEXT) IS NULL OR ' ' || LOWER(name) LIKE '% ' || CAST($2 AS TEXT) || '%' ESCAPE '!'
                    OR LOWER(id) LIKE CAST($2 AS TEXT) || '%' ESCAPE '!')
                AND (CAST($3 AS BOOLEAN) IS NULL OR (removed_at IS NOT NULL) = $3)
                AND (CAST($7 AS TEXT) = '*' OR CAST($7 AS TEXT) LIKE '%' || id || '%')
                AND (CAST($8 AS TEXT) IS NULL OR id = $8) AND ",
            $begins,
            " ORDER BY ",
            $column,
            " ",
            $order,
            ", id ",
            $order,
            " LIMIT $6) b ORDER BY b.",
            $column,
            " ",
            $order,
            ", b.id ",
            $order
        )
    };
}

impl Store {
    /// A page of the personal agents that fit `filter`, with their grants that live at `now`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn personal_agents(
        &self,
        filter: &PersonalAgentFilter,
        paging: &Paging<PersonalAgentSort>,
        now: Timestamp,
    ) -> Result<Page<PersonalAgentRecord>, StoreError> {
        macro_rules! found {
            ($sql:expr, $begin:expr) => {{
                let (sql, (key, id)) = ($sql, $begin);
                read!(self, c => query_as::<_, ListedAgentRow>(sql)
                    .bind(now.millis())
                    .bind(filter.search.as_deref().map(pattern))
                    .bind(filter.enabled)
                    .bind(key)
                    .bind(id)
                    .bind(paging.limit())
                    .fetch_all(c))?
            }};
        }
        const BEFORE: &str = agents!("(created_at, issuer) < ($4, $5)", "created_at", "DESC");
        const AFTER: &str = agents!("(created_at, issuer) > ($4, $5)", "created_at", "ASC");
        const NAME_BEFORE: &str = agents!("(CAST($4 AS TEXT) IS NULL OR (name, issuer) < ($4, $5))", "name", "DESC");
        const NAME_AFTER: &str = agents!("(CAST($4 AS TEXT) IS NULL OR (name, issuer) > ($4, $5))", "name", "ASC");
        let rows = match (paging.sort, paging.direction) {
            (PersonalAgentSort::Created, Direction::Descending) => found!(BEFORE, numbered(paging)),
            (PersonalAgentSort::Created, Direction::Ascending) => found!(AFTER, numbered(paging)),
            (PersonalAgentSort::Name, Direction::Descending) => found!(NAME_BEFORE, named(paging)),
            (PersonalAgentSort::Name, Direction::Ascending) => found!(NAME_AFTER, named(paging)),
        };
        let records = rows.into_iter().map(PersonalAgentRecord::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(paging.page(records, |record| Place {
            key: match paging.sort {
                PersonalAgentSort::Name => Key::Text(record.agent.name.clone()),
                PersonalAgentSort::Created => Key::Number(record.created_at.millis()),
            },
            id: record.agent.issuer.to_string(),
        }))
    }

    /// The personal agent with this issuer, enabled or not, with its grants that live at `now`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn personal_agent(
        &self,
        issuer: &Issuer,
        now: Timestamp,
    ) -> Result<Option<PersonalAgentRecord>, StoreError> {
        const SQL: &str = "SELECT a.issuer, a.name, a.jwks_uri, a.enabled, a.created_at, a.updated_at,
            (SELECT COUNT(*) FROM delegation_grant g WHERE g.pa_issuer = a.issuer AND g.state = 'live'
                AND g.expires_at > $2) AS live_grants,
            (SELECT COUNT(DISTINCT g.brand_id) FROM delegation_grant g WHERE g.pa_issuer = a.issuer
                AND g.state = 'live' AND g.expires_at > $2) AS brands
            FROM personal_agent a WHERE a.issuer = $1";
        let row = read!(self, c => query_as::<_, ListedAgentRow>(SQL)
            .bind(issuer.as_str())
            .bind(now.millis())
            .fetch_optional(c))?;
        row.map(PersonalAgentRecord::try_from).transpose()
    }

    /// A page of the Brands that fit `filter`, of those in `reach`, with their grants that live at `now`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn brands(
        &self,
        filter: &BrandFilter,
        reach: &Reach,
        paging: &Paging<BrandSort>,
        now: Timestamp,
    ) -> Result<Page<BrandRecord>, StoreError> {
        macro_rules! found {
            ($sql:expr, $begin:expr) => {{
                let (sql, (key, id)) = ($sql, $begin);
                read!(self, c => query_as::<_, ListedBrandRow>(sql)
                    .bind(now.millis())
                    .bind(filter.search.as_deref().map(pattern))
                    .bind(filter.removed)
                    .bind(key)
                    .bind(id)
                    .bind(paging.limit())
                    .bind(reach.to_text())
                    .bind(filter.id.as_ref().map(BrandId::as_str))
                    .fetch_all(c))?
            }};
        }
        const BEFORE: &str = brands!("(created_at, id) < ($4, $5)", "created_at", "DESC");
        const AFTER: &str = brands!("(created_at, id) > ($4, $5)", "created_at", "ASC");
        const NAME_BEFORE: &str = brands!("(CAST($4 AS TEXT) IS NULL OR (name, id) < ($4, $5))", "name", "DESC");
        const NAME_AFTER: &str = brands!("(CAST($4 AS TEXT) IS NULL OR (name, id) > ($4, $5))", "name", "ASC");
        let rows = match (paging.sort, paging.direction) {
            (BrandSort::Created, Direction::Descending) => found!(BEFORE, numbered(paging)),
            (BrandSort::Created, Direction::Ascending) => found!(AFTER, numbered(paging)),
            (BrandSort::Name, Direction::Descending) => found!(NAME_BEFORE, named(paging)),
            (BrandSort::Name, Direction::Ascending) => found!(NAME_AFTER, named(paging)),
        };
        let records = rows.into_iter().map(BrandRecord::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(paging.page(records, |record| Place {
            key: match paging.sort {
                BrandSort::Name => Key::Text(record.brand.name.clone()),
                BrandSort::Created => Key::Number(record.created_at.millis()),
            },
            id: record.brand.id.to_string(),
        }))
    }
}

/// Where a page by name begins: behind the last row of the page before, or anywhere.
fn named<S: Sort>(paging: &Paging<S>) -> (Option<String>, String) {
    match &paging.after {
        Some(Place { key: Key::Text(key), id }) => (Some(key.clone()), id.clone()),
        Some(Place { key: Key::Number(_), .. }) | None => (None, String::new()),
    }
}

/// What somebody typed as a pattern's beginning: in lower case, and without wildcards of its own.
fn pattern(search: &str) -> String {
    let mut pattern = String::with_capacity(search.len());
    for c in search.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern
}
