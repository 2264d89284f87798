//! The A2A interface of a Brand (PACT §2.2, §4): routing, then authentication, then the Brand, then the delegation header,
//! then the body.

pub mod message;
mod send;
mod tasks;

pub use send::send;
pub use tasks::{list_tasks, no_push_notifications, no_task, unsupported};

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse};

use super::extract::pa_auth::authenticated;
use super::site::{Served, brand_of};
use super::{app, error};
use crate::directory::HostedBrand;
use crate::domain::conversation::Authority;
use crate::domain::id::Caller;
use crate::metrics::Credential;
use crate::web::extract::bearer::delegation_header;

/// Who calls which Brand under what authority: what every route of the interface needs first.
struct Call {
    caller: Caller,
    hosted: Arc<HostedBrand>,
    authority: Option<Authority>,
}

/// Reads all that precedes the body, in PACT's order.
async fn call(req: &HttpRequest) -> Result<Call, HttpResponse> {
    let caller = authenticated(req).await?;
    let hosted = brand_of(req, Served::Interface).ok_or_else(error::not_found)?;
    let authority = match delegation_header(req) {
        Err(_) => return Err(refused(req, "malformed_header")),
        Ok(None) => None,
        Ok(Some(token)) => {
            let verified = crate::flow::verify_delegation::verify_delegation(app(req), &hosted, &caller, token).await;
            match verified {
                Ok(Some(authority)) => Some(authority),
                Ok(None) => return Err(refused(req, "not_valid_here")),
                Err(fault) => return Err(error::a2a_fault(&fault)),
            }
        }
    };
    Ok(Call { caller, hosted, authority })
}

fn refused(req: &HttpRequest, reason: &'static str) -> HttpResponse {
    app(req).metrics.refused(Credential::DelegationToken, reason);
    error::invalid_token()
}
