//! What every value that an administrator writes must be, whatever it is for.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use url::Url;

/// What `ensure_text` takes, as a pattern of ECMA-262, beside a length.
pub const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// Text without control characters that is not empty, as a pattern of ECMA-262.
pub const PRINTABLE: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";

/// Web addresses that `ensure_web` takes, as a pattern of ECMA-262. It takes others too: what it refuses no address that
/// is written so has.
const WEB: &str = concat!(
    r"^https?://([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[1-9][0-9]{0,3}|:[1-5][0-9]{4}|:6[0-4][0-9]{3})?",
    r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$"
);

/// Web addresses with nothing after the port.
const ORIGIN: &str = r"^https?://([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[1-9][0-9]{0,3}|:[1-5][0-9]{4}|:6[0-4][0-9]{3})?/?$";

/// The schema of a web address.
pub fn web_address(generator: &mut SchemaGenerator) -> Schema {
    address(generator, WEB, json!("string"))
}

/// The same of one that may be absent.
pub fn optional_web_address(generator: &mut SchemaGenerator) -> Schema {
    address(generator, WEB, json!(["string", "null"]))
}

/// The schema of an origin that may be absent.
pub fn optional_origin(generator: &mut SchemaGenerator) -> Schema {
    address(generator, ORIGIN, json!(["string", "null"]))
}

/// What is shown may be an address that no pattern of ours foresees, nor RFC 3986: browsers read more.
fn address(generator: &SchemaGenerator, pattern: &str, kind: Value) -> Schema {
    if generator.contract().is_serialize() {
        return json_schema!({ "type": kind });
    }
    json_schema!({ "type": kind, "pattern": pattern, "maxLength": 2048 })
}

/// What is wrong with a value: the parameter, what it holds and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {problem}")]
pub struct InvalidParameter {
    /// As it is written in an `apply` file.
    pub parameter: String,
    /// In words.
    pub problem: String,
}

pub(super) fn ensure(holds: bool, parameter: &str, problem: impl Into<String>) -> Result<(), InvalidParameter> {
    if holds { Ok(()) } else { Err(InvalidParameter { parameter: parameter.to_owned(), problem: problem.into() }) }
}

pub(super) fn ensure_text(parameter: &str, text: &str, max: usize) -> Result<(), InvalidParameter> {
    let length = text.chars().count();
    ensure(!text.trim().is_empty(), parameter, "must not be empty")?;
    ensure(length <= max, parameter, format!("has {length} characters; at most {max} are shown"))?;
    ensure(!text.chars().any(char::is_control), parameter, "must not have control characters")
}

/// Whether `url` is one a browser can be sent to: HTTPS, or HTTP where `allow_http`, without credentials or fragment.
pub(super) fn ensure_web(parameter: &str, url: &Url, allow_http: bool) -> Result<(), InvalidParameter> {
    let scheme = url.scheme();
    ensure(scheme == "https" || (allow_http && scheme == "http"), parameter, format!("is {scheme}:, expected https:"))?;
    ensure(url.host().is_some(), parameter, "has no host")?;
    ensure(url.username().is_empty() && url.password().is_none(), parameter, "must not hold credentials")?;
    ensure(url.fragment().is_none(), parameter, "must not have a fragment")
}
