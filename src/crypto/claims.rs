//! The claims of a verified JWT, read strictly (RFC 7519 §4), and the times that PACT §3.2 allows.
//!
//! Refuses a NumericDate that is not a JSON number from 0 to 2^53; a fraction is cut off.

use std::time::Duration;

use serde_json::{Map, Value};

use super::jws::Refused;
use crate::clock::Timestamp;
use crate::protocol::json;

/// How far two clocks may be apart, in both directions: inside the 30 s of PACT §3.2, so that "31 s" never slips through.
const SKEW: Duration = Duration::from_secs(29);

/// The longest life, `exp - iat`, in seconds (PACT §3.2).
const LONGEST_LIFE: i64 = 300;

/// Up to here every integer is a number of its own in any JSON parser (RFC 7493 §2.2).
const GREATEST: u64 = 1 << 53;

/// A JSON object of claims without duplicate members.
pub(super) struct Claims(Map<String, Value>);

/// From when and until when a token says it is good.
#[derive(Clone, Copy)]
pub(super) struct Life {
    pub(super) issued_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

impl Claims {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Refused> {
        match json::parse(payload) {
            Ok(Value::Object(claims)) => Ok(Self(claims)),
            _ => Err(Refused::Payload),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A claim that must be a string.
    pub(super) fn text(&self, name: &'static str) -> Result<&str, Refused> {
        self.get(name).and_then(Value::as_str).ok_or(Refused::Claim(name))
    }

    /// Whole seconds since the epoch; `None` when the claim is absent.
    fn numeric_date(&self, name: &'static str) -> Result<Option<i64>, Refused> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let Value::Number(number) = value else {
            return Err(Refused::Claim(name));
        };
        let seconds = match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Some(whole),
            // A cast of a float in this range cuts its fraction off and nothing else.
            (None, Some(float)) if (0.0..=GREATEST as f64).contains(&float) => Some(float as u64),
            _ => None,
        };
        let seconds = seconds.filter(|seconds| *seconds <= GREATEST).and_then(|seconds| i64::try_from(seconds).ok());
        seconds.map(Some).ok_or(Refused::Claim(name))
    }

    /// `iat` and `exp`, both present, at most 300 s apart; `nbf` is honoured if present. Measured with [`SKEW`].
    pub(super) fn life(&self, now: Timestamp) -> Result<Life, Refused> {
        let issued_at = self.numeric_date("iat")?.ok_or(Refused::Claim("iat"))?;
        let expires_at = self.numeric_date("exp")?.ok_or(Refused::Claim("exp"))?;
        let not_before = self.numeric_date("nbf")?;
        if expires_at - issued_at > LONGEST_LIFE {
            return Err(Refused::Lifetime);
        }
        let latest = now.plus(SKEW);
        let life =
            Life { issued_at: Timestamp::from_seconds(issued_at), expires_at: Timestamp::from_seconds(expires_at) };
        if life.issued_at > latest || not_before.is_some_and(|seconds| Timestamp::from_seconds(seconds) > latest) {
            return Err(Refused::NotYet);
        }
        if life.expires_at <= now.minus(SKEW) {
            return Err(Refused::Expired);
        }
        Ok(life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_767_225_600;

    fn life(claims: &str) -> Result<Life, Refused> {
        Claims::parse(claims.as_bytes()).unwrap().life(Timestamp::from_seconds(NOW))
    }

    fn times(iat: i64, exp: i64) -> Result<Life, Refused> {
        life(&format!(r#"{{"iat":{},"exp":{}}}"#, NOW + iat, NOW + exp))
    }

    // case 4
    #[test]
    fn life_and_skew_end_exactly_where_they_should() {
        assert!(times(0, 300).is_ok());
        assert_eq!(times(0, 301).err(), Some(Refused::Lifetime));
        assert!(times(27, 120).is_ok());
        assert!(times(29, 120).is_ok());
        assert_eq!(times(30, 120).err(), Some(Refused::NotYet));
        assert_eq!(times(31, 120).err(), Some(Refused::NotYet));
        assert!(times(-120, -27).is_ok());
        assert!(times(-120, -28).is_ok());
        assert_eq!(times(-120, -29).err(), Some(Refused::Expired));
        assert_eq!(times(-120, -31).err(), Some(Refused::Expired));
    }

    // case 5
    #[test]
    fn nbf_is_honoured_with_the_skew() {
        let with_nbf = |nbf: &str| life(&format!(r#"{{"iat":{NOW},"exp":{},"nbf":{nbf}}}"#, NOW + 120)).err();
        assert_eq!(with_nbf(&(NOW + 29).to_string()), None);
        assert_eq!(with_nbf(&(NOW + 30).to_string()), Some(Refused::NotYet));
        assert_eq!(with_nbf("null"), Some(Refused::Claim("nbf")));
        assert_eq!(with_nbf("-1"), Some(Refused::Claim("nbf")));
    }

    // case 5
    #[test]
    fn a_fraction_is_cut_off() {
        let read = life(&format!(r#"{{"iat":{NOW}.999,"exp":{}.999}}"#, NOW + 300)).unwrap();
        assert_eq!(read.issued_at.seconds(), NOW);
        assert_eq!(read.expires_at.seconds(), NOW + 300);
    }

    // case 5
    #[test]
    fn what_is_not_a_number_within_two_to_the_53_is_refused() {
        let strange = [
            "\"1767225600\"",
            "null",
            "true",
            "[]",
            "-1",
            "-0.5",
            "1e300",
            "9007199254740993",
            "1e16",
            "18446744073709551616",
        ];
        for exp in strange {
            assert_eq!(life(&format!(r#"{{"iat":{NOW},"exp":{exp}}}"#)).err(), Some(Refused::Claim("exp")), "{exp}");
            assert_eq!(life(&format!(r#"{{"exp":{NOW},"iat":{exp}}}"#)).err(), Some(Refused::Claim("iat")), "{exp}");
        }
        assert_eq!(life("{}").err(), Some(Refused::Claim("iat")));
    }

    // case 7
    #[test]
    fn claims_are_one_object_without_duplicates() {
        for payload in ["", "[]", "\"x\"", r#"{"sub":"a","sub":"b"}"#, r#"{"a":{"b":1,"b":1}}"#, "{} "] {
            assert_eq!(Claims::parse(payload.as_bytes()).is_err(), payload != "{} ", "{payload}");
        }
    }
}
