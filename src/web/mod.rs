//! HTTP: the only user of actix (with `server` and `demo`) and of askama.
//!
//! A request passes [`request`] (its id, its span, the bound on its headers), [`site`] (whose host it names), then the
//! table in [`routes`]. What is wrong is answered by [`error`] and nowhere else.

pub mod a2a;
pub mod admin;
pub mod api;
mod brand_pages;
pub mod budget;
pub mod connection;
pub mod consent;
pub mod documents;
pub mod error;
pub mod extract;
pub mod grants;
pub mod health;
pub mod html;
pub mod oauth;
pub mod pages;
pub mod request;
pub mod routes;
pub mod site;
pub mod static_files;

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::web::Data;

use crate::app::App;

/// Everything a request needs.
#[expect(clippy::expect_used, reason = "server.rs hands the App to every listener before it is bound")]
pub fn app(req: &HttpRequest) -> &App {
    req.app_data::<Data<App>>().expect("the listener has no App")
}

/// The same, for work that outlives the request.
#[expect(clippy::expect_used, reason = "server.rs hands the App to every listener before it is bound")]
pub fn shared_app(req: &HttpRequest) -> Arc<App> {
    req.app_data::<Data<App>>().cloned().expect("the listener has no App").into_inner()
}
