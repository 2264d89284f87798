//! Nothing secret leaves: not in a log, at any level, and not in a refusal's body or headers, whatever goes wrong.
//!
//! Beside this, every refusal that any test gets is searched for what its own request carried
//! (`tests/it/support/carried.rs`).

use assent::domain::administrator::Access;
use assent::domain::audit::RequestId;
use assent::domain::brand::SigningAlg;
use assent::flow::admin::session::authenticate_api_key;
use assent::outbound::Method;
use serde_json::{Value, json};

use crate::support::backend::Script;
use crate::support::client::{Answer, Ask};
use crate::support::console;
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Codes, DEVICE_CODE_GRANT, Page, Tokens, code_in, message};
use crate::support::log::Listener;
use crate::support::world::{AIRLINE, MASTER_KEY, PROVIDER, SHOP, World, airline_table, http_agent};

const PASSWORD: &str = "canary-password-of-the-database";

/// All that is secret, each under its name.
#[derive(Default)]
struct Secrets(Vec<(String, String)>);

impl Secrets {
    /// What is there before anyone asks for anything.
    async fn of(world: &World, db: &Database) -> Self {
        let mut secrets = Self::default();
        secrets.add("master key", MASTER_KEY);
        secrets.add("master key, decoded", "A".repeat(32));
        secrets.add("master key, as numbers", "65, 65, 65, 65, 65, 65");
        if let Some(password) = url::Url::parse(&db.url).unwrap().password() {
            secrets.add("password of the database", password);
        }
        for key in db.store.directory().await.unwrap().keys {
            let private = world.app.master.open(&key.sealed_private, &format!("signing_key/{}/{}", key.brand, key.id));
            let private: Value = serde_json::from_slice(private.unwrap().expose()).unwrap();
            secrets.add("private key", private["d"].as_str().unwrap());
            if key.alg == SigningAlg::Rs256 {
                secrets.add("prime of a private key", private["p"].as_str().unwrap());
            }
            secrets.add("sealed private key", key.sealed_private.rsplit('.').nth(1).unwrap());
        }
        secrets
    }

    fn add(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        assert!(value.len() >= 8, "{name}: {value}");
        self.0.push((name.to_owned(), value));
    }

    fn add_codes(&mut self, codes: &Codes) {
        self.add("device code", &codes.device_code);
        let plain = codes.user_code.replace('-', "");
        for spelling in [codes.user_code.clone(), codes.user_code.to_lowercase(), plain.to_lowercase(), plain] {
            self.add("user code", spelling);
        }
    }

    fn add_page(&mut self, page: &Page) {
        self.add("session of a page", &page.session);
        self.add("cookie", page.cookie.as_ref().unwrap().split_once('=').unwrap().1);
    }

    fn add_tokens(&mut self, tokens: &Tokens) {
        self.add("delegation token", &tokens.access);
        self.add("refresh token", &tokens.refresh);
    }

    /// The tokens with which the Brand's agent was called.
    fn add_turns(&mut self, world: &World) {
        for turn in world.backend.seen() {
            self.add("turn token", turn.header("authorization").unwrap().strip_prefix("Bearer ").unwrap());
            if let Some(token) = turn.json()["delegation"]["token"].as_str() {
                self.add("forwarded token", token);
            }
        }
    }

    /// That none stands in `text`. Of a JWT its signature is looked for as well: what comes before it proves nothing.
    fn assert_absent(&self, place: &str, text: &str) {
        for (name, value) in &self.0 {
            let signature = value.rsplit('.').next().filter(|part| part.len() > 40).unwrap_or(value);
            if let Some(at) = text.find(value.as_str()).or_else(|| text.find(signature)) {
                let from = text[..at].rfind('\n').map_or(0, |end| end + 1);
                let line = &text[from..text[at..].find('\n').map_or(text.len(), |end| at + end)];
                panic!("the {name} stands in {place}: {line:.3000}");
            }
        }
    }

    /// That none stands in the log, nor what the requests carried.
    fn assert_not_logged(mut self, log: &Listener) {
        let text = log.text();
        // It is there, with what the program says and with what the libraries say.
        for expected in ["answered", "TRACE", "sqlx", "actix"] {
            assert!(text.contains(expected), "{expected}");
        }
        let carried = log.carried();
        assert!(carried.len() > 10, "{}", carried.len());
        self.0.extend(carried.into_iter().map(|value| ("value that a request carried".to_owned(), value)));
        self.assert_absent("the log", &text);
    }

    /// That none stands in a refusal.
    fn assert_refused(&self, what: &str, status: u16, answer: &Answer) {
        assert_eq!(answer.status(), status, "{what}: {}", answer.text());
        self.assert_absent(what, &answer.text());
        for (name, value) in &answer.0.headers {
            self.assert_absent(&format!("{name} of {what}"), value);
        }
    }
}

/// A Provider of whom everything is known, and whose airline gets forwarded tokens.
async fn world(db: &Database) -> (World, Secrets) {
    let world = World::start(db).await;
    world.apply(&airline_table(&world.brand_login, &http_agent(&world.backend, ", forward_token = true"))).await;
    let secrets = Secrets::of(&world, db).await;
    (world, secrets)
}

/// From the code to the reply under delegation.
async fn whole_flow(world: &World, secrets: &mut Secrets, user: &str) -> (Codes, Page, Tokens) {
    let codes = world.codes(AIRLINE, "user-1", "orders:read orders:cancel").await;
    secrets.add_codes(&codes);
    let page = world.sign_in(AIRLINE, user, &codes.user_code).await;
    secrets.add_page(&page);
    let again = world.open(AIRLINE, &codes.user_code, page.cookie.as_deref()).await;
    secrets.add("session of a page", Page::of(&again).session);
    world.decide(AIRLINE, &page.session, "allow", &["orders:read"]).await;
    let first = Tokens::of(&world.poll(AIRLINE, "user-1", &codes.device_code).await);
    secrets.add_tokens(&first);
    let tokens = Tokens::of(&world.refresh(AIRLINE, "user-1", &first.refresh).await);
    secrets.add_tokens(&tokens);
    let reply = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    (codes, page, tokens)
}

fn form(world: &World, path: &str, pairs: &[(&str, &str)]) -> Ask {
    world.at_issuer(Method::POST, AIRLINE, path).bearer(&world.jwt("user-1")).form(pairs)
}

on_both_databases! {
    // case 83: on the way that everybody hopes for
    async fn no_secret_is_logged_when_all_goes_well(db: Database) {
        let log = Listener::start();
        let db = db.hasty(PASSWORD);
        let (world, mut secrets) = world(&db).await;
        let (_, _, tokens) = whole_flow(&world, &mut secrets, "jane").await;

        world.backend.answer_with(Script::json(json!({ "parts": [], "missingScopes": ["orders:cancel"] })));
        let asked = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-2", None, "Cancel it").await;
        let link = asked.json()["task"]["metadata"]["pact.verificationUriComplete"].as_str().unwrap().to_owned();
        secrets.add("user code of a step-up", code_in(&link));
        secrets.add_page(&world.sign_in(AIRLINE, "jane", &code_in(&link)).await);

        let shop = world.codes(SHOP, "user-1", "orders:read").await;
        secrets.add_codes(&shop);
        let page = world.sign_in(SHOP, "jane", &shop.user_code).await;
        secrets.add_page(&page);
        let decided = world.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
        world.closing(SHOP, &decided).await;
        secrets.add_page(&world.grants(AIRLINE, "jane").await);
        let key = world.resource_server_key(AIRLINE).await;
        let asked = world.at_issuer(Method::POST, AIRLINE, "/introspect").bearer(&key).form(&[("token", &tokens.access)]);
        assert_eq!(asked.send().await.status(), 200);
        secrets.add("resource-server key", key);
        form(&world, "/revoke", &[("token", &tokens.refresh)]).send().await.assert_empty(200);
        let bad = world.jwt_with(json!({ "aud": "https://else.example" }));
        world.ask(Method::GET, PROVIDER, &format!("/a2a/{AIRLINE}/tasks")).bearer(&bad).send().await.assert_unauthenticated();

        secrets.add_turns(&world);
        assert!(secrets.0.iter().any(|(name, _)| name == "forwarded token"));
        world.stop().await;
        secrets.assert_not_logged(&log);
    }

    // case 83: in whatever field it was sent, and whatever is refused about it
    async fn no_refusal_and_no_log_tells_a_secret(db: Database) {
        let log = Listener::start();
        let db = db.hasty(PASSWORD);
        let (world, mut secrets) = world(&db).await;
        let (codes, page, tokens) = whole_flow(&world, &mut secrets, "jane").await;
        secrets.add_turns(&world);
        let pending = world.codes(AIRLINE, "user-1", "orders:read").await;
        secrets.add_codes(&pending);
        let pending_page = world.sign_in(AIRLINE, "jane", &pending.user_code).await;
        secrets.add_page(&pending_page);
        let used = world.assertion(AIRLINE, "jane", &pending.user_code, json!({}));
        secrets.add("assertion", &used);
        secrets.add_page(&Page::of(&world.post_assertion(AIRLINE, &used).await));
        secrets.add("resource-server key", world.resource_server_key(AIRLINE).await);
        let every: Vec<String> = secrets.0.iter().map(|(_, value)| value.clone()).collect();

        // Every secret in every parameter of every endpoint, and as a parameter's name.
        for secret in every.iter().filter(|secret| secret.len() > 40) {
            let secret = secret.as_str();
            // So that no limit answers in the place of what is looked at.
            world.advance(1);
            let post = |path, pairs: &[(&str, &str)]| form(&world, path, pairs).send();
            let token = ("grant_type", DEVICE_CODE_GRANT);
            let refresh = ("grant_type", "refresh_token");
            for (what, status, answer) in [
                ("unsupported_grant_type", 400, post("/token", &[("grant_type", secret)])),
                ("invalid_grant of a code", 400, post("/token", &[token, ("device_code", secret)])),
                ("invalid_client", 401, post("/token", &[token, ("client_id", secret)])),
                ("missing", 400, post("/token", &[token, ("code", secret)])),
                ("a credential that opens nothing", 401, world.at_issuer(Method::POST, AIRLINE, "/introspect").bearer(&format!("assent_rsk_{}", secret.replace(|c: char| !c.is_ascii_alphanumeric(), ""))).form(&[("token", secret)]).send()),
                ("repeated", 400, post("/revoke", &[("token", secret), ("token", secret)])),
                ("repeated name", 400, post("/revoke", &[(secret, "1"), (secret, "2")])),
                ("invalid_scope", 400, post("/device_authorization", &[("scope", secret)])),
            ] {
                secrets.assert_refused(what, status, &answer.await);
            }
            // A used refresh token would end its family later, and is no scope either.
            let narrowed = post("/token", &[refresh, ("refresh_token", &tokens.refresh), ("scope", secret)]).await;
            secrets.assert_refused("invalid_scope of a refresh", 400, &narrowed);
            let in_url = form(&world, &format!("/token?device_code={secret}"), &[token]).send().await;
            secrets.assert_refused("parameters in the URL", 400, &in_url);
            for field in ["messageId", "contextId", "taskId", "role", "parts", "metadata"] {
                let mut sent = message("m-9", None, "Hello");
                let value = if field == "messageId" { json!(secret.repeat(8)) } else { json!(secret) };
                sent["message"][field] = value;
                let answer = world.message(AIRLINE, "user-1").json(&sent).send().await;
                let status = match field {
                    "taskId" => 404,
                    "metadata" => 200,
                    _ => 400,
                };
                secrets.assert_refused(field, status, &answer);
            }
            let broken = world.message(AIRLINE, "user-1").body("application/json", format!("{{\"{secret}\":1,\"{secret}\":2}}"));
            secrets.assert_refused("a name that comes twice", 400, &broken.send().await);
            let page_size = format!("/a2a/{AIRLINE}/tasks?pageSize={secret}");
            let page_size = world.ask(Method::GET, PROVIDER, &page_size).bearer(&world.jwt("user-1")).send().await;
            secrets.assert_refused("pageSize", 400, &page_size);
            let unknown = world.ask(Method::GET, PROVIDER, &format!("/{secret}")).send().await;
            secrets.assert_refused("an unknown path", 404, &unknown);
            let posted = world.at_issuer(Method::POST, AIRLINE, "/consent").form(&[("assertion", secret)]).send().await;
            secrets.assert_refused("403 page", 403, &posted);
            for (path, pairs, status) in [
                ("/grants", &[("assertion", secret)][..], 403),
                ("/grants/revoke", &[("session", secret), ("grant", secret)], 400),
                ("/grants/revoke", &[("session", secret), ("grant", tokens.grant().as_str())], 403),
            ] {
                secrets.assert_refused(path, status, &world.at_issuer(Method::POST, AIRLINE, path).form(pairs).send().await);
            }
            secrets.assert_refused("page of the code", 400, &world.open(AIRLINE, secret, None).await);
            secrets.assert_refused("page of a decision", 400, &world.decide(AIRLINE, &pending_page.session, secret, &[]).await);
            let scope = world.decide(AIRLINE, &pending_page.session, "allow", &[secret]).await;
            secrets.assert_refused("scope of a decision", 400, &scope);
            let closing = world.at_issuer(Method::GET, AIRLINE, &format!("/consent/decision?session={secret}")).send().await;
            assert!([200, 403].contains(&closing.status()));
        }

        // What each surface refuses for another reason.
        let other = world.jwt_of(&world.other_pa, "user-1");
        let altered = tokens.access.replacen('.', ".A", 1);
        let wrong_code = || world.assertion(AIRLINE, "john", "BBBB-BBBB", json!({}));
        let mut refused = vec![
            ("bare 401", 401, world.message(AIRLINE, "user-1").bearer(&other).json(&message("m", None, "Hi")).send().await),
            ("invalid_token", 401, world.send(AIRLINE, "user-1", Some(&altered), "m", None, "Hi").await),
            ("invalid_token by a header twice", 401, world.message(AIRLINE, "user-1").delegation(&tokens.access).delegation(&tokens.access).json(&message("m", None, "Hi")).send().await),
            ("invalid_grant of a spent code", 400, world.poll(AIRLINE, "user-1", &codes.device_code).await),
            ("another's refresh token", 400, world.refresh(AIRLINE, "user-2", &tokens.refresh).await),
            ("authorization_pending", 400, world.poll(AIRLINE, "user-1", &pending.device_code).await),
            ("slow_down", 400, world.poll(AIRLINE, "user-1", &pending.device_code).await),
            ("replayed assertion", 403, world.post_assertion(AIRLINE, &used).await),
            ("page of another Brand", 403, world.decide(SHOP, &page.session, "allow", &[]).await),
            ("decided", 409, world.decide(AIRLINE, &page.session, "allow", &[]).await),
            ("decided, opened", 409, world.open(AIRLINE, &codes.user_code, page.cookie.as_deref()).await),
            ("unknown host", 421, world.ask(Method::GET, "else.example", "/").cookie(page.cookie.as_deref().unwrap()).send().await),
            ("other method", 405, world.at_issuer(Method::PUT, AIRLINE, "/token").bearer(&other).send().await),
            ("too large", 413, world.message(AIRLINE, "user-1").json(&json!(tokens.refresh.repeat(2000))).send().await),
            ("encoded", 415, world.message(AIRLINE, "user-1").header("content-encoding", "gzip").json(&json!({})).send().await),
            ("headers too large", 431, world.message(AIRLINE, "user-1").header("x-filler", &tokens.access.repeat(40)).send().await),
        ];
        for _ in 0..5 {
            refused.push(("410 page", 410, world.post_assertion(AIRLINE, &wrong_code()).await));
        }
        refused.push(("429 page", 429, world.post_assertion(AIRLINE, &wrong_code()).await));
        let mut first = None;
        for _ in 0..20 {
            let codes = world.codes(AIRLINE, "user-3", "orders:read").await;
            secrets.add_codes(&codes);
            first.get_or_insert(codes);
        }
        refused.push(("429", 429, world.oauth(AIRLINE, "/device_authorization", "user-3", &[("scope", "orders:read")]).await));
        let denied = world.decide(AIRLINE, &pending_page.session, "deny", &[]).await;
        assert_eq!(denied.status(), 303, "{}", denied.text());
        refused.push(("access_denied", 400, world.poll(AIRLINE, "user-1", &pending.device_code).await));
        world.advance(600);
        refused.push(("expired_token", 400, world.poll(AIRLINE, "user-3", &first.unwrap().device_code).await));
        for (what, status, answer) in &refused {
            secrets.assert_refused(what, *status, answer);
        }
        world.stop().await;
        secrets.assert_not_logged(&log);
    }

    // cases 63, 83: an agent that gives back what it was called with
    async fn what_the_agent_says_of_its_tokens_goes_no_further(db: Database) {
        let log = Listener::start();
        let db = db.hasty(PASSWORD);
        let (world, mut secrets) = world(&db).await;
        let (_, _, tokens) = whole_flow(&world, &mut secrets, "jane").await;
        for (number, script) in [
            Script { status: 500, ..Script::text("{heard}") },
            Script { content_type: "text/html", body: "<html>{heard}</html>".to_owned(), ..Script::text("") },
            Script { status: 302, ..Script::text("{heard}") },
            Script { body: "{heard}".to_owned(), ..Script::text("") },
            Script::json(json!({ "parts": "{heard}" })),
            Script::json(json!({ "{heard}": 1, "parts": [] })),
            Script::json(json!({ "parts": [{ "text": "Hi" }], "scopesUsed": ["{heard}"] })),
            Script::json(json!({ "parts": [], "missingScopes": ["{heard}"] })),
        ]
        .into_iter()
        .enumerate()
        {
            world.backend.answer_with(script);
            let id = format!("m-{}", number + 2);
            let answer = world.send(AIRLINE, "user-1", Some(&tokens.access), &id, None, "Hello").await;
            secrets.add_turns(&world);
            secrets.assert_refused(&id, 500, &answer);
            answer.assert_a2a_error("INTERNAL");
        }
        world.stop().await;
        secrets.assert_not_logged(&log);
    }

    // case 83: administrators
    async fn no_password_session_or_key_of_an_administrator_is_logged_or_told(db: Database) {
        let log = Listener::start();
        let db = db.hasty(PASSWORD);
        let (world, mut secrets) = world(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let wrong = "canary-of-a-wrong-password";
        let new = "canary-of-a-new-password";
        for secret in [console::PASSWORD, wrong, new] {
            secrets.add("password", secret);
        }
        let key = world.api_key(Access::EVERYTHING).await;
        secrets.add("API key", &key);
        let anna = world.logged_in("anna").await;
        for cookie in ["assent-admin", "assent-admin-known", "assent-admin-log-in"] {
            secrets.add(cookie, anna.cookie(cookie).unwrap());
        }
        let html = anna.get("/account").await.text();
        // What is offered stands on this page and nowhere else.
        let uri = html.split_once("secret=").unwrap().1.split_once('&').unwrap().0;
        secrets.add("second factor", uri);
        let change = async |present, new| {
            let form = [("password", present), ("new_password", new), ("repeated_password", new)];
            anna.submit("/account", "/account/password", &form).await
        };
        assert_eq!(change(console::PASSWORD, new).await.status(), 200);
        let mut refused = vec![("a wrong present password", 403, change(wrong, new).await)];
        let stranger = world.browser();
        refused.push(("a wrong password", 403, stranger.log_in("anna", wrong).await));
        refused.push(("a password as a name", 403, stranger.log_in(new, new).await));
        for _ in 0..4 {
            stranger.log_in("anna", wrong).await;
        }
        refused.push(("too many wrong passwords", 429, stranger.log_in("anna", new).await));
        let forged = anna.ask(Method::POST, "/log-out").header("origin", "https://evil.example");
        refused.push(("another site", 403, forged.form(&[("form_token", "x")]).send().await));
        for (what, status, answer) in &refused {
            secrets.assert_refused(what, *status, answer);
        }
        let request = RequestId("request".to_owned());
        assert!(authenticate_api_key(&world.app, &key, &request).await.unwrap().is_some());
        assert!(authenticate_api_key(&world.app, wrong, &request).await.unwrap().is_none());
        db.take_away(&world.app.store).await;
        secrets.assert_refused("no database", 503, &stranger.log_in("bert", wrong).await);
        assert!(authenticate_api_key(&world.app, &key, &request).await.is_err());
        world.stop().await;
        secrets.assert_not_logged(&log);
    }

    // case 83: the database is gone
    async fn without_its_database_the_program_tells_no_secret(db: Database) {
        let log = Listener::start();
        let db = db.hasty(PASSWORD);
        let (world, mut secrets) = world(&db).await;
        let (codes, page, tokens) = whole_flow(&world, &mut secrets, "jane").await;
        secrets.add_turns(&world);
        let pending = world.codes(AIRLINE, "user-1", "orders:read").await;
        secrets.add_codes(&pending);
        let assertion = world.assertion(AIRLINE, "jane", &pending.user_code, json!({}));
        let bad = world.jwt_with(json!({ "aud": "https://else.example" }));
        world.message(AIRLINE, "user-1").bearer(&bad).send().await.assert_unauthenticated();
        db.take_away(&world.app.store).await;
        for (what, answer) in [
            ("device_authorization", form(&world, "/device_authorization", &[("scope", "orders:read")]).send().await),
            ("poll", world.poll(AIRLINE, "user-1", &codes.device_code).await),
            ("refresh", world.refresh(AIRLINE, "user-1", &tokens.refresh).await),
            ("revoke", form(&world, "/revoke", &[("token", &tokens.refresh)]).send().await),
            ("message", world.send(AIRLINE, "user-1", Some(&tokens.access), "m-2", None, "Hello").await),
            ("sign-in", world.post_assertion(AIRLINE, &assertion).await),
            ("page", world.open(AIRLINE, &pending.user_code, page.cookie.as_deref()).await),
            ("decision", world.decide(AIRLINE, &page.session, "allow", &[]).await),
        ] {
            secrets.assert_refused(what, 503, &answer);
        }
        // The server's own look at the directory fails as well, and says so.
        for _ in 0..300 {
            if log.text().contains("the directory could not be read") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert!(log.text().contains("the directory could not be read"));
        world.stop().await;
        secrets.assert_not_logged(&log);
    }
}
