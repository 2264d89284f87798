//! `POST message:send` (PACT §4, §5.5).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{call, message};
use crate::flow::send_message::{Sent, send_message};
use crate::web::extract::body::{MAX_JSON_BYTES, read_json_body};
use crate::web::request::request_id;
use crate::web::{error, shared_app};

/// Hands a message to the Brand's agent.
pub async fn send(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let call = match call(&req).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let app = shared_app(&req);
    let body = match read_json_body(&req, payload, MAX_JSON_BYTES, app.config.http.body_within()).await {
        Ok(body) => body,
        Err(problem) => return error::body_problem(problem),
    };
    let incoming = match message::read(&body) {
        Ok(incoming) => incoming,
        Err((reason, text)) => return error::a2a_error(reason, text),
    };
    match send_message(&app, &call.hosted, call.caller, call.authority, incoming, request_id(&req)).await {
        Ok(Sent::Reply(body)) => error::a2a_text(body),
        Ok(Sent::Refused(reason, text)) => error::a2a_error(reason, text),
        Ok(Sent::InvalidDelegation) => error::invalid_token(),
        Ok(Sent::Busy { retry_after }) => error::too_many_requests(retry_after),
        Err(fault) => error::a2a_fault(&fault),
    }
}
