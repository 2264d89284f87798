//! The signed receipt of PACT §5.6: what was done, under which grant, for whom.
//!
//! Refuses, when verifying, any `typ` but exactly `pact-receipt+jws`, a header with more than `alg`, `kid` and `typ`, claims
//! that are not exactly the seven, and another Brand's receipt. Works offline, from a JWKS.

use serde_json::value::{RawValue, to_raw_value};

use super::CryptoFailure;
use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use super::ring::{KeyRing, SignError};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::protocol::claims::ReceiptClaims;
use crate::protocol::json;

/// Tells a receipt from every token: nothing that takes a token takes this `typ`.
pub const TYP: &str = "pact-receipt+jws";

/// A receipt as it goes into a reply's `metadata`.
#[derive(Clone, Debug)]
pub struct SignedReceipt {
    /// The compact JWS of `claims`.
    pub jws: String,
    /// The very bytes that were signed. Serialized straight into a reply they stay as they are; a detour through
    /// [`serde_json::Value`] may change them.
    pub claims: Box<RawValue>,
}

/// Signs `claims` with the Brand's key for `alg`.
///
/// # Errors
/// [`SignError`].
pub fn sign(
    ring: &KeyRing,
    alg: SigningAlg,
    claims: &ReceiptClaims,
    now: Timestamp,
) -> Result<SignedReceipt, SignError> {
    let claims = to_raw_value(claims).map_err(|_| CryptoFailure::at("write claims"))?;
    let jws = ring.sign(now, alg, TYP, claims.get().as_bytes())?;
    Ok(SignedReceipt { jws, claims })
}

/// The claims of a receipt that one of `keys` signed, of the Brand whose interface URL is `brand`, or of any when `None`.
///
/// # Errors
/// [`Refused`].
pub fn verify(jws: &str, keys: &KeySet, brand: Option<&str>) -> Result<ReceiptClaims, Refused> {
    let token = Unverified::parse(jws)?;
    token.ensure_own(TYP)?;
    keys.verify(&token)?;
    let claims: ReceiptClaims = json::parse_as(token.payload()).map_err(|_| Refused::Payload)?;
    if brand.is_some_and(|brand| brand != claims.brand) {
        return Err(Refused::Audience);
    }
    Ok(claims)
}

/// The claims of a receipt from the Provider's own log, whoever signed it: the User is told what was done also when the
/// key of that time was given up since.
///
/// # Errors
/// [`Refused`] when it is not of the form of a receipt.
pub fn read_logged(jws: &str) -> Result<ReceiptClaims, Refused> {
    let token = Unverified::parse(jws)?;
    token.ensure_own(TYP)?;
    json::parse_as(token.payload()).map_err(|_| Refused::Payload)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    use super::*;
    use crate::crypto::kinds::{INTERFACE, NOW, Stage, flip_every_bit};

    #[test]
    fn a_receipt_is_byte_equal_to_the_claims_beside_it() {
        let stage = Stage::new();
        for alg in [SigningAlg::Es256, SigningAlg::Rs256] {
            let receipt = sign(&stage.ring, alg, &stage.receipt_claims(), NOW).unwrap();
            let payload = receipt.jws.split('.').nth(1).unwrap();
            assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap(), receipt.claims.get().as_bytes());
            let keys = KeySet::parse(stage.ring.jwks_json().as_bytes()).unwrap();
            assert_eq!(verify(&receipt.jws, &keys, Some(INTERFACE)).unwrap(), stage.receipt_claims());
            assert_eq!(verify(&receipt.jws, &keys, None).unwrap(), stage.receipt_claims());
        }
    }

    // case 71
    #[test]
    fn an_altered_receipt_and_another_brands_are_refused() {
        let stage = Stage::new();
        let receipt = sign(&stage.ring, SigningAlg::Es256, &stage.receipt_claims(), NOW).unwrap();
        let keys = stage.ring.published();
        flip_every_bit(&receipt.jws, |altered| verify(altered, keys, None).is_err());
        assert_eq!(verify(&receipt.jws, keys, Some("https://other.example")).err(), Some(Refused::Audience));
        assert!(verify(&receipt.jws, Stage::new().ring.published(), None).is_err());
    }

    // case 71
    #[test]
    fn a_signed_payload_with_an_unknown_member_or_another_type_is_refused() {
        let stage = Stage::new();
        let sign = |typ: &str, payload: &str| stage.ring.sign(NOW, SigningAlg::Es256, typ, payload.as_bytes()).unwrap();
        let payload = serde_json::to_string(&stage.receipt_claims()).unwrap();
        let more = payload.replacen('{', "{\"extra\":1,", 1);
        let twice = payload.replacen('{', "{\"user\":\"jane-4471\",", 1);
        let keys = stage.ring.published();
        assert!(verify(&sign(TYP, &payload), keys, None).is_ok());
        assert_eq!(verify(&sign(TYP, &more), keys, None).err(), Some(Refused::Payload));
        assert_eq!(verify(&sign(TYP, &twice), keys, None).err(), Some(Refused::Payload));
        assert_eq!(verify(&sign("at+jwt", &payload), keys, None).err(), Some(Refused::Type));
    }
}
