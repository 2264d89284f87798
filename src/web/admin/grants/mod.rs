//! Grants in the console: the list, one with all that happened under it, and how they are taken back.

mod list;

use actix_web::{HttpRequest, HttpResponse, web};

use super::list::{export, show};
use list::Grants;

/// The list.
pub async fn show_grants(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    show::<Grants>(&req).await
}

/// The list as CSV.
pub async fn export_grants(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    export::<Grants>(&req).await
}
