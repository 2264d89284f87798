//! A request to an operation, from its key to its answer: who asks comes first, then the request is read, and then it is
//! carried out, once for each idempotency key.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::header;
use actix_web::web::{Bytes, Payload};
use actix_web::{HttpRequest, HttpResponse, rt};
use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tracing::Instrument as _;

use super::input::{Parameter, checked, read_query, typed};
use super::operation::{Operation, Raw, Run};
use super::problem::Problem;
use crate::app::App;
use crate::domain::administrator::Role;
use crate::domain::id::ApiKeyId;
use crate::flow::admin::idempotency::{self, Begun, Kept};
use crate::web::extract::api_key::key_caller;
use crate::web::extract::body::{BodyProblem, MAX_JSON_BYTES, read_json_body};
use crate::web::site::path_parameter;
use crate::web::{error, shared_app};

/// Names a write, so that it is carried out once however often it is sent.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Answers a request to `operation`.
pub async fn answer(operation: Rc<Operation>, req: HttpRequest, payload: Payload) -> HttpResponse {
    answered(&operation, &req, payload).await.unwrap_or_else(error::problem)
}

async fn answered(operation: &Operation, req: &HttpRequest, payload: Payload) -> Result<HttpResponse, Problem> {
    let Some(caller) = key_caller(req).await? else {
        return Err(Problem::Unauthenticated);
    };
    // Before anything else of it is looked at, and before anything is written for it.
    if operation.effect.writes() && caller.by.access.at_least(Role::Operator).is_err() {
        return Err(Problem::Forbidden);
    }
    let app = shared_app(req);
    let query = read_query(req.query_string(), &operation.in_query)?;
    let path = operation
        .in_path
        .iter()
        .map(|parameter| (parameter.name.clone(), typed(&parameter.schema, path_parameter(req, &parameter.name))));
    let path: Map<String, Value> = path.collect();
    let not_there = |_| Problem::NotThere { what: "such thing".to_owned(), parameter: None };
    let is_of = |parameter: &Parameter| path.get(&parameter.name).map_or(Ok(()), |value| checked(parameter, value));
    operation.in_path.iter().try_for_each(is_of).map_err(not_there)?;
    let idempotency_key = if operation.effect.writes() { key_of(req)? } else { None };
    let body = read_body(&app, operation, req, payload).await?;
    let request = format!("{} {}\n{}", req.method(), req.uri(), String::from_utf8_lossy(&body));
    // A key that was revoked while the body came does nothing any more.
    let caller =
        if operation.effect.writes() { key_caller(req).await?.ok_or(Problem::Unauthenticated)? } else { caller };
    let run = operation.prepare(Raw { app: Arc::clone(&app), by: caller.by, path, query, body })?;
    let status = operation.status;
    let Some(key) = idempotency_key else {
        return Ok(carried_out(run, status, operation.effect.writes()).await);
    };
    // It goes on when the client does not wait for it: what was done is answered when it asks again.
    let once = async move { carried_out_once(&app, &caller.key, &key, &request, run, status).await };
    rt::spawn(once.in_current_span()).await.unwrap_or(Err(Problem::Panicked))
}

/// Carries a request out that has an idempotency key, unless it was before.
async fn carried_out_once(
    app: &App,
    api_key: &ApiKeyId,
    key: &str,
    request: &str,
    run: Run,
    status: u16,
) -> Result<HttpResponse, Problem> {
    let claim = match idempotency::begin(app, api_key, key, request).await? {
        Begun::Run(claim) => claim,
        Begun::Again(kept) => return Ok(error::api_again(kept)),
        Begun::Another => return Err(Problem::AnotherRequest),
        Begun::Running { wait } => return Err(Problem::UnderWay { wait }),
        Begun::Lost => return Err(Problem::OutcomeUnknown),
    };
    let answer = AssertUnwindSafe(written(run, status)).catch_unwind().await.unwrap_or(Err(Problem::Panicked));
    let done = match &answer {
        Ok(kept) => idempotency::keep(app, &claim, kept).await,
        Err(problem) if problem.is_passing() => idempotency::give_up(app, &claim).await,
        Err(_) => idempotency::keep(app, &claim, &error::kept_unknown()).await,
    };
    if let Err(fault) = done {
        error::log_fault(&fault);
    }
    answer.map(error::api_kept)
}

/// Carries a request out. One that changes something is not broken off when its client leaves.
async fn carried_out(run: Run, status: u16, writes: bool) -> HttpResponse {
    let answer = async move { run.await.map_or_else(error::problem, |body| error::api_json(status, body)) };
    if !writes {
        return answer.await;
    }
    rt::spawn(answer.in_current_span()).await.unwrap_or_else(|_| error::problem(Problem::Panicked))
}

/// An answer as it is kept; the problem where it is none to be kept.
async fn written(run: Run, status: u16) -> Result<Kept, Problem> {
    match run.await {
        Ok(body) => Ok(Kept { status, body }),
        Err(problem) => error::kept_problem(problem),
    }
}

/// The idempotency key of a write, if there is one.
fn key_of(req: &HttpRequest) -> Result<Option<String>, Problem> {
    let mut values = req.headers().get_all(IDEMPOTENCY_KEY);
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = |detail: &str| Problem::invalid(IDEMPOTENCY_KEY, detail);
    if values.next().is_some() {
        return Err(invalid("is given more than once"));
    }
    let is_printable =
        |text: &&str| (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(is_printable);
    key.map(|key| Some(key.to_owned())).ok_or_else(|| invalid("is 1 to 255 printable ASCII characters without space"))
}

async fn read_body(app: &App, operation: &Operation, req: &HttpRequest, payload: Payload) -> Result<Bytes, Problem> {
    if operation.body.is_some() && !is_json(req) {
        return Err(Problem::NotJson);
    }
    let read = read_json_body(req, payload, MAX_JSON_BYTES, app.config.http.body_within()).await;
    read.map_err(|problem| match problem {
        BodyProblem::TooLarge => Problem::TooLarge,
        BodyProblem::Encoded => Problem::NotJson,
        BodyProblem::TooSlow => Problem::TooSlow,
        BodyProblem::Broken => Problem::Malformed { detail: "the body is incomplete".to_owned(), parameter: None },
    })
}

/// Whether the body says that it is `application/json`, in UTF-8 if it says in what (RFC 8259 §8.1).
fn is_json(req: &HttpRequest) -> bool {
    let mut values = req.headers().get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let (kind, parameters) = value.split_once(';').unwrap_or((value, ""));
    let parameters = parameters.trim();
    let is_utf_8 = parameters.is_empty()
        || parameters.split_once('=').is_some_and(|(name, value)| {
            name.trim().eq_ignore_ascii_case("charset") && value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        });
    kind.trim().eq_ignore_ascii_case("application/json") && is_utf_8
}
