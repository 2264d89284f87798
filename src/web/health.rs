//! Signs of life. `/healthz` says whether the program answers at all, and nothing about the database, so that a short outage
//! of that does not make an orchestrator restart every node; `/readyz`, on the administrators' listener, is for that.

use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

use super::{app, error};

/// `ok`, to whoever asks.
pub async fn healthz(_req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    ok()
}

/// `ok` while the database answers, 503 otherwise.
pub async fn readyz(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match app(&req).store.ping().await {
        Ok(()) => ok(),
        Err(error) => {
            tracing::warn!(%error, "the database does not answer");
            error::unavailable(Duration::from_secs(1))
        }
    }
}

fn ok() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/plain; charset=utf-8"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body("ok\n")
}
