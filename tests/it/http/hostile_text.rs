//! Control and bidirectional characters in everything that a client can write: they reach no line of the log and no header,
//! neither of an answer nor of a call to an agent.

use assent::outbound::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::Page;
use crate::support::log::Listener;
use crate::support::world::{AIRLINE, AIRLINE_HOST, PROVIDER, SHOP, World};

/// Ends a line, forges another, colours the terminal and turns the text around. The word tells where it comes from.
const EVIL: &str = "canary\r\nX-Canary: 1\r\n\u{1b}[31m\u{9b}31m\u{85}\u{2028}\u{202e}\u{2066}\u{200f}\u{7f}";
/// The same without what an id may not hold.
const BIDI: &str = "canary\u{2028}\u{202e}\u{2066}\u{200f}";

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Whether a terminal shows `text` as it is written.
fn is_plain(text: &str) -> bool {
    let turns =
        |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    !text.chars().any(|c| c.is_control() || turns(c))
}

fn assert_plain_headers(answer: &Answer) {
    for (name, value) in &answer.0.headers {
        let is_ascii = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(is_ascii(name) && is_ascii(value), "{name}: {value:?}");
        assert!(!name.contains("canary"), "{name}: {value}");
    }
}

/// Sends bytes as they are and reads the heads of what comes back.
async fn raw(world: &World, head: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.public()).await.unwrap();
    stream.write_all(head).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    answer.split("\r\n\r\n").next().unwrap().to_owned()
}

/// Whether nothing of what was sent is in the log, of which something is.
fn assert_clean(log: &Listener) {
    let text = log.shown();
    assert!(text.lines().count() > 10);
    for line in text.lines() {
        assert!(is_plain(line), "{line:?}");
        assert!(!line.to_ascii_lowercase().contains("canary"), "{line:?}");
    }
}

const PROXY: &str = "trusted_proxies = [\"127.0.0.0/8\"]\n";

on_both_databases! {
    // case 81: path, query and headers
    async fn what_stands_in_an_address_or_a_header_gets_into_no_line_and_no_header(db: Database) {
        let log = Listener::start();
        let world = World::with(&db, PROXY).await;
        let evil = percent_encoded(EVIL);
        let before = db.contents().await;
        for (host, path) in [
            (PROVIDER, format!("/{evil}")),
            (PROVIDER, format!("/a2a/{evil}/tasks")),
            (PROVIDER, format!("/a2a/{SHOP}/tasks/{evil}")),
            (PROVIDER, format!("/a2a/{SHOP}/tasks?pageSize={evil}&{evil}=1")),
            (PROVIDER, format!("/a2a/{SHOP}/oauth/consent?user_code={evil}")),
            (PROVIDER, format!("/a2a/{SHOP}/oauth/consent/decision?session={evil}")),
            (AIRLINE_HOST, format!("/consent?user_code={evil}&{evil}")),
            (PROVIDER, format!("/static/{evil}")),
        ] {
            for name in ["user-agent", "accept-language", "cookie", "referer", "x-request-id", "x-forwarded-for", "origin"] {
                let ask = world.ask(Method::GET, host, &path).bearer(&world.jwt("user-1"));
                assert_plain_headers(&ask.header(name, BIDI).send().await);
            }
            let post = world.ask(Method::POST, host, &path).header("content-type", BIDI).bytes(EVIL);
            assert_plain_headers(&post.send().await);
        }
        // What no client library would send. The bytes of a header that no header may have are refused as a whole.
        for line in [
            format!("GET /{EVIL} HTTP/1.1\r\nHost: {PROVIDER}"),
            format!("GET /\u{202e}canary HTTP/1.1\r\nHost: {PROVIDER}"),
            format!("CANARY /x HTTP/1.1\r\nHost: {PROVIDER}"),
            format!("GET /x HTTP/1.1\r\nHost: {BIDI}"),
            format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}\r\nX: \u{1b}canary"),
            format!("GET /x HTTP/1.1\r\nHost: {PROVIDER}\r\nX-Canary\u{1b}: a"),
            format!("GET http://{BIDI}/x HTTP/1.1\r\nHost: {PROVIDER}"),
            format!("GET /a2a/{SHOP}/tasks HTTP/1.1\r\nHost: {PROVIDER}\r\nAuthorization: Bearer {BIDI}"),
        ] {
            let head = raw(&world, format!("{line}\r\nConnection: close\r\n\r\n").as_bytes()).await;
            assert!(head.starts_with("HTTP/1.1 4"), "{line:?}: {head}");
            assert!(head.lines().all(is_plain) && !head.to_ascii_lowercase().contains("canary"), "{head:?}");
        }
        assert_eq!(db.contents().await, before);
        assert_clean(&log);
        world.stop().await;
    }

    // case 81: forms
    async fn what_stands_in_a_form_gets_into_no_line_and_no_header(db: Database) {
        let log = Listener::start();
        let world = World::start(&db).await;
        let before = db.contents().await;
        let device_grant = "urn:ietf:params:oauth:grant-type:device_code";
        for (path, form) in [
            ("/device_authorization", vec![("scope", EVIL)]),
            ("/device_authorization", vec![("scope", "orders:read"), ("client_id", EVIL)]),
            ("/device_authorization", vec![(EVIL, "1"), (EVIL, "2")]),
            ("/token", vec![("grant_type", EVIL)]),
            ("/token", vec![("grant_type", device_grant), ("device_code", EVIL)]),
            ("/token", vec![("grant_type", "refresh_token"), ("refresh_token", EVIL)]),
            ("/revoke", vec![("token", EVIL), ("token_type_hint", EVIL)]),
            ("/consent", vec![("assertion", EVIL)]),
            ("/consent/decision", vec![("session", EVIL), ("decision", EVIL)]),
            ("/consent/decision", vec![("session", EVIL), ("decision", "allow"), ("scope", EVIL)]),
        ] {
            let answer = world.oauth(SHOP, path, "user-1", &form).await;
            assert_plain_headers(&answer);
            let is_json = answer.header("content-type") == Some("application/json");
            assert!(!is_json || !answer.text().contains("canary"), "{}", answer.text());
        }
        assert_eq!(db.contents().await, before);
        assert_clean(&log);
        world.stop().await;
    }

    // case 81: JSON, and what an agent is called with
    async fn what_stands_in_a_message_gets_into_no_line_and_no_header(db: Database) {
        let log = Listener::start();
        let world = World::start(&db).await;
        let good = json!({ "messageId": "m-1", "role": "ROLE_USER", "parts": [{ "text": "Hello" }] });
        let with = |changes: Value| {
            let mut message = good.clone();
            message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            json!({ "message": message })
        };
        for (body, status) in [
            (with(json!({ "parts": [{ "text": EVIL }] })), 200),
            (with(json!({ "messageId": BIDI })), 200),
            (with(json!({ "messageId": EVIL })), 400),
            (with(json!({ "contextId": EVIL })), 400),
            (with(json!({ "role": EVIL })), 400),
            (with(json!({ "taskId": EVIL })), 404),
            (with(json!({ EVIL: EVIL, "messageId": "m-2" })), 200),
            (with(json!({ "parts": [{ EVIL: EVIL }] })), 400),
            (json!({ EVIL: EVIL }), 400),
            (json!(EVIL), 400),
        ] {
            let answer = world.message(AIRLINE, "user-1").json(&body).send().await;
            assert_eq!(answer.status(), status, "{body}");
            assert_plain_headers(&answer);
        }
        let twice = format!("{{\"message\":{{{name}:1,{name}:2}}}}", name = json!(BIDI));
        assert_plain_headers(&world.message(AIRLINE, "user-1").body("application/json", twice).send().await);
        let turns = world.backend.seen();
        assert_eq!(turns.len(), 3);
        for turn in turns {
            assert!(turn.head.split("\r\n").all(|line| line.bytes().all(|byte| (b' '..=b'~').contains(&byte))));
            assert!(!turn.head.to_ascii_lowercase().contains("x-canary"), "{}", turn.head);
        }
        assert_clean(&log);
        world.stop().await;
    }

    // case 81: claims of personal agents
    async fn what_stands_in_a_personal_agents_jwt_gets_into_no_line_and_no_header(db: Database) {
        let log = Listener::start();
        let world = World::start(&db).await;
        for (changes, passes) in [
            (json!({ "iss": EVIL }), false),
            (json!({ "iss": format!("https://pa.example.com{BIDI}") }), false),
            (json!({ "aud": EVIL }), false),
            (json!({ "sub": EVIL }), false),
            (json!({ "exp": EVIL }), false),
            (json!({ EVIL: EVIL, "jti": EVIL }), true),
            (json!({ "sub": BIDI }), true),
        ] {
            let jwt = world.jwt_with(changes.clone());
            let tasks = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&jwt).send().await;
            assert_eq!(tasks.status(), if passes { 200 } else { 401 }, "{changes}");
            assert_plain_headers(&tasks);
            let start = world.at_issuer(Method::POST, SHOP, "/device_authorization").bearer(&jwt);
            let started = start.form(&[("scope", "orders:read")]).send().await;
            assert_eq!(started.status(), if passes { 200 } else { 401 }, "{changes}");
            assert_plain_headers(&started);
            let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "Hello" }] });
            let send = world.ask(Method::POST, PROVIDER, &format!("/a2a/{AIRLINE}/message:send")).bearer(&jwt);
            assert_plain_headers(&send.json(&json!({ "message": message })).send().await);
        }
        let jwt = world.pa.signer.sign_claims(BIDI, &json!({ "iss": world.pa.issuer })).unwrap();
        let tasks = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&jwt).send().await;
        tasks.assert_unauthenticated();
        assert_clean(&log);
        world.stop().await;
    }

    // case 81: claims of the Brand's login
    async fn what_stands_in_an_assertion_gets_into_no_line_and_no_header(db: Database) {
        let log = Listener::start();
        let world = World::start(&db).await;
        for brand in [SHOP, AIRLINE] {
            let codes = world.codes(brand, "user-1", "orders:read").await;
            for changes in [
                json!({ "iss": EVIL }),
                json!({ "aud": EVIL }),
                json!({ "sub": EVIL }),
                json!({ "sub": BIDI }),
                json!({ "jti": EVIL }),
                json!({ "user_code": EVIL }),
                json!({ "exp": EVIL }),
            ] {
                let answer = world.post_assertion(brand, &world.assertion(brand, "jane", &codes.user_code, changes)).await;
                assert!([403, 410].contains(&answer.status()));
                assert_plain_headers(&answer);
            }
            let display = json!({ "name": EVIL, "email": EVIL, "locale": EVIL, "jti": BIDI, EVIL: EVIL });
            let assertion = world.assertion(brand, "jane", &codes.user_code, display);
            let shown = world.post_assertion(brand, &assertion).await;
            assert_plain_headers(&shown);
            let page = Page::of(&shown);
            let decided = world.decide(brand, &page.session, "allow", &["orders:read"]).await;
            assert_eq!(decided.status(), 303, "{}", decided.text());
            assert_plain_headers(&decided);
            assert_plain_headers(&world.poll(brand, "user-1", &codes.device_code).await);
        }
        assert_clean(&log);
        world.stop().await;
    }
}
