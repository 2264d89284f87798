//! The answers of the JSON API: problems as `application/problem+json` (RFC 9457), and everything else as JSON that nobody
//! stores.

use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder};

use super::{SOON, log_fault, retry_after};
use crate::flow::admin::idempotency::Kept;
use crate::protocol::admin::ProblemJson;
use crate::web::api::PREFIX;
use crate::web::api::problem::Problem;

/// The challenge of a request without a live API key (RFC 6750 §3).
const CHALLENGE: &str = r#"Bearer realm="assent-api""#;
const PROBLEM: &str = "application/problem+json";

/// A kind of problem: what it is called in the address of its type, its title, and its status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The end of its type.
    pub name: &'static str,
    /// Its title, the same each time.
    pub title: &'static str,
    /// Its status.
    pub status: StatusCode,
}

macro_rules! kinds {
    ($($constant:ident: $name:literal, $title:literal, $status:ident;)*) => {
        impl Kind {
            $(const $constant: Self = Self { name: $name, title: $title, status: StatusCode::$status };)*

            /// All of them, in the order of their statuses.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];
        }
    };
}

kinds! {
    MALFORMED: "malformed", "The request cannot be read", BAD_REQUEST;
    UNAUTHENTICATED: "unauthenticated", "No live API key", UNAUTHORIZED;
    FORBIDDEN: "forbidden", "The role does not allow this", FORBIDDEN;
    NOT_FOUND: "not-found", "There is no such thing within reach", NOT_FOUND;
    NO_METHOD: "no-method", "The path has no such operation", METHOD_NOT_ALLOWED;
    TOO_SLOW: "too-slow", "The body did not arrive in time", REQUEST_TIMEOUT;
    CONFLICT: "conflict", "It cannot be done as things are", CONFLICT;
    UNDER_WAY: "under-way", "The same request is being carried out", CONFLICT;
    OUTCOME_UNKNOWN: "outcome-unknown", "Nobody knows whether it was done", CONFLICT;
    TOO_LARGE: "too-large", "The body is too large", PAYLOAD_TOO_LARGE;
    NOT_JSON: "not-json", "The body is not plain JSON", UNSUPPORTED_MEDIA_TYPE;
    INVALID: "invalid", "A parameter is not what it must be", UNPROCESSABLE_ENTITY;
    ANOTHER_REQUEST: "another-request", "The idempotency key is that of another request", UNPROCESSABLE_ENTITY;
    TOO_MANY: "too-many", "Too many requests", TOO_MANY_REQUESTS;
    INTERNAL: "internal", "Something went wrong here", INTERNAL_SERVER_ERROR;
    BUSY: "busy", "Try again in a moment", SERVICE_UNAVAILABLE;
}

/// A problem, taken apart.
struct Told {
    kind: Kind,
    detail: String,
    parameter: Option<String>,
    wait: Option<Duration>,
    allow: Option<String>,
}

fn told(kind: Kind, detail: impl Into<String>) -> Told {
    Told { kind, detail: detail.into(), parameter: None, wait: None, allow: None }
}

impl Told {
    fn of(problem: Problem) -> Self {
        match problem {
            Problem::Unauthenticated => told(
                Kind::UNAUTHENTICATED,
                "send a live API key as `Authorization: Bearer assent_key_…`, once and with nothing else in it",
            ),
            Problem::Forbidden => told(Kind::FORBIDDEN, "an owner can make a key with another role; nothing was done"),
            Problem::NotThere { what, parameter } => {
                Self { parameter, ..told(Kind::NOT_FOUND, format!("there is no {what}, or none within reach")) }
            }
            Problem::NoOperation => {
                told(Kind::NOT_FOUND, format!("no operation has this path; {PREFIX} lists all of them"))
            }
            Problem::NoMethod { allow } => {
                Self { allow: Some(allow.clone()), ..told(Kind::NO_METHOD, format!("this path has {allow}")) }
            }
            Problem::TooSlow => told(Kind::TOO_SLOW, "send it faster, or in fewer bytes"),
            Problem::Conflict { detail, parameter } => Self { parameter, ..told(Kind::CONFLICT, detail) },
            Problem::UnderWay { wait } => Self {
                wait: Some(wait),
                ..told(Kind::UNDER_WAY, "the first request under this idempotency key has not been answered yet")
            },
            Problem::OutcomeUnknown => told(
                Kind::OUTCOME_UNKNOWN,
                "the first request under this idempotency key was begun, and something went wrong: look whether it was done, \
                 and send it again under another key if it was not",
            ),
            Problem::Malformed { detail, parameter } => Self { parameter, ..told(Kind::MALFORMED, detail) },
            Problem::TooLarge => told(Kind::TOO_LARGE, "a body has at most 64 KiB"),
            Problem::NotJson => {
                told(Kind::NOT_JSON, "send it as `Content-Type: application/json`, without a Content-Encoding")
            }
            Problem::Invalid { parameter, detail } => {
                Self { parameter: Some(parameter), ..told(Kind::INVALID, detail) }
            }
            Problem::AnotherRequest => Self {
                parameter: Some("Idempotency-Key".to_owned()),
                ..told(Kind::ANOTHER_REQUEST, "each request has a key of its own; nothing was done")
            },
            Problem::TooMany(spent) => {
                Self { wait: Some(spent.retry_after), ..told(Kind::TOO_MANY, "wait as long as Retry-After says") }
            }
            Problem::Busy(spent) => {
                Self { wait: Some(spent.retry_after), ..told(Kind::BUSY, "wait as long as Retry-After says") }
            }
            Problem::Fault(fault) => {
                log_fault(&fault);
                if fault.is_passing() {
                    let detail = "the database is away, busy or full; wait as long as Retry-After says";
                    return Self { wait: Some(SOON), ..told(Kind::BUSY, detail) };
                }
                told(Kind::INTERNAL, "the log says what, under the X-Request-Id of this answer")
            }
            Problem::Panicked => told(Kind::INTERNAL, "the log says what, under the X-Request-Id of this answer"),
        }
    }

    fn body(&self) -> String {
        let Kind { name, title, status } = self.kind;
        let body = ProblemJson {
            r#type: format!("{PREFIX}#{name}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.detail.clone(),
            parameter: self.parameter.clone(),
        };
        serde_json::to_string(&body).unwrap_or_default()
    }
}

/// The answer to a request that is not carried out.
pub fn problem(problem: Problem) -> HttpResponse {
    let told = Told::of(problem);
    let mut response = stored_nowhere(told.kind.status);
    if told.kind == Kind::UNAUTHENTICATED {
        response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
    }
    if told.kind == Kind::TOO_SLOW {
        // The rest of it may still come.
        response.force_close();
    }
    if let Some(wait) = told.wait {
        response.insert_header(retry_after(wait));
    }
    if let Some(allow) = &told.allow {
        response.insert_header((header::ALLOW, allow.as_str()));
    }
    response.insert_header((header::CONTENT_TYPE, PROBLEM)).body(told.body())
}

/// A problem as it is kept under an idempotency key.
///
/// # Errors
/// The problem itself, where it is one that waiting cures or that nobody asked for: it is not kept.
pub fn kept_problem(problem: Problem) -> Result<Kept, Problem> {
    match problem {
        Problem::TooMany(_) | Problem::Busy(_) | Problem::Fault(_) | Problem::Panicked => Err(problem),
        Problem::Unauthenticated | Problem::Forbidden | Problem::NotThere { .. } | Problem::NoOperation => {
            Ok(kept(Told::of(problem)))
        }
        Problem::NoMethod { .. } | Problem::TooSlow | Problem::Conflict { .. } | Problem::UnderWay { .. } => {
            Ok(kept(Told::of(problem)))
        }
        Problem::OutcomeUnknown => Ok(kept(Told::of(problem))),
        Problem::Malformed { .. } | Problem::TooLarge | Problem::NotJson => Ok(kept(Told::of(problem))),
        Problem::Invalid { .. } | Problem::AnotherRequest => Ok(kept(Told::of(problem))),
    }
}

/// What is kept of a request that went wrong in the middle.
pub fn kept_unknown() -> Kept {
    kept(Told::of(Problem::OutcomeUnknown))
}

fn kept(told: Told) -> Kept {
    Kept { status: told.kind.status.as_u16(), body: told.body() }
}

/// An answer with this status whose JSON is already written.
pub fn api_json(status: u16, body: impl Into<String>) -> HttpResponse {
    api_kept(Kept { status, body: body.into() })
}

/// An answer as it is kept.
pub fn api_kept(Kept { status, body }: Kept) -> HttpResponse {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = if status.is_success() { "application/json" } else { PROBLEM };
    stored_nowhere(status).insert_header((header::CONTENT_TYPE, content_type)).body(body)
}

/// An answer that was given before, and says so.
pub fn api_again(answer: Kept) -> HttpResponse {
    let mut response = api_kept(answer);
    let (name, value) = (header::HeaderName::from_static(REPLAYED), header::HeaderValue::from_static("true"));
    response.headers_mut().insert(name, value);
    response
}

/// Says that an answer was given before.
const REPLAYED: &str = "idempotency-replayed";

fn stored_nowhere(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response.insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"));
    response
}
