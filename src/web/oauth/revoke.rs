//! `POST revoke` (RFC 7009 §2).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{client_call, missing};
use crate::flow;
use crate::web::request::request_id;
use crate::web::{app, error};

/// Ends the grant of a token. The answer does not tell whether there was one.
pub async fn revoke(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let call = match client_call(&req, payload).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let Some(token) = call.form.one("token") else { return missing("token") };
    match flow::revoke::revoke(app(&req), &call.hosted, &call.caller, token, &request_id(&req)).await {
        Ok(()) => error::oauth_done(),
        Err(fault) => error::oauth_fault(&fault),
    }
}
