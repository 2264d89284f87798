//! The whole log held against its seals, a page at a time, while others write to it.
//!
//! Each page is one statement, so what was stored together is seen together. The head is read before the page behind which
//! nothing comes: a head that is further than the rows is then a row that is missing, and not one that is being written.

use sqlx::{FromRow, query_as, query_scalar};

use super::AuditRow;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Head, Problem, Report, Step, Walk};
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
        const CHAINS: &str = "SELECT brand_id FROM audit_head UNION SELECT DISTINCT brand_id FROM audit
            UNION SELECT id FROM brand ORDER BY 1";
        let brands = read!(self, c => query_scalar::<_, String>(BRANDS).fetch_all(c))?;
        let mut chains = match only {
            Some(chain) => vec![chain.column().to_owned()],
            None => read!(self, c => query_scalar::<_, String>(CHAINS).fetch_all(c))?,
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

    async fn walk(
        &self,
        chain: &str,
        is_brand: bool,
        expected: &[Head],
        tell: &mut impl FnMut(Report),
    ) -> Result<(), StoreError> {
        let mut walk = Walk::new(self.0.audit_key()?, chain, expected);
        loop {
            let head = self.audit_head(chain).await?;
            let rows = self.steps(chain, walk.last()).await?;
            if rows.is_empty() {
                if walk.last() == 0 && head.is_none() && is_brand {
                    walk.wrong_of_chain(Problem::NoChain);
                }
                walk.end(head.as_ref().map(|(head, seal)| (head, seal.as_deref())))?;
                walk.reports().into_iter().for_each(&mut *tell);
                return Ok(());
            }
            for row in rows {
                walk.step(&row)?;
            }
            walk.reports().into_iter().for_each(&mut *tell);
        }
    }

    /// A chain's head with its seal.
    async fn audit_head(&self, chain: &str) -> Result<Option<(Head, Option<String>)>, StoreError> {
        const SQL: &str = "SELECT sequence, digest, seal FROM audit_head WHERE brand_id = $1";
        let row = read!(self, c => query_as::<_, (i64, String, Option<String>)>(SQL).bind(chain).fetch_optional(c))?;
        Ok(row.map(|(sequence, digest, seal)| (Head { chain: chain.to_owned(), sequence, digest }, seal)))
    }

    /// The rows of a chain behind place `after`.
    async fn steps(&self, chain: &str, after: i64) -> Result<Vec<Step>, StoreError> {
        const SQL: &str =
            "SELECT a.brand_id, a.sequence, a.at, a.actor_kind, a.actor, a.action, a.subject, a.request_id,
            a.payload, a.payload_digest, a.digest, a.seal, a.bound_id, a.bound_digest,
            (a.payload IS NULL AND EXISTS (SELECT 1 FROM audit e WHERE e.brand_id = a.brand_id
                AND e.subject = CAST(a.sequence AS TEXT) AND e.action = 'audit_erased')) AS erasure_is_said,
            (a.bound_id IS NULL OR r.id IS NOT NULL OR c.device_authorization_id IS NOT NULL) AS bound_is_there
            FROM audit a LEFT JOIN receipt r ON r.id = a.bound_id AND a.action = 'receipt_signed'
            LEFT JOIN consent_evidence c ON c.device_authorization_id = a.bound_id AND a.action <> 'receipt_signed'
            WHERE a.brand_id = $1 AND a.sequence > $2 ORDER BY a.sequence LIMIT $3";
        let rows = read!(self, c => query_as::<_, StepRow>(SQL).bind(chain).bind(after).bind(PAGE).fetch_all(c))?;
        Ok(rows.into_iter().map(Step::from).collect())
    }
}
