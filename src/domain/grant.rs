//! Grants: what a User allowed a personal agent at a Brand (PACT §5.3–5.5).
//!
//! One per `(Brand, Brand user, personal agent, sub)`. Ending it is one write: its tokens, uncollected approvals, step-up
//! codes and contexts are judged by the grant each time they are used, so nothing else has to be found and ended.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use super::id::{BrandId, BrandUser, Caller, GrantId};
use super::scope::ScopeSet;
use crate::clock::Timestamp;

/// What a User allowed, and for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Opaque; stands in tokens and receipts.
    pub id: GrantId,
    /// At which Brand.
    pub brand: BrandId,
    /// Whose account there.
    pub brand_user: BrandUser,
    /// To whom.
    pub caller: Caller,
    /// The whole of what is allowed now.
    pub scopes: ScopeSet,
    /// Grows with each change of `scopes`, `expires_at` or `state`; a decision names the version it saw.
    pub version: i64,
    /// When it was first allowed.
    pub created_at: Timestamp,
    /// The latest decision.
    pub decided_at: Timestamp,
    /// It allows nothing from then on.
    pub expires_at: Timestamp,
    /// Its latest token or turn.
    pub last_used_at: Option<Timestamp>,
    /// Live or ended.
    pub state: GrantState,
}

/// Live or ended. Expiry is not a state: it is read off `expires_at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantState {
    /// Not ended by anyone.
    Live,
    /// For good.
    Ended {
        /// When.
        at: Timestamp,
        /// By whom.
        by: EndedBy,
    },
}

/// Who ended a grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndedBy {
    /// The User, on a page.
    User,
    /// The personal agent, at the revocation endpoint.
    PersonalAgent,
    /// An administrator, by whatever means.
    Administrator,
    /// A change of the Brand left nothing to allow.
    BrandChange,
    /// A new decision found it expired.
    Expiry,
}

impl EndedBy {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::User, "user"),
        (Self::PersonalAgent, "personal_agent"),
        (Self::Administrator, "administrator"),
        (Self::BrandChange, "brand_change"),
        (Self::Expiry, "expiry"),
    ];
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(by, _)| by == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for EndedBy {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::NAMES.iter().find(|(_, name)| *name == text).map(|(by, _)| *by).ok_or(())
    }
}

impl Grant {
    /// What of it a decision or a revocation changes, as it stands in the audit log.
    pub fn to_audit(&self) -> Value {
        to_audit(&self.scopes.to_string(), self.expires_at)
    }

    /// Whether it allows anything at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.state == GrantState::Live && now < self.expires_at
    }

    /// Until when a token that is issued at `now` for at most `life` may live: never past the grant's end.
    pub fn token_expiry(&self, now: Timestamp, life: Duration) -> Timestamp {
        now.plus(life).min(self.expires_at)
    }
}

/// A grant of these scopes as [`Grant::to_audit`] writes it.
pub fn to_audit(scopes: &str, expires_at: Timestamp) -> Value {
    json!({ "scopes": scopes, "expires_at": expires_at.to_rfc3339() })
}

/// When a grant that is decided at `now` ends.
pub fn expiry(now: Timestamp, grant_days: u32) -> Timestamp {
    now.plus(Duration::from_secs(u64::from(grant_days) * 86_400))
}
