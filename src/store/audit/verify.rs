//! The whole log held against its seals, a page at a time, while others write to it.
//!
//! Each page is one statement, so what was stored together is seen together. The head is read before the page behind which
//! nothing comes: a head that is further than the rows is then a row that is missing, and not one that is being written.
//! A page with a cell that its column cannot hold, as SQLite lets anybody write, is read row by row, to name the row.

use sqlx::{FromRow, query_as, query_scalar};

use super::AuditRow;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Head, HeadFound, Problem, Report, Step, Walk};
use crate::store::dialect::read;
use crate::store::{Store, StoreError};

/// How many rows are held in memory at once.
pub(super) const PAGE: i64 = 500;

#[derive(FromRow)]
struct StepRow {
    #[sqlx(flatten)]
    row: AuditRow,
    erasure_is_said: bool,
    bound_is_there: bool,
}

impl From<StepRow> for Step {
    fn from(row: StepRow) -> Self {
        let StepRow { row, erasure_is_said, bound_is_there } = row;
        Self { row: row.into(), erasure_is_said, bound_is_there }
    }
}

/// A row on the walk, or the place of one that cannot be read.
enum Met {
    Row(Box<Step>),
    Unreadable(i64),
}

impl Met {
    const fn place(&self) -> i64 {
        match self {
            Self::Row(step) => step.row.sequence,
            Self::Unreadable(place) => *place,
        }
    }
}

/// Whether a row was found that holds what its columns cannot hold.
pub(super) const fn is_unreadable(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
}

impl Store {
    /// Verifies all chains, or `only` one: every row, the heads, and what rows vouch for. `expected` are heads that were
    /// printed earlier. Whatever there is to tell is told to `tell`, as it is found.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn verify_audit(
        &self,
        only: Option<&Chain>,
        expected: &[Head],
        tell: &mut impl FnMut(Report),
    ) -> Result<(), StoreError> {
        const BRANDS: &str = "SELECT id FROM brand ORDER BY id";
        let brands = read!(self, c => query_scalar::<_, String>(BRANDS).fetch_all(c))?;
        let mut chains = match only {
            Some(chain) => vec![chain.column().to_owned()],
            None => self.chains(&brands, tell).await?,
        };
        // A chain that is gone altogether may still be one that somebody has seen.
        let of_interest = |head: &&Head| only.is_none_or(|chain| chain.column() == head.chain);
        for head in expected.iter().filter(of_interest) {
            if !chains.contains(&head.chain) {
                chains.push(head.chain.clone());
            }
        }
        for chain in chains {
            self.walk(&chain, brands.contains(&chain), expected, tell).await?;
        }
        self.verify_vouched(only, tell).await
    }

    /// All chains of which there is anything, and those of all Brands.
    async fn chains(&self, brands: &[String], tell: &mut impl FnMut(Report)) -> Result<Vec<String>, StoreError> {
        const CHAINS: &str = "SELECT CAST(brand_id AS TEXT) FROM audit_head
            UNION SELECT DISTINCT CAST(brand_id AS TEXT) FROM audit UNION SELECT id FROM brand ORDER BY 1";
        match read!(self, c => query_scalar::<_, String>(CHAINS).fetch_all(c)) {
            Ok(chains) => Ok(chains),
            Err(error) if is_unreadable(&error) => {
                tell(Report::Wrong(Finding { chain: String::new(), rows: None, problem: Problem::Unreadable }));
                Ok([&[String::new()], brands].concat())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn walk(
        &self,
        chain: &str,
        is_brand: bool,
        expected: &[Head],
        tell: &mut impl FnMut(Report),
    ) -> Result<(), StoreError> {
        let mut walk = Walk::new(self.0.audit_key()?, chain, expected);
        if self.has_no_places(chain).await? {
            walk.wrong_of_chain(Problem::OutOfPlace);
        }
        let mut next = Some(i64::MIN);
        loop {
            let head = self.audit_head(chain).await?;
            let met = match next {
                Some(from) => self.met(chain, from).await?,
                None => Vec::new(),
            };
            let Some(last) = met.last() else {
                let is_begun = matches!(&head, HeadFound::Unreadable)
                    || matches!(&head, HeadFound::There(head, _) if head.sequence > 0);
                if walk.last() == 0 && !is_begun && is_brand {
                    walk.wrong_of_chain(Problem::NoChain);
                }
                walk.end(&head)?;
                walk.reports().into_iter().for_each(&mut *tell);
                return Ok(());
            };
            next = last.place().checked_add(1);
            for one in met {
                match one {
                    Met::Row(step) => walk.step(&step)?,
                    Met::Unreadable(place) => walk.unreadable(place),
                }
            }
            walk.reports().into_iter().for_each(&mut *tell);
        }
    }

    /// A chain's head with its seal.
    async fn audit_head(&self, chain: &str) -> Result<HeadFound, StoreError> {
        const SQL: &str = "SELECT sequence, digest, seal FROM audit_head WHERE brand_id = $1";
        match read!(self, c => query_as::<_, (i64, String, Option<String>)>(SQL).bind(chain).fetch_optional(c)) {
            Ok(None) => Ok(HeadFound::None),
            Ok(Some((sequence, digest, seal))) => {
                Ok(HeadFound::There(Head { chain: chain.to_owned(), sequence, digest }, seal))
            }
            Err(error) if is_unreadable(&error) => Ok(HeadFound::Unreadable),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a chain has rows whose place is no number, which no walk meets.
    async fn has_no_places(&self, chain: &str) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM audit WHERE brand_id = $1 AND (sequence < $2 OR sequence > $3)";
        let count = read!(self, c => query_scalar::<_, i64>(SQL)
            .bind(chain)
            .bind(i64::MIN)
            .bind(i64::MAX)
            .fetch_one(c))?;
        Ok(count > 0)
    }

    /// A page of the rows of a chain from place `from` on.
    async fn met(&self, chain: &str, from: i64) -> Result<Vec<Met>, StoreError> {
        const PLACES: &str = "SELECT CAST(sequence AS BIGINT) FROM audit WHERE brand_id = $1
            AND sequence BETWEEN $2 AND $3 ORDER BY sequence LIMIT $4";
        let row = |row: StepRow| Met::Row(Box::new(row.into()));
        match self.steps(chain, from, i64::MAX).await {
            Ok(rows) => Ok(rows.into_iter().map(row).collect()),
            Err(error) if is_unreadable(&error) => {
                let places = read!(self, c => query_scalar::<_, i64>(PLACES)
                    .bind(chain)
                    .bind(from)
                    .bind(i64::MAX)
                    .bind(PAGE)
                    .fetch_all(c))?;
                let mut met = Vec::new();
                for place in places {
                    met.push(match self.steps(chain, place, place).await {
                        Ok(rows) => rows.into_iter().next().map_or(Met::Unreadable(place), row),
                        Err(error) if is_unreadable(&error) => Met::Unreadable(place),
                        Err(error) => return Err(error.into()),
                    });
                }
                Ok(met)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn steps(&self, chain: &str, first: i64, last: i64) -> Result<Vec<StepRow>, sqlx::Error> {
        const SQL: &str =
            "SELECT a.brand_id, a.sequence, a.at, a.actor_kind, a.actor, a.action, a.subject, a.request_id,
            a.payload, a.payload_digest, a.digest, a.seal, a.bound_id, a.bound_digest,
            (a.payload IS NULL AND EXISTS (SELECT 1 FROM audit e WHERE e.brand_id = a.brand_id
                AND e.sequence > a.sequence AND e.subject = CAST(a.sequence AS TEXT) AND e.action = 'audit_erased'))
                AS erasure_is_said,
            (a.bound_id IS NULL OR r.id IS NOT NULL OR c.device_authorization_id IS NOT NULL) AS bound_is_there
            FROM audit a LEFT JOIN receipt r ON r.id = a.bound_id AND r.brand_id = a.brand_id
                AND a.action = 'receipt_signed'
            LEFT JOIN consent_evidence c ON c.device_authorization_id = a.bound_id AND c.brand_id = a.brand_id
                AND a.action <> 'receipt_signed'
            WHERE a.brand_id = $1 AND a.sequence BETWEEN $2 AND $3 ORDER BY a.sequence LIMIT $4";
        read!(self, c => query_as::<_, StepRow>(SQL).bind(chain).bind(first).bind(last).bind(PAGE).fetch_all(c))
    }
}
