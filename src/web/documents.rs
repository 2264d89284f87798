//! The documents that anyone may read: Agent Card (PACT §2.1), authorization server metadata (RFC 8414 §3, PACT §5.1) and
//! key set (RFC 7517 §5).
//!
//! Each may be cached for five minutes and read by scripts of any origin. An unknown Brand, and metadata of a Brand that
//! offers no delegation, are an empty 404.

use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};

use super::error;
use super::site::{self, Served};
use crate::directory::Document;
use crate::protocol::a2a;

/// `GET {interface URL}/.well-known/agent-card.json`
pub async fn card(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match site::brand_of(&req, Served::Interface) {
        Some(hosted) => document(&req, &hosted.card, a2a::CONTENT_TYPE),
        None => error::not_found(),
    }
}

/// `GET {issuer}/.well-known/oauth-authorization-server`, and the form of RFC 8414 §3.1 with the same bytes.
pub async fn metadata(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match site::brand_of(&req, Served::Issuer).as_ref().and_then(|hosted| hosted.offer.as_ref()) {
        Some(offer) => document(&req, &offer.metadata, "application/json"),
        None => error::not_found(),
    }
}

/// `GET {issuer}/jwks.json`, of every Brand: receipts stay verifiable when delegation is taken away.
pub async fn jwks(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match site::brand_of(&req, Served::Issuer) {
        Some(hosted) => document(&req, &hosted.jwks, "application/json"),
        None => error::not_found(),
    }
}

/// On a Brand's own host, the way to its card.
pub async fn to_card(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match site::brand_of(&req, Served::Issuer) {
        Some(hosted) => HttpResponse::Found()
            .insert_header((header::LOCATION, hosted.addresses.card_url()))
            .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
            .finish(),
        None => error::not_found(),
    }
}

fn document(req: &HttpRequest, document: &Document, content_type: &'static str) -> HttpResponse {
    let known = is_known(req.headers(), &document.etag);
    let mut response = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((header::CACHE_CONTROL, "public, max-age=300"))
        .insert_header((header::ETAG, document.etag.as_str()));
    if known {
        return response.finish();
    }
    response.insert_header((header::CONTENT_TYPE, content_type)).body(document.body.clone())
}

/// Whether the asker has this version already: `If-None-Match`, compared weakly (RFC 9110 §13.1.2).
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_version_is_known_by_its_tag_in_a_list_or_by_a_star() {
        let known = |value: &str| {
            let request = TestRequest::default().insert_header((header::IF_NONE_MATCH, value)).to_http_request();
            is_known(request.headers(), "\"a\"")
        };
        for value in ["\"a\"", "W/\"a\"", "\"b\", W/\"a\"", "\"b\",\"a\"", "*"] {
            assert!(known(value), "{value}");
        }
        for value in ["a", "\"b\"", "w/\"a\"", "", "\"A\""] {
            assert!(!known(value), "{value}");
        }
    }
}
