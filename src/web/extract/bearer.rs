//! Bearer tokens in headers: the personal-agent JWT (RFC 6750 §2.1, PACT §3.2) and the delegation token (PACT §5.5).
//!
//! Refuses a header that comes twice, another scheme, anything but one space after it, and more than one token. Tokens in
//! the query or in a form are never looked for.

use actix_web::HttpRequest;
use actix_web::http::header::{self, AsHeaderName};

/// Carries the delegation token (PACT §5.5).
pub const X_A2A_USER_DELEGATION: &str = "x-a2a-user-delegation";

/// There is no token of the right form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no single bearer token")]
pub struct NoBearer;

/// The token in `Authorization`.
///
/// # Errors
/// [`NoBearer`] when there is not exactly one such header with exactly one token.
pub fn bearer(req: &HttpRequest) -> Result<&str, NoBearer> {
    token(req, header::AUTHORIZATION)?.ok_or(NoBearer)
}

/// The token in `X-A2A-User-Delegation`, if that header is there.
///
/// # Errors
/// [`NoBearer`] when it is there, but not once with exactly one token.
pub fn delegation_header(req: &HttpRequest) -> Result<Option<&str>, NoBearer> {
    token(req, X_A2A_USER_DELEGATION)
}

fn token(req: &HttpRequest, name: impl AsHeaderName) -> Result<Option<&str>, NoBearer> {
    let mut values = req.headers().get_all(name);
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(NoBearer);
    }
    let (scheme, token) = value.to_str().map_err(|_| NoBearer)?.split_once(' ').ok_or(NoBearer)?;
    let is_one = !token.is_empty() && token.bytes().all(is_token_byte);
    if scheme.eq_ignore_ascii_case("bearer") && is_one { Ok(Some(token)) } else { Err(NoBearer) }
}

/// `b64token` of RFC 6750 §2.1: neither a comma nor white space.
const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn request(name: &'static str, values: &[&str]) -> HttpRequest {
        let start = TestRequest::with_uri("/?access_token=a.b.c");
        values.iter().fold(start, |request, value| request.append_header((name, *value))).to_http_request()
    }

    // case 11
    #[test]
    fn the_scheme_is_read_without_regard_to_case() {
        for value in ["Bearer a.b.c", "bearer a.b.c", "BEARER a.b.c"] {
            assert_eq!(bearer(&request("authorization", &[value])), Ok("a.b.c"));
            assert_eq!(delegation_header(&request("x-a2a-user-delegation", &[value])), Ok(Some("a.b.c")));
        }
    }

    // cases 11, 60
    #[test]
    fn anything_but_one_header_with_one_token_is_refused() {
        for values in [
            &["Bearer a.b.c", "Bearer a.b.c"][..],
            &["Bearer a.b.c, Bearer d.e.f"],
            &["Bearer a.b.c,d.e.f"],
            &["Bearer\ta.b.c"],
            &["Bearer  a.b.c"],
            &["Bearer a.b.c d"],
            &["Bearer "],
            &["Bearer"],
            &["Basic a"],
            &["a.b.c"],
            &[""],
        ] {
            assert_eq!(bearer(&request("authorization", values)), Err(NoBearer), "{values:?}");
            assert_eq!(delegation_header(&request("x-a2a-user-delegation", values)), Err(NoBearer), "{values:?}");
        }
    }

    // case 11
    #[test]
    fn a_token_in_the_query_is_not_seen() {
        assert_eq!(bearer(&request("authorization", &[])), Err(NoBearer));
        assert_eq!(delegation_header(&request("x-a2a-user-delegation", &[])), Ok(None));
    }
}
