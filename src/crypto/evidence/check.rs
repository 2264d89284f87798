//! What an export must hold together: the signature over all of it, each receipt's, and that texts, decisions, receipts, tokens
//! and audit rows say the same.

use serde_json::Value;

use super::history::{History, What};
use super::{SIGNATURE, body, kid, parts, signed, verify};
use crate::crypto::jwks::{KeySet, PublicKey};
use crate::crypto::jws::Refused;
use crate::crypto::receipt;
use crate::domain::audit::Entry;
use crate::domain::audit::recorded::{EvidenceColumns, ReceiptColumns, Recorded};
use crate::domain::id::Digest;
use crate::domain::scope::ScopeSet;
use crate::protocol::evidence::{AuditPart, DecisionPart, Document, KIND, ReceiptPart, TokenPart};

/// Why an export is refused, in whole words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// Something was changed, or does not hold together.
    Wrong(String),
    /// A receipt was signed with a key that was given up as compromised: it proves nothing any more.
    Compromised(String),
}

impl Problem {
    /// The words.
    pub fn text(&self) -> &str {
        match self {
            Self::Wrong(text) | Self::Compromised(text) => text,
        }
    }
}

/// Everything that is wrong with `document`, with `keys` alone, or with the keys inside it, which then prove only that it holds
/// together; of the Brand whose interface URL is `brand`, or of any.
pub fn check(document: &Value, keys: Option<&KeySet>, brand: Option<&str>) -> Vec<Problem> {
    let typed: Document = match serde_json::from_value(document.clone()) {
        Ok(typed) => typed,
        Err(error) => return vec![Problem::Wrong(format!("the document is not of its shape: {error}"))],
    };
    let own_keys;
    let keys = match keys {
        Some(keys) => keys,
        None => {
            own_keys = keys_inside(&typed);
            &own_keys
        }
    };
    let mut check = Check { document: &typed, keys, problems: Vec::new() };
    check.signature(document, brand);
    check.audit();
    check.decisions();
    check.receipts();
    check.tokens();
    check.grant();
    check.problems
}

fn keys_inside(document: &Document) -> KeySet {
    let published = document.keys.iter().filter(|key| key.state != "compromised");
    published.filter_map(|key| PublicKey::from_jwk(key.jwk.as_ref()?)).collect()
}

struct Check<'a> {
    document: &'a Document,
    keys: &'a KeySet,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn wrong(&mut self, text: impl Into<String>) {
        self.problems.push(Problem::Wrong(text.into()));
    }

    fn signature(&mut self, whole: &Value, brand: Option<&str>) {
        let interface = &self.document.brand.interface_url;
        let brand = brand.unwrap_or(interface);
        if self.document.kind != KIND {
            self.wrong(format!("kind: expected {KIND}"));
        }
        let Some(body) = body(whole) else { return self.wrong("the document is not an object") };
        match verify(&self.document.signature, self.keys, Some(brand), &Value::Object(body.clone())) {
            Ok(claims) => {
                if claims.grant_id != self.document.grant.id || claims.iss != *interface {
                    self.wrong("the signature is for another grant or Brand");
                }
            }
            Err(Refused::Body) => {
                let signed = signed(&self.document.signature, self.keys, Some(brand)).map(|claims| claims.parts);
                let (signed, found) = (signed.unwrap_or_default(), parts(&body).unwrap_or_default());
                let differs = |name: &&String| signed.get(*name) != found.get(*name);
                let names: Vec<&str> = signed.keys().filter(differs).map(String::as_str).collect();
                self.wrong(format!("changed since it was signed: {}", names.join(", ")));
            }
            Err(refused) => self.wrong(format!("{SIGNATURE}: {refused}")),
        }
    }

    fn audit(&mut self) {
        let document = self.document;
        let mut before: Option<&AuditPart> = None;
        for row in &document.audit {
            let place = row.sequence;
            if recorded(document, row).computed_digest(&row.previous).to_hex() != row.digest {
                self.wrong(format!("audit row {place}: its columns are not the ones that its digest is of"));
            }
            if row.payload.as_ref().is_some_and(|text| Entry::payload_digest(text).to_hex() != row.payload_digest) {
                self.wrong(format!("audit row {place}: its payload is not the one that its digest is of"));
            }
            if let Some(before) = before {
                if before.sequence >= place {
                    self.wrong(format!("audit row {place}: stands out of order"));
                }
                if before.sequence.checked_add(1) == Some(place) && before.digest != row.previous {
                    self.wrong(format!("audit row {place}: does not follow the row before it"));
                }
            }
            let is_there = row.bound_id.as_deref().is_none_or(|id| {
                document.receipts.iter().any(|receipt| receipt.id == id)
                    || document.decisions.iter().any(|decision| decision.device == id)
            });
            if !is_there {
                self.wrong(format!("audit row {place}: what it vouches for is not in the document"));
            }
            before = Some(row);
        }
    }

    /// Something whose digest the audit row that was written with it must have.
    fn vouched(&mut self, what: &str, id: &str, digest: Option<Digest>) {
        let mut rows = self.document.audit.iter().filter(|row| row.bound_id.as_deref() == Some(id));
        match (rows.next(), rows.next()) {
            (Some(row), None) => {
                if row.bound_digest.is_none() || row.bound_digest != digest.map(|digest| digest.to_hex()) {
                    let place = row.sequence;
                    self.wrong(format!("{what} {id}: is not what row {place} of the audit log vouches for"));
                }
            }
            _ => self.wrong(format!("{what} {id}: one row of the audit log must vouch for it")),
        }
    }

    fn decisions(&mut self) {
        let document = self.document;
        if document.decisions.is_empty() {
            self.wrong("decisions: there is none that made the grant");
        }
        for decision in &document.decisions {
            self.vouched("decision", &decision.device, decision_digest(document, decision));
            if decision.login.sub != document.grant.user.as_str() {
                self.wrong(format!("decision {}: the login is another User's", decision.device));
            }
            let granted = ScopeSet::parse(&decision.granted);
            if !granted.is_ok_and(|granted| granted.is_subset_of(&decision.shown.ids())) {
                self.wrong(format!("decision {}: more was granted than was shown", decision.device));
            }
        }
    }

    fn receipts(&mut self) {
        let document = self.document;
        let history = History::of(document);
        for part in &document.receipts {
            let id = &part.id;
            self.vouched("receipt", id, Some(receipt_digest(document, part)));
            let claims = match receipt::verify(&part.jws, self.keys, Some(&document.brand.interface_url)) {
                Ok(claims) => claims,
                Err(refused) => {
                    let kid = kid(&part.jws);
                    let key = document.keys.iter().find(|key| Some(&key.kid) == kid.as_ref());
                    self.problems.push(if key.is_some_and(|key| key.state == "compromised") {
                        Problem::Compromised(format!("receipt {id}: was signed with a key that is compromised"))
                    } else {
                        Problem::Wrong(format!("receipt {id}: {refused}"))
                    });
                    continue;
                }
            };
            let grant = &document.grant;
            if claims.grant_id != grant.id || claims.user != grant.user || claims.pa != grant.personal_agent {
                self.wrong(format!("receipt {id}: is of another grant"));
            }
            if claims.ts.seconds() != part.at.0.seconds() {
                self.wrong(format!("receipt {id}: was signed at another time than it was stored"));
            }
            let used: ScopeSet = claims.scopes_used.iter().cloned().collect();
            let row = document.audit.iter().find(|row| row.bound_id.as_deref() == Some(id));
            let place = row.map_or(i64::MAX, |row| row.sequence);
            if !used.is_subset_of(&history.of_turn(place, part.at.0)) {
                self.wrong(format!("receipt {id}: scopes were used that were not granted then"));
            }
        }
    }

    /// One row for each token, and one token for each row: neither is ever swept.
    fn tokens(&mut self) {
        let document = self.document;
        let history = History::of(document);
        let issued: Vec<&AuditPart> = document
            .audit
            .iter()
            .filter(|row| row.action == "tokens_issued" || row.action == "tokens_refreshed")
            .collect();
        for token in &document.tokens {
            let jti = &token.jti;
            let Some(row) = issued.iter().find(|row| has_issued(row, token)) else {
                self.wrong(format!("token {jti}: no row of the audit log has issued it"));
                continue;
            };
            if row.at != token.issued_at {
                self.wrong(format!("token {jti}: was issued at another time than the audit log says"));
            }
            if !ScopeSet::parse(&token.scopes).is_ok_and(|scopes| scopes.is_subset_of(&history.at(row.sequence))) {
                self.wrong(format!("token {jti}: carries scopes that were not granted then"));
            }
        }
        for row in &issued {
            if !document.tokens.iter().any(|token| has_issued(row, token)) {
                let place = row.sequence;
                self.wrong(format!(
                    "audit row {place}: the token that it issued is not in the document as it was issued"
                ));
            }
        }
        if issued.len() != document.tokens.len() {
            let (rows, tokens) = (issued.len(), document.tokens.len());
            self.wrong(format!("tokens: there are {tokens}, and the audit log has issued {rows}"));
        }
    }

    fn grant(&mut self) {
        let (grant, history) = (&self.document.grant, History::of(self.document));
        let (scopes, latest) = (ScopeSet::parse(&grant.scopes), history.latest());
        let is_left = |scopes: &ScopeSet| scopes.is_subset_of(&latest);
        let is_as_decided = match (history.last(), &scopes) {
            (Some(What::Allows(last)), Ok(scopes)) => grant.ended_at.is_none() && scopes == last,
            (Some(What::Narrowed), Ok(scopes)) => grant.ended_at.is_none() && is_left(scopes),
            (Some(What::Ended), Ok(scopes)) => grant.ended_at.is_some() && is_left(scopes),
            (None, _) | (_, Err(_)) => false,
        };
        if !is_as_decided {
            self.wrong("grant: it is not what the decisions and the audit log made of it");
        }
        self.times();
        self.end();
    }

    /// A decision and the grant that it leaves are written at one instant.
    fn times(&mut self) {
        let (document, grant) = (self.document, &self.document.grant);
        let decided = |row: &AuditPart| {
            let made = |decision: &&DecisionPart| {
                Some(&decision.device) == row.bound_id.as_ref() && decision.decision == "approved"
            };
            document.decisions.iter().find(made).map(|decision| (decision.decided_at, row.payload.clone()))
        };
        let decided: Vec<_> = document.audit.iter().filter_map(decided).collect();
        if decided.first().map(|(at, _)| *at) != Some(grant.created_at) {
            self.wrong("grant: created_at is not when the first decision made it");
        }
        if decided.last().map(|(at, _)| *at) != Some(grant.decided_at) {
            self.wrong("grant: decided_at is not when it was last decided");
        }
        let until = decided.last().and_then(|(_, payload)| {
            let payload: Value = serde_json::from_str(payload.as_deref()?).ok()?;
            Some(payload.pointer("/after/expires_at")?.as_str()?.to_owned())
        });
        if until.is_some_and(|until| until != grant.expires_at.0.to_rfc3339()) {
            self.wrong("grant: expires_at is not what the last decision made it");
        }
    }

    /// The end of a grant and its row are written at one instant, by one and the same.
    fn end(&mut self) {
        let (Some(at), Some(by)) = (self.document.grant.ended_at, self.document.grant.ended_by.as_deref()) else {
            return;
        };
        let Some(row) = self.document.audit.iter().rfind(|row| row.action == "grant_ended") else { return };
        let who: &[&str] = match row.actor_kind.as_str() {
            "user" => &["user"],
            "personal_agent" => &["personal_agent"],
            "administrator" => &["administrator", "brand_change"],
            "assent" => &["expiry"],
            _ => &[],
        };
        let payload = row.payload.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let said = payload.as_ref().and_then(|payload| payload.get("by")).and_then(Value::as_str);
        if at != row.at {
            self.wrong("grant: ended_at is not when the audit log says that it ended");
        }
        if !who.contains(&by) || said.is_some_and(|said| said != by) {
            self.wrong("grant: ended_by is not who the audit log says has ended it");
        }
    }
}

/// Whether `row` says that it issued `token`, or no longer says which.
fn has_issued(row: &AuditPart, token: &TokenPart) -> bool {
    let Some(payload) = &row.payload else { return row.at == token.issued_at };
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let says = |name: &str, value: &str| payload.get(name).and_then(Value::as_str) == Some(value);
    says("token", &token.jti) && says("scope", &token.scopes)
}

fn recorded(document: &Document, row: &AuditPart) -> Recorded {
    Recorded {
        brand: document.brand.id.to_string(),
        sequence: row.sequence,
        at: row.at.0,
        actor_kind: row.actor_kind.clone(),
        actor: row.actor.clone(),
        action: row.action.clone(),
        subject: row.subject.clone(),
        request: row.request.clone(),
        payload: row.payload.clone(),
        payload_digest: row.payload_digest.clone(),
        digest: row.digest.clone(),
        seal: None,
        bound_id: row.bound_id.clone(),
        bound_digest: row.bound_digest.clone(),
    }
}

fn decision_digest(document: &Document, decision: &DecisionPart) -> Option<Digest> {
    let shown = serde_json::to_string(&decision.shown).ok()?;
    let assertion = serde_json::to_string(&decision.login).ok()?;
    let columns = EvidenceColumns {
        device: &decision.device,
        brand: document.brand.id.as_str(),
        brand_user: document.grant.user.as_str(),
        pa_issuer: document.grant.personal_agent.as_str(),
        pa_sub: document.grant.sub.as_str(),
        grant: Some(document.grant.id.as_str()),
        decision: &decision.decision,
        shown: &shown,
        language: &decision.language,
        granted: &decision.granted,
        assertion: &assertion,
        decided_at: decision.decided_at.0,
    };
    Some(columns.digest())
}

fn receipt_digest(document: &Document, receipt: &ReceiptPart) -> Digest {
    let columns = ReceiptColumns {
        id: &receipt.id,
        brand: document.brand.id.as_str(),
        grant: document.grant.id.as_str(),
        context: &receipt.context,
        message: &receipt.message,
        jws: &receipt.jws,
        created_at: receipt.at.0,
    };
    columns.digest()
}
