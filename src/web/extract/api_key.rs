//! The API key of a program that administers (RFC 6750 §2.1). Every failure to present a live one is the same.

use actix_web::HttpRequest;

use super::bearer::bearer;
use crate::flow::Fault;
use crate::flow::admin::session::{KeyCaller, authenticate_api_key};
use crate::web::app;
use crate::web::request::request_id;

/// The holder of the live API key in `Authorization`, if there is one.
///
/// # Errors
/// [`Fault`].
pub async fn key_caller(req: &HttpRequest) -> Result<Option<KeyCaller>, Fault> {
    match bearer(req) {
        Ok(token) => authenticate_api_key(app(req), token, &request_id(req)).await,
        Err(_) => Ok(None),
    }
}
