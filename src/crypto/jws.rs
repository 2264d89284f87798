//! The compact serialization of RFC 7515 §7.1, read strictly, and the reasons for which a token is refused.
//!
//! Refuses anything but three canonical base64url segments, more than 16 KiB, a header that is not one JSON object
//! without duplicate members, `crit` and `b64` whatever they hold (RFC 7515 §4.1.11, RFC 7797), and every `alg` but
//! ES256 and RS256. `jku`, `x5u`, `jwk` and other members of the header are never looked at.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::domain::brand::SigningAlg;
use crate::protocol::json;

/// The longest token that is read, in bytes.
pub const LONGEST: usize = 16 * 1024;

/// Why a token was refused. Holds nothing of the token, so that it can be logged and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// Not three canonical base64url segments, or longer than [`LONGEST`].
    #[error("the token is not a compact JWS of at most 16 KiB")]
    Malformed,
    /// Not one JSON object without duplicate members, or a member of the wrong type.
    #[error("the token's header is not a valid JOSE header")]
    Header,
    /// `crit` or `b64` is present.
    #[error("the token's header asks for an extension")]
    Extension,
    /// `alg` is missing, not ES256 or RS256, or not the algorithm of the key that `kid` names.
    #[error("the token's algorithm is not one that its key is used with")]
    Algorithm,
    /// `typ` is not the one of this kind of token.
    #[error("the token is of another type")]
    Type,
    /// No usable key of the set fits: a newer set may have one.
    #[error("no usable key of the set fits the token")]
    UnknownKey,
    /// The signature does not verify.
    #[error("the token's signature does not verify")]
    Signature,
    /// Not one JSON object without duplicate members.
    #[error("the token's payload is not a JSON object of the expected shape")]
    Payload,
    /// A claim is missing or not of the form it must have.
    #[error("the claim {0} is missing or malformed")]
    Claim(&'static str),
    /// `iss` is another.
    #[error("the token is of another issuer")]
    Issuer,
    /// `aud` is another.
    #[error("the token is for another audience")]
    Audience,
    /// `exp` is more than 300 s after `iat`.
    #[error("the token's life is longer than 300 s")]
    Lifetime,
    /// `iat` or `nbf` is in the future, beyond the skew.
    #[error("the token is not valid yet")]
    NotYet,
    /// `exp` is past, beyond the skew.
    #[error("the token has expired")]
    Expired,
    /// The token was made for another body.
    #[error("the token is for another body")]
    Body,
}

impl Refused {
    /// A short name for log fields and metric labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Header => "header",
            Self::Extension => "extension",
            Self::Algorithm => "algorithm",
            Self::Type => "type",
            Self::UnknownKey => "unknown_key",
            Self::Signature => "signature",
            Self::Payload => "payload",
            Self::Claim(_) => "claim",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Lifetime => "lifetime",
            Self::NotYet => "not_yet",
            Self::Expired => "expired",
            Self::Body => "body",
        }
    }

    /// Whether a newer key set could make the token acceptable, so that fetching one is worth it.
    pub const fn may_need_newer_keys(self) -> bool {
        matches!(self, Self::UnknownKey)
    }
}

/// A token that was taken apart. Nothing in it has been verified.
#[derive(Debug)]
pub struct Unverified<'a> {
    alg: SigningAlg,
    kid: Option<String>,
    typ: Option<String>,
    header_members: usize,
    signed: &'a str,
    signature: Vec<u8>,
    payload: Vec<u8>,
}

impl<'a> Unverified<'a> {
    /// Takes `token` apart.
    ///
    /// # Errors
    /// [`Refused::Malformed`], [`Refused::Header`], [`Refused::Extension`] and [`Refused::Algorithm`].
    pub fn parse(token: &'a str) -> Result<Self, Refused> {
        if token.len() > LONGEST {
            return Err(Refused::Malformed);
        }
        let mut segments = token.splitn(4, '.');
        let (Some(header), Some(payload), Some(signature), None) =
            (segments.next(), segments.next(), segments.next(), segments.next())
        else {
            return Err(Refused::Malformed);
        };
        let signed = token.get(..header.len() + 1 + payload.len()).ok_or(Refused::Malformed)?;
        let header = decode(header)?;
        let payload = decode(payload)?;
        let signature = decode(signature)?;
        let Ok(Value::Object(header)) = json::parse(&header) else {
            return Err(Refused::Header);
        };
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(Refused::Extension);
        }
        let alg = match header.get("alg") {
            Some(Value::String(name)) => alg_of(name).ok_or(Refused::Algorithm)?,
            _ => return Err(Refused::Algorithm),
        };
        let kid = text(&header, "kid")?;
        let typ = text(&header, "typ")?;
        Ok(Self { alg, kid, typ, header_members: header.len(), signed, signature, payload })
    }

    /// The header's `alg`.
    pub const fn alg(&self) -> SigningAlg {
        self.alg
    }

    /// The header's `kid`.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The header's `typ`.
    pub fn typ(&self) -> Option<&str> {
        self.typ.as_deref()
    }

    /// The payload, of which nothing may be believed before [`super::jwks::KeySet::verify`] or its like said yes.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The bytes that were signed: header, dot, payload (RFC 7515 §5.1).
    pub(super) const fn signed(&self) -> &[u8] {
        self.signed.as_bytes()
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Holds of a plain JWT: no `typ`, or `JWT` in any case (RFC 7519 §5.1).
    pub(super) fn ensure_plain_jwt(&self) -> Result<(), Refused> {
        if self.typ().is_none_or(|typ| typ.eq_ignore_ascii_case("JWT")) { Ok(()) } else { Err(Refused::Type) }
    }

    /// Holds of a token as this crate signs them: exactly this `typ`, a `kid`, and no further member in the header.
    pub(super) fn ensure_own(&self, typ: &str) -> Result<(), Refused> {
        if self.typ() != Some(typ) {
            return Err(Refused::Type);
        }
        if self.kid.is_none() || self.header_members != 3 {
            return Err(Refused::Header);
        }
        Ok(())
    }
}

/// The algorithm of this name (RFC 7518 §3.1), if it is one of the two.
pub(super) fn alg_of(name: &str) -> Option<SigningAlg> {
    [SigningAlg::Es256, SigningAlg::Rs256].into_iter().find(|alg| alg.name() == name)
}

/// Base64url without padding and with zero trailing bits, so that no two texts stand for one token.
fn decode(segment: &str) -> Result<Vec<u8>, Refused> {
    BASE64_URL_SAFE_NO_PAD.decode(segment).map_err(|_| Refused::Malformed)
}

fn text(header: &Map<String, Value>, name: &str) -> Result<Option<String>, Refused> {
    match header.get(name) {
        None => Ok(None),
        Some(Value::String(value)) => Ok(Some(value.clone())),
        Some(_) => Err(Refused::Header),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str) -> String {
        format!("{}.{}.", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode("{}"))
    }

    fn refusal(token: &str) -> Refused {
        Unverified::parse(token).err().unwrap_or_else(|| panic!("{token} was taken apart"))
    }

    // case 7
    #[test]
    fn a_token_has_three_canonical_segments_and_a_bounded_length() {
        assert!(Unverified::parse(&token(r#"{"alg":"ES256"}"#)).is_ok());
        let plain = token(r#"{"alg":"ES256"}"#);
        for wrong in [
            String::new(),
            "..".to_owned(),
            ".".repeat(1000),
            ".".repeat(10_000_000),
            format!("{plain}."),
            format!("{plain}=="),
            format!(" {plain}"),
            format!("{plain}\n"),
            plain.replace('.', " ."),
            plain.trim_end_matches('.').to_owned(),
            // The same byte with other trailing bits.
            format!("{plain}AB"),
            format!("{plain}{}", "A".repeat(LONGEST)),
            r#"{"payload":"","signatures":[]}"#.to_owned(),
            "a.b.c.d.e".to_owned(),
        ] {
            let refusal = refusal(&wrong);
            assert!(matches!(refusal, Refused::Malformed | Refused::Header), "{refusal:?}");
        }
    }

    // case 1
    #[test]
    fn only_es256_and_rs256_are_algorithms() {
        for alg in ["none", "None", "NONE", "", "HS256", "PS256", "ES384", "RS512", "EdDSA", "es256", "ES256 "] {
            assert_eq!(refusal(&token(&format!(r#"{{"alg":"{alg}"}}"#))), Refused::Algorithm, "{alg}");
        }
        assert_eq!(refusal(&token("{}")), Refused::Algorithm);
        assert_eq!(refusal(&token(r#"{"alg":["ES256"]}"#)), Refused::Algorithm);
    }

    // case 7
    #[test]
    fn extensions_duplicates_and_wrong_types_in_the_header_are_refused() {
        for header in [
            r#"{"alg":"ES256","crit":[]}"#,
            r#"{"alg":"ES256","crit":["exp"]}"#,
            r#"{"alg":"ES256","crit":null}"#,
            r#"{"alg":"ES256","b64":false}"#,
            r#"{"alg":"ES256","b64":true}"#,
        ] {
            assert_eq!(refusal(&token(header)), Refused::Extension, "{header}");
        }
        for header in [
            r#"{"alg":"ES256","alg":"ES256"}"#,
            r#"{"alg":"ES256","kid":1}"#,
            r#"{"alg":"ES256","typ":null}"#,
            r#"["ES256"]"#,
            "{",
        ] {
            assert_eq!(refusal(&token(header)), Refused::Header, "{header}");
        }
    }

    #[test]
    fn reasons_hold_nothing_of_the_token() {
        let canary = token(r#"{"alg":"canary"}"#);
        let refusal = refusal(&canary);
        assert!(!format!("{refusal} {refusal:?} {}", refusal.label()).contains("canary"));
    }
}
