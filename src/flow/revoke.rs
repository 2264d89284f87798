//! Token revocation (RFC 7009): the User disconnects, so any token of a grant ends the grant.

use serde_json::json;

use super::{Fault, entry};
use crate::app::App;
use crate::crypto::{codes, delegation_token};
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::grant::EndedBy;
use crate::domain::id::Caller;

/// Ends the grant of `token`, a refresh token (used or not) or a delegation token. An unknown, malformed, foreign
/// or expired token changes nothing, and the answer is the same (RFC 7009 §2.2).
///
/// # Errors
/// [`Fault`].
pub async fn revoke(
    app: &App,
    hosted: &HostedBrand,
    caller: &Caller,
    token: &str,
    request: &RequestId,
) -> Result<(), Fault> {
    let now = app.clock.now();
    let grant = match app.store.refresh_token(codes::digest(token)).await? {
        Some(token) => Some(token.grant),
        None => {
            let addresses = &hosted.addresses;
            let claims =
                delegation_token::verify(token, &hosted.ring, &addresses.issuer, &addresses.interface_url, now);
            claims.ok().map(|claims| claims.grant_id)
        }
    };
    let Some(id) = grant else { return Ok(()) };
    match app.store.grant(&id).await? {
        Some(grant) if grant.brand == hosted.brand.id && grant.caller == *caller && grant.is_live(now) => {}
        Some(_) | None => return Ok(()),
    }
    let actor = Actor::PersonalAgent(caller.issuer.to_string());
    let entry = entry(&hosted.brand.id, now, actor, Action::GrantEnded, &id, request, json!({}));
    app.store.end_grant(&id, EndedBy::PersonalAgent, &entry).await?;
    Ok(())
}
