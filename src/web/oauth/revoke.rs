//! `POST revoke` (RFC 7009 §2).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{answer, client_call};
use crate::flow;
use crate::web::request::request_id;
use crate::web::{app, error};

/// Ends the grant of a token. The answer does not tell whether there was one.
pub async fn revoke(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answer(end(&req, payload).await)
}

async fn end(req: &HttpRequest, payload: web::Payload) -> Result<HttpResponse, HttpResponse> {
    let call = client_call(req, payload).await?;
    let token = call.required("token")?;
    let revoked = flow::revoke::revoke(app(req), &call.hosted, &call.caller, token, &request_id(req)).await;
    Ok(match revoked {
        Ok(()) => error::oauth_done(),
        Err(fault) => error::oauth_fault(&fault),
    })
}
