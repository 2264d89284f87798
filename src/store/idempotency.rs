//! What was answered to a write of the JSON API under an `Idempotency-Key`, and who carries one out at this moment.
//!
//! Of several at the same instant exactly one gets to carry it out: the row is claimed by a guarded write. Nobody takes over
//! from one that died, since nobody knows what it had done.

use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{execute, in_tx};
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::id::{ApiKeyId, Digest};

/// A request under an `Idempotency-Key`.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Whose key it is.
    pub api_key: ApiKeyId,
    /// SHA-256 of the key.
    pub key: Digest,
    /// SHA-256 of the request.
    pub request: Digest,
    /// Whoever carries it out now, and nobody else.
    pub run: String,
    /// When it came.
    pub at: Timestamp,
    /// From then on whoever carries it out counts as dead.
    pub held_until: Timestamp,
    /// Rows from before then are forgotten.
    pub forget_before: Timestamp,
}

/// What became of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// It is this one's to carry out.
    Run,
    /// It was carried out: this was answered.
    Answered {
        /// The status.
        status: i64,
        /// The body, sealed.
        sealed: String,
    },
    /// Another request came with this key.
    Another,
    /// It is being carried out.
    Running {
        /// At the latest until then.
        until: Timestamp,
    },
    /// Whoever carried it out died: it was done, or was not.
    Lost,
}

#[derive(FromRow)]
struct Row {
    request_digest: String,
    status: Option<i64>,
    body: Option<String>,
    held_until: i64,
}

impl Store {
    /// Claims a request, or tells what became of it.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn claim_request(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        const CLAIM: &str =
            "INSERT INTO api_idempotency (api_key_id, key_digest, request_digest, created_at, run, held_until)
            VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (api_key_id, key_digest) DO UPDATE SET request_digest = excluded.request_digest, status = NULL,
                body = NULL, created_at = excluded.created_at, run = excluded.run, held_until = excluded.held_until
            WHERE api_idempotency.created_at <= $7 RETURNING run";
        const READ: &str = "SELECT request_digest, status, body, held_until FROM api_idempotency
            WHERE api_key_id = $1 AND key_digest = $2";
        let (api_key, key, request) = (claim.api_key.as_str(), claim.key.to_hex(), claim.request.to_hex());
        loop {
            let mut tx = self.0.begin().await?;
            let claimed = in_tx!(&mut tx, c => query_scalar::<_, String>(CLAIM)
                .bind(api_key)
                .bind(&key)
                .bind(&request)
                .bind(claim.at.millis())
                .bind(&claim.run)
                .bind(claim.held_until.millis())
                .bind(claim.forget_before.millis())
                .fetch_optional(c))?;
            let row = match claimed {
                Some(_) => None,
                None => in_tx!(&mut tx, c => query_as::<_, Row>(READ).bind(api_key).bind(&key).fetch_optional(c))?,
            };
            tx.commit().await?;
            return Ok(match (claimed, row) {
                (Some(_), _) => Claimed::Run,
                // Whoever carried it out has given it up at this instant.
                (None, None) => continue,
                (None, Some(row)) if row.request_digest != request => Claimed::Another,
                (None, Some(Row { status: Some(status), body: Some(sealed), .. })) => {
                    Claimed::Answered { status, sealed }
                }
                (None, Some(row)) if row.held_until <= claim.at.millis() => Claimed::Lost,
                (None, Some(row)) => Claimed::Running { until: Timestamp::from_millis(row.held_until) },
            });
        }
    }

    /// Keeps what was answered. `false` when the claim is forgotten: then nothing is kept.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn keep_answer(&self, claim: &Claim, status: u16, sealed: &str) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE api_idempotency SET status = $1, body = $2
            WHERE api_key_id = $3 AND key_digest = $4 AND run = $5 AND status IS NULL";
        let mut tx = self.0.begin().await?;
        let kept = execute!(
            &mut tx,
            query(SQL)
                .bind(i64::from(status))
                .bind(sealed)
                .bind(claim.api_key.as_str())
                .bind(claim.key.to_hex())
                .bind(&claim.run)
        )?;
        tx.commit().await?;
        Ok(kept == 1)
    }

    /// Gives a claim up, so that the same request can be carried out again.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn give_up_claim(&self, claim: &Claim) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM api_idempotency
            WHERE api_key_id = $1 AND key_digest = $2 AND run = $3 AND status IS NULL";
        let mut tx = self.0.begin().await?;
        let (api_key, key) = (claim.api_key.as_str(), claim.key.to_hex());
        execute!(&mut tx, query(SQL).bind(api_key).bind(key).bind(&claim.run))?;
        tx.commit().await
    }
}
