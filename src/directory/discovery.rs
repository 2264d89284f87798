//! Who is behind an origin that nobody registered: its OpenID configuration, looked up within bounds (PACT §3.1; OpenID
//! Connect Discovery 1.0 §4).
//!
//! A lookup begins at most once per interval, whoever is asked for; its outcome is remembered for a while, good or bad, and
//! whoever asks for the same issuer meanwhile waits for it. So strangers can neither make this node call others often nor
//! fill its memory, and no lookup stands between a known personal agent and its answer. Refuses a document of another
//! issuer, of another type than JSON, or with keys where no registered ones may be.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use url::Url;

use crate::clock::Timestamp;
use crate::config::Config;
use crate::domain::id::Issuer;
use crate::domain::origin_issuer::OriginIssuer;
use crate::domain::personal_agent::PersonalAgent;
use crate::outbound::{Outbound, Request};
use crate::protocol::discovery::OpenIdConfiguration;

/// Strangers who are turned away since there are as many personal agents as there may be are logged so often.
const FULL_LOGGED_EVERY: Duration = Duration::from_secs(60);

/// Where documents come from.
pub trait FetchDocument: Send + Sync + 'static {
    /// The JSON document at `url`, or `None`; who fetches says why in the log.
    fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>>;
}

impl FetchDocument for Outbound {
    fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let host = url.host_str().unwrap_or_default();
            match self.exchange(Request::get(url.clone()).header("accept", "application/json")).await {
                Ok(answer) if answer.status == 200 && answer.is_json() => Some(answer.body),
                Ok(answer) => {
                    tracing::info!(host, status = answer.status, "an origin answered with no OpenID configuration");
                    None
                }
                Err(error) => {
                    tracing::info!(%error, "an OpenID configuration could not be fetched");
                    None
                }
            }
        })
    }
}

/// Why an issuer stays unknown for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undiscovered {
    /// Another lookup has begun a moment ago.
    #[error("another issuer is being looked up")]
    Busy,
    /// Its lookup failed, now or a while ago.
    #[error("the issuer's OpenID configuration could not be used")]
    Failed,
}

type Outcome = Shared<BoxFuture<'static, Option<PersonalAgent>>>;

struct Lookup {
    began: Timestamp,
    outcome: Outcome,
}

#[derive(Default)]
struct State {
    /// When the next lookup may begin.
    next: Option<Timestamp>,
    lookups: HashMap<Issuer, Lookup>,
    full_logged: Option<Timestamp>,
}

/// The lookups of one node.
pub struct Discovery {
    source: Arc<dyn FetchDocument>,
    interval: Duration,
    remembered: Duration,
    allow_http: bool,
    state: Mutex<State>,
}

impl Discovery {
    /// Lookups through `source`, within the bounds that `config` sets.
    pub fn new(source: Arc<dyn FetchDocument>, config: &Config) -> Self {
        let bounds = &config.open_registration;
        Self {
            source,
            interval: bounds.interval(),
            remembered: bounds.remembered(),
            allow_http: config.outbound.allow_private,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The personal agent that `issuer` says it is. It has proved nothing yet.
    ///
    /// # Errors
    /// [`Undiscovered`].
    pub async fn discover(&self, issuer: &OriginIssuer, now: Timestamp) -> Result<PersonalAgent, Undiscovered> {
        let outcome = self.outcome(issuer, now).ok_or(Undiscovered::Busy)?;
        outcome.await.ok_or(Undiscovered::Failed)
    }

    /// The outcome of the lookup that is remembered, or of one that begins now.
    fn outcome(&self, issuer: &OriginIssuer, now: Timestamp) -> Option<Outcome> {
        let mut state = self.state();
        let is_remembered = |lookup: &Lookup| now.since(lookup.began) < self.remembered;
        if let Some(lookup) = state.lookups.get(issuer.issuer()).filter(|lookup| is_remembered(lookup)) {
            return Some(lookup.outcome.clone());
        }
        if state.next.is_some_and(|next| now < next) {
            return None;
        }
        state.next = Some(now.plus(self.interval));
        // A lookup begins once per interval, so there are never more than begin in the time they are remembered.
        state.lookups.retain(|_, lookup| is_remembered(lookup));
        let outcome = self.look_up(issuer.clone());
        state.lookups.insert(issuer.issuer().clone(), Lookup { began: now, outcome: outcome.clone() });
        Some(outcome)
    }

    /// Looks up in a task of its own, which ends even when the request that began it is dropped.
    fn look_up(&self, issuer: OriginIssuer) -> Outcome {
        let (source, allow_http) = (Arc::clone(&self.source), self.allow_http);
        let task = tokio::spawn(async move {
            let bytes = source.fetch(&issuer.configuration_url()).await?;
            let described = match OpenIdConfiguration::parse(&bytes) {
                Ok(read) => issuer.described_by(&read.issuer, read.jwks_uri, allow_http).map_err(|e| e.parameter),
                Err(_) => Err("shape".to_owned()),
            };
            let note = |wrong: &String| {
                tracing::info!(issuer = issuer.issuer().as_str(), wrong, "an OpenID configuration was refused");
            };
            described.inspect_err(note).ok()
        });
        task.map(|ended| ended.ok().flatten()).boxed().shared()
    }

    /// Remembers that what was found of `issuer` led to no keys.
    pub fn failed(&self, issuer: &Issuer) {
        if let Some(lookup) = self.state().lookups.get_mut(issuer) {
            lookup.outcome = futures_util::future::ready(None).boxed().shared();
        }
    }

    /// Takes note of a stranger who was turned away since there are as many personal agents as there may be.
    pub fn turned_away(&self, most: u32, now: Timestamp) {
        let logged = &mut self.state().full_logged;
        if logged.is_none_or(|at| now.since(at) >= FULL_LOGGED_EVERY) {
            *logged = Some(now);
            tracing::warn!(
                most,
                "there are as many personal agents as open_registration.max_personal_agents allows; no further one can \
                 register itself"
            );
        }
    }
}
