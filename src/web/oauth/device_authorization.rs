//! `POST device_authorization` (RFC 8628 §3.1).

use actix_web::{HttpRequest, HttpResponse, web};

use super::client_call;
use crate::flow::start_device::{Started, start_device};
use crate::protocol::oauth::{DeviceAuthorizationResponse, ErrorCode};
use crate::web::{app, error};

/// Starts a device authorization.
pub async fn device_authorization(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let call = match client_call(&req, payload).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let Some(delegation) = call.delegation() else { return error::not_found() };
    match start_device(app(&req), &call.hosted, delegation, &call.caller, call.form.one("scope")).await {
        Ok(Started::Done(started)) => error::oauth_json(&DeviceAuthorizationResponse {
            device_code: started.device_code.expose(),
            user_code: started.user_code.to_string(),
            verification_uri: started.verification_uri,
            verification_uri_complete: started.verification_uri_complete,
            expires_in: started.expires_in.as_secs(),
            interval: started.interval,
        }),
        Ok(Started::InvalidScope) => {
            let text = "scope must name one or more of the scopes on the Brand's card, separated by spaces";
            error::oauth_error(ErrorCode::InvalidScope, text)
        }
        Ok(Started::TooMany { retry_after }) => {
            let text = "this sub has too many device codes that nobody has decided on yet";
            error::oauth_error_for_now(ErrorCode::TooManyRequests, text, retry_after)
        }
        Err(fault) => error::oauth_fault(&fault),
    }
}
