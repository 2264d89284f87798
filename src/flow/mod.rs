//! Use cases: one per file, and no HTTP. A flow reads, decides with the domain, hands the store one unit of work and
//! answers after it was committed.
//!
//! What can be expected is a variant of an outcome, which the surfaces match without `_`; what cannot is a [`Fault`].

pub mod admin;
pub mod authenticate;
pub mod background;
mod consent_view;
pub mod decide_consent;
mod grants_view;
pub mod introspect;
mod issue;
pub mod poll_token;
pub mod refresh;
pub mod revoke;
pub mod revoke_as_user;
mod sealed_code;
pub mod send_message;
pub mod show_consent;
pub mod show_decision;
pub mod show_grants;
pub mod sign_in;
pub mod start_device;
mod step_up;
pub mod verify_delegation;

pub use consent_view::ConsentView;
pub use grants_view::{Deed, GrantsView, ShownGrant, Wanted};
pub use issue::IssuedTokens;

use serde_json::Value;

use crate::crypto::CryptoFailure;
use crate::crypto::ring::SignError;
use crate::crypto::seal::SealError;
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::id::BrandId;
use crate::store::StoreError;

/// Something that nobody asked for went wrong. It is logged once and answered with a constant body.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cryptographic library.
    #[error(transparent)]
    Crypto(#[from] CryptoFailure),
    /// A Brand's keys.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A sealed value.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A value that could not be written as JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// What the rest of the program rules out.
    #[error("{0}")]
    Impossible(&'static str),
}

impl Fault {
    /// Whether waiting may help: such a fault is answered with 503.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_passing())
    }
}

/// How often a flow starts over when what it read has changed before it could write.
const ATTEMPTS: usize = 5;

/// The fault of a flow that never saw a still world.
const RESTLESS: Fault = Fault::Impossible("the same row changed at every attempt");

/// One audit row of a Brand.
fn entry(
    brand: &BrandId,
    at: crate::clock::Timestamp,
    actor: Actor,
    action: Action,
    subject: impl ToString,
    request: &RequestId,
    payload: Value,
) -> Entry {
    Entry {
        brand: Some(brand.clone()),
        at,
        actor,
        action,
        subject: subject.to_string(),
        request: request.clone(),
        payload,
    }
}
