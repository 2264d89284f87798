//! The personal-agent JWT of PACT §3.2: who is calling, and for whom.
//!
//! Refuses what [`super::jws`] and the claims' times refuse, a `typ` other than `JWT`, an `aud` that is not one equal
//! string, another `iss`, and a `sub` that is missing, empty or not text. `jti` is not tracked (PACT §3.2).

use std::time::Duration;

use serde::Serialize;

use super::CryptoFailure;
use super::claims::Claims;
use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use super::signer::Signer;
use crate::clock::Timestamp;
use crate::domain::id::{Caller, Issuer, PaSub};

/// The `iss` that `token` claims. Unverified: good for choosing whose keys to verify with, and for nothing else.
///
/// # Errors
/// [`Refused`] when the token could not be accepted whatever the keys are.
pub fn issuer(token: &str) -> Result<Issuer, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_plain_jwt()?;
    issuer_of(&Claims::parse(token.payload())?)
}

/// The caller that `token` proves at `now`, to the Provider whose `audience` it is.
///
/// # Errors
/// [`Refused`]; [`Refused::UnknownKey`] when a newer key set could help.
pub fn verify(token: &str, keys: &KeySet, issuer: &Issuer, audience: &str, now: Timestamp) -> Result<Caller, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_plain_jwt()?;
    keys.verify(&token)?;
    caller_of(&Claims::parse(token.payload())?, issuer, audience, now)
}

/// What [`verify`] asks of a token, but for its signature: worth knowing before a stranger's keys are looked for, and
/// good for nothing else.
///
/// # Errors
/// [`Refused`] when the token could not be accepted whatever the keys are.
pub fn precheck(token: &str, issuer: &Issuer, audience: &str, now: Timestamp) -> Result<(), Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_plain_jwt()?;
    caller_of(&Claims::parse(token.payload())?, issuer, audience, now).map(drop)
}

fn caller_of(claims: &Claims, issuer: &Issuer, audience: &str, now: Timestamp) -> Result<Caller, Refused> {
    if issuer_of(claims)? != *issuer {
        return Err(Refused::Issuer);
    }
    if claims.text("aud")? != audience {
        return Err(Refused::Audience);
    }
    claims.life(now)?;
    let sub = PaSub::parse(claims.text("sub")?).map_err(|_| Refused::Claim("sub"))?;
    Ok(Caller { issuer: issuer.clone(), sub })
}

fn issuer_of(claims: &Claims) -> Result<Issuer, Refused> {
    Issuer::parse(claims.text("iss")?).map_err(|_| Refused::Claim("iss"))
}

#[derive(Serialize)]
struct PaClaims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
}

/// Signs a personal-agent JWT, as personal agents do: for tests, the demo and `assent token sign`. `lifetime` is not
/// checked here, so that tests can make what must be refused.
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn sign(
    signer: &Signer,
    iss: &str,
    sub: &str,
    aud: &str,
    now: Timestamp,
    lifetime: Duration,
) -> Result<String, CryptoFailure> {
    let claims = PaClaims { iss, sub, aud, iat: now.seconds(), exp: now.plus(lifetime).seconds() };
    signer.sign_claims("JWT", &claims)
}

#[cfg(test)]
mod tests;
