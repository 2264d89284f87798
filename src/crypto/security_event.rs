//! The Security Event Token with which a Brand is told of its grants (RFC 8417).
//!
//! Refuses, when verifying, any `typ` but exactly `secevent+jwt`, a header with more than `alg`, `kid` and `typ`, claims of
//! another shape, and another `iss` or `aud`. It has no `exp` (RFC 8417 §2.2): what happened does not run out.

use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use super::ring::{KeyRing, SignError};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::protocol::event::SecurityEventClaims;
use crate::protocol::json;

/// RFC 8417 §2.3.
pub const TYP: &str = "secevent+jwt";

/// Signs `claims` with the Brand's key for `alg`.
///
/// # Errors
/// [`SignError`].
pub fn sign(
    ring: &KeyRing,
    alg: SigningAlg,
    claims: &SecurityEventClaims,
    now: Timestamp,
) -> Result<String, SignError> {
    ring.sign_claims(now, alg, TYP, claims)
}

/// The claims of a token that one of `keys` signed, from `issuer` to the receiver at `audience`: what a Brand checks before
/// it believes one.
///
/// # Errors
/// [`Refused`].
pub fn verify(token: &str, keys: &KeySet, issuer: &str, audience: &str) -> Result<SecurityEventClaims, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_own(TYP)?;
    keys.verify(&token)?;
    let claims: SecurityEventClaims = json::parse_as(token.payload()).map_err(|_| Refused::Payload)?;
    if claims.iss != issuer {
        return Err(Refused::Issuer);
    }
    if claims.aud != audience {
        return Err(Refused::Audience);
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::kinds::{AUTH, EVENTS, NOW, Stage, flip_every_bit};

    // case 58
    #[test]
    fn every_flipped_bit_another_issuer_and_another_receiver_are_refused() {
        let stage = Stage::new();
        let keys = stage.ring.published();
        let token = sign(&stage.ring, SigningAlg::Es256, &stage.event_claims(), NOW).unwrap();
        assert_eq!(verify(&token, keys, AUTH, EVENTS).unwrap(), stage.event_claims());
        assert_eq!(verify(&token, keys, EVENTS, EVENTS), Err(Refused::Issuer));
        assert_eq!(verify(&token, keys, AUTH, AUTH), Err(Refused::Audience));
        assert_eq!(verify(&token, Stage::new().ring.published(), AUTH, EVENTS), Err(Refused::Signature));
        flip_every_bit(&token, |altered| verify(altered, keys, AUTH, EVENTS).is_err());
    }
}
