//! The audit log: one row per thing done, in the transaction that did it, sealed with a key that the database does not hold.

mod erase;
mod list;
mod verify;
mod vouched;

pub use erase::Erased;
pub use list::{AuditCursor, AuditFilter};

use sqlx::{FromRow, query, query_as};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::audit::recorded::{Bound, Recorded};
use crate::domain::audit::seal::Sealed;
use crate::domain::audit::{Action, Actor, Entry};
use crate::domain::id::BrandId;

/// The columns of an audit row, which each query of this module names in this order.
#[derive(FromRow)]
pub(super) struct AuditRow {
    brand_id: String,
    sequence: i64,
    at: i64,
    actor_kind: String,
    actor: String,
    action: String,
    subject: String,
    request_id: String,
    payload: Option<String>,
    payload_digest: String,
    digest: String,
    seal: Option<String>,
    bound_id: Option<String>,
    bound_digest: Option<String>,
}

impl From<AuditRow> for Recorded {
    fn from(row: AuditRow) -> Self {
        Self {
            brand: row.brand_id,
            sequence: row.sequence,
            at: Timestamp::from_millis(row.at),
            actor_kind: row.actor_kind,
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            request: row.request_id,
            payload: row.payload,
            payload_digest: row.payload_digest,
            digest: row.digest,
            seal: row.seal,
            bound_id: row.bound_id,
            bound_digest: row.bound_digest,
        }
    }
}

/// The latest row of a chain.
struct End {
    sequence: i64,
    digest: String,
}

/// Appends `entry` to its Brand's chain. The head row is locked from here to the commit, so this comes last in a unit.
pub(super) async fn append(tx: &mut Tx, entry: &Entry) -> Result<(), StoreError> {
    append_bound(tx, entry, None).await
}

/// The same for a row that vouches for something else that the transaction stores.
pub(super) async fn append_bound(tx: &mut Tx, entry: &Entry, bound: Option<&Bound>) -> Result<(), StoreError> {
    const HEAD: &str = "UPDATE audit_head SET sequence = $1, digest = $2, seal = $3 WHERE brand_id = $4";
    let brand = entry.brand.as_ref().map_or("", BrandId::as_str);
    let end = hold_end(tx, brand, entry).await?;
    let end = put_row(tx, &end, entry, bound).await?;
    let seal = tx.audit_key()?.seal(Sealed::Head, brand, end.sequence, &end.digest)?;
    execute!(tx, query(HEAD).bind(end.sequence).bind(&end.digest).bind(&seal).bind(brand))?;
    Ok(())
}

/// The row after which `entry` comes. Where the head is not one that was sealed here, the chain goes on from its latest row
/// with a row that says so for good: what comes after is sealed again, and must not make that look whole which went before.
async fn hold_end(tx: &mut Tx, brand: &str, entry: &Entry) -> Result<End, StoreError> {
    const HEAD: &str = "INSERT INTO audit_head (brand_id, sequence, digest) VALUES ($1, 0, '')
        ON CONFLICT (brand_id) DO UPDATE SET sequence = audit_head.sequence RETURNING sequence, digest, seal";
    const LATEST: &str = "SELECT sequence, digest FROM audit WHERE brand_id = $1 ORDER BY sequence DESC LIMIT 1";
    let (sequence, digest, seal) =
        in_tx!(tx, c => query_as::<_, (i64, String, Option<String>)>(HEAD).bind(brand).fetch_one(c))?;
    let is_sealed = match &seal {
        Some(seal) => tx.audit_key()?.is_seal(seal, Sealed::Head, brand, sequence, &digest)?,
        None => false,
    };
    if is_sealed {
        return Ok(End { sequence, digest });
    }
    let latest = in_tx!(tx, c => query_as::<_, (i64, String)>(LATEST).bind(brand).fetch_optional(c))?;
    let end = match latest {
        None if sequence == 0 && digest.is_empty() && seal.is_none() => return Ok(End { sequence, digest }),
        Some((latest, its)) if latest >= sequence => End { sequence: latest, digest: its },
        Some(_) | None => End { sequence, digest },
    };
    let notice = Entry {
        actor: Actor::Assent,
        action: Action::SealBroken,
        subject: end.sequence.to_string(),
        payload: serde_json::json!({ "head": sequence, "seal": if seal.is_some() { "wrong" } else { "missing" } }),
        ..entry.clone()
    };
    put_row(tx, &end, &notice, None).await
}

async fn put_row(tx: &mut Tx, after: &End, entry: &Entry, bound: Option<&Bound>) -> Result<End, StoreError> {
    const ROW: &str = "INSERT INTO audit (brand_id, sequence, at, actor_kind, actor, action, subject, request_id,
        payload, payload_digest, digest, seal, bound_id, bound_digest)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    let payload = serde_json::to_string(&entry.payload)?;
    let payload_digest = Entry::payload_digest(&payload).to_hex();
    let row = entry.recorded(after.sequence.saturating_add(1), Some(payload), payload_digest, bound);
    let digest = row.computed_digest(&after.digest).to_hex();
    let seal = tx.audit_key()?.seal(Sealed::Row, &row.brand, row.sequence, &digest)?;
    execute!(
        tx,
        query(ROW)
            .bind(&row.brand)
            .bind(row.sequence)
            .bind(row.at.millis())
            .bind(&row.actor_kind)
            .bind(&row.actor)
            .bind(&row.action)
            .bind(&row.subject)
            .bind(&row.request)
            .bind(&row.payload)
            .bind(&row.payload_digest)
            .bind(&digest)
            .bind(&seal)
            .bind(&row.bound_id)
            .bind(&row.bound_digest)
    )?;
    Ok(End { sequence: row.sequence, digest })
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
