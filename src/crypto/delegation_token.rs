//! The delegation token of PACT §5.4, an access token in the form of RFC 9068.
//!
//! Refuses any `typ` but exactly `at+jwt`, a header with more than `alg`, `kid` and `typ`, a key that is not the Brand's or
//! has been retired too long, another `iss` or `aud`, and an `exp` that has come. Whether `client_id`, the `sub` of the
//! personal-agent JWT and the grant agree is for the flow to check.

use super::jws::{Refused, Unverified};
use super::ring::{KeyRing, SignError};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::protocol::claims::DelegationClaims;
use crate::protocol::json;

/// RFC 9068 §2.1.
pub const TYP: &str = "at+jwt";

/// Signs `claims` with the Brand's key for `alg`.
///
/// # Errors
/// [`SignError`].
pub fn sign(ring: &KeyRing, alg: SigningAlg, claims: &DelegationClaims, now: Timestamp) -> Result<String, SignError> {
    ring.sign_claims(now, alg, TYP, claims)
}

/// The claims of a delegation token of the Brand whose `ring`, `issuer` and `interface_url` these are, at `now`.
///
/// # Errors
/// [`Refused`].
pub fn verify(
    token: &str,
    ring: &KeyRing,
    issuer: &str,
    interface_url: &str,
    now: Timestamp,
) -> Result<DelegationClaims, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_own(TYP)?;
    ring.verify(&token, now)?;
    let claims: DelegationClaims = json::parse_as(token.payload()).map_err(|_| Refused::Payload)?;
    if claims.iss != issuer {
        return Err(Refused::Issuer);
    }
    if claims.aud != interface_url {
        return Err(Refused::Audience);
    }
    // One clock made it and judges it, so there is no skew to allow for.
    if claims.exp <= now {
        return Err(Refused::Expired);
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::crypto::kinds::{AUTH, INTERFACE, NOW, Stage, flip_every_bit};

    fn verify(stage: &Stage, token: &str, now: Timestamp) -> Result<DelegationClaims, Refused> {
        super::verify(token, &stage.ring, AUTH, INTERFACE, now)
    }

    // case 59
    #[test]
    fn a_token_comes_back_as_it_was_signed_until_it_expires() {
        let stage = Stage::new();
        let claims = stage.delegation_claims();
        let token = sign(&stage.ring, SigningAlg::Es256, &claims, NOW).unwrap();
        let just_before = NOW.plus(Duration::from_millis(899_999));
        assert_eq!(verify(&stage, &token, just_before).unwrap(), claims);
        assert_eq!(verify(&stage, &token, NOW.plus(Duration::from_secs(900))), Err(Refused::Expired));
    }

    // case 59
    #[test]
    fn another_issuer_audience_or_brand_is_refused() {
        let stage = Stage::new();
        let token = sign(&stage.ring, SigningAlg::Es256, &stage.delegation_claims(), NOW).unwrap();
        let at = |ring, issuer, interface| super::verify(&token, ring, issuer, interface, NOW).err();
        assert_eq!(at(&stage.ring, INTERFACE, INTERFACE), Some(Refused::Issuer));
        assert_eq!(at(&stage.ring, AUTH, AUTH), Some(Refused::Audience));
        assert_eq!(at(&Stage::new().ring, AUTH, INTERFACE), Some(Refused::Signature));
    }

    // case 59
    #[test]
    fn only_the_exact_type_and_header_are_accepted() {
        let stage = Stage::new();
        let payload = serde_json::to_vec(&stage.delegation_claims()).unwrap();
        for typ in ["AT+JWT", "application/at+jwt", "JWT", "", "at+jwt "] {
            let token = stage.ring.sign(NOW, SigningAlg::Es256, typ, &payload).unwrap();
            assert_eq!(verify(&stage, &token, NOW), Err(Refused::Type), "{typ}");
        }
    }

    // case 59
    #[test]
    fn every_flipped_bit_is_refused() {
        let stage = Stage::new();
        let token = sign(&stage.ring, SigningAlg::Es256, &stage.delegation_claims(), NOW).unwrap();
        flip_every_bit(&token, |altered| verify(&stage, altered, NOW).is_err());
    }
}
