//! Signing in and deciding: assertions are spent once, and a decision is one transaction with its evidence.

use serde_json::json;
use sqlx::{query, query_scalar};

use super::dialect::{Tx, execute, in_tx};
use super::grant::Created;
use super::grants_page::{self, GrantsPage};
use super::session::{BrowserSession, ConsentPage, put_page, put_session};
use super::{Store, StoreError, audit, directory, grant};
use crate::clock::Timestamp;
use crate::domain::audit::recorded::{Bound, EvidenceColumns};
use crate::domain::audit::{Action, Actor, Entry};
use crate::domain::consent::{ShownScopes, SignInRecord};
use crate::domain::device::Decision;
use crate::domain::grant::{EndedBy, Grant};
use crate::domain::id::{BrandId, BrandUser, Caller, DeviceAuthorizationId, Digest, GrantId};
use crate::domain::scope::ScopeSet;

/// What is kept of a decision.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Of which code.
    pub device: DeviceAuthorizationId,
    /// At which Brand.
    pub brand: BrandId,
    /// By whom.
    pub brand_user: BrandUser,
    /// For whom.
    pub caller: Caller,
    /// The scopes and their words.
    pub shown: ShownScopes,
    /// Their language.
    pub language: String,
    /// The verified assertion.
    pub sign_in: SignInRecord,
}

/// The spending of an assertion, with what it opens.
#[derive(Debug)]
pub struct SignIn<'a> {
    /// The assertion's id, and when it may be forgotten.
    pub jti: (&'a str, Timestamp),
    /// The session's digest, and the session.
    pub session: (Digest, &'a BrowserSession),
    /// What it opens.
    pub opens: Opens<'a>,
    /// The audit row, whose instant is the unit's.
    pub entry: &'a Entry,
}

/// What signing in opens.
#[derive(Debug)]
pub enum Opens<'a> {
    /// A consent page, under the digest of its `session`.
    Page(Digest, &'a ConsentPage),
    /// The User's own list of grants, under the digest of its `session`.
    Grants(Digest, &'a GrantsPage),
    /// Nothing more to decide: a live grant covers the request, and the Brand skips consent then.
    Approval {
        /// The grant, as it was read; it stays as it is.
        grant: &'a Grant,
        /// What is approved.
        granted: &'a ScopeSet,
        /// What is kept of it.
        evidence: &'a Evidence,
        /// Its audit row.
        entry: &'a Entry,
    },
}

/// What became of a [`SignIn`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignedIn {
    /// Done.
    Done,
    /// The assertion was spent before.
    Replayed,
    /// The code was decided or expired, or the grant changed, since they were read. The assertion is not spent.
    Stale,
    /// The grant, its Brand's delegation or its personal agent is no longer live. The assertion is not spent.
    GrantGone,
}

/// A User's decision.
#[derive(Debug)]
pub struct Decide<'a> {
    /// What was decided.
    pub decision: &'a Decision,
    /// The grant on the page, and its version.
    pub page_grant: Option<&'a (GrantId, i64)>,
    /// The grant that an approval makes where the page had none, or the life that it gives to the one that it had.
    pub grant: &'a Grant,
    /// What is kept of it.
    pub evidence: &'a Evidence,
    /// The audit row, whose instant is the unit's.
    pub entry: &'a Entry,
}

/// What became of a [`Decide`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decided {
    /// Done.
    Done,
    /// The code was decided or has expired, or it is a step-up whose grant ended: nothing was done.
    CodeClosed,
    /// The grant is not what the page showed, or the Brand no longer offers what would be allowed: nothing was done.
    GrantChanged,
}

impl Store {
    /// Spends an assertion and opens what it opens, all or nothing.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was, and the assertion is not spent.
    pub async fn sign_in(&self, sign_in: &SignIn<'_>) -> Result<SignedIn, StoreError> {
        const SPEND: &str = "INSERT INTO assertion_jti (brand_id, jti, forget_at) VALUES ($1, $2, $3)
            ON CONFLICT DO NOTHING RETURNING jti";
        let (jti, forget_at) = sign_in.jti;
        let (digest, session) = sign_in.session;
        let now = sign_in.entry.at;
        let mut tx = self.0.begin().await?;
        let spent = in_tx!(&mut tx, c => query_scalar::<_, String>(SPEND)
            .bind(session.brand.as_str())
            .bind(jti)
            .bind(forget_at.millis())
            .fetch_optional(c))?;
        if spent.is_none() {
            return Ok(SignedIn::Replayed);
        }
        put_session(&mut tx, digest, session).await?;
        let approved = match &sign_in.opens {
            Opens::Page(digest, page) => {
                if !is_open(&mut tx, page.device, now).await? {
                    return Ok(SignedIn::Stale);
                }
                put_page(&mut tx, *digest, page).await?;
                None
            }
            Opens::Approval { grant, granted, evidence, entry } => {
                let Some(touched) = grant::touch(&mut tx, &grant.id, now).await? else {
                    return Ok(SignedIn::GrantGone);
                };
                if touched.version != grant.version
                    || !close_code(&mut tx, evidence.device, Some((&grant.id, granted)), now).await?
                {
                    return Ok(SignedIn::Stale);
                }
                let name = "approved_without_page";
                Some((entry, put_evidence(&mut tx, evidence, name, Some(&grant.id), granted, now).await?))
            }
            Opens::Grants(digest, page) => {
                grants_page::put_page(&mut tx, *digest, page).await?;
                None
            }
        };
        audit::append(&mut tx, sign_in.entry).await?;
        if let Some((entry, bound)) = &approved {
            audit::append_bound(&mut tx, entry, Some(bound)).await?;
        }
        tx.commit().await?;
        Ok(SignedIn::Done)
    }

    /// Carries out a decision: the code closes, the grant follows, and the evidence is kept, all or nothing.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn decide(&self, decide: &Decide<'_>) -> Result<Decided, StoreError> {
        let evidence = decide.evidence;
        let grant = decide.grant;
        let now = decide.entry.at;
        let mut tx = self.0.begin().await?;
        let owner = format!("grant {} {} {}", grant.brand, grant.brand_user, grant.caller.issuer);
        tx.lock(&owner).await?;
        tx.share(&directory::brand_lock(&grant.brand)).await?;
        if !is_open(&mut tx, evidence.device, now).await? {
            return Ok(Decided::CodeClosed);
        }
        let live = grant::live_of(&mut tx, &grant.brand, &grant.brand_user, &grant.caller, now).await?;
        if live.as_ref().map(|live| (&live.id, live.version)) != decide.page_grant.map(|(id, version)| (id, *version)) {
            return Ok(Decided::GrantChanged);
        }
        if let Decision::Approve(scopes) = decide.decision
            && !directory::offers(&mut tx, &grant.brand, scopes).await?
        {
            return Ok(Decided::GrantChanged);
        }
        let mut expired = None;
        let (kept, granted, name) = match (decide.decision, decide.page_grant) {
            (Decision::Approve(scopes), Some((id, version))) => {
                if !grant::redecide(&mut tx, id, *version, scopes, grant.expires_at, now).await? {
                    return Ok(Decided::GrantChanged);
                }
                (Some(id), scopes.clone(), "approved")
            }
            (Decision::Approve(scopes), None) => {
                match grant::create(&mut tx, grant).await? {
                    Created::Done { expired: ended } => expired = ended,
                    Created::Taken => return Ok(Decided::GrantChanged),
                }
                (Some(&grant.id), scopes.clone(), "approved")
            }
            (Decision::Withdraw, Some((id, version))) => {
                if grant::end(&mut tx, id, EndedBy::User, Some(*version), now).await?.is_none() {
                    return Ok(Decided::GrantChanged);
                }
                (Some(id), ScopeSet::empty(), "withdrawn")
            }
            (Decision::Withdraw | Decision::Deny, _) => (None, ScopeSet::empty(), "denied"),
        };
        let approved = matches!(decide.decision, Decision::Approve(_));
        let outcome = kept.filter(|_| approved).map(|id| (id, &granted));
        if !close_code(&mut tx, evidence.device, outcome, now).await? {
            return Ok(Decided::CodeClosed);
        }
        let bound = put_evidence(&mut tx, evidence, name, kept, &granted, now).await?;
        if let Some((id, before)) = &expired {
            let ended = Entry {
                actor: Actor::Assent,
                action: Action::GrantEnded,
                subject: id.to_string(),
                payload: json!({ "by": EndedBy::Expiry.to_string() }),
                ..decide.entry.clone()
            };
            audit::append(&mut tx, &before.entry(&ended)).await?;
        }
        audit::append_bound(&mut tx, decide.entry, Some(&bound)).await?;
        tx.commit().await?;
        Ok(Decided::Done)
    }
}

/// Whether a code can still be decided. A step-up cannot once its grant has ended.
async fn is_open(tx: &mut Tx, device: DeviceAuthorizationId, now: Timestamp) -> Result<bool, StoreError> {
    const SQL: &str =
        "SELECT d.id FROM device_authorization d LEFT JOIN delegation_grant g ON g.id = d.step_up_grant_id
        WHERE d.id = $1 AND d.state = 'pending' AND d.expires_at > $2
        AND (g.id IS NULL OR (g.state = 'live' AND g.expires_at > $2))";
    let row = in_tx!(tx, c => query_scalar::<_, String>(SQL)
        .bind(device.to_string())
        .bind(now.millis())
        .fetch_optional(c))?;
    Ok(row.is_some())
}

/// Closes an open code: approved under a grant with these scopes, or denied. `false` when it is not open.
async fn close_code(
    tx: &mut Tx,
    device: DeviceAuthorizationId,
    approved: Option<(&GrantId, &ScopeSet)>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const SQL: &str = "UPDATE device_authorization SET state = $1, state_at = $2, grant_id = $3, granted = $4
        WHERE id = $5 AND state = 'pending' AND expires_at > $2 RETURNING id";
    let row = in_tx!(tx, c => query_scalar::<_, String>(SQL)
        .bind(if approved.is_some() { "approved" } else { "denied" })
        .bind(now.millis())
        .bind(approved.map(|(grant, _)| grant.as_str()))
        .bind(approved.map(|(_, granted)| granted.to_string()))
        .bind(device.to_string())
        .fetch_optional(c))?;
    Ok(row.is_some())
}

/// Keeps the evidence of a decision, and says what its audit row is to vouch for.
async fn put_evidence(
    tx: &mut Tx,
    evidence: &Evidence,
    decision: &str,
    grant: Option<&GrantId>,
    granted: &ScopeSet,
    now: Timestamp,
) -> Result<Bound, StoreError> {
    const SQL: &str = "INSERT INTO consent_evidence (device_authorization_id, brand_id, brand_user, pa_issuer, pa_sub,
        grant_id, decision, shown, language, granted, assertion, decided_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let shown = serde_json::to_string(&evidence.shown)?;
    let record = serde_json::to_string(&evidence.sign_in)?;
    let (device, granted) = (evidence.device.to_string(), granted.to_string());
    let columns = EvidenceColumns {
        device: &device,
        brand: evidence.brand.as_str(),
        brand_user: evidence.brand_user.as_str(),
        pa_issuer: evidence.caller.issuer.as_str(),
        pa_sub: evidence.caller.sub.as_str(),
        grant: grant.map(GrantId::as_str),
        decision,
        shown: &shown,
        language: &evidence.language,
        granted: &granted,
        assertion: &record,
        decided_at: now,
    };
    execute!(
        tx,
        query(SQL)
            .bind(columns.device)
            .bind(columns.brand)
            .bind(columns.brand_user)
            .bind(columns.pa_issuer)
            .bind(columns.pa_sub)
            .bind(columns.grant)
            .bind(columns.decision)
            .bind(columns.shown)
            .bind(columns.language)
            .bind(columns.granted)
            .bind(columns.assertion)
            .bind(columns.decided_at.millis())
    )?;
    Ok(Bound { digest: columns.digest(), id: device })
}
