//! The auditor's export: what a User allowed, in which words, and what was done with it, as one signed JSON document.
//!
//! Shapes only. Every member is required and no other is allowed; times are RFC 3339 with milliseconds, in UTC.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::clock::Timestamp;
use crate::domain::consent::{ShownScopes, SignInRecord};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer, PaSub};

/// What [`Document::kind`] says.
pub const KIND: &str = "assent-evidence/1";

/// An instant with its milliseconds: `2026-09-30T12:00:00.000Z` and no other spelling of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(pub Timestamp);

impl Instant {
    fn text(self) -> String {
        let seconds = self.0.to_rfc3339();
        format!("{}.{:03}Z", seconds.trim_end_matches('Z'), self.0.millis().rem_euclid(1000))
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at = OffsetDateTime::parse(&text, &Rfc3339).ok();
        let millis = at.and_then(|at| i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok());
        let at = millis.map(|millis| Self(Timestamp::from_millis(millis)));
        at.filter(|at| at.text() == text).ok_or_else(|| de::Error::custom("not a time in UTC with milliseconds"))
    }
}

/// The whole document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// [`KIND`].
    pub kind: String,
    /// When it was made.
    pub made_at: Instant,
    /// At which Brand.
    pub brand: BrandPart,
    /// What it is about.
    pub grant: GrantPart,
    /// Every decision under the grant, oldest first.
    pub decisions: Vec<DecisionPart>,
    /// Every delegation token that was issued to the personal agent, oldest first.
    pub tokens: Vec<TokenPart>,
    /// Every receipt, oldest first.
    pub receipts: Vec<ReceiptPart>,
    /// The audit rows about all of that, in the order of the chain.
    pub audit: Vec<AuditPart>,
    /// The Brand's keys.
    pub keys: Vec<KeyPart>,
    /// A compact JWS by one of them over the RFC 8785 form of everything else.
    pub signature: String,
}

/// The Brand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrandPart {
    /// Its id.
    pub id: BrandId,
    /// What it is called.
    pub name: String,
    /// Its interface URL.
    pub interface_url: String,
}

/// The grant as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantPart {
    /// Its id.
    pub id: GrantId,
    /// Whose account at the Brand.
    pub user: BrandUser,
    /// To which personal agent, by its issuer.
    pub personal_agent: Issuer,
    /// For whom there.
    pub sub: PaSub,
    /// What it allows, or last allowed.
    pub scopes: String,
    /// When it was made.
    pub created_at: Instant,
    /// The latest decision.
    pub decided_at: Instant,
    /// It allows nothing from then on.
    pub expires_at: Instant,
    /// Its latest token or turn.
    pub last_used_at: Option<Instant>,
    /// When it was ended.
    pub ended_at: Option<Instant>,
    /// By whom.
    pub ended_by: Option<String>,
}

/// One decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionPart {
    /// The code that was decided on.
    pub device: String,
    /// `approved`, `approved_without_page` or `withdrawn`.
    pub decision: String,
    /// When.
    pub decided_at: Instant,
    /// The very words that stood on the page.
    pub shown: ShownScopes,
    /// Their language.
    pub language: String,
    /// What was ticked.
    pub granted: String,
    /// The verified login.
    pub login: SignInRecord,
}

/// One delegation token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPart {
    /// Its `jti`.
    pub jti: String,
    /// What it carried.
    pub scopes: String,
    /// When it was issued.
    pub issued_at: Instant,
    /// Until when it was good.
    pub expires_at: Instant,
}

/// One receipt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptPart {
    /// Its id.
    pub id: String,
    /// In which context.
    pub context: String,
    /// Of which message.
    pub message: String,
    /// When it was stored.
    pub at: Instant,
    /// The receipt itself.
    pub jws: String,
}

/// One audit row with its place in the chain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditPart {
    /// Its place.
    pub sequence: i64,
    /// When.
    pub at: Instant,
    /// The kind of who did it.
    pub actor_kind: String,
    /// Which one.
    pub actor: String,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// During which request.
    pub request: String,
    /// The JSON text that `payload_digest` is of; null once it was erased.
    pub payload: Option<String>,
    /// SHA-256 of the payload.
    pub payload_digest: String,
    /// The decision's code or the receipt that it vouches for.
    pub bound_id: Option<String>,
    /// The digest of that.
    pub bound_digest: Option<String>,
    /// The digest of the row before it in the chain.
    pub previous: String,
    /// Its own.
    pub digest: String,
}

/// One of the Brand's keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPart {
    /// Its `kid`.
    pub kid: String,
    /// `live`, `retired` or `compromised`.
    pub state: String,
    /// When it began to sign, was retired or was given up.
    pub since: Instant,
    /// The public half, unless it is compromised: then it proves nothing.
    pub jwk: Option<Map<String, Value>>,
}

/// What the signature says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EvidenceClaims {
    /// The Brand's interface URL.
    pub iss: String,
    /// The grant.
    pub grant_id: GrantId,
    /// When it was made; whole seconds.
    pub iat: i64,
    /// Base64url SHA-256 of the RFC 8785 form of the document without its signature.
    pub body_sha256: String,
    /// The same of each of its members, so that a change can be named.
    #[serde(default)]
    pub parts: BTreeMap<String, String>,
}
