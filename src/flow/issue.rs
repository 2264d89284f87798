//! A delegation token and a refresh token, made together (PACT §5.3, §5.4).

use std::time::Duration;

use crate::app::App;
use crate::crypto::{codes, delegation_token};
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::grant::Grant;
use crate::domain::id::TokenId;
use crate::domain::scope::ScopeSet;
use crate::protocol::claims::DelegationClaims;
use crate::secret::Secret;
use crate::store::NewTokens;

use super::Fault;
use crate::clock::Timestamp;

/// What a personal agent is handed.
#[derive(Debug)]
pub struct IssuedTokens {
    /// The delegation token.
    pub access_token: Secret<String>,
    /// Its successor's key.
    pub refresh_token: Secret<String>,
    /// Life of the delegation token.
    pub expires_in: Duration,
    /// What it allows.
    pub scopes: ScopeSet,
}

/// Makes both tokens for `scopes` of `grant`, and what the store keeps of them.
pub(super) fn mint(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    grant: &Grant,
    scopes: ScopeSet,
    now: Timestamp,
) -> Result<(IssuedTokens, NewTokens), Fault> {
    let life = Duration::from_secs(u64::from(delegation.access_token_seconds));
    let claims = delegation_claims(app, hosted, grant, scopes.clone(), life, now);
    let access_token = delegation_token::sign(&hosted.ring, delegation.signing_alg, &claims, now)?;
    let refresh_token = codes::refresh_token(&app.entropy);
    let kept = NewTokens {
        refresh: codes::digest(refresh_token.expose()),
        token: claims.jti,
        scopes: scopes.clone(),
        expires_at: claims.exp,
        grant: grant.id.clone(),
        grant_version: grant.version,
    };
    let expires_in = claims.exp.since(claims.iat);
    Ok((IssuedTokens { access_token: Secret::new(access_token), refresh_token, expires_in, scopes }, kept))
}

/// The claims of a delegation token of `grant` that lives for at most `life`.
pub(super) fn delegation_claims(
    app: &App,
    hosted: &HostedBrand,
    grant: &Grant,
    scopes: ScopeSet,
    life: Duration,
    now: Timestamp,
) -> DelegationClaims {
    DelegationClaims {
        iss: hosted.addresses.issuer.clone(),
        aud: hosted.addresses.interface_url.clone(),
        sub: grant.brand_user.clone(),
        client_id: grant.caller.issuer.clone(),
        scope: scopes,
        grant_id: grant.id.clone(),
        iat: Timestamp::from_seconds(now.seconds()),
        exp: Timestamp::from_seconds(grant.token_expiry(now, life).seconds()),
        jti: TokenId::from_uuid(app.entropy.uuid()),
    }
}
