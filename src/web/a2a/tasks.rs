//! The A2A operations that PACT leaves empty (PACT §2.2): a list without tasks, and errors in A2A's words.

use actix_web::{HttpRequest, HttpResponse, web};

use super::call;
use crate::protocol::a2a::{ListTasksResponse, Reason};
use crate::web::error;
use crate::web::site::path_parameter;

const DEFAULT_PAGE_SIZE: u32 = 50;

/// `GET tasks`: none, whatever is asked for.
pub async fn list_tasks(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    if let Err(response) = call(&req).await {
        return response;
    }
    match page_size(req.query_string()) {
        Some(page_size) => {
            error::a2a_json(&ListTasksResponse { tasks: Vec::new(), next_page_token: "", page_size, total_size: 0 })
        }
        None => error::a2a_error(Reason::InvalidParams, "pageSize: expected a decimal number from 1 to 100, once"),
    }
}

/// A plain decimal from 1 to 100 without leading zeros, given at most once.
fn page_size(query: &str) -> Option<u32> {
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "pageSize");
    let Some((_, value)) = values.next() else { return Some(DEFAULT_PAGE_SIZE) };
    let is_plain = !value.is_empty() && !value.starts_with('0') && value.bytes().all(|byte| byte.is_ascii_digit());
    if values.next().is_some() || !is_plain {
        return None;
    }
    value.parse().ok().filter(|size| (1..=100).contains(size))
}

/// `GET tasks/{id}` and `POST tasks/{id}:cancel`: there is no such task.
pub async fn no_task(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match call(&req).await {
        Ok(_) => error::a2a_error(Reason::TaskNotFound, format!("Task not found: {}", path_parameter(&req, "id"))),
        Err(response) => response,
    }
}

/// Streaming, subscriptions and extended cards.
pub async fn unsupported(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match call(&req).await {
        Ok(_) => error::a2a_error(Reason::UnsupportedOperation, "This operation is not supported"),
        Err(response) => response,
    }
}

/// Every operation on push notifications.
pub async fn no_push_notifications(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match call(&req).await {
        Ok(_) => error::a2a_error(Reason::PushNotificationNotSupported, "Push notifications are not supported"),
        Err(response) => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // case 69
    #[test]
    fn a_page_size_is_a_plain_decimal_from_1_to_100_given_once() {
        assert_eq!(page_size(""), Some(50));
        assert_eq!(page_size("pageSize=1"), Some(1));
        assert_eq!(page_size("pageSize=100&contextId=x&status="), Some(100));
        for wrong in ["0", "101", "1e1", "%2B5", "+5", "", "007", "-1", "1.0", " 5", "4294967297"] {
            assert_eq!(page_size(&format!("pageSize={wrong}")), None, "{wrong}");
        }
        assert_eq!(page_size("pageSize=5&pageSize=5"), None);
    }
}
