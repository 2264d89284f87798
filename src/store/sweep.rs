//! Rows that nothing can ask for any more leave in batches; evidence stays.

use sqlx::query;

use super::dialect::execute;
use super::{Store, StoreError};
use crate::clock::Timestamp;

/// Two nodes that removed the same rows in different orders would stop each other.
const SWEEP: &str = "sweep";

impl Store {
    /// Removes at most `batch` rows of each kind that expired before `before`: spent assertion ids, browser sessions,
    /// consent pages, pages of grants, device authorizations, administrators' sessions, and what was answered under
    /// idempotency keys before then. Returns how many left.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn sweep(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        const STATEMENTS: [&str; 7] = [
            "DELETE FROM assertion_jti WHERE (brand_id, jti) IN
                (SELECT brand_id, jti FROM assertion_jti WHERE forget_at < $1 ORDER BY forget_at LIMIT $2)",
            "DELETE FROM browser_session WHERE digest IN
                (SELECT digest FROM browser_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            "DELETE FROM consent_page WHERE digest IN
                (SELECT digest FROM consent_page WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            "DELETE FROM grants_page WHERE digest IN
                (SELECT digest FROM grants_page WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            "DELETE FROM device_authorization WHERE id IN
                (SELECT id FROM device_authorization WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            "DELETE FROM administrator_session WHERE digest IN
                (SELECT digest FROM administrator_session WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
            "DELETE FROM api_idempotency WHERE (api_key_id, key_digest) IN
                (SELECT api_key_id, key_digest FROM api_idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
        ];
        let mut removed = 0;
        for statement in STATEMENTS {
            let mut tx = self.0.begin().await?;
            tx.lock(SWEEP).await?;
            removed += execute!(&mut tx, query(statement).bind(before.millis()).bind(batch))?;
            tx.commit().await?;
        }
        Ok(removed)
    }

    /// Removes at most `batch` contexts, with their turns, whose latest turn was before `before`. Returns how many left.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn sweep_contexts(&self, before: Timestamp, batch: i64) -> Result<u64, StoreError> {
        const TURNS: &str = "DELETE FROM turn WHERE context_id IN
            (SELECT id FROM context WHERE last_turn_at < $1 ORDER BY last_turn_at LIMIT $2)";
        const CONTEXTS: &str = "DELETE FROM context WHERE id IN
            (SELECT id FROM context WHERE last_turn_at < $1 ORDER BY last_turn_at LIMIT $2)
            AND NOT EXISTS (SELECT 1 FROM turn WHERE context_id = context.id)";
        let mut tx = self.0.begin().await?;
        tx.lock(SWEEP).await?;
        execute!(&mut tx, query(TURNS).bind(before.millis()).bind(batch))?;
        let removed = execute!(&mut tx, query(CONTEXTS).bind(before.millis()).bind(batch))?;
        tx.commit().await?;
        Ok(removed)
    }
}
