//! Who calls (PACT §3.2): the personal-agent JWT against the JWKS of a known, enabled personal agent; where the Provider
//! is open, also of one that says itself who it is (PACT §3.1).
//!
//! Refuses to look anybody up for a token that no keys could save, and to register anybody before a token of theirs has
//! been verified.

use serde_json::json;

use crate::app::App;
use crate::clock::Timestamp;
use crate::config::PersonalAgents;
use crate::crypto::jwks::KeySet;
use crate::crypto::jws::Refused;
use crate::crypto::pa_jwt;
use crate::directory::discovery::Undiscovered;
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::id::{Caller, Issuer};
use crate::domain::origin_issuer::OriginIssuer;
use crate::domain::personal_agent::PersonalAgent;
use crate::flow::admin::personal_agents::recorded;
use crate::store::{Registered, Registration, StoreError};

/// Why a caller is not known, in a word for logs and metrics. The answer is one and the same 401.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unauthenticated(pub &'static str);

/// The caller that `token` proves.
///
/// # Errors
/// [`Unauthenticated`] for every way in which it does not.
pub async fn authenticate(app: &App, token: &str, request: &RequestId) -> Result<Caller, Unauthenticated> {
    let now = app.clock.now();
    let issuer = pa_jwt::issuer(token).map_err(|refused| Unauthenticated(refused.label()))?;
    let known = app.directory.current().personal_agent(&issuer).cloned();
    match known {
        Some(agent) => verified(app, token, &agent, now).await,
        None => introduced(app, token, &issuer, request, now).await,
    }
}

/// The caller that `token` proves with the keys of `agent`.
async fn verified(app: &App, token: &str, agent: &PersonalAgent, now: Timestamp) -> Result<Caller, Unauthenticated> {
    if !agent.enabled {
        return Err(Unauthenticated("disabled_personal_agent"));
    }
    proved(app, token, agent, now).await.map_err(unproved)
}

/// The same whether it may call or not.
///
/// # Errors
/// `None` when there are no keys to be had.
async fn proved(app: &App, token: &str, agent: &PersonalAgent, now: Timestamp) -> Result<Caller, Option<Refused>> {
    let audience = &app.config.audience;
    let verify = |keys: &KeySet| pa_jwt::verify(token, keys, &agent.issuer, audience, now);
    app.directory.with_remote_keys(&agent.jwks_uri, now, verify).await
}

fn unproved(refused: Option<Refused>) -> Unauthenticated {
    Unauthenticated(refused.map_or("no_key_set", Refused::label))
}

/// The caller that `token` proves with the keys that its issuer itself points to. What costs nothing is looked at first.
async fn introduced(
    app: &App,
    token: &str,
    issuer: &Issuer,
    request: &RequestId,
    now: Timestamp,
) -> Result<Caller, Unauthenticated> {
    let origin = match app.config.personal_agents {
        PersonalAgents::Registered => None,
        PersonalAgents::Open => OriginIssuer::new(issuer, app.config.outbound.allow_private),
    };
    let origin = origin.ok_or(Unauthenticated("unknown_personal_agent"))?;
    pa_jwt::precheck(token, issuer, &app.config.audience, now).map_err(|refused| Unauthenticated(refused.label()))?;
    let most = app.config.open_registration.max_personal_agents;
    if app.directory.current().personal_agent_count() >= usize::try_from(most).unwrap_or(usize::MAX) {
        app.directory.discovery.turned_away(most, now);
        return Err(Unauthenticated("too_many_personal_agents"));
    }
    let found = app.directory.discovery.discover(&origin, now).await;
    let agent = found.map_err(|undiscovered| match undiscovered {
        Undiscovered::Busy => Unauthenticated("discovery_busy"),
        Undiscovered::Failed => Unauthenticated("discovery_failed"),
    })?;
    let caller = proved(app, token, &agent, now).await.map_err(|refused| {
        if refused.is_none() {
            app.directory.discovery.failed(issuer);
        }
        unproved(refused)
    })?;
    match register(app, &agent, most, request, now).await {
        Ok(Registered::Done) => Ok(caller),
        // Whatever an administrator or another node made of it counts, and not what it says of itself.
        Ok(Registered::Known(known)) => verified(app, token, &known, now).await,
        Ok(Registered::Full) => {
            app.directory.discovery.turned_away(most, now);
            Err(Unauthenticated("too_many_personal_agents"))
        }
        Err(error) => {
            tracing::error!(%error, "a personal agent could not be registered");
            Err(Unauthenticated("not_registered"))
        }
    }
}

/// Gives `agent` a row unless its issuer has one, and lets this node see it at once.
async fn register(
    app: &App,
    agent: &PersonalAgent,
    most: u32,
    request: &RequestId,
    at: Timestamp,
) -> Result<Registered, StoreError> {
    // Of many first requests at once, those that come later find what the first has done.
    if let Some(known) = app.directory.current().personal_agent(&agent.issuer) {
        return Ok(Registered::Known(PersonalAgent::clone(known)));
    }
    let entry = Entry {
        brand: None,
        at,
        actor: Actor::PersonalAgent(agent.issuer.to_string()),
        action: Action::PersonalAgentRegistered,
        subject: agent.issuer.to_string(),
        request: request.clone(),
        payload: json!({ "before": null, "after": recorded(agent) }),
    };
    let registered = app.store.register(&Registration { agent, most, entry: &entry, at }).await?;
    if registered == Registered::Done {
        tracing::info!(issuer = agent.issuer.as_str(), "a personal agent has registered itself");
    }
    if let Err(error) = app.directory.refresh(&app.store).await {
        tracing::error!(%error, "the directory could not be read after a registration");
    }
    Ok(registered)
}
