//! The personal agent that calls (PACT §3.2), within its limits. Every failure to prove who it is is one and the same 401.

use actix_web::{HttpRequest, HttpResponse};

use super::bearer::bearer;
use crate::domain::id::Caller;
use crate::flow::authenticate::{Unauthenticated, authenticate};
use crate::metrics::Credential;
use crate::web::request::request_id;
use crate::web::{app, budget, error};

/// The caller that the request's personal-agent JWT proves.
///
/// # Errors
/// The bare 401 of PACT §3.4, whose reason goes to the log alone; or 429, in the words of the route.
pub async fn authenticated(req: &HttpRequest) -> Result<Caller, HttpResponse> {
    let outcome = match bearer(req) {
        Ok(token) => authenticate(app(req), token, &request_id(req)).await,
        Err(_) => Err(Unauthenticated("no_token")),
    };
    let caller = outcome.map_err(|Unauthenticated(reason)| {
        app(req).metrics.refused(Credential::PaJwt, reason);
        tracing::info!(reason, "a personal-agent JWT was refused");
        budget::note_refused(req);
        error::unauthenticated()
    })?;
    match budget::refusal_of_caller(req, &caller) {
        Some(refusal) => Err(refusal),
        None => Ok(caller),
    }
}
