//! Rows that nothing can ask for any more leave in batches, each of which is one audit row; evidence stays.

use serde_json::json;
use sqlx::query;

use super::dialect::{Tx, execute};
use super::{Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::audit::{Action, Actor, Entry, RequestId};

/// Two nodes that removed the same rows in different orders would stop each other.
const SWEEP: &str = "sweep";

impl Store {
    /// Removes at most `batch` rows of each kind that expired before `before`: spent assertion ids, browser sessions,
    /// consent pages, pages of grants, device authorizations, administrators' sessions, and what was answered under
    /// idempotency keys before then. Returns how many left.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn sweep(&self, before: Timestamp, batch: i64, now: Timestamp) -> Result<u64, StoreError> {
        const STATEMENTS: [(&str, &str); 7] = [
            (
                "assertion_jti",
                "DELETE FROM assertion_jti WHERE (brand_id, jti) IN
                (SELECT brand_id, jti FROM assertion_jti WHERE forget_at < $1 ORDER BY forget_at LIMIT $2)",
            ),
            (
                "browser_session",
                "DELETE FROM browser_session WHERE digest IN
                (SELECT digest FROM browser_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            ),
            (
                "consent_page",
                "DELETE FROM consent_page WHERE digest IN
                (SELECT digest FROM consent_page WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            ),
            (
                "grants_page",
                "DELETE FROM grants_page WHERE digest IN
                (SELECT digest FROM grants_page WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            ),
            (
                "device_authorization",
                "DELETE FROM device_authorization WHERE id IN
                (SELECT id FROM device_authorization WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            ),
            (
                "administrator_session",
                "DELETE FROM administrator_session WHERE digest IN
                (SELECT digest FROM administrator_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            ),
            (
                "api_idempotency",
                "DELETE FROM api_idempotency WHERE (api_key_id, key_digest) IN
                (SELECT api_key_id, key_digest FROM api_idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
            ),
        ];
        let mut removed = 0;
        for (table, statement) in STATEMENTS {
            let mut tx = self.0.begin().await?;
            tx.lock(SWEEP).await?;
            let left = execute!(&mut tx, query(statement).bind(before.millis()).bind(batch))?;
            record(&mut tx, table, left, before, now).await?;
            tx.commit().await?;
            removed += left;
        }
        Ok(removed)
    }

    /// Removes at most `batch` contexts, with their turns, whose latest turn was before `before`. Returns how many left.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn sweep_contexts(&self, before: Timestamp, batch: i64, now: Timestamp) -> Result<u64, StoreError> {
        const TURNS: &str = "DELETE FROM turn WHERE context_id IN
            (SELECT id FROM context WHERE last_turn_at < $1 ORDER BY last_turn_at LIMIT $2)";
        const CONTEXTS: &str = "DELETE FROM context WHERE id IN
            (SELECT id FROM context WHERE last_turn_at < $1 ORDER BY last_turn_at LIMIT $2)
            AND NOT EXISTS (SELECT 1 FROM turn WHERE context_id = context.id)";
        let mut tx = self.0.begin().await?;
        tx.lock(SWEEP).await?;
        execute!(&mut tx, query(TURNS).bind(before.millis()).bind(batch))?;
        let removed = execute!(&mut tx, query(CONTEXTS).bind(before.millis()).bind(batch))?;
        record(&mut tx, "context", removed, before, now).await?;
        tx.commit().await?;
        Ok(removed)
    }
}

/// The audit row of a batch, if anything left.
async fn record(tx: &mut Tx, table: &str, removed: u64, before: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    if removed == 0 {
        return Ok(());
    }
    let entry = Entry {
        brand: None,
        at: now,
        actor: Actor::Assent,
        action: Action::Swept,
        subject: table.to_owned(),
        request: RequestId("sweep".to_owned()),
        payload: json!({ "removed": removed, "expired_before": before.to_rfc3339() }),
    };
    audit::append(tx, &entry).await
}
