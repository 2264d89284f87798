//! Rows over real sockets: panics, and bodies that are too large, too slow or encoded.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web::Data;
use actix_web::{App, HttpServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::entropy::Entropy;
use crate::store::Store;
use crate::web::extract::body::{MAX_JSON_BYTES, read_json_body};
use crate::web::extract::strict_form::read_form;

const SOON: Duration = Duration::from_secs(1);

async fn panics(_req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    panic!("canary")
}

async fn json(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    match read_json_body(&req, payload, MAX_JSON_BYTES, SOON).await {
        Ok(body) => HttpResponse::Ok().body(body.len().to_string()),
        Err(problem) => error::body_problem(problem),
    }
}

async fn form(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    match read_form(&req, payload, &["scope"], SOON).await {
        Ok(form) => HttpResponse::Ok().body(form.all("scope").collect::<Vec<_>>().join(" ")),
        Err(problem) => error::oauth_form_problem(&problem),
    }
}

async fn named(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    HttpResponse::Ok().body(format!("{}: {}", req.method(), crate::web::site::path_parameter(&req, "id")))
}

fn rows() -> Vec<Row> {
    vec![
        Row::at("/panic", Budget::Unlimited).get(panics),
        Row::at("/json", Budget::Unlimited).post(json),
        Row::at("/form", Budget::Unlimited).post(form),
        Row::at("/message:send", Budget::Unlimited).post(named),
        Row::at("/tasks/{id}:cancel", Budget::Unlimited).post(named),
        Row::at("/tasks/{id}", Budget::Unlimited).get(named).delete(named),
    ]
}

async fn serve() -> (SocketAddr, ServerHandle) {
    let files = Arc::new(tempfile::tempdir().unwrap());
    let config = format!(
        "public_url = \"https://provider.example.com\"\naudience = \"a\"\ndatabase_url = \"sqlite://{}/assent.db\"\n\
         master_key = \"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\"\n",
        files.path().display()
    );
    let config = Config::from_toml(&config).unwrap();
    Store::open(config.database_url.expose(), &config.database).await.unwrap().migrate().await.unwrap();
    let app = crate::app::App::open(config, Clock::system(), Entropy::operating_system()).await.unwrap();
    let app = Data::new(app);
    let server = HttpServer::new(move || {
        let _there_as_long_as_the_server = &files;
        App::new().app_data(app.clone()).service(scope(rows()))
    });
    let server = server.workers(1).disable_signals();
    let server = server.bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    tokio::spawn(server);
    (address, handle)
}

async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn post(address: SocketAddr, target: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    exchange(address, request.as_bytes()).await
}

async fn bare(address: SocketAddr, method: &str, target: &str) -> String {
    exchange(address, format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await
}

// case 82
#[tokio::test]
async fn a_panic_is_an_empty_500_and_the_connection_lives_on() {
    let (address, handle) = serve().await;
    let requests =
        b"GET /panic HTTP/1.1\r\nHost: x\r\n\r\nGET /tasks/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let got = exchange(address, requests).await;
    assert!(got.starts_with("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n"), "{got}");
    assert!(got.ends_with("\r\n\r\nGET: 1") && !got.contains("canary"), "{got}");
    handle.stop(false).await;
}

// case 64
#[tokio::test]
async fn a_json_body_is_bounded_and_never_inflated() {
    let (address, handle) = serve().await;
    let fits = post(address, "/json", "", &"a".repeat(MAX_JSON_BYTES)).await;
    assert!(fits.ends_with("\r\n\r\n65536"), "{fits}");
    let over = post(address, "/json", "", &"a".repeat(MAX_JSON_BYTES + 1)).await;
    assert!(over.starts_with("HTTP/1.1 413 ") && over.ends_with("\r\n\r\n"), "{over}");
    let encoded = post(address, "/json", "Content-Encoding: gzip\r\n", "a").await;
    assert!(encoded.starts_with("HTTP/1.1 415 ") && encoded.ends_with("\r\n\r\n"), "{encoded}");

    let chunk = format!("10000\r\n{}\r\n", "a".repeat(0x10000));
    let chunked = format!(
        "POST /json HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}1\r\na\r\n0\r\n\r\n"
    );
    let over = exchange(address, chunked.as_bytes()).await;
    assert!(over.starts_with("HTTP/1.1 413 "), "{over}");
    handle.stop(false).await;
}

#[tokio::test]
async fn a_slow_body_is_given_up_in_time() {
    let (address, handle) = serve().await;
    let request = b"POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na";
    let bounded = tokio::time::timeout(Duration::from_secs(5), exchange(address, request));
    let got = bounded.await.unwrap();
    assert!(got.starts_with("HTTP/1.1 408 "), "{got}");
    handle.stop(false).await;
}

// case 21
#[tokio::test]
async fn a_form_that_is_not_strict_is_an_oauth_error_with_a_reason() {
    const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";
    let (address, handle) = serve().await;
    assert!(post(address, "/form", FORM, "scope=a&scope=b").await.ends_with("\r\n\r\na b"));
    for (target, headers, body, reason) in [
        ("/form", FORM, "client_id=a&client_id=a", "client_id is given more than once"),
        ("/form?x=1", FORM, "scope=a", "not in the URL"),
        ("/form", "Content-Type: application/json\r\n", "{}", "x-www-form-urlencoded"),
        ("/form", FORM, "scope=%00", "scope holds a NUL"),
    ] {
        let got = post(address, target, headers, body).await;
        assert!(got.starts_with("HTTP/1.1 400 ") && got.contains("cache-control: no-store"), "{got}");
        assert!(got.contains("\"error\":\"invalid_request\"") && got.contains(reason), "{got}");
    }
    let over = post(address, "/form", FORM, &format!("scope={}", "a".repeat(16 * 1024))).await;
    assert!(over.starts_with("HTTP/1.1 413 ") && over.contains("larger than 16 KiB"), "{over}");
    handle.stop(false).await;
}

#[tokio::test]
async fn a_path_is_decoded_once_and_compared_to_the_letter() {
    let (address, handle) = serve().await;
    for (method, target, status) in [
        ("POST", "/message:send", 200),
        ("POST", "/message%3Asend", 200),
        ("POST", "/message%3asend?x=1", 200),
        ("POST", "/message%253Asend", 404),
        ("POST", "/message:send/", 404),
        ("POST", "/Message:Send", 404),
        ("POST", "//message:send", 404),
        ("GET", "/message:send", 405),
        ("POST", "/tasks/a:cancel", 200),
        ("POST", "/tasks/a%3Acancel", 200),
        ("GET", "/tasks/a:cancel", 405),
        ("POST", "/tasks/a", 405),
        ("GET", "/tasks/", 404),
        ("GET", "/tasks/a/b", 404),
    ] {
        let got = bare(address, method, target).await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {target}: {got}");
    }
    let got = bare(address, "PUT", "/tasks/a").await;
    assert!(got.contains("allow: GET, HEAD, DELETE\r\n") && got.ends_with("\r\n\r\n"), "{got}");
    handle.stop(false).await;
}

#[tokio::test]
async fn a_part_of_the_path_is_decoded_once() {
    let (address, handle) = serve().await;
    for (target, id) in [
        ("/tasks/a", "a"),
        ("/tasks/a%20b", "a b"),
        ("/tasks/a%2Fb", "a/b"),
        ("/tasks/a%252Fb", "a%2Fb"),
        ("/tasks/a%2B+", "a++"),
        ("/tasks/%zz%", "%zz%"),
        ("/tasks/%C3%A9", "é"),
    ] {
        let got = bare(address, "GET", target).await;
        assert!(got.ends_with(&format!("\r\n\r\nGET: {id}")), "{target}: {got}");
    }
    let head = bare(address, "HEAD", "/tasks/a").await;
    assert!(head.contains("content-length: 7\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    handle.stop(false).await;
}
