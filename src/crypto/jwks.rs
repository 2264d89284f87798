//! Key sets of others: JWKs as RFC 7517 and RFC 7518 §6 define them, read entry by entry.
//!
//! Refuses, without spoiling the rest, an entry that is malformed, of another `kty` or curve, off the curve, an RSA key
//! outside 2048 to 8192 bits, or whose `use`, `key_ops` or `alg` forbid verifying with ES256 or RS256. Only the public
//! members of an entry are ever kept.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use josekit::jwk::Jwk;
use josekit::jws::{ES256, JwsVerifier, RS256};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::jws::{Refused, Unverified};
use crate::domain::brand::SigningAlg;
use crate::protocol::json;

/// How many entries of a set are looked at.
pub const MOST_ENTRIES: usize = 100;

/// How many keys are tried for one token.
pub const MOST_CANDIDATES: usize = 10;

/// RSA moduli of these lengths in bits are used (RFC 7518 §3.3; the upper end bounds the work).
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The bytes were not a JWK set: not one JSON object with an array `keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JWK set: expected one JSON object with an array `keys` (RFC 7517 §5)")]
pub struct InvalidKeySet;

/// A public key that verifies signatures of one algorithm. Its verifier is built once.
#[derive(Clone, Debug)]
pub struct PublicKey {
    kid: Option<String>,
    alg: SigningAlg,
    verifier: Box<dyn JwsVerifier>,
    members: Map<String, Value>,
}

impl PublicKey {
    /// Reads a JWK; `None` when it cannot verify ES256 or RS256.
    pub(super) fn from_jwk(jwk: &Map<String, Value>) -> Option<Self> {
        let usable = matches!(jwk.get("use"), None | Some(Value::String(_)))
            && text(jwk, "use").is_none_or(|usage| usage == "sig")
            && jwk.get("key_ops").is_none_or(|ops| {
                ops.as_array().is_some_and(|ops| ops.iter().any(|operation| operation.as_str() == Some("verify")))
            });
        usable.then(|| Self::from_public_members(jwk))?
    }

    /// As [`PublicKey::from_jwk`], for the public half of a key whose `use` and `key_ops` speak of signing.
    pub(super) fn from_public_members(jwk: &Map<String, Value>) -> Option<Self> {
        let kid = match jwk.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.clone()),
            Some(_) => return None,
        };
        let (alg, names): (_, &[&str]) = match text(jwk, "kty")? {
            "EC" => (SigningAlg::Es256, &["kty", "crv", "x", "y"]),
            "RSA" => (SigningAlg::Rs256, &["kty", "n", "e"]),
            _ => return None,
        };
        if jwk.get("alg").is_some_and(|said| said.as_str() != Some(alg.name())) {
            return None;
        }
        let mut members = Map::new();
        for name in names {
            members.insert((*name).to_owned(), Value::from(text(jwk, name)?));
        }
        let sound = match alg {
            SigningAlg::Es256 => is_sound_ec(&members),
            SigningAlg::Rs256 => is_sound_rsa(&members),
        };
        if !sound {
            return None;
        }
        let public = Jwk::from_map(members.clone()).ok()?;
        let verifier: Box<dyn JwsVerifier> = match alg {
            SigningAlg::Es256 => Box::new(ES256.verifier_from_jwk(&public).ok()?),
            SigningAlg::Rs256 => Box::new(RS256.verifier_from_jwk(&public).ok()?),
        };
        Some(Self { kid, alg, verifier, members })
    }

    /// The `kid` it was published under.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The one algorithm it verifies.
    pub const fn alg(&self) -> SigningAlg {
        self.alg
    }

    /// The key as a JWK with its public members, `kid`, `alg` and `use`.
    pub fn to_jwk(&self) -> Map<String, Value> {
        let mut jwk = self.members.clone();
        if let Some(kid) = &self.kid {
            jwk.insert("kid".to_owned(), Value::from(kid.as_str()));
        }
        jwk.insert("alg".to_owned(), Value::from(self.alg.name()));
        jwk.insert("use".to_owned(), Value::from("sig"));
        jwk
    }

    /// Whether both are the same key, under whatever `kid`.
    pub(super) fn is_same_key(&self, other: &Self) -> bool {
        self.members == other.members
    }

    /// Whether the key's holder signed `token`.
    ///
    /// # Errors
    /// [`Refused::Algorithm`] and [`Refused::Signature`].
    pub fn verify(&self, token: &Unverified<'_>) -> Result<(), Refused> {
        if token.alg() != self.alg {
            return Err(Refused::Algorithm);
        }
        self.verifier.verify(token.signed(), token.signature()).map_err(|_| Refused::Signature)
    }
}

fn text<'a>(jwk: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    jwk.get(name).and_then(Value::as_str)
}

fn bytes(jwk: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text(jwk, name)?).ok()
}

/// P-256 with coordinates of full length (RFC 7518 §6.2.1). Whether the point is on the curve is OpenSSL's to check.
fn is_sound_ec(jwk: &Map<String, Value>) -> bool {
    let is_coordinate = |name| bytes(jwk, name).is_some_and(|bytes| bytes.len() == 32);
    text(jwk, "crv") == Some("P-256") && is_coordinate("x") && is_coordinate("y")
}

/// A modulus of [`RSA_BITS`] and an odd exponent from 3 to 64 bits: with an exponent of 1 anybody could sign.
fn is_sound_rsa(jwk: &Map<String, Value>) -> bool {
    let significant =
        |name| bytes(jwk, name).map(|bytes| bytes.into_iter().skip_while(|byte| *byte == 0).collect::<Vec<u8>>());
    let (Some(n), Some(e)) = (significant("n"), significant("e")) else {
        return false;
    };
    let bits = n.len() * 8 - n.first().map_or(0, |byte| byte.leading_zeros() as usize);
    let odd = |bytes: &[u8]| bytes.last().is_some_and(|byte| byte % 2 == 1);
    RSA_BITS.contains(&bits) && odd(&n) && e.len() <= 8 && odd(&e) && e != [1]
}

/// The usable keys of a JWK set.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

#[derive(Deserialize)]
struct Body {
    keys: Vec<Box<RawValue>>,
}

impl KeySet {
    /// Reads a JWK set. At most [`MOST_ENTRIES`] entries are looked at; those that cannot be used are left out.
    ///
    /// # Errors
    /// [`InvalidKeySet`] when the bytes are not one JSON object with one array `keys`.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidKeySet> {
        Self::parse_first(bytes, MOST_ENTRIES)
    }

    /// The same for a set that whoever runs the program hands it: all entries are looked at, since a Brand that has changed
    /// its keys for years has published more.
    ///
    /// # Errors
    /// As [`KeySet::parse`].
    pub fn parse_own(bytes: &[u8]) -> Result<Self, InvalidKeySet> {
        Self::parse_first(bytes, usize::MAX)
    }

    fn parse_first(bytes: &[u8], most: usize) -> Result<Self, InvalidKeySet> {
        // A type that is read from an object would also be read from a list of its members.
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(InvalidKeySet);
        }
        // An entry is parsed on its own, so that a duplicate member in it spoils no other.
        let body: Body = serde_json::from_slice(bytes).map_err(|_| InvalidKeySet)?;
        let entries = body.keys.iter().take(most);
        let keys = entries.filter_map(|entry| match json::parse(entry.get().as_bytes()) {
            Ok(Value::Object(jwk)) => PublicKey::from_jwk(&jwk),
            _ => None,
        });
        Ok(Self { keys: keys.collect() })
    }

    /// How many keys can be used.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key can be used.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The usable keys, in the order of the set.
    pub fn iter(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter()
    }

    /// Whether a usable key has this `kid`.
    pub fn has_kid(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == Some(kid))
    }

    /// The keys of `alg` to try: all with this `kid`, or without a `kid` any; at most [`MOST_CANDIDATES`].
    pub fn candidates(&self, kid: Option<&str>, alg: SigningAlg) -> impl Iterator<Item = &PublicKey> {
        let fits = move |key: &&PublicKey| key.alg == alg && kid.is_none_or(|kid| key.kid() == Some(kid));
        self.keys.iter().filter(fits).take(MOST_CANDIDATES)
    }

    /// Whether one of the keys signed `token`.
    ///
    /// # Errors
    /// [`Refused::UnknownKey`] when a newer set could help, else [`Refused::Algorithm`] or [`Refused::Signature`].
    pub fn verify(&self, token: &Unverified<'_>) -> Result<(), Refused> {
        let mut tried = false;
        for key in self.candidates(token.kid(), token.alg()) {
            if key.verify(token).is_ok() {
                return Ok(());
            }
            tried = true;
        }
        Err(match token.kid() {
            _ if tried => Refused::Signature,
            Some(kid) if self.has_kid(kid) => Refused::Algorithm,
            _ => Refused::UnknownKey,
        })
    }
}

impl FromIterator<PublicKey> for KeySet {
    fn from_iter<I: IntoIterator<Item = PublicKey>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
