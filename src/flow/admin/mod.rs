//! What administrators do, whichever surface they use: console, JSON API or command line.
//!
//! Each flow takes [`By`], who asks, and judges it itself: no surface can forget to.

pub mod account;
pub mod administrators;
pub mod api_keys;
pub mod apply;
pub mod check;
pub mod grants;
pub mod log_in;
pub mod log_out;
mod passwords;
pub mod session;

use serde_json::Value;

use crate::clock::Timestamp;
use crate::domain::administrator::{Access, Denied};
use crate::domain::audit::{Action, Actor, Entry, RequestId};

/// Who asks for something, and in the course of what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct By {
    /// As it stands in the audit log.
    pub actor: Actor,
    /// What they may do, and at which Brands.
    pub access: Access,
    /// During which request.
    pub request: RequestId,
}

/// What became of something that an administrator asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<T> {
    /// It was done, or read.
    Done(T),
    /// The role does not allow it; nothing was done.
    Forbidden,
    /// There is no such thing, or it belongs to a Brand out of reach; the two are not told apart.
    NotThere,
}

impl<T> From<Denied> for Verdict<T> {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Role => Self::Forbidden,
            Denied::Reach => Self::NotThere,
        }
    }
}

/// One audit row of the Provider's own chain.
fn provider_entry(by: &By, at: Timestamp, action: Action, subject: impl ToString, payload: Value) -> Entry {
    Entry {
        brand: None,
        at,
        actor: by.actor.clone(),
        action,
        subject: subject.to_string(),
        request: by.request.clone(),
        payload,
    }
}
