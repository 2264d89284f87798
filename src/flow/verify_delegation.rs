//! The delegation token on a message (PACT §5.5): signature, audience, life, owner, and the grant as it is now.

use super::Fault;
use crate::app::App;
use crate::crypto::delegation_token;
use crate::directory::HostedBrand;
use crate::domain::conversation::Authority;
use crate::domain::id::Caller;

/// The authority that `token` gives `caller` at a Brand; `None` when it gives none, for whatever reason.
///
/// # Errors
/// [`Fault`].
pub async fn verify_delegation(
    app: &App,
    hosted: &HostedBrand,
    caller: &Caller,
    token: &str,
) -> Result<Option<Authority>, Fault> {
    let now = app.clock.now();
    let addresses = &hosted.addresses;
    if hosted.brand.delegation.is_none() {
        return Ok(None);
    }
    let verified = delegation_token::verify(token, &hosted.ring, &addresses.issuer, &addresses.interface_url, now);
    let Ok(claims) = verified else { return Ok(None) };
    if claims.client_id != caller.issuer {
        return Ok(None);
    }
    let grant = match app.store.grant(&claims.grant_id).await? {
        Some(grant) if grant.brand == hosted.brand.id && grant.caller == *caller => grant,
        Some(_) | None => return Ok(None),
    };
    if !grant.is_live(now) || grant.brand_user != claims.sub {
        return Ok(None);
    }
    let scopes = claims.scope.intersection(&grant.scopes);
    Ok(Some(Authority { grant: grant.id, brand_user: grant.brand_user, scopes }))
}
