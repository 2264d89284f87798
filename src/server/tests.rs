//! Both listeners over real sockets, byte by byte.

mod budgets;
mod metrics;
mod pace;
mod panics;

use std::collections::HashMap;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::*;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::crypto::ring;
use crate::domain::audit::{Actor, RequestId};
use crate::domain::brand::SigningAlg;
use crate::domain::id::{BrandId, KeyId};
use crate::domain::samples;
use crate::domain::signing_key::KeyState;
use crate::entropy::Entropy;
use crate::store::{Apply, Store};

/// Without a host of its own.
const SHOP: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";
/// With a host of its own.
const AIRLINE: &str = "01M3R53Q5SZQ6FQSMSDBSSREAB";
/// Without delegation.
const PLAIN: &str = "01M3R53Q5SZQ6FQSMSDBSSREAC";
const PROVIDER: &str = "provider.example.com";
const AIRLINE_HOST: &str = "auth.airline.example";

struct Served {
    app: Arc<App>,
    running: Running,
    _files: TempDir,
}

struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer in {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

impl Served {
    async fn start() -> Self {
        Self::with("").await
    }

    /// With more sections of the configuration.
    async fn with(more: &str) -> Self {
        Self::at(Clock::system(), more).await
    }

    async fn at(clock: Clock, more: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        let text = format!(
            "public_url = \"https://{PROVIDER}\"\naudience = \"a\"\nlisten = \"127.0.0.1:0\"\n\
             admin_listen = \"127.0.0.1:0\"\nadmin_hosts = [\"ops.internal\"]\nshutdown_seconds = 5\n\
             database_url = \"sqlite://{}/assent.db\"\nmaster_key = \"{}\"\n{more}",
            files.path().display(),
            "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
        );
        let config = Config::from_toml(&text).unwrap();
        fill(&config).await;
        let app = Arc::new(App::open(config, clock, Entropy::seeded(1)).await.unwrap());
        Self { running: start(Arc::clone(&app)).await.unwrap(), app, _files: files }
    }

    /// Ends both listeners and their threads: what those hold is in use until then, also while the process exits.
    async fn stop(self) {
        self.running.stop(false).await.unwrap();
    }

    /// Sends `request` and reads all there is until the connection is closed.
    async fn raw(&self, request: &[u8]) -> String {
        exchange(self.running.public, request).await
    }

    async fn ask(&self, method: &str, host: &str, target: &str, more: &str) -> Answer {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        Answer::parse(&self.raw(request.as_bytes()).await)
    }

    async fn get(&self, host: &str, target: &str) -> Answer {
        self.ask("GET", host, target, "").await
    }
}

async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn fill(config: &Config) {
    let now = Timestamp::from_seconds(1_767_225_600);
    let master = crate::app::master_key(config).unwrap();
    let entropy = Entropy::seeded(2);
    let mut airline = samples::brand();
    airline.id = BrandId::parse(AIRLINE).unwrap();
    airline.delegation.as_mut().unwrap().auth_origin = Some(Url::parse(&format!("https://{AIRLINE_HOST}")).unwrap());
    let mut plain = samples::brand();
    plain.id = BrandId::parse(PLAIN).unwrap();
    plain.delegation = None;
    let brands = vec![samples::brand(), airline, plain];
    let key = |brand: &BrandId| {
        let id = KeyId::from_ulid(entropy.ulid(now));
        let state = KeyState::Live { signs_from: now };
        ring::generate(SigningAlg::Es256, brand, id, state, now, &master, &entropy).unwrap()
    };
    let keys = brands.iter().map(|brand| key(&brand.id)).collect();
    let store = Store::open(config.database_url.expose(), &config.database).await.unwrap();
    let store = store.sealing_with(master.audit_key().clone());
    store.migrate().await.unwrap();
    let apply = Apply {
        revision: store.directory_revision().await.unwrap(),
        brands,
        personal_agents: vec![],
        keys,
        key_states: vec![],
        removed: vec![],
        audit: vec![],
        actor: Actor::Assent,
        request: RequestId("r".to_owned()),
        at: now,
    };
    store.apply(&apply).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn documents_are_public_and_cacheable() {
    let served = Served::start().await;
    for (host, target, content_type) in [
        (PROVIDER, format!("/a2a/{SHOP}/.well-known/agent-card.json"), "application/a2a+json"),
        (PROVIDER, format!("/a2a/{AIRLINE}/.well-known/agent-card.json"), "application/a2a+json"),
        (PROVIDER, format!("/a2a/{PLAIN}/.well-known/agent-card.json"), "application/a2a+json"),
        (PROVIDER, format!("/a2a/{SHOP}/oauth/.well-known/oauth-authorization-server"), "application/json"),
        (PROVIDER, format!("/a2a/{SHOP}/oauth/jwks.json"), "application/json"),
        (PROVIDER, format!("/a2a/{PLAIN}/oauth/jwks.json"), "application/json"),
        (AIRLINE_HOST, "/.well-known/oauth-authorization-server".to_owned(), "application/json"),
        (AIRLINE_HOST, "/jwks.json".to_owned(), "application/json"),
    ] {
        let got = served.get(host, &target).await;
        assert_eq!((got.status, got.header("content-type")), (200, Some(content_type)), "{target}");
        assert_eq!(got.header("access-control-allow-origin"), Some("*"));
        assert_eq!(got.header("cache-control"), Some("public, max-age=300"));
        serde_json::from_str::<serde_json::Value>(&got.body).unwrap();

        let head = served.ask("HEAD", host, &target, "").await;
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{target}");
        for name in ["content-type", "content-length", "etag", "cache-control", "access-control-allow-origin"] {
            assert_eq!(head.header(name), got.header(name), "{name} of {target}");
        }

        let etag = got.header("etag").unwrap();
        let again = served.ask("GET", host, &target, &format!("If-None-Match: \"x\", W/{etag}\r\n")).await;
        assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", Some(etag)), "{target}");
    }
    served.stop().await;
}

#[tokio::test]
async fn both_forms_of_the_metadata_are_the_same_bytes_with_the_right_issuer() {
    let served = Served::start().await;
    let one = served.get(PROVIDER, &format!("/a2a/{SHOP}/oauth/.well-known/oauth-authorization-server")).await;
    let two = served.get(PROVIDER, &format!("/.well-known/oauth-authorization-server/a2a/{SHOP}/oauth")).await;
    assert_eq!((one.status, &one.body), (200, &two.body));
    let issuer = |answer: &Answer| serde_json::from_str::<serde_json::Value>(&answer.body).unwrap()["issuer"].clone();
    assert_eq!(issuer(&one), format!("https://{PROVIDER}/a2a/{SHOP}/oauth"));
    let own = served.get(AIRLINE_HOST, "/.well-known/oauth-authorization-server").await;
    assert_eq!(issuer(&own), format!("https://{AIRLINE_HOST}"));
    served.stop().await;
}

#[tokio::test]
async fn a_brand_with_a_host_of_its_own_has_one_issuer() {
    let served = Served::start().await;
    for target in [
        format!("/a2a/{AIRLINE}/oauth/.well-known/oauth-authorization-server"),
        format!("/.well-known/oauth-authorization-server/a2a/{AIRLINE}/oauth"),
        format!("/a2a/{AIRLINE}/oauth/jwks.json"),
    ] {
        assert_eq!(served.get(PROVIDER, &target).await.status, 404, "{target}");
    }
    for target in [
        format!("/a2a/{AIRLINE}/.well-known/agent-card.json"),
        format!("/a2a/{SHOP}/oauth/jwks.json"),
        format!("/.well-known/oauth-authorization-server/a2a/{AIRLINE}/oauth"),
        "/".to_owned(),
    ] {
        assert_eq!(served.get(AIRLINE_HOST, &target).await.status, 404, "{target}");
    }
    let found = served.get(AIRLINE_HOST, "/.well-known/agent-card.json").await;
    let card = format!("https://{PROVIDER}/a2a/{AIRLINE}/.well-known/agent-card.json");
    assert_eq!((found.status, found.header("location")), (302, Some(card.as_str())));
    served.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_an_empty_404() {
    let served = Served::start().await;
    let card = |path: &str| format!("/a2a/{SHOP}{path}");
    assert_eq!(served.get(PROVIDER, &card("/.well-known%2Dx")).await.status, 404);
    assert_eq!(served.get(PROVIDER, &card("/.well%2Dknown/agent%2dcard.json")).await.status, 200);
    for target in [
        "/".to_owned(),
        "/x".to_owned(),
        "/.well-known/agent-card.json".to_owned(),
        "/jwks.json".to_owned(),
        "/a2a/01M3R53Q5SZQ6FQSMSDBSSREZZ/.well-known/agent-card.json".to_owned(),
        "/a2a/x/oauth/jwks.json".to_owned(),
        format!("/a2a/{}/oauth/jwks.json", SHOP.to_ascii_lowercase()),
        format!("/a2a/{PLAIN}/oauth/.well-known/oauth-authorization-server"),
        card("/.well-known/agent-card.json/"),
        card("/.Well-Known/agent-card.json"),
        card("/.well%252Dknown/agent-card.json"),
        card("%2F.well-known/agent-card.json"),
        card("//.well-known/agent-card.json"),
        card("/x/../.well-known/agent-card.json"),
    ] {
        let got = served.get(PROVIDER, &target).await;
        assert_eq!((got.status, got.body.as_str()), (404, ""), "{target}");
    }
    served.stop().await;
}

#[tokio::test]
async fn another_method_is_an_empty_405_that_names_the_right_ones() {
    let served = Served::start().await;
    for method in ["POST", "DELETE", "OPTIONS", "BREW"] {
        let got = served.ask(method, PROVIDER, &format!("/a2a/{SHOP}/oauth/jwks.json"), "Content-Length: 0\r\n").await;
        assert_eq!((got.status, got.header("allow"), got.body.as_str()), (405, Some("GET, HEAD"), ""), "{method}");
    }
    served.stop().await;
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let served = Served::start().await;
    let mut seen = std::collections::HashSet::new();
    for (host, target) in [(PROVIDER, "/healthz"), (PROVIDER, "/x"), ("other.example", "/")] {
        let got = served.get(host, target).await;
        let id = got.header("x-request-id").unwrap().to_owned();
        assert!(uuid::Uuid::try_parse(&id).is_ok() && seen.insert(id));
    }
    served.stop().await;
}

// case 79
#[tokio::test]
async fn an_unknown_host_is_sent_to_the_provider() {
    let served = Served::start().await;
    for host in ["other.example", "localhost", "127.0.0.1", "provider.example.com:8080", "auth.airline.example:8443"] {
        let got = served.get(host, &format!("/a2a/{SHOP}/oauth/jwks.json")).await;
        assert_eq!(got.status, 421, "{host}");
        assert!(got.body.contains("https://provider.example.com") && !got.body.contains(host), "{}", got.body);
        assert_eq!(served.get(host, "/healthz").await.status, 200, "{host}");
    }
    for host in ["PROVIDER.example.com.", "provider.example.com:443"] {
        assert_eq!(served.get(host, &format!("/a2a/{SHOP}/oauth/jwks.json")).await.status, 200, "{host}");
    }
    assert_eq!(served.get("AUTH.airline.example.:443", "/jwks.json").await.status, 200);
    served.stop().await;
}

// case 79
#[tokio::test]
async fn exactly_one_host_is_required() {
    let served = Served::start().await;
    for head in [
        format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}\r\nHost: {PROVIDER}\r\n\r\n"),
        format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}\r\nhost: other.example\r\n\r\n"),
        "GET /x HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        "GET /x HTTP/1.0\r\n\r\n".to_owned(),
        format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}, {PROVIDER}\r\nConnection: close\r\n\r\n"),
        "GET /x HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let got = Answer::parse(&served.raw(head.as_bytes()).await);
        assert_eq!((got.status, got.body.as_str()), (400, ""), "{head}");
    }
    served.stop().await;
}

// case 79
#[tokio::test]
async fn an_absolute_target_does_not_get_around_the_host() {
    let served = Served::start().await;
    let path = format!("/a2a/{SHOP}/oauth/jwks.json");
    for (host, target, status) in [
        (PROVIDER, format!("https://{PROVIDER}{path}"), 200),
        (PROVIDER, format!("https://{AIRLINE_HOST}/jwks.json"), 400),
        (AIRLINE_HOST, format!("https://{PROVIDER}{path}"), 400),
        (PROVIDER, format!("http://other.example{path}"), 400),
        ("other.example", format!("http://{PROVIDER}{path}"), 400),
        ("other.example", format!("http://other.example{path}"), 421),
    ] {
        assert_eq!(served.get(host, &target).await.status, status, "{host} {target}");
    }
    served.stop().await;
}

// case 80
#[tokio::test]
async fn forwarded_headers_choose_nothing() {
    let served = Served::start().await;
    let more =
        format!("X-Forwarded-Host: {AIRLINE_HOST}\r\nX-Forwarded-Proto: http\r\nForwarded: host={AIRLINE_HOST}\r\n");
    let target = format!("/a2a/{SHOP}/.well-known/agent-card.json");
    let got = served.ask("GET", PROVIDER, &target, &more).await;
    assert_eq!(got.body, served.get(PROVIDER, &target).await.body);
    assert_eq!(served.ask("GET", PROVIDER, "/jwks.json", &more).await.status, 404);
    served.stop().await;
}

// case 79
#[tokio::test]
async fn headers_above_16_kib_are_refused() {
    let served = Served::start().await;
    let target = format!("/a2a/{SHOP}/oauth/jwks.json");
    for (bytes, status) in [(15_000, 200), (16_400, 431), (60_000, 431), (200_000, 431)] {
        let got = served.ask("GET", PROVIDER, &target, &format!("X-Long: {}\r\n", "a".repeat(bytes))).await;
        assert_eq!(got.status, status, "{bytes}");
        if status == 431 {
            assert_eq!(got.body, "");
        }
    }
    let got = served.ask("GET", PROVIDER, &target, &"X: y\r\n".repeat(200)).await;
    assert_eq!(got.status, 431);
    served.stop().await;
}

#[tokio::test]
async fn a_connection_carries_one_request_after_another() {
    let served = Served::start().await;
    let one = format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}\r\n\r\n");
    let last = format!("GET /healthz HTTP/1.1\r\nHost: {PROVIDER}\r\nConnection: close\r\n\r\n");
    let got = served.raw(format!("{one}{one}{last}").as_bytes()).await;
    let statuses: Vec<&str> = got.lines().filter(|line| line.starts_with("HTTP/1.1")).collect();
    assert_eq!(statuses, ["HTTP/1.1 404 Not Found", "HTTP/1.1 404 Not Found", "HTTP/1.1 200 OK"]);
    served.stop().await;
}

#[tokio::test]
async fn administrators_come_by_loopback_or_a_named_host() {
    let served = Served::start().await;
    for (host, target, status) in [
        ("localhost", "/x", 404),
        ("127.0.0.1:8081", "/x", 404),
        ("ops.internal", "/x", 404),
        ("evil.example", "/x", 421),
        (PROVIDER, "/x", 421),
        ("evil.example", "/healthz", 200),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let got = Answer::parse(&exchange(served.running.admin, request.as_bytes()).await);
        assert_eq!(got.status, status, "{host} {target}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_stopped_server_refuses_connections() {
    let Served { running, .. } = Served::start().await;
    let address = running.public;
    running.stop(true).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
