//! `/metrics` of a running server.

use super::*;

// case 83
#[tokio::test]
async fn the_administrators_listener_tells_what_was_counted_and_nothing_that_a_client_wrote() {
    let served = Served::start().await;
    let canary = "canary7f3a";
    let target = format!("/a2a/{canary}/tasks/{canary}?x={canary}");
    let bearer = format!("Authorization: Bearer {canary}\r\nX-Forwarded-For: {canary}\r\n");
    assert_eq!(served.ask("GET", PROVIDER, &target, &bearer).await.status, 401);
    assert_eq!(served.get(PROVIDER, "/healthz").await.status, 200);
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let metrics = Answer::parse(&exchange(served.running.admin, request.as_bytes()).await);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((metrics.status, metrics.header("content-type")), (200, Some(content_type)));
    for line in [
        r#"assent_answers_total{route="/a2a/{brand}/tasks/{id}",status="401"} 1"#,
        r#"assent_answers_total{route="/healthz",status="200"} 1"#,
        "assent_brands 3",
    ] {
        assert!(metrics.body.contains(line), "{line} is not in\n{}", metrics.body);
    }
    let refused = metrics.body.lines().find(|line| line.starts_with("assent_refused_authentications_total{"));
    assert!(refused.unwrap().contains(r#"credential="pa_jwt""#));
    assert!(!metrics.body.contains(canary), "{}", metrics.body);
    assert!(served.get(PROVIDER, "/metrics").await.status == 404, "the public listener tells nobody");
    served.stop().await;
}
