//! The token with which a turn is sent to a Brand's agent: it proves that the Provider sent exactly this body, now.
//!
//! Refuses, when verifying, any `typ` but exactly `assent-turn+jwt`, a header with more than `alg`, `kid` and `typ`, another
//! `iss` or `aud`, another body, and times beyond a skew of 29 s.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openssl::sha::sha256;
use subtle::ConstantTimeEq as _;

use super::claims::Claims;
use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use super::ring::{KeyRing, SignError};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::entropy::Entropy;
use crate::protocol::claims::TurnClaims;
use crate::protocol::json;

/// Tells a turn token from every other kind.
pub const TYP: &str = "assent-turn+jwt";

/// How long a turn token is good for.
const LIFE: Duration = Duration::from_secs(60);

/// Signs a token for `body`, from the Brand at `interface_url` to its agent at `agent_url`.
///
/// # Errors
/// [`SignError`].
pub fn sign(
    ring: &KeyRing,
    alg: SigningAlg,
    interface_url: &str,
    agent_url: &str,
    body: &[u8],
    now: Timestamp,
    entropy: &Entropy,
) -> Result<String, SignError> {
    let claims = TurnClaims {
        iss: interface_url.to_owned(),
        aud: agent_url.to_owned(),
        iat: now,
        exp: now.plus(LIFE),
        body_sha256: body_digest(body),
        jti: entropy.uuid().to_string(),
    };
    ring.sign_claims(now, alg, TYP, &claims)
}

/// The claims of a token that one of `keys` signed for this `body`: what an agent checks before it acts.
///
/// # Errors
/// [`Refused`].
pub fn verify(
    token: &str,
    keys: &KeySet,
    interface_url: &str,
    agent_url: &str,
    body: &[u8],
    now: Timestamp,
) -> Result<TurnClaims, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_own(TYP)?;
    keys.verify(&token)?;
    Claims::parse(token.payload())?.life(now)?;
    let claims: TurnClaims = json::parse_as(token.payload()).map_err(|_| Refused::Payload)?;
    if claims.iss != interface_url {
        return Err(Refused::Issuer);
    }
    if claims.aud != agent_url {
        return Err(Refused::Audience);
    }
    if !bool::from(claims.body_sha256.as_bytes().ct_eq(body_digest(body).as_bytes())) {
        return Err(Refused::Body);
    }
    Ok(claims)
}

fn body_digest(body: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(sha256(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::kinds::{AGENT, BODY, INTERFACE, NOW, Stage, flip_every_bit};

    // case 58
    #[test]
    fn a_turn_token_is_good_for_its_body_agent_and_minute_only() {
        let stage = Stage::new();
        let token = stage.turn_token();
        let at = |iss, aud, body, now| verify(&token, stage.ring.published(), iss, aud, body, now).err();
        let later = |seconds| NOW.plus(Duration::from_secs(seconds));
        assert_eq!(at(INTERFACE, AGENT, BODY, NOW), None);
        assert_eq!(at(INTERFACE, AGENT, BODY, later(88)), None);
        assert_eq!(at(INTERFACE, AGENT, BODY, later(89)), Some(Refused::Expired));
        assert_eq!(at(INTERFACE, AGENT, BODY, NOW.minus(Duration::from_secs(31))), Some(Refused::NotYet));
        assert_eq!(at(AGENT, AGENT, BODY, NOW), Some(Refused::Issuer));
        assert_eq!(at(INTERFACE, INTERFACE, BODY, NOW), Some(Refused::Audience));
        assert_eq!(at(INTERFACE, AGENT, b"another", NOW), Some(Refused::Body));
    }

    // case 58
    #[test]
    fn every_flipped_bit_is_refused() {
        let stage = Stage::new();
        let keys = stage.ring.published();
        flip_every_bit(&stage.turn_token(), |altered| verify(altered, keys, INTERFACE, AGENT, BODY, NOW).is_err());
    }
}
