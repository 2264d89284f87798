//! The signature under an auditor's export, and what the export must hold together by itself.
//!
//! Refuses, when verifying, any `typ` but exactly `assent-evidence+jws`, another Brand's signature, and a document that is not,
//! in its RFC 8785 form, the one that was signed. Works offline, from a JWKS.

mod check;
mod history;

pub use check::{Problem, check};

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::CryptoFailure;
use super::args_hash::args_hash;
use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use super::ring::{KeyRing, SignError};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::protocol::evidence::{Document, EvidenceClaims};
use crate::protocol::json;

/// Tells the signature of an export from every token.
pub const TYP: &str = "assent-evidence+jws";

/// The member of the document that is not signed.
const SIGNATURE: &str = "signature";

/// The members of a document but its signature.
fn body(document: &Value) -> Option<Map<String, Value>> {
    let mut body = document.as_object()?.clone();
    body.remove(SIGNATURE);
    Some(body)
}

/// Base64url SHA-256 of the RFC 8785 form of each member.
fn parts(body: &Map<String, Value>) -> Result<BTreeMap<String, String>, CryptoFailure> {
    body.iter().map(|(name, value)| Ok((name.clone(), args_hash(value)?))).collect()
}

/// Puts the Brand's signature into `document`; where no key signs any more, since the Brand was removed, its last one's.
///
/// # Errors
/// [`SignError`].
pub fn sign(document: &mut Document, ring: &KeyRing, alg: SigningAlg, now: Timestamp) -> Result<(), SignError> {
    let failure = CryptoFailure::at("write evidence");
    let body = body(&serde_json::to_value(&*document).map_err(|_| failure)?).ok_or(failure)?;
    let claims = EvidenceClaims {
        iss: document.brand.interface_url.clone(),
        grant_id: document.grant.id.clone(),
        iat: now.seconds(),
        parts: parts(&body)?,
        body_sha256: args_hash(&Value::Object(body))?,
    };
    document.signature = ring.sign_record(now, alg, TYP, &claims)?;
    Ok(())
}

/// What the signature `jws` says of the document `body`, without its signature: that one of `keys` signed it for the Brand
/// whose interface URL is `brand`, or for any when `None`.
///
/// # Errors
/// [`Refused`]; [`Refused::Body`] when it is a good signature of another document.
pub fn verify(jws: &str, keys: &KeySet, brand: Option<&str>, body: &Value) -> Result<EvidenceClaims, Refused> {
    let claims = signed(jws, keys, brand)?;
    let digest = args_hash(body).map_err(|_| Refused::Body)?;
    if digest == claims.body_sha256 { Ok(claims) } else { Err(Refused::Body) }
}

fn signed(jws: &str, keys: &KeySet, brand: Option<&str>) -> Result<EvidenceClaims, Refused> {
    let token = Unverified::parse(jws)?;
    token.ensure_own(TYP)?;
    keys.verify(&token)?;
    let claims: EvidenceClaims = json::parse_as(token.payload()).map_err(|_| Refused::Payload)?;
    if brand.is_some_and(|brand| brand != claims.iss) {
        return Err(Refused::Audience);
    }
    Ok(claims)
}

/// The `kid` that a compact JWS names, unverified.
fn kid(jws: &str) -> Option<String> {
    let header = BASE64_URL_SAFE_NO_PAD.decode(jws.split('.').next()?).ok()?;
    json::parse(&header).ok()?.get("kid")?.as_str().map(str::to_owned)
}
