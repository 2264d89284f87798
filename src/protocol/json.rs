//! Strict JSON: exactly one value, UTF-8, no duplicate members, no lone surrogates (RFC 8259 §4, RFC 7493 §2).
//!
//! Two parsers that disagree about a duplicate member are how a check is passed with one value and an action taken
//! with another; so a duplicate is an error here, at every depth, in members that nobody reads too.

use std::fmt;

use serde::de::{self, DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Why bytes were not the JSON that was expected. Its text names the place or what was expected, never the content.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidJson(String);

impl InvalidJson {
    /// A value was not of the shape of a type. The library's text begins with what was found, which is left out.
    pub fn of_shape(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        if text.starts_with("missing field `") {
            return Self(text);
        }
        Self(
            text.rsplit_once(", expected ")
                .map_or_else(|| "not of the expected shape".to_owned(), |(_, expected)| format!("expected {expected}")),
        )
    }
}

/// Parses exactly one JSON value.
///
/// # Errors
/// [`InvalidJson`] for a syntax error, a byte order mark, trailing bytes, a duplicate member at any depth, a lone
/// surrogate, a number beyond `f64`, or more than 128 levels.
pub fn parse(bytes: &[u8]) -> Result<Value, InvalidJson> {
    let parsed = serde_json::from_slice::<Unique>(bytes).map_err(|error| InvalidJson(error.to_string()))?;
    Ok(parsed.0)
}

/// Parses exactly one JSON object, then reads a `T` from it.
///
/// # Errors
/// As [`parse`], and when the value is no object or has not the shape of `T`.
pub fn parse_as<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, InvalidJson> {
    let value = parse(bytes)?;
    if !value.is_object() {
        return Err(InvalidJson("expected an object".to_owned()));
    }
    serde_json::from_value(value).map_err(|error| InvalidJson::of_shape(&error))
}

/// Whether every item of the list at `pointer` (RFC 6901) is an object, where there is such a list: a type that is read
/// from an object would also be read from a list of its members.
pub fn holds_objects(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_array).is_none_or(|items| items.iter().all(Value::is_object))
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unique(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(de::Error::custom("duplicate member"));
            }
            let Unique(value) = map.next_value()?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) {
        assert!(parse(text).is_err(), "{} was accepted", String::from_utf8_lossy(text));
    }

    #[test]
    fn a_plain_value_is_read_as_it_is() {
        let text = br#"{"a":[1,2.5,-3,true,null,"\ud83d\ude00"],"b":{}}"#;
        assert_eq!(parse(text).unwrap(), serde_json::from_slice::<Value>(text).unwrap());
    }

    #[test]
    fn an_error_about_a_shape_names_what_was_expected_and_not_what_was_found() {
        #[derive(Deserialize, Debug)]
        struct Shape {
            #[expect(dead_code, reason = "only read")]
            list: Vec<String>,
        }
        let text = |text: &str| parse_as::<Shape>(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(text(r#"{"list":"canary, expected canary"}"#), "expected a sequence");
        assert_eq!(text(r#"{"list":[17]}"#), "expected a string");
        assert_eq!(text("{}"), "missing field `list`");
        assert!(text(r#"{"list":[],"list":[]}"#).starts_with("duplicate member at line 1"));
    }

    // case 64
    #[test]
    fn duplicate_members_are_refused_at_every_depth() {
        refused(br#"{"a":1,"a":1}"#);
        refused(br#"{"x":[{"a":1,"b":2,"a":3}]}"#);
        refused(br#"{"a":1,"\u0061":2}"#);
    }

    // case 64
    #[test]
    fn what_is_not_exactly_one_value_of_unicode_text_is_refused() {
        refused(b"");
        refused(b"{} {}");
        refused(b"\xef\xbb\xbf{}");
        refused(b"{\"a\":\"\xff\"}");
        refused(br#"{"a":"\ud800"}"#);
        refused(br#"{"\udc00":1}"#);
        refused(b"NaN");
        refused(b"1e999");
        refused("[".repeat(10_000).as_bytes());
    }
}
