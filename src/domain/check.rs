//! What every value that an administrator writes must be, whatever it is for.

use url::Url;

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
