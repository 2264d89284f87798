//! `/healthz`: whether the program answers at all. Says nothing about the database, so that a short outage of that does
//! not make an orchestrator restart every node; the administrators' listener has `/readyz` for it.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

/// `ok`, to whoever asks.
pub async fn healthz(_req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/plain; charset=utf-8"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body("ok\n")
}
