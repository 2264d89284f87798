//! Signing: compact JWS (RFC 7515 §7.1) under a private JWK, and the making of such keys (RFC 7518 §6).
//!
//! Refuses keys that a verifier here would not take: other curves, RSA below 2048 bits, a `use`, `key_ops` or `alg` that
//! forbids signing.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use josekit::jwk::{Jwk, KeyPair as _};
use josekit::jws::{ES256, JwsSigner, RS256};
use serde::Serialize;
use serde_json::{Map, Value};

use super::CryptoFailure;
use super::jwks::PublicKey;
use crate::domain::brand::SigningAlg;
use crate::protocol::json;
use crate::secret::Secret;

/// Bits of an RSA modulus that is made here.
const RSA_BITS: u32 = 2048;

/// The text was not a private JWK that ES256 or RS256 signs with. Tells nothing of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a private JWK for ES256 (P-256) or RS256 (2048 to 8192 bits)")]
pub struct InvalidPrivateKey;

/// A private key, ready to sign. Building one is a hundred times the work of a signature: build it once.
#[derive(Clone)]
pub struct Signer {
    inner: Box<dyn JwsSigner>,
    public: PublicKey,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("kid", &self.public.kid()).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
    typ: &'a str,
}

impl Signer {
    /// Reads a private JWK with both halves.
    ///
    /// # Errors
    /// [`InvalidPrivateKey`].
    pub fn from_private_jwk(jwk: &str) -> Result<Self, InvalidPrivateKey> {
        let Ok(Value::Object(jwk)) = json::parse(jwk.as_bytes()) else {
            return Err(InvalidPrivateKey);
        };
        let public = PublicKey::from_public_members(&jwk).ok_or(InvalidPrivateKey)?;
        let jwk = Jwk::from_map(jwk).map_err(|_| InvalidPrivateKey)?;
        let inner: Box<dyn JwsSigner> = match public.alg() {
            SigningAlg::Es256 => Box::new(ES256.signer_from_jwk(&jwk).map_err(|_| InvalidPrivateKey)?),
            SigningAlg::Rs256 => Box::new(RS256.signer_from_jwk(&jwk).map_err(|_| InvalidPrivateKey)?),
        };
        Ok(Self { inner, public })
    }

    /// The public half, under the private JWK's `kid`.
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `payload` as it is, under a header of `alg`, `kid` (if the key has one) and `typ`.
    ///
    /// # Errors
    /// [`CryptoFailure`] when OpenSSL fails.
    pub fn sign(&self, typ: &str, payload: &[u8]) -> Result<String, CryptoFailure> {
        let header = Header { alg: self.public.alg().name(), kid: self.public.kid(), typ };
        let header = serde_json::to_vec(&header).map_err(|_| CryptoFailure::at("write a header"))?;
        let mut token = String::with_capacity((header.len() + payload.len()) * 4 / 3 + 360);
        BASE64_URL_SAFE_NO_PAD.encode_string(header, &mut token);
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = self.inner.sign(token.as_bytes()).map_err(|_| CryptoFailure::at("sign"))?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    /// Signs `claims` as JSON: a plain JWT with `typ` `JWT`, or another kind by its `typ`.
    ///
    /// # Errors
    /// [`CryptoFailure`] when the claims cannot be written as JSON, or OpenSSL fails.
    pub fn sign_claims(&self, typ: &str, claims: &impl Serialize) -> Result<String, CryptoFailure> {
        let claims = serde_json::to_vec(claims).map_err(|_| CryptoFailure::at("write claims"))?;
        self.sign(typ, &claims)
    }
}

/// A new key: the private JWK (both halves) and the public one, each as JSON with `kid`, `alg` and `use`.
#[derive(Debug)]
pub struct GeneratedKey {
    /// RFC 7517 §4, with the private members.
    pub private_jwk: Secret<String>,
    /// RFC 7517 §4, public members only.
    pub public_jwk: String,
}

/// Makes a key for `alg`: P-256, or RSA of 2048 bits (about a tenth of a second).
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn generate_key(alg: SigningAlg, kid: &str) -> Result<GeneratedKey, CryptoFailure> {
    let failure = CryptoFailure::at("generate a key");
    let mut jwk = match alg {
        SigningAlg::Es256 => ES256.generate_key_pair().map_err(|_| failure)?.to_jwk_key_pair(),
        SigningAlg::Rs256 => RS256.generate_key_pair(RSA_BITS).map_err(|_| failure)?.to_jwk_key_pair(),
    };
    jwk.set_key_id(kid);
    jwk.set_key_use("sig");
    let private: &Map<String, Value> = jwk.as_ref();
    let public = PublicKey::from_public_members(private).ok_or(failure)?.to_jwk();
    let public_jwk = serde_json::to_string(&public).map_err(|_| failure)?;
    let private_jwk = Secret::new(serde_json::to_string(private).map_err(|_| failure)?);
    Ok(GeneratedKey { private_jwk, public_jwk })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::jws::Unverified;

    #[test]
    fn what_a_generated_key_signs_its_public_half_verifies() {
        for alg in [SigningAlg::Es256, SigningAlg::Rs256] {
            let key = generate_key(alg, "k-1").unwrap();
            let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
            for count in 0..600 {
                let token = signer.sign("JWT", format!("{{\"n\":{count}}}").as_bytes()).unwrap();
                let token = Unverified::parse(&token).unwrap();
                assert_eq!((token.alg(), token.kid(), token.typ()), (alg, Some("k-1"), Some("JWT")));
                signer.public().verify(&token).unwrap();
                if alg == SigningAlg::Rs256 {
                    break;
                }
            }
        }
    }

    #[test]
    fn the_public_half_holds_no_private_member_and_the_private_half_is_not_shown() {
        for alg in [SigningAlg::Es256, SigningAlg::Rs256] {
            let key = generate_key(alg, "k-1").unwrap();
            let Value::Object(public) = json::parse(key.public_jwk.as_bytes()).unwrap() else { panic!("an object") };
            let Value::Object(private) = json::parse(key.private_jwk.expose().as_bytes()).unwrap() else {
                panic!("an object")
            };
            for name in ["d", "p", "q", "dp", "dq", "qi", "oth"] {
                assert!(!public.contains_key(name), "{name}");
            }
            assert_eq!(public["kid"], "k-1");
            assert_eq!(public["alg"], alg.name());
            assert_eq!(public["use"], "sig");
            let shown = format!("{key:?} {:?}", Signer::from_private_jwk(key.private_jwk.expose()).unwrap());
            assert!(!shown.contains(private["d"].as_str().unwrap()));
        }
    }

    #[test]
    fn what_is_not_a_private_signing_key_is_refused() {
        let key = generate_key(SigningAlg::Es256, "k-1").unwrap();
        let private = key.private_jwk.expose();
        for wrong in [
            "",
            "{}",
            &key.public_jwk,
            &private.replace("P-256", "P-384"),
            &private.replace("ES256", "ES384"),
            &private.replace("\"sig\"", "\"enc\""),
            r#"{"kty":"oct","k":"AAAA"}"#,
        ] {
            assert!(Signer::from_private_jwk(wrong).is_err());
        }
    }
}
