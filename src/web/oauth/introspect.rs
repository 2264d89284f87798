//! `POST introspect` (RFC 7662 §2).

use actix_web::{HttpRequest, HttpResponse, web};

use super::{client_call, form_of, issuer_of, missing};
use crate::flow::introspect::{ActiveToken, Asker, TokenKind, introspect as look_at};
use crate::protocol::oauth::{ActiveTokenResponse, InactiveTokenResponse};
use crate::web::extract::resource_server::{brand_of_key, refused};
use crate::web::{app, error};

/// Says whether a token is good now, and for what.
pub async fn introspect(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let (hosted, form, caller) = match brand_of_key(&req).await {
        Err(response) => return response,
        Ok(Some(brand)) => {
            let hosted = match issuer_of(&req) {
                Some(hosted) if hosted.brand.id == brand => hosted,
                Some(_) => return refused(&req, "another_brand"),
                None => return error::not_found(),
            };
            match form_of(&req, payload).await {
                Ok(form) => (hosted, form, None),
                Err(response) => return response,
            }
        }
        Ok(None) => match client_call(&req, payload).await {
            Ok(call) => (call.hosted, call.form, Some(call.caller)),
            Err(response) => return response,
        },
    };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let Some(token) = form.one("token") else { return missing("token") };
    let asker = caller.as_ref().map_or(Asker::ResourceServer, Asker::PersonalAgent);
    match look_at(app(&req), &hosted, delegation, asker, token).await {
        Ok(Some(token)) => active(&hosted.addresses.issuer, &hosted.addresses.interface_url, &token),
        Ok(None) => error::oauth_json(&InactiveTokenResponse::new()),
        Err(fault) => error::oauth_fault(&fault),
    }
}

fn active(issuer: &str, interface_url: &str, token: &ActiveToken) -> HttpResponse {
    let (aud, token_type) = match token.kind {
        TokenKind::Delegation => (interface_url, "Bearer"),
        TokenKind::Refresh => (issuer, "refresh_token"),
    };
    error::oauth_json(&ActiveTokenResponse {
        active: true,
        iss: issuer,
        aud,
        sub: token.grant.brand_user.as_str(),
        client_id: token.grant.caller.issuer.as_str(),
        scope: token.scopes.to_string(),
        grant_id: token.grant.id.as_str(),
        iat: token.issued_at.seconds(),
        exp: token.expires_at.seconds(),
        token_type,
    })
}
