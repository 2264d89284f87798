//! The token endpoint, refresh token grant (RFC 6749 §6) with rotation and reuse detection (RFC 9700 §4.14.2).

use serde_json::json;

use super::issue::{IssuedTokens, mint};
use super::{ATTEMPTS, Fault, RESTLESS, entry};
use crate::app::App;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::brand::Delegation;
use crate::domain::id::Caller;
use crate::domain::refresh::Presented;
use crate::domain::scope::ScopeSet;
use crate::store::{Rotate, Rotated};

/// What the refresh gets.
#[derive(Debug)]
pub enum Refreshed {
    /// Both tokens.
    Tokens(IssuedTokens),
    /// The token is unknown, another's, used, revoked, or its grant has ended.
    InvalidGrant,
    /// `scope` names something that the grant does not have.
    InvalidScope,
}

/// Rotates `refresh_token`. Without `scope` the new token carries the grant's whole present scope, which after a step-up is
/// more than the last token had.
///
/// # Errors
/// [`Fault`]; the presented token then still works.
pub async fn refresh(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    caller: &Caller,
    refresh_token: &str,
    scope: Option<&str>,
    request: &RequestId,
) -> Result<Refreshed, Fault> {
    let digest = codes::digest(refresh_token);
    let actor = Actor::PersonalAgent(caller.issuer.to_string());
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let Some(token) = app.store.refresh_token(digest).await? else {
            return Ok(Refreshed::InvalidGrant);
        };
        let grant = match app.store.grant(&token.grant).await? {
            // Under a grant that has ended there is nothing left to steal, so no token of it is taken for a stolen one.
            Some(grant) if grant.brand == hosted.brand.id && grant.caller == *caller && grant.is_live(now) => grant,
            Some(_) | None => return Ok(Refreshed::InvalidGrant),
        };
        match token.present(now) {
            Presented::Rotate => {}
            Presented::Parallel | Presented::Revoked => return Ok(Refreshed::InvalidGrant),
            Presented::Reuse => {
                let payload = json!({ "family": token.family.to_string(), "before": "live", "after": "revoked" });
                let entry = entry(&hosted.brand.id, now, actor, Action::RefreshReuse, &grant.id, request, payload);
                app.store.revoke_family(token.family, &entry).await?;
                return Ok(Refreshed::InvalidGrant);
            }
        }
        let scopes = match scope.map(ScopeSet::parse) {
            None => grant.scopes.clone(),
            Some(Ok(wanted)) if !wanted.is_empty() && wanted.is_subset_of(&grant.scopes) => {
                grant.scopes.intersection(&wanted)
            }
            Some(_) => return Ok(Refreshed::InvalidScope),
        };
        let (issued, kept) = mint(app, hosted, delegation, &grant, scopes, now)?;
        let payload = json!({ "token": kept.token.to_string(), "scope": kept.scopes.to_string() });
        let entry = entry(&hosted.brand.id, now, actor.clone(), Action::TokensRefreshed, &grant.id, request, payload);
        let rotate = Rotate { presented: digest, family: token.family, tokens: &kept, entry: &entry };
        match app.store.rotate(&rotate).await? {
            Rotated::Done => return Ok(Refreshed::Tokens(issued)),
            Rotated::GrantGone => return Ok(Refreshed::InvalidGrant),
            Rotated::Spent | Rotated::Stale => {}
        }
    }
    Err(RESTLESS)
}
