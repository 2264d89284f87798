//! What administrators do, whichever surface they use: console, JSON API or command line.
//!
//! Each flow takes [`By`], who asks, and judges it itself: no surface can forget to.

pub mod account;
pub mod administrators;
pub mod api_keys;
pub mod apply;
pub mod audit;
pub mod brands;
pub mod check;
pub mod evidence;
pub mod grants;
pub mod keys;
pub mod log_in;
pub mod log_out;
pub mod overview;
mod passwords;
pub mod personal_agents;
pub mod receipts;
pub mod resource_server_keys;
pub mod search;
pub mod session;
pub mod shown;

use serde_json::Value;

use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::administrator::{Access, Denied};
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::id::BrandId;
use crate::store::Apply;

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

/// Whether something is done, or only said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Run {
    /// Everything is judged and computed, and nothing is written.
    Dry,
    /// It is done.
    Real,
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

impl By {
    /// Whoever can run the program on the Provider's machine.
    pub fn command_line(request: RequestId) -> Self {
        Self { actor: Actor::Administrator("command line".to_owned()), access: Access::EVERYTHING, request }
    }

    /// The audit row of something that they do.
    fn entry(
        &self,
        brand: Option<&BrandId>,
        at: Timestamp,
        action: Action,
        subject: impl ToString,
        payload: Value,
    ) -> Entry {
        Entry {
            brand: brand.cloned(),
            at,
            actor: self.actor.clone(),
            action,
            subject: subject.to_string(),
            request: self.request.clone(),
            payload,
        }
    }

    /// A change of the directory that they make, computed from `revision`, with nothing in it yet.
    fn change(&self, revision: i64, at: Timestamp) -> Apply {
        Apply {
            revision,
            brands: Vec::new(),
            personal_agents: Vec::new(),
            keys: Vec::new(),
            key_states: Vec::new(),
            removed: Vec::new(),
            audit: Vec::new(),
            actor: self.actor.clone(),
            request: self.request.clone(),
            at,
        }
    }
}

/// Lets this node see a change of the directory at once; the others see it within two seconds.
async fn see_change(app: &App) {
    if let Err(error) = app.directory.refresh(&app.store).await {
        tracing::error!(%error, "the directory could not be read after a change");
    }
}
