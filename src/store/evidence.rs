//! Everything that is kept of one grant, as of one instant, for the auditor's export.

use sqlx::{FromRow, query_as};

use super::dialect::{Tx, in_tx};
use super::grant::GrantRow;
use super::{Consistent, Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::audit::recorded::Recorded;
use crate::domain::audit::seal::Sealed;
use crate::domain::consent::{ShownScopes, SignInRecord};
use crate::domain::grant::Grant;
use crate::domain::id::GrantId;
use crate::store::audit::AuditRow;

/// One grant with all that happened under it.
#[derive(Clone, Debug)]
pub struct GrantRecord {
    /// The grant.
    pub grant: Grant,
    /// The decisions, oldest first.
    pub decisions: Vec<KeptDecision>,
    /// The delegation tokens, oldest first.
    pub tokens: Vec<KeptToken>,
    /// The receipts, oldest first.
    pub receipts: Vec<KeptReceipt>,
    /// The audit rows about all of that in the chain's order, each with the digest of the row before it.
    pub audit: Vec<(Recorded, String)>,
    /// The places of rows whose seal was not made under this master key.
    pub unsealed: Vec<i64>,
}

/// The evidence of a decision.
#[derive(Clone, Debug)]
pub struct KeptDecision {
    /// The code that was decided on.
    pub device: String,
    /// What was decided.
    pub decision: String,
    /// The texts that were shown.
    pub shown: ShownScopes,
    /// Their language.
    pub language: String,
    /// What was granted.
    pub granted: String,
    /// The verified login.
    pub login: SignInRecord,
    /// When.
    pub decided_at: Timestamp,
}

/// A delegation token that was issued.
#[derive(Clone, Debug)]
pub struct KeptToken {
    /// Its `jti`.
    pub id: String,
    /// What it carried.
    pub scopes: String,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Until when it was good.
    pub expires_at: Timestamp,
}

/// A stored receipt.
#[derive(Clone, Debug)]
pub struct KeptReceipt {
    /// Its id.
    pub id: String,
    /// In which context.
    pub context: String,
    /// Of which message.
    pub message: String,
    /// The receipt itself.
    pub jws: String,
    /// When it was stored.
    pub created_at: Timestamp,
}

#[derive(FromRow)]
struct LinkedRow {
    #[sqlx(flatten)]
    row: AuditRow,
    previous: Option<String>,
}

impl Store {
    /// Everything that is kept of a grant, as of one instant.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn grant_record(&self, id: &GrantId) -> Result<Option<GrantRecord>, StoreError> {
        const GRANT: &str =
            "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
            expires_at, last_used_at, state, ended_at, ended_by FROM delegation_grant WHERE id = $1";
        const RECEIPTS: &str = "SELECT id, context_id, message_id, jws, created_at FROM receipt WHERE grant_id = $1
            ORDER BY created_at, id";
        const TOKENS: &str = "SELECT t.token_id, t.token_scopes, t.created_at, t.token_expires_at FROM refresh_token t
            JOIN refresh_family f ON f.id = t.family_id WHERE f.grant_id = $1 ORDER BY t.created_at, t.token_id";
        let mut tx = self.0.snapshot().await?;
        let row = in_tx!(&mut tx, c => query_as::<_, GrantRow>(GRANT).bind(id.as_str()).fetch_optional(c))?;
        let Some(grant) = row.map(Grant::try_from).transpose()? else { return Ok(None) };
        let decisions = decisions(&mut tx, id).await?;
        let tokens =
            in_tx!(&mut tx, c => query_as::<_, (String, String, i64, i64)>(TOKENS).bind(id.as_str()).fetch_all(c))?;
        let receipts = in_tx!(&mut tx, c => query_as::<_, (String, String, String, String, i64)>(RECEIPTS)
            .bind(id.as_str())
            .fetch_all(c))?;
        let (audit, unsealed) = audit(&mut tx, &grant).await?;
        let token = |(id, scopes, issued, expires)| KeptToken {
            id,
            scopes,
            issued_at: Timestamp::from_millis(issued),
            expires_at: Timestamp::from_millis(expires),
        };
        let receipt = |(id, context, message, jws, at)| KeptReceipt {
            id,
            context,
            message,
            jws,
            created_at: Timestamp::from_millis(at),
        };
        let (tokens, receipts) = (tokens.into_iter().map(token).collect(), receipts.into_iter().map(receipt).collect());
        Ok(Some(GrantRecord { grant, decisions, tokens, receipts, audit, unsealed }))
    }
}

async fn decisions(tx: &mut Tx, id: &GrantId) -> Result<Vec<KeptDecision>, StoreError> {
    const TABLE: &str = "consent_evidence";
    const SQL: &str = "SELECT device_authorization_id, decision, shown, language, granted, assertion, decided_at
        FROM consent_evidence WHERE grant_id = $1 ORDER BY decided_at, device_authorization_id";
    type Row = (String, String, String, String, String, String, i64);
    let rows = in_tx!(tx, c => query_as::<_, Row>(SQL).bind(id.as_str()).fetch_all(c))?;
    let decision = |(device, decision, shown, language, granted, assertion, at): Row| {
        Ok(KeptDecision {
            shown: serde_json::from_str(&shown).consistent(TABLE, &device)?,
            login: serde_json::from_str(&assertion).consistent(TABLE, &device)?,
            device,
            decision,
            language,
            granted,
            decided_at: Timestamp::from_millis(at),
        })
    };
    rows.into_iter().map(decision).collect()
}

/// The rows about a grant: its own, those that vouch for its receipts and decisions, and its User's logins for these.
async fn audit(tx: &mut Tx, grant: &Grant) -> Result<(Vec<(Recorded, String)>, Vec<i64>), StoreError> {
    const SQL: &str = "SELECT a.brand_id, a.sequence, a.at, a.actor_kind, a.actor, a.action, a.subject, a.request_id,
        a.payload, a.payload_digest, a.digest, a.seal, a.bound_id, a.bound_digest, p.digest AS previous
        FROM audit a LEFT JOIN audit p ON p.brand_id = a.brand_id AND p.sequence = a.sequence - 1
        WHERE a.brand_id = $1 AND (a.subject = $2
            OR a.bound_id IN (SELECT id FROM receipt WHERE grant_id = $2)
            OR a.bound_id IN (SELECT device_authorization_id FROM consent_evidence WHERE grant_id = $2)
            OR (a.action = 'signed_in' AND a.actor = $3
                AND a.subject IN (SELECT device_authorization_id FROM consent_evidence WHERE grant_id = $2)))
        ORDER BY a.sequence";
    let rows = in_tx!(tx, c => query_as::<_, LinkedRow>(SQL)
        .bind(grant.brand.as_str())
        .bind(grant.id.as_str())
        .bind(grant.brand_user.as_str())
        .fetch_all(c))?;
    let (mut audit, mut unsealed) = (Vec::with_capacity(rows.len()), Vec::new());
    for LinkedRow { row, previous } in rows {
        let row = Recorded::from(row);
        let seal = row.seal.as_deref().unwrap_or_default();
        if !tx.audit_key()?.is_seal(seal, Sealed::Row, &row.brand, row.sequence, &row.digest)? {
            unsealed.push(row.sequence);
        }
        audit.push((row, previous.unwrap_or_default()));
    }
    Ok((audit, unsealed))
}
