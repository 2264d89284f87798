//! The JSON API of the administrators' listener: what console and command line do, for programs that come with an API key.
//!
//! [`table`] has every operation; routes and OpenAPI document are both made of it. What is wrong is an RFC 9457 problem.
//! Document and page hold no data and need no key.

pub mod administrators;
pub mod api_keys;
pub mod audit;
pub mod brands;
pub mod document;
pub mod grants;
pub mod input;
pub mod keys;
pub mod operation;
pub mod overview;
pub mod personal_agents;
pub mod problem;
pub mod receipts;
pub mod resource_server_keys;
pub mod serve;
mod shape;
pub mod table;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::pages::admin::ApiPage;
use super::{error, html};

/// Below this path stands the API.
pub const PREFIX: &str = "/api/v1";

/// The OpenAPI document.
pub async fn show_document(_req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    error::api_json(200, document::text())
}

/// The same for people.
pub async fn show_page(_req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    html::respond(StatusCode::OK, &page())
}

/// The page of all operations.
pub fn page() -> ApiPage {
    ApiPage::new(&table::operations())
}
