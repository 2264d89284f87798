//! A panic in a handler, on each listener.

use actix_web::web::{Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use super::*;
use crate::web::budget::Budget;
use crate::web::routes::{Row, configure};

/// What a client may have written into what a panic says.
const EVIL: &str = "canary\r\n\u{1b}[31m\u{202e}\u{2066}";

async fn panics(_req: HttpRequest, _payload: Payload) -> HttpResponse {
    panic!("{EVIL}")
}

fn routes(config: &mut ServiceConfig) {
    configure(config, vec![Row::at("/panic", Budget::Unlimited).get(panics).post(panics)]);
}

// case 82
#[tokio::test]
async fn a_panic_is_an_empty_500_on_each_listener_and_the_next_request_is_served() {
    let served = Served::start().await;
    let app = &served.app;
    let hosts = Arc::new(Hosts::new(&app.config));
    let any = "127.0.0.1:0".parse().unwrap();
    let (public, public_address) = listener::bind("listen", any).unwrap();
    let (admin, admin_address) = listener::bind("admin_listen", any).unwrap();
    let public = serve_public(public, app, &hosts, routes).unwrap();
    let admin = serve_administrators(admin, app, &hosts, routes).unwrap();
    let handles = [public.handle(), admin.handle()];
    for server in [public, admin] {
        tokio::spawn(server);
    }
    for (address, host) in [(public_address, PROVIDER), (admin_address, "localhost")] {
        for _ in 0..3 {
            let ask = |more: &str| format!("GET /panic HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
            let got = exchange(address, format!("{}{}", ask(""), ask("Connection: close\r\n")).as_bytes()).await;
            let answers: Vec<&str> = got.split("HTTP/1.1 ").skip(1).collect();
            assert_eq!(answers.len(), 2, "{got}");
            for answer in answers {
                assert!(answer.starts_with("500 Internal Server Error\r\ncontent-length: 0\r\n"), "{answer}");
                assert!(answer.contains("x-request-id: ") && answer.ends_with("\r\n\r\n"), "{answer}");
                assert!(!answer.contains("canary"));
            }
        }
    }
    for handle in handles {
        handle.stop(false).await;
    }
    served.stop().await;
}

// case 81: a panic's text
#[test]
fn the_text_of_a_panic_gets_into_the_log_escaped() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let subscriber =
        tracing_subscriber::fmt().with_writer(Arc::new(log.reopen().unwrap())).json().flatten_event(true).finish();
    let hook = std::panic::take_hook();
    log_panics();
    tracing::subscriber::with_default(subscriber, || {
        let _ = std::panic::catch_unwind(|| panic!("{EVIL}"));
    });
    std::panic::set_hook(hook);
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(log.contains("canary") && log.lines().count() == 1, "{log}");
    let is_plain = |c: char| c == '\n' || (!c.is_control() && !('\u{2000}'..'\u{2070}').contains(&c));
    assert!(log.chars().all(is_plain), "{log:?}");
}
