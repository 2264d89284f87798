//! Grants in the console: the list, one with all that happened under it, and how they are taken back.

mod list;
mod one;
mod revoke;

use actix_web::{HttpRequest, HttpResponse, web};

use super::list::{export, show};
use list::Grants;

pub(super) use list::address_of_grant;
pub use one::{export_evidence, revoke_grant, show_grant};
pub(super) use revoke::revocable;
pub use revoke::{revoke_grants, show_revoke_grants};

/// The list.
pub async fn show_grants(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    show::<Grants>(&req).await
}

/// The list as CSV.
pub async fn export_grants(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    export::<Grants>(&req).await
}
