//! What every request has: an id, one span in the log, a bound on its headers, and a host that is served.
//!
//! Neither span nor event holds anything that a client wrote: the route is the table's pattern, so that codes in a query
//! and ids in a path stay out of the log, and no control or bidirectional character gets into it.

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use tracing::Span;
use tracing::field::Empty;
use tracing_actix_web::RootSpanBuilder;

use super::budget::{self, Budget};
use super::connection::answering;
use super::error;
use super::site::{Hosts, Misaddressed};
use crate::directory::Snapshot;
use crate::domain::audit::RequestId;

/// All header lines together, in bytes. actix itself ends what is larger than 128 KiB, or has more than 96 lines.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id under which the log and the audit log name `req`; also the answer's `X-Request-Id`.
pub fn request_id(req: &HttpRequest) -> RequestId {
    id_of(req)
}

fn id_of(request: &impl HttpMessage) -> RequestId {
    let id = request.extensions().get::<tracing_actix_web::RequestId>().copied();
    RequestId(id.map(|id| id.to_string()).unwrap_or_default())
}

/// One span per request: method, the table's pattern, status, id.
pub struct RootSpan;

impl RootSpanBuilder for RootSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        let method = known_method(request.method());
        tracing::info_span!("request", method, route = Empty, status = Empty, request_id = %id_of(request))
    }

    fn on_request_end<B: MessageBody>(span: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        let status = match outcome {
            Ok(response) => response.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        span.record("status", status.as_u16());
        tracing::info!("answered");
    }
}

/// The method as a constant: a client may send any word in its place.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

/// Notes in the request's span which row of the table it came to.
pub(super) fn note_route(pattern: &str) {
    Span::current().record("route", pattern);
}

fn header_bytes(headers: &HeaderMap) -> usize {
    // Each line also has a colon, a space and a line end.
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// Admits a request on the public listener, which is bound to `port`, or answers it, and names its id in the answer. A browser that came by HTTPS is
/// told to keep to it (RFC 6797 §7.1).
///
/// # Errors
/// What the routes fail with; they do not.
pub async fn public<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    hosts: &Hosts,
    port: u16,
    directory: &Snapshot,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let admitted = hosts.admit_public(&request, port, directory);
    let refused = refused(&request, admitted);
    let refused = refused.map(|answer| budget::refusal(request.request(), Budget::Address).unwrap_or(answer));
    let mut response = answer(request, next, refused).await?;
    if hosts.is_https() {
        let headers = response.headers_mut();
        headers
            .insert(actix_web::http::header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    Ok(response)
}

/// Admits a request on the administrators' listener, or answers it, and names its id in the answer.
///
/// # Errors
/// What the routes fail with; they do not.
pub async fn administrators<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    hosts: &Hosts,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let admitted = hosts.admit_administrator(&request);
    let refused = refused(&request, admitted);
    answer(request, next, refused).await
}

/// The answer to a request that comes to no route.
fn refused(request: &ServiceRequest, admitted: Result<(), Misaddressed>) -> Option<HttpResponse> {
    if header_bytes(request.headers()) > MAX_HEADER_BYTES {
        return Some(error::headers_too_large());
    }
    admitted.err().map(|problem| error::misaddressed(&problem))
}

async fn answer<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
    refused: Option<HttpResponse>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let _answering = answering(&request);
    let id = id_of(&request);
    let mut response = match refused {
        Some(answer) => request.into_response(answer),
        None => next.call(request).await?.map_into_boxed_body(),
    };
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
    Ok(response)
}

#[cfg(test)]
mod tests;
