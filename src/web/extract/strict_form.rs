//! Forms (`application/x-www-form-urlencoded`), read so that no two readers can see different things in them.
//!
//! Refuses another content type, any encoding, parameters in the URL, repeated parameters whether known or not, broken
//! percent escapes, invalid UTF-8 and NUL (RFC 6749 §3.1, §3.2; WHATWG URL §5.1). An empty value counts as absent.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, web};

use super::body::{self, BodyProblem};

/// The largest form: an assertion or a token of the largest size that is looked at, as [`crate::crypto::jws::LONGEST`].
pub const MAX_FORM_BYTES: usize = 16 * 1024;

/// A form's parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl fmt::Debug for Form {
    /// Names only: values are codes and tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Why a form could not be read; its text is for the developer who sent it, and holds no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormProblem {
    /// Another content type, or another charset.
    #[error("the Content-Type must be application/x-www-form-urlencoded, in UTF-8")]
    ContentType,
    /// A `Content-Encoding`.
    #[error("a Content-Encoding is not accepted")]
    Encoded,
    /// Something after `?`.
    #[error("parameters belong in the body, not in the URL")]
    InQuery,
    /// More bytes than allowed.
    #[error("the form is larger than 16 KiB")]
    TooLarge,
    /// It did not arrive in time.
    #[error("the form did not arrive in time")]
    TooSlow,
    /// It ended early.
    #[error("the body is incomplete")]
    Broken,
    /// `%` without two hexadecimal digits.
    #[error("{0} has a % without two hexadecimal digits after it")]
    Escape(Parameter),
    /// Not UTF-8.
    #[error("{0} is not UTF-8")]
    NotUtf8(Parameter),
    /// U+0000.
    #[error("{0} holds a NUL")]
    Nul(Parameter),
    /// Given more than once.
    #[error("{0} is given more than once")]
    Repeated(Parameter),
}

/// A parameter's name as it may be told in a description (RFC 6749 §5.2 leaves few characters for that).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter(Option<String>);

impl Parameter {
    pub(super) fn new(name: &[u8]) -> Self {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let is_plain = (1..=40).contains(&name.len()) && name.iter().all(is_plain);
        Self(is_plain.then(|| String::from_utf8_lossy(name).into_owned()))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => write!(f, "the parameter {name}"),
            None => f.write_str("a parameter"),
        }
    }
}

impl Form {
    /// The parameter's value; empty counts as absent.
    pub fn one(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(given, _)| given == name);
        value.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The names of its parameters, of empty ones too.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The values of a parameter that may be repeated; empty ones are left out.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let values = self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str());
        values.filter(|value| !value.is_empty())
    }
}

/// Reads a form that arrives `within` a time, in which only the parameters in `repeatable` may come more than once.
///
/// # Errors
/// [`FormProblem`] names the parameter where it is one's fault.
pub async fn read_form(
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
    within: Duration,
) -> Result<Form, FormProblem> {
    read_form_of(req, payload, repeatable, MAX_FORM_BYTES, within).await
}

/// The same for a form of at most `most` bytes.
///
/// # Errors
/// As [`read_form`].
pub async fn read_form_of(
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
    most: usize,
    within: Duration,
) -> Result<Form, FormProblem> {
    if !req.query_string().is_empty() {
        return Err(FormProblem::InQuery);
    }
    if !is_form(req) {
        return Err(FormProblem::ContentType);
    }
    if body::is_encoded(req) {
        return Err(FormProblem::Encoded);
    }
    let body = body::read_bounded(req, payload, most, within).await;
    let body = body.map_err(|problem| match problem {
        BodyProblem::TooLarge => FormProblem::TooLarge,
        BodyProblem::Encoded => FormProblem::Encoded,
        BodyProblem::TooSlow => FormProblem::TooSlow,
        BodyProblem::Broken => FormProblem::Broken,
    })?;
    parse(&body, repeatable)
}

/// Whether there is one content type and it is a form in UTF-8.
fn is_form(req: &HttpRequest) -> bool {
    let mut values = req.headers().get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let mut parts = value.to_str().unwrap_or_default().split(';').map(str::trim);
    let is_form = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded"));
    is_form && parts.all(is_utf8_parameter)
}

/// `charset=utf-8`, quoted or not, or nothing at all (RFC 9110 §5.6.6).
fn is_utf8_parameter(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return parameter.is_empty();
    };
    let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    name.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8")
}

/// Reads a form's body.
///
/// # Errors
/// [`FormProblem`] names the parameter where it is one's fault.
pub fn parse(body: &[u8], repeatable: &[&str]) -> Result<Form, FormProblem> {
    for pair in body.split(|byte| *byte == b'&') {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let name = halves.next().unwrap_or_default();
        for half in [name, halves.next().unwrap_or_default()] {
            check(name, half)?;
        }
    }
    let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(body).map_err(|_| FormProblem::Broken)?;
    let mut seen = HashSet::new();
    for (name, _) in &pairs {
        if !seen.insert(name.as_str()) && !repeatable.contains(&name.as_str()) {
            return Err(FormProblem::Repeated(Parameter::new(name.as_bytes())));
        }
    }
    Ok(Form(pairs))
}

/// Checks one half of a pair before it is decoded: the decoder lets broken escapes pass and replaces what is no UTF-8.
fn check(name: &[u8], half: &[u8]) -> Result<(), FormProblem> {
    let mut decoded = Vec::with_capacity(half.len());
    let mut bytes = half.iter().copied();
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)?.try_into().ok());
    while let Some(byte) = bytes.next() {
        let byte = if byte == b'%' {
            let (high, low): (Option<u8>, Option<u8>) = (digit(bytes.next()), digit(bytes.next()));
            let (Some(high), Some(low)) = (high, low) else {
                return Err(FormProblem::Escape(Parameter::new(name)));
            };
            high << 4 | low
        } else {
            byte
        };
        if byte == 0 {
            return Err(FormProblem::Nul(Parameter::new(name)));
        }
        decoded.push(byte);
    }
    match std::str::from_utf8(&decoded) {
        Ok(_) => Ok(()),
        Err(_) => Err(FormProblem::NotUtf8(Parameter::new(name))),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn refused(body: &[u8]) -> String {
        parse(body, &["scope"]).unwrap_err().to_string()
    }

    #[test]
    fn values_are_decoded_once_and_empty_ones_count_as_absent() {
        let form = parse(b"a=1%2B1&b=&c=x+y&d=%25%34%31&e=%c3%a9&&f", &[]).unwrap();
        assert_eq!(form.one("a"), Some("1+1"));
        assert_eq!(form.one("b"), None);
        assert_eq!(form.one("c"), Some("x y"));
        assert_eq!(form.one("d"), Some("%41"));
        assert_eq!(form.one("e"), Some("é"));
        assert_eq!(form.one("f"), None);
        assert_eq!(form.one("g"), None);
    }

    // case 21
    #[test]
    fn a_repeated_parameter_is_refused_known_or_not_and_however_it_is_written() {
        assert_eq!(refused(b"a=1&a=1"), "the parameter a is given more than once");
        assert_eq!(refused(b"a=1&%61="), "the parameter a is given more than once");
        assert_eq!(refused(b"x%22=1&x%22=2"), "a parameter is given more than once");
        let form = parse(b"scope=a&scope=&scope=b", &["scope"]).unwrap();
        assert_eq!(form.all("scope").collect::<Vec<_>>(), ["a", "b"]);
    }

    // case 21
    #[test]
    fn what_would_be_decoded_to_something_else_is_refused() {
        for (body, parameter) in [
            (&b"a=%zz"[..], "the parameter a has a %"),
            (b"a=%4", "the parameter a has a %"),
            (b"a=%", "the parameter a has a %"),
            (b"%=1", "a parameter has a %"),
            (b"a=%ff", "the parameter a is not UTF-8"),
            (b"a=\xff", "the parameter a is not UTF-8"),
            (b"a=%c3&b=%a9", "the parameter a is not UTF-8"),
            (b"%ff=1", "a parameter is not UTF-8"),
            (b"a=1%00", "the parameter a holds a NUL"),
            (b"a=\0", "the parameter a holds a NUL"),
            (b"a%00=1", "a parameter holds a NUL"),
        ] {
            assert!(refused(body).starts_with(parameter), "{}", refused(body));
        }
    }

    // case 21
    #[test]
    fn only_a_form_in_utf8_is_a_form() {
        let is_form = |values: &[&str]| {
            let start = TestRequest::default();
            let request =
                values.iter().fold(start, |request, value| request.append_header((header::CONTENT_TYPE, *value)));
            super::is_form(&request.to_http_request())
        };
        for value in [
            "application/x-www-form-urlencoded",
            "application/x-www-form-urlencoded;charset=UTF-8",
            "Application/X-WWW-Form-Urlencoded ; Charset=\"utf-8\"",
            "application/x-www-form-urlencoded;",
        ] {
            assert!(is_form(&[value]), "{value}");
        }
        for values in [
            &[][..],
            &[""],
            &["application/json"],
            &["multipart/form-data; boundary=x"],
            &["application/x-www-form-urlencoded; charset=utf-16"],
            &["application/x-www-form-urlencoded; charset=utf-8; x=y"],
            &["application/x-www-form-urlencoded, application/json"],
            &["application/x-www-form-urlencoded", "application/x-www-form-urlencoded"],
        ] {
            assert!(!is_form(values), "{values:?}");
        }
    }

    // case 21
    #[actix_web::test]
    async fn parameters_in_the_url_and_encoded_bodies_are_refused() {
        let form = || TestRequest::post().insert_header((header::CONTENT_TYPE, "application/x-www-form-urlencoded"));
        let read = async |request: TestRequest| {
            let (req, mut payload) = request.set_payload("a=1").to_http_parts();
            let payload = <web::Payload as actix_web::FromRequest>::from_request(&req, &mut payload).await.unwrap();
            read_form(&req, payload, &[], Duration::from_secs(1)).await
        };
        assert_eq!(read(form()).await.unwrap().one("a"), Some("1"));
        assert_eq!(read(form().uri("/?b=2")).await, Err(FormProblem::InQuery));
        let gzip = form().insert_header((header::CONTENT_ENCODING, "gzip"));
        assert_eq!(read(gzip).await, Err(FormProblem::Encoded));
    }

    #[test]
    fn values_do_not_show() {
        let form = parse(b"device_code=canary", &[]).unwrap();
        assert_eq!(format!("{form:?}"), r#"{"device_code"}"#);
    }
}
