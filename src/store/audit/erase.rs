//! Erasing a row's payload: personal data goes, the row and its digests stay, and another row says who did it.

use sqlx::query_scalar;

use super::append;
use crate::domain::audit::{Chain, Entry};
use crate::store::dialect::{in_tx, read};
use crate::store::{Store, StoreError};

/// What became of erasing a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Erased {
    /// It is gone.
    Done,
    /// It was gone before; nothing was done.
    Already,
    /// There is no such row.
    NotThere,
}

impl Store {
    /// Whether the row at place `sequence` of a chain has a payload; `None` when there is no such row.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn audit_has_payload(&self, chain: &Chain, sequence: i64) -> Result<Option<bool>, StoreError> {
        const SQL: &str = "SELECT payload FROM audit WHERE brand_id = $1 AND sequence = $2";
        let row = read!(self, c => query_scalar::<_, Option<String>>(SQL)
            .bind(chain.column())
            .bind(sequence)
            .fetch_optional(c))?;
        Ok(row.map(|payload| payload.is_some()))
    }

    /// Erases the payload of the row at place `sequence` of a chain, for which `entry` stands in the log from then on.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn erase_payload(&self, chain: &Chain, sequence: i64, entry: &Entry) -> Result<Erased, StoreError> {
        const SQL: &str = "UPDATE audit SET payload = NULL WHERE brand_id = $1 AND sequence = $2
            AND payload IS NOT NULL RETURNING sequence";
        let mut tx = self.0.begin().await?;
        let erased = in_tx!(&mut tx, c => query_scalar::<_, i64>(SQL)
            .bind(chain.column())
            .bind(sequence)
            .fetch_optional(c))?;
        if erased.is_none() {
            drop(tx);
            let is_there = self.audit_has_payload(chain, sequence).await?.is_some();
            return Ok(if is_there { Erased::Already } else { Erased::NotThere });
        }
        append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Erased::Done)
    }
}
