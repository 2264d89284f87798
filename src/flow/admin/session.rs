//! Who asks: the administrator of a browser's session, or the API key of a program. What they may do is read on each
//! request, so that a change of it counts at once on every node.

use std::time::Duration;

use super::super::Fault;
use super::By;
use crate::app::App;
use crate::crypto::codes;
use crate::domain::account::Administrator;
use crate::domain::audit::{Actor, RequestId};
use crate::domain::id::{AdministratorName, ApiKeyId, Digest};
use crate::metrics::Credential;

/// A use of an API key is noted when the last one noted is so long ago.
const KEY_NOTED: Duration = Duration::from_secs(900);

/// A use of a session is noted when the last one noted is this part of the idle time ago.
const SESSION_NOTED: u32 = 30;

/// The administrator of a live session.
#[derive(Clone, Debug)]
pub struct SessionCaller {
    /// Who asks, to be handed to a flow.
    pub by: By,
    /// Whose session it is.
    pub name: AdministratorName,
    /// Which session.
    pub digest: Digest,
    /// Whether their log-in asks for a second factor.
    pub has_second_factor: bool,
}

/// The holder of a live API key.
#[derive(Clone, Debug)]
pub struct KeyCaller {
    /// Who asks, to be handed to a flow.
    pub by: By,
    /// Which key.
    pub key: ApiKeyId,
}

/// The administrator whose live session has this `cookie`.
///
/// # Errors
/// [`Fault`].
pub async fn authenticate_session(
    app: &App,
    cookie: &str,
    request: &RequestId,
) -> Result<Option<SessionCaller>, Fault> {
    let now = app.clock.now();
    let idle = app.config.administrators.idle();
    let digest = codes::digest(cookie);
    let Some(session) = app.store.administrator_session(digest).await? else { return Ok(None) };
    if !session.is_live(now, idle) {
        return Ok(None);
    }
    let Some(account) = app.store.administrator(&session.administrator).await?.filter(Administrator::is_enabled) else {
        return Ok(None);
    };
    let noted = now.minus(idle / SESSION_NOTED);
    if session.last_seen_at <= noted {
        app.store.touch_session(digest, now, noted).await?;
    }
    let has_second_factor = account.has_second_factor();
    let actor = Actor::Administrator(account.name.to_string());
    let by = By { actor, access: account.access, request: request.clone() };
    Ok(Some(SessionCaller { by, name: account.name, digest, has_second_factor }))
}

/// The API key that `bearer` is, if it is a live one.
///
/// # Errors
/// [`Fault`].
pub async fn authenticate_api_key(app: &App, bearer: &str, request: &RequestId) -> Result<Option<KeyCaller>, Fault> {
    let now = app.clock.now();
    let refused = |reason| {
        app.metrics.refused(Credential::ApiKey, reason);
        tracing::info!(reason, "an API key was refused");
    };
    let Some(key) = app.store.api_key_by_digest(codes::digest(bearer)).await? else {
        refused("unknown");
        return Ok(None);
    };
    if !key.is_live(now) {
        refused(key.state(now));
        return Ok(None);
    }
    let noted = now.minus(KEY_NOTED);
    if key.last_used_at.is_none_or(|at| at <= noted) {
        app.store.touch_api_key(&key.id, now, noted).await?;
    }
    let actor = Actor::Administrator(format!("api key {}", key.id));
    let by = By { actor, access: key.access, request: request.clone() };
    Ok(Some(KeyCaller { by, key: key.id }))
}
