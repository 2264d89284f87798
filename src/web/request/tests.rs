//! What the log says of a request.

use std::sync::Arc;

use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{App, HttpResponse, web};
use tracing_actix_web::TracingLogger;

use super::*;

// case 81
#[actix_web::test]
async fn a_log_line_names_the_route_and_nothing_that_the_client_wrote() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap())).with_ansi(false).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let answer = |req: HttpRequest| async move {
        note_route("/tasks/{id}");
        HttpResponse::ImATeapot().insert_header(("x-id", request_id(&req).0)).finish()
    };
    let service = App::new().route("/tasks/{id}", web::to(answer)).wrap(TracingLogger::<RootSpan>::new());
    let service = init_service(service).await;
    let request = TestRequest::with_uri("/tasks/canary%1b%0a%E2%80%AE?user_code=canary")
        .method(Method::from_bytes(b"CANARY").unwrap())
        .insert_header(("user-agent", "canary"))
        .set_payload("canary");
    let response = call_service(&service, request.to_request()).await;
    let id = response.headers().get("x-id").unwrap().to_str().unwrap().to_owned();

    let log = std::fs::read_to_string(log.path()).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    for expected in ["method=\"OTHER\"", "route=\"/tasks/{id}\"", "status=418", &format!("request_id={id}")] {
        assert!(log.contains(expected), "{expected} is not in {log}");
    }
    assert!(!log.to_ascii_lowercase().contains("canary") && !log.contains('\u{1b}') && !log.contains('\u{202e}'));
}

#[test]
fn every_header_line_counts() {
    let request = TestRequest::default().append_header(("a", "bc")).append_header(("a", "d")).to_http_request();
    assert_eq!(header_bytes(request.headers()), 7 + 6);
}
