//! Token introspection (RFC 7662): whether a token is good now, and for what.
//!
//! A personal agent asks about its own tokens, a Brand's account API, with a resource-server key, about that Brand's
//! access tokens. Whatever is not good, or not theirs to ask about, is inactive, and nothing tells the one from the other
//! (RFC 7662 §2.2, §4).

use super::Fault;
use super::consent_view::is_enabled;
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::{codes, delegation_token};
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::grant::Grant;
use crate::domain::id::{BrandId, Caller, GrantId};
use crate::domain::refresh::Presented;
use crate::domain::scope::ScopeSet;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum Asker<'a> {
    /// A personal agent for one of its Users.
    PersonalAgent(&'a Caller),
    /// The holder of a resource-server key of the Brand.
    ResourceServer,
}

/// Which of the two kinds of token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A delegation token.
    Delegation,
    /// A refresh token.
    Refresh,
}

/// A token that is good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActiveToken {
    /// Which kind.
    pub kind: TokenKind,
    /// What it is of.
    pub grant: Grant,
    /// What it allows now: the token's scopes that the grant still has and the Brand still offers.
    pub scopes: ScopeSet,
    /// When it was made.
    pub issued_at: Timestamp,
    /// Until when it may be used.
    pub expires_at: Timestamp,
}

/// The Brand whose resource-server key this is; `None` when it is none, expired or revoked. The row is read each time.
///
/// # Errors
/// [`Fault`].
pub async fn resource_server(app: &App, key: &str) -> Result<Option<BrandId>, Fault> {
    let now = app.clock.now();
    let key = app.store.resource_server_key_by_digest(codes::digest(key)).await?;
    Ok(key.filter(|key| key.is_live(now)).map(|key| key.brand))
}

/// What `token` is good for, if it is good and `asker` may know.
///
/// # Errors
/// [`Fault`].
pub async fn introspect(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    asker: Asker<'_>,
    token: &str,
) -> Result<Option<ActiveToken>, Fault> {
    let now = app.clock.now();
    let addresses = &hosted.addresses;
    let offered = delegation.scope_ids();
    if let Ok(claims) = delegation_token::verify(token, &hosted.ring, &addresses.issuer, &addresses.interface_url, now)
    {
        let grant = grant_for(app, hosted, asker, &claims.grant_id, now).await?;
        let grant = grant.filter(|grant| grant.brand_user == claims.sub && grant.caller.issuer == claims.client_id);
        return Ok(grant.map(|grant| ActiveToken {
            kind: TokenKind::Delegation,
            scopes: offered.intersection(&claims.scope).intersection(&grant.scopes),
            grant,
            issued_at: claims.iat,
            expires_at: claims.exp,
        }));
    }
    // What renews tokens is nothing that an account API could be shown.
    let Asker::PersonalAgent(_) = asker else { return Ok(None) };
    let Some(token) = app.store.refresh_token(codes::digest(token)).await? else { return Ok(None) };
    if token.present(now) != Presented::Rotate {
        return Ok(None);
    }
    let grant = grant_for(app, hosted, asker, &token.grant, now).await?;
    Ok(grant.map(|grant| ActiveToken {
        kind: TokenKind::Refresh,
        scopes: offered.intersection(&grant.scopes),
        issued_at: token.created_at,
        expires_at: grant.expires_at,
        grant,
    }))
}

/// The grant of a token that `asker` may ask about, as it is now; `None` when it is not live, or another's.
async fn grant_for(
    app: &App,
    hosted: &HostedBrand,
    asker: Asker<'_>,
    id: &GrantId,
    now: Timestamp,
) -> Result<Option<Grant>, Fault> {
    let grant = app.store.grant(id).await?;
    Ok(grant.filter(|grant| {
        let is_theirs = match asker {
            Asker::PersonalAgent(caller) => grant.caller == *caller,
            Asker::ResourceServer => true,
        };
        is_theirs && grant.brand == hosted.brand.id && grant.is_live(now) && is_enabled(app, &grant.caller.issuer)
    }))
}
