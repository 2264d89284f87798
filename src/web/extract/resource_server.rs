//! The account API of a Brand, by its resource-server key. It is counted against its address, as everything that is
//! neither a personal agent nor a page.

use actix_web::{HttpRequest, HttpResponse};

use super::bearer::bearer;
use crate::crypto::codes;
use crate::domain::id::BrandId;
use crate::flow::introspect::resource_server;
use crate::metrics::Credential;
use crate::web::{app, budget, error};

/// The Brand whose resource-server key the request carries; `None` when it carries nothing that looks like one.
///
/// # Errors
/// The bare 401 of PACT §3.4 for a key that opens nothing; 429 or 503, in the words of the authorization server.
pub async fn brand_of_key(req: &HttpRequest) -> Result<Option<BrandId>, HttpResponse> {
    let Some(key) = bearer(req).ok().filter(|token| codes::is_like_a_resource_server_key(token)) else {
        return Ok(None);
    };
    if let Some(refusal) = budget::refusal_of_resource_server(req) {
        return Err(refusal);
    }
    match resource_server(app(req), key).await {
        Ok(Some(brand)) => Ok(Some(brand)),
        Ok(None) => Err(refused(req, "not_live")),
        Err(fault) => Err(error::oauth_fault(&fault)),
    }
}

/// The answer to a key that opens nothing here, for a reason that goes to the log and the metrics alone.
pub fn refused(req: &HttpRequest, reason: &'static str) -> HttpResponse {
    app(req).metrics.refused(Credential::ResourceServerKey, reason);
    tracing::info!(reason, "a resource-server key was refused");
    error::unauthenticated()
}
