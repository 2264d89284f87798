//! Signs of life. `/healthz` says whether the program answers at all, and nothing about the database, so that a short outage
//! of that does not make an orchestrator restart every node; `/readyz`, on the administrators' listener, is for that, and
//! `/metrics` beside it for what has happened.

use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

use super::{app, error};
use crate::metrics::Levels;

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

/// What this node has counted, for Prometheus (OpenMetrics 1.0).
pub async fn metrics(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let app = app(&req);
    let directory = app.directory.current();
    let levels = Levels {
        key_sets_failing: app.directory.failing_key_sets().len(),
        brands: directory.brands().count(),
        personal_agents: directory.personal_agent_count(),
    };
    match app.metrics.text(levels) {
        Ok(text) => HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .body(text),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            error::internal()
        }
    }
}

fn ok() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/plain; charset=utf-8"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body("ok\n")
}
