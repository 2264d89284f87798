//! `assent evidence GRANT`: everything that is kept of a grant, as one document that the Brand's key signs.
//!
//! Refuses to sign what the audit log does not vouch for: a signature must not make a record whole that was altered.

use super::brands;
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::evidence::{self, Problem};
use crate::crypto::ring::{KeyRing, SignError};
use crate::domain::addresses::Addresses;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Report};
use crate::domain::audit::recorded::Recorded;
use crate::domain::brand::SigningAlg;
use crate::domain::grant::{Grant, GrantState};
use crate::domain::id::{BrandId, GrantId};
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
    /// The Brand was removed and its keys are all compromised: nobody can sign for it any more.
    NoKey,
}

/// Exports a grant, of a Brand that was removed too. The whole chain of the Brand is verified for it: only then are these all
/// receipts, decisions and tokens of the grant.
///
/// # Errors
/// [`Fault`].
pub async fn export(app: &App, by: &By, id: &GrantId) -> Result<Verdict<Exported>, Fault> {
    let Some(record) = app.store.grant_record(id).await? else { return Ok(Verdict::NotThere) };
    let brand = record.grant.brand.clone();
    if let Err(denied) = by.access.read(Some(&brand)) {
        return Ok(denied.into());
    }
    let now = app.clock.now();
    let signing = match signing(app, by, &brand).await? {
        Verdict::Done(signing) => signing,
        Verdict::NotThere => return Ok(Verdict::NotThere),
        Verdict::Forbidden => return Ok(Verdict::Forbidden),
    };
    let mut altered: Vec<String> = Vec::new();
    altered.extend(record.unsealed.iter().map(|place| format!("audit row {place}: it has no seal of ours")));
    let mut tell = |report: Report| match report {
        Report::Wrong(finding) => altered.push(in_words(&finding)),
        Report::Erased { .. } | Report::Walked(_) => {}
    };
    app.store.verify_audit(Some(&Chain::Brand(brand)), &[], &mut tell).await?;
    let all = &signing.keys;
    let keys = all.iter().map(|key| key_part(key, all, now)).collect::<Result<_, _>>()?;
    let mut document = document(record, signing.brand, keys, Instant(now));
    match evidence::sign(&mut document, &signing.ring, signing.alg, now) {
        Ok(()) => {}
        Err(SignError::NoKey) if signing.is_removed => return Ok(Verdict::Done(Exported::NoKey)),
        Err(error @ (SignError::NoKey | SignError::Library(_))) => return Err(error.into()),
    }
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

fn in_words(finding: &Finding) -> String {
    let problem = &finding.problem;
    match finding.rows {
        Some((first, last)) if first == last => format!("audit row {first}: {problem}"),
        Some((first, last)) => format!("audit rows {first} to {last}: {problem}"),
        None => format!("audit log: {problem}"),
    }
}

/// Who signs.
struct Signing {
    brand: BrandPart,
    keys: Vec<SealedKey>,
    ring: KeyRing,
    alg: SigningAlg,
    is_removed: bool,
}

/// The Brand with its keys, from its rows: no node serves one that was removed.
async fn signing(app: &App, by: &By, id: &BrandId) -> Result<Verdict<Signing>, Fault> {
    let found = match brands::show(app, by, id).await? {
        Verdict::Done(found) => found,
        Verdict::NotThere => return Ok(Verdict::NotThere),
        Verdict::Forbidden => return Ok(Verdict::Forbidden),
    };
    let mut keys = app.store.directory().await?.keys;
    keys.retain(|key| key.brand == *id);
    let ring = KeyRing::open(id, &keys, &app.master).map_err(|invalid| {
        tracing::error!(error = %invalid, "a Brand's keys cannot be used");
        Fault::Impossible("the Brand's keys cannot be used, see the log")
    })?;
    let brand = found.brand;
    Ok(Verdict::Done(Signing {
        alg: brand.signing_alg(),
        brand: BrandPart {
            interface_url: Addresses::of(&app.config.public_url, &brand).interface_url,
            id: brand.id,
            name: brand.name,
        },
        keys,
        ring,
        is_removed: found.removed_at.is_some(),
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

/// A key as it is at `now`: one whose successor has started to sign is retired, whatever its row says.
fn key_part(key: &SealedKey, all: &[SealedKey], now: Timestamp) -> Result<KeyPart, Fault> {
    let (state, since) = match key.state.settled(key.gives_way_at(all), now) {
        KeyState::Live { signs_from } => ("live", signs_from),
        KeyState::Retired { at } => ("retired", at),
        KeyState::Compromised { at } => ("compromised", at),
    };
    let jwk = key.state.is_published().then(|| serde_json::from_str(&key.public_jwk)).transpose()?;
    Ok(KeyPart { kid: key.id.to_string(), state: state.to_owned(), since: Instant(since), jwk })
}
