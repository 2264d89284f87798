//! The endpoints of a Brand's authorization server that a personal agent calls (PACT §5.3; RFC 8628, RFC 6749, RFC 7009, RFC 7662).

mod device_authorization;
mod introspect;
mod revoke;
mod token;

pub use device_authorization::device_authorization;
pub use introspect::introspect;
pub use revoke::revoke;
pub use token::token;

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};

use super::extract::pa_auth::authenticated;
use super::extract::strict_form::{Form, read_form};
use super::site::{Served, brand_of};
use super::{app, error};
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::id::Caller;
use crate::protocol::oauth::ErrorCode;

/// An authenticated form to a Brand that offers delegation.
struct ClientCall {
    caller: Caller,
    hosted: Arc<HostedBrand>,
    form: Form,
}

impl ClientCall {
    /// What the Brand offers. [`client_call`] has seen that it offers something.
    fn delegation(&self) -> Option<&Delegation> {
        self.hosted.brand.delegation.as_ref()
    }
}

/// A parameter that must be there is not.
fn missing(name: &str) -> HttpResponse {
    error::oauth_error(ErrorCode::InvalidRequest, &format!("the parameter {name} is missing"))
}

/// Authenticates the caller, finds the Brand, reads the form and checks `client_id`, in this order.
async fn client_call(req: &HttpRequest, payload: web::Payload) -> Result<ClientCall, HttpResponse> {
    let caller = authenticated(req).await?;
    let hosted = issuer_of(req).ok_or_else(error::not_found)?;
    let form = form_of(req, payload).await?;
    if form.one("client_id").is_some_and(|client| client != caller.issuer.as_str()) {
        let text = "client_id must be the issuer of the personal-agent JWT, or be left out";
        return Err(error::oauth_error(ErrorCode::InvalidClient, text));
    }
    Ok(ClientCall { caller, hosted, form })
}

/// The Brand at whose authorization server the request came, if there is one.
fn issuer_of(req: &HttpRequest) -> Option<Arc<HostedBrand>> {
    brand_of(req, Served::Issuer).filter(|hosted| hosted.offer.is_some())
}

async fn form_of(req: &HttpRequest, payload: web::Payload) -> Result<Form, HttpResponse> {
    let form = read_form(req, payload, &[], app(req).config.http.body_within()).await;
    form.map_err(|problem| error::oauth_form_problem(&problem))
}
