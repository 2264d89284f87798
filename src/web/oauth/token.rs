//! `POST token` (RFC 8628 §3.4, RFC 6749 §6).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{ClientCall, client_call, missing};
use crate::domain::brand::Delegation;
use crate::flow::IssuedTokens;
use crate::flow::poll_token::{Polled, poll_token};
use crate::flow::refresh::{Refreshed, refresh};
use crate::protocol::oauth::{DEVICE_CODE_GRANT, ErrorCode, REFRESH_TOKEN_GRANT, TokenResponse};
use crate::web::request::request_id;
use crate::web::{app, error};

/// Redeems a device code or rotates a refresh token.
pub async fn token(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let call = match client_call(&req, payload).await {
        Ok(call) => call,
        Err(response) => return response,
    };
    let Some(delegation) = call.delegation() else { return error::not_found() };
    match call.form.one("grant_type") {
        Some(DEVICE_CODE_GRANT) => by_device_code(&req, &call, delegation).await,
        Some(REFRESH_TOKEN_GRANT) => by_refresh_token(&req, &call, delegation).await,
        Some(_) => {
            let text = format!("grant_type must be {DEVICE_CODE_GRANT} or {REFRESH_TOKEN_GRANT}");
            error::oauth_error(ErrorCode::UnsupportedGrantType, &text)
        }
        None => missing("grant_type"),
    }
}

async fn by_device_code(req: &HttpRequest, call: &ClientCall, delegation: &Delegation) -> HttpResponse {
    let Some(code) = call.form.one("device_code") else { return missing("device_code") };
    match poll_token(app(req), &call.hosted, delegation, &call.caller, code, &request_id(req)).await {
        Ok(Polled::Tokens(issued)) => tokens(&issued),
        Ok(Polled::InvalidGrant) => {
            let text = "device_code is unknown here, already redeemed, or what it was approved for has ended";
            error::oauth_error(ErrorCode::InvalidGrant, text)
        }
        Ok(Polled::AuthorizationPending) => {
            error::oauth_error(ErrorCode::AuthorizationPending, "the User has not decided yet")
        }
        Ok(Polled::SlowDown { interval }) => {
            let text = format!("the User has not decided yet; wait {interval} seconds between polls");
            error::oauth_error(ErrorCode::SlowDown, &text)
        }
        Ok(Polled::AccessDenied) => error::oauth_error(ErrorCode::AccessDenied, "the User did not allow the request"),
        Ok(Polled::ExpiredToken) => {
            error::oauth_error(ErrorCode::ExpiredToken, "device_code has expired; start a new device authorization")
        }
        Err(fault) => error::oauth_fault(&fault),
    }
}

async fn by_refresh_token(req: &HttpRequest, call: &ClientCall, delegation: &Delegation) -> HttpResponse {
    let Some(token) = call.form.one("refresh_token") else { return missing("refresh_token") };
    let scope = call.form.one("scope");
    match refresh(app(req), &call.hosted, delegation, &call.caller, token, scope, &request_id(req)).await {
        Ok(Refreshed::Tokens(issued)) => tokens(&issued),
        Ok(Refreshed::InvalidGrant) => {
            let text = "refresh_token is unknown here, already used or revoked, or its grant has ended";
            error::oauth_error(ErrorCode::InvalidGrant, text)
        }
        Ok(Refreshed::InvalidScope) => {
            error::oauth_error(ErrorCode::InvalidScope, "scope must be within what the grant allows now")
        }
        Err(fault) => error::oauth_fault(&fault),
    }
}

fn tokens(issued: &IssuedTokens) -> HttpResponse {
    error::oauth_json(&TokenResponse {
        token_type: "Bearer",
        access_token: issued.access_token.expose(),
        refresh_token: issued.refresh_token.expose(),
        expires_in: issued.expires_in.as_secs(),
        scope: issued.scopes.to_string(),
    })
}
