//! Grants, as administrators see and revoke them.

use serde_json::json;

use crate::app::App;
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::grant::{EndedBy, Grant};
use crate::domain::id::GrantId;
use crate::flow::Fault;
use crate::store::GrantFilter;

/// The grants that fit `filter`, newest first, at most 1 000.
///
/// # Errors
/// [`Fault`].
pub async fn list(app: &App, filter: &GrantFilter) -> Result<Vec<Grant>, Fault> {
    Ok(app.store.grants(filter).await?)
}

/// A grant with its receipts, oldest first.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, id: &GrantId) -> Result<Option<(Grant, Vec<String>)>, Fault> {
    match app.store.grant(id).await? {
        None => Ok(None),
        Some(grant) => Ok(Some((grant, app.store.receipts(id).await?))),
    }
}

/// What became of a revocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokedGrant {
    /// It ended just now, on every node.
    Ended,
    /// It had ended before.
    AlreadyEnded,
    /// There is no such grant.
    Unknown,
}

/// Ends a grant: the next message, refresh and uncollected approval under it are refused.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn revoke(app: &App, id: &GrantId, actor: &Actor, request: &RequestId) -> Result<RevokedGrant, Fault> {
    let Some(grant) = app.store.grant(id).await? else { return Ok(RevokedGrant::Unknown) };
    let entry = Entry {
        brand: Some(grant.brand),
        at: app.clock.now(),
        actor: actor.clone(),
        action: Action::GrantEnded,
        subject: id.to_string(),
        request: request.clone(),
        payload: json!({ "by": "administrator" }),
    };
    let ended = app.store.end_grant(id, EndedBy::Administrator, &entry).await?;
    Ok(if ended { RevokedGrant::Ended } else { RevokedGrant::AlreadyEnded })
}
