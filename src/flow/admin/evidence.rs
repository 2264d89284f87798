//! `assent evidence GRANT`: everything that is kept of a grant, as one document that the Brand's key signs.
//!
//! Refuses to sign what the audit log does not vouch for: a signature must not make a record whole that was altered.

use crate::app::App;
use crate::crypto::evidence::{self, Problem};
use crate::domain::audit::recorded::Recorded;
use crate::domain::grant::{Grant, GrantState};
use crate::domain::id::GrantId;
use crate::domain::signing_key::{KeyState, SealedKey};
use crate::flow::Fault;
use crate::flow::admin::{By, Verdict};
use crate::protocol::evidence::{
    AuditPart, BrandPart, DecisionPart, Document, GrantPart, Instant, KIND, KeyPart, ReceiptPart, TokenPart,
};
use crate::store::GrantRecord;

/// What became of an export.
#[derive(Clone, PartialEq, Debug)]
pub enum Exported {
    /// The document, and what must be known about it.
    Done {
        /// Signed.
        document: Box<Document>,
        /// Receipts that prove nothing any more, in words.
        warnings: Vec<String>,
    },
    /// The record was altered: nothing was signed. In words, what is wrong.
    Altered(Vec<String>),
}

/// Exports a grant.
///
/// # Errors
/// [`Fault`].
pub async fn export(app: &App, by: &By, id: &GrantId) -> Result<Verdict<Exported>, Fault> {
    let Some(record) = app.store.grant_record(id).await? else { return Ok(Verdict::NotThere) };
    if let Err(denied) = by.access.read(Some(&record.grant.brand)) {
        return Ok(denied.into());
    }
    let now = app.clock.now();
    let directory = app.directory.current();
    let Some(hosted) = directory.brand(&record.grant.brand) else { return Ok(Verdict::NotThere) };
    let brand = BrandPart {
        id: hosted.brand.id.clone(),
        name: hosted.brand.name.clone(),
        interface_url: hosted.addresses.interface_url.clone(),
    };
    let keys = app.store.directory().await?.keys;
    let keys = keys.iter().filter(|key| key.brand == hosted.brand.id).map(key_part).collect::<Result<_, _>>()?;
    let mut altered: Vec<String> = Vec::new();
    altered.extend(record.unsealed.iter().map(|place| format!("audit row {place}: it has no seal of ours")));
    let mut document = document(record, brand, keys, Instant(now));
    evidence::sign(&mut document, &hosted.ring, hosted.brand.signing_alg(), now)?;
    let mut warnings = Vec::new();
    for problem in evidence::check(&serde_json::to_value(&document)?, None, None) {
        match problem {
            Problem::Wrong(text) => altered.push(text),
            Problem::Compromised(text) => warnings.push(text),
        }
    }
    Ok(Verdict::Done(if altered.is_empty() {
        Exported::Done { document: Box::new(document), warnings }
    } else {
        Exported::Altered(altered)
    }))
}

fn document(record: GrantRecord, brand: BrandPart, keys: Vec<KeyPart>, made_at: Instant) -> Document {
    let decisions = record.decisions.into_iter().map(|kept| DecisionPart {
        device: kept.device,
        decision: kept.decision,
        decided_at: Instant(kept.decided_at),
        shown: kept.shown,
        language: kept.language,
        granted: kept.granted,
        login: kept.login,
    });
    let tokens = record.tokens.into_iter().map(|kept| TokenPart {
        jti: kept.id,
        scopes: kept.scopes,
        issued_at: Instant(kept.issued_at),
        expires_at: Instant(kept.expires_at),
    });
    let receipts = record.receipts.into_iter().map(|kept| ReceiptPart {
        id: kept.id,
        context: kept.context,
        message: kept.message,
        at: Instant(kept.created_at),
        jws: kept.jws,
    });
    Document {
        kind: KIND.to_owned(),
        made_at,
        brand,
        grant: grant_part(record.grant),
        decisions: decisions.collect(),
        tokens: tokens.collect(),
        receipts: receipts.collect(),
        audit: record.audit.into_iter().map(|(row, previous)| audit_part(row, previous)).collect(),
        keys,
        signature: String::new(),
    }
}

fn grant_part(grant: Grant) -> GrantPart {
    let (ended_at, ended_by) = match grant.state {
        GrantState::Live => (None, None),
        GrantState::Ended { at, by } => (Some(Instant(at)), Some(by.to_string())),
    };
    GrantPart {
        id: grant.id,
        user: grant.brand_user,
        personal_agent: grant.caller.issuer,
        sub: grant.caller.sub,
        scopes: grant.scopes.to_string(),
        created_at: Instant(grant.created_at),
        decided_at: Instant(grant.decided_at),
        expires_at: Instant(grant.expires_at),
        last_used_at: grant.last_used_at.map(Instant),
        ended_at,
        ended_by,
    }
}

fn audit_part(row: Recorded, previous: String) -> AuditPart {
    AuditPart {
        sequence: row.sequence,
        at: Instant(row.at),
        actor_kind: row.actor_kind,
        actor: row.actor,
        action: row.action,
        subject: row.subject,
        request: row.request,
        payload: row.payload,
        payload_digest: row.payload_digest,
        bound_id: row.bound_id,
        bound_digest: row.bound_digest,
        previous,
        digest: row.digest,
    }
}

fn key_part(key: &SealedKey) -> Result<KeyPart, Fault> {
    let (state, since) = match key.state {
        KeyState::Live { signs_from } => ("live", signs_from),
        KeyState::Retired { at } => ("retired", at),
        KeyState::Compromised { at } => ("compromised", at),
    };
    let jwk = key.state.is_published().then(|| serde_json::from_str(&key.public_jwk)).transpose()?;
    Ok(KeyPart { kid: key.id.to_string(), state: state.to_owned(), since: Instant(since), jwk })
}
