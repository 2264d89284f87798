//! The audit log's rows and their chain.
//!
//! Each row's digest covers the digest of the row before it in the same Brand, and of its payload rather than the payload
//! itself: personal data can be erased from a row, and the chain still verifies and names the row as erased. Rows and head
//! are sealed under a key that the database does not hold.

pub mod chain;
pub mod recorded;
pub mod seal;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use self::recorded::{Bound, Recorded};
use super::id::{BrandId, Digest, InvalidId};
use crate::clock::Timestamp;

/// Who did something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A User, by their id at the Brand.
    User(String),
    /// A personal agent, by its issuer.
    PersonalAgent(String),
    /// An administrator, by name; `api key` with its id; `command line` for whoever can run the program on the Provider's
    /// machine. Neither of these has the form of a name.
    Administrator(String),
    /// This program itself.
    Assent,
}

impl Actor {
    /// The kind, as it is stored.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::PersonalAgent(_) => "personal_agent",
            Self::Administrator(_) => "administrator",
            Self::Assent => "assent",
        }
    }

    /// Which one of its kind.
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::PersonalAgent(name) | Self::Administrator(name) => name,
            Self::Assent => "",
        }
    }
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A Brand was created or changed.
    BrandApplied,
    /// A personal agent was registered or changed.
    PersonalAgentApplied,
    /// A personal agent that nobody had registered proved who it is, and was registered.
    PersonalAgentRegistered,
    /// A key was made.
    KeyCreated,
    /// A User signed in through the Brand's login.
    SignedIn,
    /// A grant was made.
    GrantCreated,
    /// A grant's scopes or expiry changed.
    GrantChanged,
    /// A grant ended.
    GrantEnded,
    /// A User did not allow a request.
    RequestDenied,
    /// A request was approved without a page, since the grant covers it.
    RequestApproved,
    /// A device code was redeemed.
    TokensIssued,
    /// A refresh token was rotated.
    TokensRefreshed,
    /// A used refresh token came again; its family was revoked.
    RefreshReuse,
    /// The Brand's agent claimed authority that it did not have.
    AgentOverreach,
    /// A Brand was removed.
    BrandRemoved,
    /// A personal agent may no longer call.
    PersonalAgentDisabled,
    /// A personal agent may call again.
    PersonalAgentEnabled,
    /// A key that was published already starts to sign sooner.
    KeyAdvanced,
    /// A key signs no more.
    KeyRetired,
    /// A key was given up: whatever it signed is refused.
    KeyCompromised,
    /// An administrator was made.
    AdministratorCreated,
    /// An administrator's role or Brands changed, or they were disabled or enabled.
    AdministratorChanged,
    /// An administrator was removed.
    AdministratorRemoved,
    /// An administrator has another password.
    PasswordChanged,
    /// An administrator's log-in asks for a second factor, or asks for it no longer.
    SecondFactorChanged,
    /// An administrator logged in.
    LoggedIn,
    /// An administrator logged out.
    LoggedOut,
    /// An API key was made.
    ApiKeyCreated,
    /// An API key was revoked.
    ApiKeyRevoked,
    /// A resource-server key was made.
    ResourceServerKeyCreated,
    /// A resource-server key was revoked.
    ResourceServerKeyRevoked,
    /// A Brand was not told of something in time, and will not be.
    EventGivenUp,
    /// A receipt was signed and stored.
    ReceiptSigned,
    /// The sweeper removed a batch of rows that had expired.
    Swept,
    /// The payload of another row of the chain was erased.
    AuditErased,
    /// The chain's head had no seal, or a wrong one, when the chain went on.
    SealBroken,
}

impl Action {
    /// As it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrandApplied => "brand_applied",
            Self::PersonalAgentApplied => "personal_agent_applied",
            Self::PersonalAgentRegistered => "personal_agent_registered",
            Self::KeyCreated => "key_created",
            Self::SignedIn => "signed_in",
            Self::GrantCreated => "grant_created",
            Self::GrantChanged => "grant_changed",
            Self::GrantEnded => "grant_ended",
            Self::RequestDenied => "request_denied",
            Self::RequestApproved => "request_approved",
            Self::TokensIssued => "tokens_issued",
            Self::TokensRefreshed => "tokens_refreshed",
            Self::RefreshReuse => "refresh_reuse",
            Self::AgentOverreach => "agent_overreach",
            Self::BrandRemoved => "brand_removed",
            Self::PersonalAgentDisabled => "personal_agent_disabled",
            Self::PersonalAgentEnabled => "personal_agent_enabled",
            Self::KeyAdvanced => "key_advanced",
            Self::KeyRetired => "key_retired",
            Self::KeyCompromised => "key_compromised",
            Self::AdministratorCreated => "administrator_created",
            Self::AdministratorChanged => "administrator_changed",
            Self::AdministratorRemoved => "administrator_removed",
            Self::PasswordChanged => "password_changed",
            Self::SecondFactorChanged => "second_factor_changed",
            Self::LoggedIn => "logged_in",
            Self::LoggedOut => "logged_out",
            Self::ApiKeyCreated => "api_key_created",
            Self::ApiKeyRevoked => "api_key_revoked",
            Self::ResourceServerKeyCreated => "resource_server_key_created",
            Self::ResourceServerKeyRevoked => "resource_server_key_revoked",
            Self::EventGivenUp => "event_given_up",
            Self::ReceiptSigned => "receipt_signed",
            Self::Swept => "swept",
            Self::AuditErased => "audit_erased",
            Self::SealBroken => "seal_broken",
        }
    }
}

/// The request during which something happened, as the logs name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestId(pub String);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose rows a chain holds. Written as the Brand's id or as `provider`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Chain {
    /// What concerns the Provider as a whole.
    Provider,
    /// One Brand's.
    Brand(BrandId),
}

impl Chain {
    /// As it stands in the column `brand_id`: empty for the Provider's.
    pub fn column(&self) -> &str {
        self.brand().map_or("", BrandId::as_str)
    }

    /// Reads what stands in the column `brand_id`.
    ///
    /// # Errors
    /// [`InvalidId`] when it is no Brand's id and not empty.
    pub fn from_column(column: &str) -> Result<Self, InvalidId> {
        if column.is_empty() { Ok(Self::Provider) } else { BrandId::parse(column).map(Self::Brand) }
    }

    /// The Brand, unless it is the Provider's.
    pub const fn brand(&self) -> Option<&BrandId> {
        match self {
            Self::Provider => None,
            Self::Brand(brand) => Some(brand),
        }
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.brand().map_or("provider", BrandId::as_str))
    }
}

impl FromStr for Chain {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if text == "provider" { Ok(Self::Provider) } else { BrandId::parse(text).map(Self::Brand) }
    }
}

/// One thing that was done, before it has a place in the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Whose chain; `None` for what concerns the Provider as a whole.
    pub brand: Option<BrandId>,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// What.
    pub action: Action,
    /// To what: an id.
    pub subject: String,
    /// During which request.
    pub request: RequestId,
    /// What changed; may hold personal data, and can be erased.
    pub payload: Value,
}

impl Entry {
    /// The digest of the payload's JSON text.
    pub fn payload_digest(payload: &str) -> Digest {
        Digest::new(openssl::sha::sha256(payload.as_bytes()))
    }

    /// This row's digest at place `sequence` after the row whose digest is `previous`.
    pub fn digest(&self, sequence: i64, previous: &str, payload_digest: &str) -> Digest {
        let recorded = self.recorded(sequence, None, payload_digest.to_owned(), None);
        recorded.computed_digest(previous)
    }

    /// The row at place `sequence`, without its digest and seal, with this payload and what else it vouches for.
    pub fn recorded(
        &self,
        sequence: i64,
        payload: Option<String>,
        payload_digest: String,
        bound: Option<&Bound>,
    ) -> Recorded {
        Recorded {
            brand: self.brand.as_ref().map_or("", BrandId::as_str).to_owned(),
            sequence,
            at: self.at,
            actor_kind: self.actor.kind().to_owned(),
            actor: self.actor.name().to_owned(),
            action: self.action.name().to_owned(),
            subject: self.subject.clone(),
            request: self.request.0.clone(),
            payload,
            payload_digest,
            digest: String::new(),
            seal: None,
            bound_id: bound.map(|bound| bound.id.clone()),
            bound_digest: bound.map(|bound| bound.digest.to_hex()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            brand: None,
            at: Timestamp::from_seconds(1_767_225_600),
            actor: Actor::Assent,
            action: Action::KeyCreated,
            subject: "k".to_owned(),
            request: RequestId("r".to_owned()),
            payload: Value::Null,
        }
    }

    #[test]
    fn every_field_and_the_row_before_enter_the_digest() {
        let digest = entry().digest(1, "a", "b");
        let others = [
            entry().digest(2, "a", "b"),
            entry().digest(1, "x", "b"),
            entry().digest(1, "a", "x"),
            entry().digest(1, "ab", ""),
            Entry { subject: "x".to_owned(), ..entry() }.digest(1, "a", "b"),
            Entry { actor: Actor::User("u".to_owned()), ..entry() }.digest(1, "a", "b"),
            Entry { action: Action::GrantEnded, ..entry() }.digest(1, "a", "b"),
            Entry { at: Timestamp::from_seconds(1), ..entry() }.digest(1, "a", "b"),
            Entry { request: RequestId("x".to_owned()), ..entry() }.digest(1, "a", "b"),
        ];
        assert!(others.iter().all(|other| *other != digest));
    }
}
