//! The agents behind the interfaces: one turn in, one answer out, whichever backend a Brand has.
//!
//! Refuses an answer that is not well formed. What an agent may claim is for the caller to judge: an agent is not
//! trusted with authority.

pub mod builtin;
mod http;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use crate::domain::brand::{Agent, Builtin};
use crate::outbound::Outbound;
use crate::protocol::agent::{Turn, TurnAnswer};
use crate::secret::Secret;
use http::HttpBackend;

/// What one backend gets at most.
#[derive(Clone, Copy, Debug)]
pub struct AgentBounds {
    /// Turns at a time.
    pub turns_in_flight: usize,
    /// Bytes of an answer.
    pub max_answer_bytes: usize,
}

/// How many backends keep their connections. Above it, those without a turn in flight are let go.
const MAX_BACKENDS: usize = 1024;

/// Why a turn has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The backend could not be reached, or its answer is not one. The reason is constant and holds nothing it sent.
    #[error("the agent failed: {0}")]
    Failed(&'static str),
    /// No whole answer came in the Brand's `timeout_seconds`.
    #[error("the agent timed out")]
    TimedOut,
    /// The backend said so with 429 or 503, or it has as many turns in flight as it may have.
    #[error("the agent is busy; try again in {retry_after_seconds} s")]
    Busy {
        /// For `Retry-After`: 1 to 600.
        retry_after_seconds: u32,
    },
}

/// One turn to run.
#[derive(Clone)]
pub struct AgentCall {
    /// The JSON of `turn`, byte for byte as it was signed in `turn_token`.
    pub body: Vec<u8>,
    /// The same for an agent that is part of this program.
    pub turn: Turn,
    /// The JWT that authenticates this call to the backend.
    pub turn_token: Secret<String>,
    /// `{contextId}/{messageId}`: the same for each attempt at the same turn.
    pub idempotency_key: String,
}

/// The backends, each made when it is first called and kept with its connections.
pub struct Agents {
    outbound: Outbound,
    bounds: AgentBounds,
    backends: Mutex<HashMap<Url, Arc<HttpBackend>>>,
}

impl Agents {
    /// Backends that are called by the rules of `outbound`, each within `bounds`.
    pub fn new(outbound: Outbound, bounds: AgentBounds) -> Self {
        Self { outbound, bounds, backends: Mutex::default() }
    }

    /// Runs one turn at `agent`.
    ///
    /// # Errors
    /// [`AgentError`] when there is no well-formed answer; the backend may have acted all the same.
    pub async fn run(&self, agent: &Agent, call: &AgentCall) -> Result<TurnAnswer, AgentError> {
        match agent {
            Agent::Http(agent) => self.backend(&agent.url)?.run(agent, call).await,
            Agent::Builtin(agent) => match agent.builtin {
                Builtin::Demo => Ok(builtin::answer(&call.turn)),
            },
        }
    }

    fn backend(&self, url: &Url) -> Result<Arc<HttpBackend>, AgentError> {
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(backend) = backends.get(url) {
            return Ok(Arc::clone(backend));
        }
        let outbound = self.outbound.dedicated().map_err(|_| AgentError::Failed("no HTTP client could be made"))?;
        if backends.len() >= MAX_BACKENDS {
            backends.retain(|_, backend| Arc::strong_count(backend) > 1);
        }
        let made = Arc::new(HttpBackend::new(outbound, self.bounds));
        backends.insert(url.clone(), Arc::clone(&made));
        Ok(made)
    }
}
