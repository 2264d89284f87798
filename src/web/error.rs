//! Outcomes as HTTP answers: the only place that maps them to statuses (PACT §3.4, §5.5, §6; RFC 6749 §5.2, RFC 6750 §3).
//!
//! Every body is a constant or made from a wire type: no text of an inner error reaches a client.

mod problem;

use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;

use super::extract::body::BodyProblem;
use super::extract::strict_form::FormProblem;
use super::pages::Problem;
use super::pages::admin::{AccountNotice, Trouble, Undone, WrongKind, WrongLogIn};
use super::site::Misaddressed;
use crate::flow::Fault;
use crate::protocol::a2a::{self, ErrorEnvelope, Reason};
use crate::protocol::oauth::{ErrorCode, ErrorResponse};

pub use problem::{Kind, api_again, api_json, api_kept, kept_problem, kept_unknown, problem};

/// The challenge of a request without a good personal-agent JWT (PACT §3.4).
const CHALLENGE: &str = r#"Bearer realm="a2a""#;
/// The challenge of a request whose delegation token is not good (PACT §5.5).
const INVALID_TOKEN: &str = r#"Bearer realm="a2a", error="invalid_token""#;

/// How long to wait for a database that is away, busy or full.
const SOON: Duration = Duration::from_secs(1);

fn json<T: Serialize>(mut response: HttpResponseBuilder, content_type: &'static str, body: &T) -> HttpResponse {
    match serde_json::to_string(body) {
        Ok(body) => response.insert_header((header::CONTENT_TYPE, content_type)).body(body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            internal()
        }
    }
}

/// Whole seconds, rounded up, at least one: waiting that long works.
fn retry_after(wait: Duration) -> (header::HeaderName, String) {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    (header::RETRY_AFTER, seconds.max(1).to_string())
}

/// An A2A answer with status 200.
pub fn a2a_json<T: Serialize>(body: &T) -> HttpResponse {
    json(HttpResponse::Ok(), a2a::CONTENT_TYPE, body)
}

/// An A2A answer with status 200 whose JSON is already written: a stored reply goes out byte for byte.
pub fn a2a_text(body: String) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, a2a::CONTENT_TYPE)).body(body)
}

/// The A2A error envelope with the status of its `reason` (PACT §6).
pub fn a2a_error(reason: Reason, message: impl Into<String>) -> HttpResponse {
    let (_, code, _) = reason.parts();
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json(HttpResponse::build(status), a2a::CONTENT_TYPE, &ErrorEnvelope::new(reason, message))
}

/// 401 without a body: no good personal-agent JWT (PACT §3.4).
pub fn unauthenticated() -> HttpResponse {
    HttpResponse::Unauthorized().insert_header((header::WWW_AUTHENTICATE, CHALLENGE)).finish()
}

/// 401 without a body: no good delegation token (PACT §5.5).
pub fn invalid_token() -> HttpResponse {
    HttpResponse::Unauthorized().insert_header((header::WWW_AUTHENTICATE, INVALID_TOKEN)).finish()
}

fn no_store(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CACHE_CONTROL, "no-store")).insert_header((header::PRAGMA, "no-cache"));
    response
}

/// An answer of the authorization server with status 200 (RFC 6749 §5.1).
pub fn oauth_json<T: Serialize>(body: &T) -> HttpResponse {
    json(no_store(StatusCode::OK), "application/json", body)
}

/// 200 without content: what was to be revoked is not good any more (RFC 7009 §2.2).
pub fn oauth_done() -> HttpResponse {
    no_store(StatusCode::OK).finish()
}

fn oauth(mut response: HttpResponseBuilder, error: ErrorCode, description: &str) -> HttpResponse {
    if error == ErrorCode::InvalidClient {
        response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
    }
    json(response, "application/json", &ErrorResponse { error, error_description: Some(description) })
}

/// An OAuth error (RFC 6749 §5.2): 400, or 401 with a challenge for `invalid_client`, 429 for `too_many_requests`,
/// 503 for `temporarily_unavailable` and 500 for `server_error`.
pub fn oauth_error(error: ErrorCode, description: &str) -> HttpResponse {
    oauth(no_store(oauth_status(error)), error, description)
}

/// The same with `Retry-After`, for errors that waiting may cure.
pub fn oauth_error_for_now(error: ErrorCode, description: &str, wait: Duration) -> HttpResponse {
    let mut response = no_store(oauth_status(error));
    response.insert_header(retry_after(wait));
    oauth(response, error, description)
}

const fn oauth_status(error: ErrorCode) -> StatusCode {
    match error {
        ErrorCode::InvalidRequest | ErrorCode::InvalidGrant | ErrorCode::UnsupportedGrantType => {
            StatusCode::BAD_REQUEST
        }
        ErrorCode::InvalidScope | ErrorCode::AuthorizationPending | ErrorCode::SlowDown => StatusCode::BAD_REQUEST,
        ErrorCode::AccessDenied | ErrorCode::ExpiredToken => StatusCode::BAD_REQUEST,
        ErrorCode::InvalidClient => StatusCode::UNAUTHORIZED,
        ErrorCode::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The authorization server's answer to more requests than a caller or an address may send.
pub fn oauth_too_many_requests(wait: Duration) -> HttpResponse {
    oauth_error_for_now(ErrorCode::TooManyRequests, "too many requests; wait as long as Retry-After says", wait)
}

/// The answer of the authorization server to a form that could not be read: 400, 413 or 408. The connection of one that is
/// late is closed, since the rest of it may still come.
pub fn oauth_form_problem(problem: &FormProblem) -> HttpResponse {
    let mut response = match problem {
        FormProblem::TooLarge => no_store(StatusCode::PAYLOAD_TOO_LARGE),
        FormProblem::TooSlow => no_store(StatusCode::REQUEST_TIMEOUT),
        _ => no_store(StatusCode::BAD_REQUEST),
    };
    if *problem == FormProblem::TooSlow {
        response.force_close();
    }
    oauth(response, ErrorCode::InvalidRequest, &problem.to_string())
}

/// The answer to a body that could not be read, without content: the A2A envelope has no word for it.
pub fn body_problem(problem: BodyProblem) -> HttpResponse {
    match problem {
        BodyProblem::TooLarge => too_large(),
        BodyProblem::Encoded => unsupported_media_type(),
        BodyProblem::TooSlow => too_slow(),
        BodyProblem::Broken => bad_request(),
    }
}

/// A fault, in the log: its text goes nowhere else.
pub fn log_fault(fault: &Fault) {
    if fault.is_passing() {
        tracing::warn!(error = %fault, "the database is away, busy or full");
    } else {
        tracing::error!(error = %fault, "a request failed");
    }
}

/// The A2A answer to a fault: 503 without a body where waiting may help, `INTERNAL` otherwise.
pub fn a2a_fault(fault: &Fault) -> HttpResponse {
    log_fault(fault);
    if fault.is_passing() {
        return unavailable(SOON);
    }
    a2a_error(Reason::Internal, "The Provider failed to answer")
}

/// The authorization server's answer to a fault.
pub fn oauth_fault(fault: &Fault) -> HttpResponse {
    log_fault(fault);
    if fault.is_passing() {
        return oauth_error_for_now(ErrorCode::TemporarilyUnavailable, "try again in a moment", SOON);
    }
    oauth_error(ErrorCode::ServerError, "the authorization server failed to answer")
}

/// The status of a page that says what went wrong.
pub const fn page_status(problem: Problem) -> StatusCode {
    match problem {
        Problem::SignInNotVerified | Problem::PageNotUsable => StatusCode::FORBIDDEN,
        Problem::CodeNotUsable | Problem::Expired => StatusCode::GONE,
        Problem::TooManyTries | Problem::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        Problem::AlreadyDecided { .. } => StatusCode::CONFLICT,
        Problem::BadRequest => StatusCode::BAD_REQUEST,
        Problem::NotFound => StatusCode::NOT_FOUND,
        Problem::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Problem::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a page of the console that says what went wrong.
pub const fn console_status(trouble: Trouble) -> StatusCode {
    match trouble {
        Trouble::FormNotTaken | Trouble::SessionEnded | Trouble::NotAllowed => StatusCode::FORBIDDEN,
        Trouble::BadForm => StatusCode::BAD_REQUEST,
        Trouble::NotFound => StatusCode::NOT_FOUND,
        Trouble::Changed => StatusCode::CONFLICT,
        Trouble::TooManyTries => StatusCode::TOO_MANY_REQUESTS,
        Trouble::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Trouble::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a page of the console that says why nothing was done.
pub const fn undone_status(undone: Undone) -> StatusCode {
    match undone {
        Undone::BadAddress => StatusCode::BAD_REQUEST,
        Undone::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        Undone::Taken | Undone::MoreFit | Undone::Altered => StatusCode::CONFLICT,
    }
}

/// The status of the log-in page, or of the one that asks for a code, that says what was wrong.
pub const fn log_in_status(wrong: WrongLogIn) -> StatusCode {
    match wrong {
        WrongLogIn::Refused => StatusCode::FORBIDDEN,
        WrongLogIn::TooManyTries => StatusCode::TOO_MANY_REQUESTS,
        WrongLogIn::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The status of the account page that says why nothing was changed.
pub const fn account_status(notice: AccountNotice) -> StatusCode {
    match notice {
        AccountNotice::PasswordChanged | AccountNotice::SecondFactorOn | AccountNotice::SecondFactorOff => {
            StatusCode::OK
        }
        AccountNotice::WrongPassword | AccountNotice::WrongCode => StatusCode::FORBIDDEN,
        AccountNotice::PoorPassword(_) | AccountNotice::NotAlike => StatusCode::UNPROCESSABLE_ENTITY,
        AccountNotice::Stale => StatusCode::CONFLICT,
        AccountNotice::TooManyTries => StatusCode::TOO_MANY_REQUESTS,
        AccountNotice::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The status of a form of the console that says why nothing was done.
pub const fn form_status(wrong: WrongKind) -> StatusCode {
    match wrong {
        WrongKind::Input => StatusCode::UNPROCESSABLE_ENTITY,
        WrongKind::Conflict => StatusCode::CONFLICT,
        WrongKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// `response` with `Retry-After`.
pub fn with_retry_after(mut response: HttpResponse, wait: Duration) -> HttpResponse {
    let (name, seconds) = retry_after(wait);
    if let Ok(seconds) = header::HeaderValue::try_from(seconds) {
        response.headers_mut().insert(name, seconds);
    }
    response
}

/// 415 without a body.
pub fn unsupported_media_type() -> HttpResponse {
    HttpResponse::UnsupportedMediaType().finish()
}

/// 400 without a body.
pub fn bad_request() -> HttpResponse {
    HttpResponse::BadRequest().finish()
}

/// 404 without a body.
pub fn not_found() -> HttpResponse {
    HttpResponse::NotFound().finish()
}

/// 408 without a body; the connection is closed, since the rest of the request may still come.
pub fn too_slow() -> HttpResponse {
    HttpResponse::RequestTimeout().force_close().finish()
}

/// 413 without a body.
pub fn too_large() -> HttpResponse {
    HttpResponse::PayloadTooLarge().finish()
}

/// 400 without a body, or 421 that says whom to ask instead (RFC 9110 §7.2, §15.5.20).
pub fn misaddressed(problem: &Misaddressed) -> HttpResponse {
    match problem {
        Misaddressed::Malformed => bad_request(),
        Misaddressed::UnknownHost(hint) => HttpResponse::MisdirectedRequest()
            .insert_header((header::CONTENT_TYPE, "text/plain; charset=utf-8"))
            .body(format!("{hint}\n")),
    }
}

/// 405 without a body; `allow` names the methods that the path has (RFC 9110 §15.5.6).
pub fn method_not_allowed(allow: &str) -> HttpResponse {
    HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, allow)).finish()
}

/// 429 without a body.
pub fn too_many_requests(wait: Duration) -> HttpResponse {
    HttpResponse::TooManyRequests().insert_header(retry_after(wait)).finish()
}

/// 431 without a body (RFC 6585 §5).
pub fn headers_too_large() -> HttpResponse {
    HttpResponse::RequestHeaderFieldsTooLarge().force_close().finish()
}

/// 500 without a body.
pub fn internal() -> HttpResponse {
    HttpResponse::InternalServerError().finish()
}

/// 503 without a body: waiting may help.
pub fn unavailable(wait: Duration) -> HttpResponse {
    HttpResponse::ServiceUnavailable().insert_header(retry_after(wait)).finish()
}

#[cfg(test)]
mod tests {
    use actix_web::body::MessageBody;

    use super::*;

    fn header<'a>(response: &'a HttpResponse, name: &str) -> Option<&'a str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    fn text(response: HttpResponse) -> String {
        String::from_utf8(response.into_body().try_into_bytes().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn an_a2a_error_has_the_status_of_its_reason_and_no_charset() {
        let response = a2a_error(Reason::TaskNotFound, "Task not found: x");
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(header(&response, "content-type"), Some("application/a2a+json"));
        let body: serde_json::Value = serde_json::from_str(&text(response)).unwrap();
        assert_eq!(body["error"]["code"], 404);
        assert_eq!(body["error"]["message"], "Task not found: x");
        assert_eq!(body["error"]["details"][0]["reason"], "TASK_NOT_FOUND");
    }

    // case 59
    #[test]
    fn the_two_401s_differ_by_their_challenge_alone() {
        for (response, challenge) in [(unauthenticated(), CHALLENGE), (invalid_token(), INVALID_TOKEN)] {
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
            assert_eq!(header(&response, "www-authenticate"), Some(challenge));
            assert_eq!(text(response), "");
        }
    }

    // case 22
    #[test]
    fn an_oauth_error_is_json_that_nobody_stores() {
        let response = oauth_error(ErrorCode::InvalidGrant, "The code is unknown.");
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert_eq!(header(&response, "content-type"), Some("application/json"));
        assert_eq!(header(&response, "cache-control"), Some("no-store"));
        assert_eq!(header(&response, "www-authenticate"), None);
        assert_eq!(text(response), r#"{"error":"invalid_grant","error_description":"The code is unknown."}"#);
    }

    // case 20
    #[test]
    fn another_client_is_challenged() {
        let response = oauth_error(ErrorCode::InvalidClient, "client_id differs.");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(header(&response, "www-authenticate"), Some(CHALLENGE));
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        for (wait, expected) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (59_500, "60")] {
            let response = too_many_requests(Duration::from_millis(wait));
            assert_eq!(header(&response, "retry-after"), Some(expected), "{wait} ms");
        }
        let wait = Duration::from_secs(5);
        let response = oauth_error_for_now(ErrorCode::TemporarilyUnavailable, "Try again.", wait);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(header(&response, "retry-after"), Some("5"));
    }
}
