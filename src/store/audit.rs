//! The audit log: one row per thing done, in the transaction that did it.

use sqlx::{query, query_as};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Store, StoreError};
use crate::domain::audit::Entry;

/// Appends `entry` to its Brand's chain. The head row is locked from here to the commit, so this comes last in a unit.
pub(super) async fn append(tx: &mut Tx, entry: &Entry) -> Result<(), StoreError> {
    const NEXT: &str = "INSERT INTO audit_head (brand_id, sequence, digest) VALUES ($1, 1, '')
        ON CONFLICT (brand_id) DO UPDATE SET sequence = audit_head.sequence + 1 RETURNING sequence, digest";
    const ROW: &str = "INSERT INTO audit (brand_id, sequence, at, actor_kind, actor, action, subject, request_id,
        payload, payload_digest, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    const HEAD: &str = "UPDATE audit_head SET digest = $1 WHERE brand_id = $2";
    let brand = entry.brand.as_ref().map_or("", |brand| brand.as_str());
    let (sequence, previous) = in_tx!(tx, c => query_as::<_, (i64, String)>(NEXT).bind(brand).fetch_one(c))?;
    let payload = serde_json::to_string(&entry.payload)?;
    let payload_digest = Entry::payload_digest(&payload).to_hex();
    let digest = entry.digest(sequence, &previous, &payload_digest).to_hex();
    execute!(
        tx,
        query(ROW)
            .bind(brand)
            .bind(sequence)
            .bind(entry.at.millis())
            .bind(entry.actor.kind())
            .bind(entry.actor.name())
            .bind(entry.action.name())
            .bind(&entry.subject)
            .bind(&entry.request.0)
            .bind(&payload)
            .bind(&payload_digest)
            .bind(&digest)
    )?;
    execute!(tx, query(HEAD).bind(&digest).bind(brand))?;
    Ok(())
}

impl Store {
    /// Writes one row that belongs to no other change.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be written.
    pub async fn record(&self, entry: &Entry) -> Result<(), StoreError> {
        let mut tx = self.0.begin().await?;
        append(&mut tx, entry).await?;
        tx.commit().await
    }

    /// The actions on `subject`, oldest first, of all Brands.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn audit_actions(&self, subject: &str) -> Result<Vec<String>, StoreError> {
        const SQL: &str = "SELECT action FROM audit WHERE subject = $1 ORDER BY brand_id, sequence";
        Ok(read!(self, c => sqlx::query_scalar::<_, String>(SQL).bind(subject).fetch_all(c))?)
    }
}
