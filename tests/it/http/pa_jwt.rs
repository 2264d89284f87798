//! The personal-agent JWT over HTTP (PACT §3.2, §3.4): what is not good is the bare 401 on every route. What the verifier
//! itself judges is in `src/crypto/pa_jwt/tests.rs`.

mod key_sets;
mod keys;

use assent::outbound::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Ask};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, AUDIENCE, PROVIDER, Party, SHOP, World, issuer};

/// Every route that asks for a personal-agent JWT: the interface, and each endpoint that the metadata lists.
async fn routes(world: &World) -> Vec<(Method, &'static str, String)> {
    let interface = [
        (Method::POST, "message:send"),
        (Method::POST, "message:stream"),
        (Method::GET, "extendedAgentCard"),
        (Method::GET, "tasks"),
        (Method::GET, "tasks/t-1"),
        (Method::POST, "tasks/t-1:cancel"),
        (Method::GET, "tasks/t-1:subscribe"),
        (Method::POST, "tasks/t-1:subscribe"),
        (Method::GET, "tasks/t-1/pushNotificationConfigs"),
        (Method::POST, "tasks/t-1/pushNotificationConfigs"),
        (Method::GET, "tasks/t-1/pushNotificationConfigs/c-1"),
        (Method::DELETE, "tasks/t-1/pushNotificationConfigs/c-1"),
    ];
    let interface = interface.into_iter().map(|(method, path)| (method, PROVIDER, format!("/a2a/{SHOP}/{path}")));
    let mut routes: Vec<_> = interface.collect();
    for brand in [SHOP, AIRLINE] {
        let metadata =
            world.at_issuer(Method::GET, brand, "/.well-known/oauth-authorization-server").send().await.json();
        let endpoints = metadata.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_endpoint"));
        let paths = endpoints.map(|(_, url)| url::Url::parse(url.as_str().unwrap()).unwrap().path().to_owned());
        routes.extend(paths.map(|path| (Method::POST, issuer(brand).0, path)));
    }
    assert!(routes.len() >= 12 + 2 * 3, "{routes:?}");
    routes
}

/// The two routes that a credential is tried on: one of the interface, one of the authorization server. A good credential
/// gets 200 and `invalid_request`.
async fn try_out(world: &World, with: impl Fn(Ask) -> Ask) -> [Answer; 2] {
    let tasks = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks"));
    let token = world.at_issuer(Method::POST, SHOP, "/token").form(&[]);
    [with(tasks).send().await, with(token).send().await]
}

async fn assert_refused(world: &World, what: &str, with: impl Fn(Ask) -> Ask) {
    for answer in try_out(world, with).await {
        assert_eq!(answer.status(), 401, "{what}");
        answer.assert_unauthenticated();
    }
}

async fn assert_accepted(world: &World, what: &str, with: impl Fn(Ask) -> Ask) {
    let [tasks, token] = try_out(world, with).await;
    assert_eq!(tasks.status(), 200, "{what}");
    assert_eq!(token.oauth_error(), "invalid_request", "{what}");
}

async fn judge(world: &World, what: &str, token: &str, accept: bool) {
    if accept {
        assert_accepted(world, what, |ask| ask.bearer(token)).await;
    } else {
        assert_refused(world, what, |ask| ask.bearer(token)).await;
    }
}

/// The claims of a good token, with one more or another member; null stays null.
fn claims(world: &World, name: &str, value: Value) -> Value {
    let now = world.clock.now().seconds();
    let mut claims = json!({ "iss": world.pa.issuer, "sub": "user-1", "aud": AUDIENCE, "iat": now, "exp": now + 120 });
    claims[name] = value;
    claims
}

on_both_databases! {
    // cases 1, 2, 3, 4, 5, 6, 7, 9, 10: the vectors of another implementation
    async fn every_vector_of_another_implementation_is_judged_alike_over_http(db: Database) {
        let world = World::start(&db).await;
        let vectors: Value = serde_json::from_str(include_str!("../../data/pa-jwt.json")).unwrap();
        assert_eq!((&vectors["issuer"], &vectors["audience"]), (&json!(world.pa.issuer), &json!(AUDIENCE)));
        assert_eq!(vectors["now"], world.clock.now().seconds());
        world.pa_keys.serve_instead(vectors["jwks"].to_string());
        let before = db.contents().await;
        for case in vectors["cases"].as_array().unwrap() {
            let (name, token) = (case["name"].as_str().unwrap(), case["token"].as_str().unwrap());
            judge(&world, name, token, case["accept"].as_bool().unwrap()).await;
        }
        assert_eq!(db.contents().await, before);
        assert!(world.pa_keys.asked() <= 2, "one fetch, and one more for an unknown kid");
        world.stop().await;
    }

    // cases 3, 4, 5, 6
    async fn claims_that_are_not_as_pact_wants_them_are_the_bare_401(db: Database) {
        let world = World::start(&db).await;
        let now = world.clock.now().seconds();
        let good = [
            ("exp", json!(now + 300)), ("exp", json!(now - 27)), ("iat", json!(now + 27)), ("nbf", json!(now + 27)),
            ("exp", json!(now as f64 + 60.75)), ("iat", json!(now as f64 - 0.5)), ("nbf", json!(now as f64 + 0.5)),
            ("exp", json!(now as f64 + 300.9)),
        ];
        let mut bad = vec![
            ("exp", json!(now + 301)), ("exp", json!(now - 31)), ("iat", json!(now + 31)), ("nbf", json!(now + 60)),
            ("aud", json!([AUDIENCE])), ("aud", json!(AUDIENCE.to_uppercase())), ("aud", json!(format!("{AUDIENCE}/"))),
            ("aud", json!("")), ("aud", Value::Null), ("sub", json!("")), ("sub", json!(7)), ("sub", Value::Null),
            ("iss", json!("https://unknown.example.com")), ("iss", json!(format!("{}/", world.pa.issuer))),
            ("iss", json!(world.other_pa.issuer)), ("iss", Value::Null), ("iss", json!([world.pa.issuer])),
        ];
        for name in ["exp", "iat", "nbf"] {
            let wrong = [json!(now.to_string()), json!(-1), Value::Null, json!(1e300), json!((1_u64 << 53) + 2), json!(true)];
            bad.extend(wrong.map(|value| (name, value)));
        }
        let before = db.contents().await;
        let cases = good.into_iter().map(|case| (case, true)).chain(bad.into_iter().map(|case| (case, false)));
        for ((name, value), accept) in cases {
            let mut claims = claims(&world, name, value.clone());
            // `exp` in the past needs an `iat` before it.
            if name == "exp" && value.as_i64().is_some_and(|exp| exp < now) {
                claims["iat"] = json!(now - 60);
            }
            let token = world.pa.signer.sign_claims("JWT", &claims).unwrap();
            judge(&world, &format!("{name}: {value}"), &token, accept).await;
        }
        for name in ["iss", "sub", "aud", "iat", "exp"] {
            judge(&world, name, &world.jwt_with(json!({ name: null })), false).await;
        }
        let text = claims(&world, "sub", json!("user-1")).to_string();
        let payloads = [
            text.replace(&format!("\"exp\":{}", now + 120), "\"exp\":1e999"),
            text.replace("\"sub\"", "\"sub\":\"user-2\",\"sub\""),
            format!("\u{feff}{text}"),
        ];
        for payload in payloads {
            assert_ne!(payload, text);
            judge(&world, &payload, &world.pa.signer.sign("JWT", payload.as_bytes()).unwrap(), false).await;
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // cases 1, 6, 11
    async fn every_refusal_is_the_bare_401_on_every_route(db: Database) {
        let world = World::start(&db).await;
        let (good, other_pa) = (world.jwt("user-1"), world.jwt_of(&world.other_pa, "user-1"));
        let imposter = Party::new(&world.pa.issuer);
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let credentials: Vec<(&str, Vec<String>)> = vec![
            ("nothing", vec![]),
            ("no token", vec!["Bearer".to_owned()]),
            ("an empty token", vec!["Bearer ".to_owned()]),
            ("another scheme", vec![format!("Basic {good}")]),
            ("no scheme", vec![good.clone()]),
            ("a tab", vec![format!("Bearer\t{good}")]),
            ("two spaces", vec![format!("Bearer  {good}")]),
            ("two headers", vec![format!("Bearer {good}"), format!("Bearer {good}")]),
            ("two agents", vec![format!("Bearer {good}"), format!("Bearer {other_pa}")]),
            ("two in one", vec![format!("Bearer {good}, Bearer {good}")]),
            ("a comma", vec![format!("Bearer {good},")]),
            ("a delegation token", vec![format!("Bearer {}", tokens.access)]),
            ("another key", vec![format!("Bearer {}", world.jwt_of(&imposter, "user-1"))]),
            ("another audience", vec![format!("Bearer {}", world.jwt_with(json!({ "aud": "https://x.example" })))]),
            ("another issuer", vec![format!("Bearer {}", world.jwt_with(json!({ "iss": "https://x.example" })))]),
            ("expired", vec![format!("Bearer {}", world.jwt_with(json!({ "iat": 1_767_225_000, "exp": 1_767_225_300 })))]),
        ];
        let before = db.contents().await;
        for (method, host, path) in routes(&world).await {
            for (what, values) in &credentials {
                let ask = world.ask(method.clone(), host, &path);
                let ask = values.iter().fold(ask, |ask, value| ask.header("authorization", value));
                let answer = ask.send().await;
                assert_eq!(answer.status(), 401, "{what} at {path}");
                answer.assert_unauthenticated();
            }
            let answer = world.ask(method.clone(), host, &path).bearer(&good).send().await;
            assert_ne!(answer.status(), 401, "{path}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 11
    async fn a_token_counts_in_the_header_alone_whatever_the_case_of_its_scheme(db: Database) {
        let world = World::start(&db).await;
        let good = world.jwt("user-1");
        let before = db.contents().await;
        for scheme in ["bearer", "BEARER", "BeArEr"] {
            assert_accepted(&world, scheme, |ask| ask.header("authorization", &format!("{scheme} {good}"))).await;
        }
        let query = format!("/a2a/{SHOP}/tasks?access_token={good}&authorization=Bearer%20{good}");
        world.ask(Method::GET, PROVIDER, &query).send().await.assert_unauthenticated();
        let in_query = format!("/token?access_token={good}");
        world.at_issuer(Method::POST, SHOP, &in_query).form(&[]).send().await.assert_unauthenticated();
        let form = [("access_token", good.as_str()), ("client_assertion", &good), ("assertion", &good)];
        world.at_issuer(Method::POST, SHOP, "/token").form(&form).send().await.assert_unauthenticated();
        let cookie = format!("access_token={good}; authorization=Bearer {good}");
        assert_refused(&world, "a cookie", |ask| ask.header("cookie", &cookie)).await;
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 7
    async fn what_is_not_three_parts_is_the_bare_401_in_bounded_time(db: Database) {
        let world = World::start(&db).await;
        let good = world.jwt("user-1");
        let parts: Vec<&str> = good.split('.').collect();
        let wrong = [
            ".".repeat(4000), ".".repeat(1000), format!("{}.{}", parts[0], parts[1]), format!("{good}."),
            format!("{good}.{}", parts[2]), format!("{good}.{}.{}", parts[1], parts[2]), format!("{good}="),
            format!("{}=.{}.{}", parts[0], parts[1], parts[2]), "A".repeat(12_000),
            format!("{{\"payload\":\"{}\",\"signatures\":[]}}", parts[1]), "a.b.c".to_owned(), "..".to_owned(),
        ];
        let before = db.contents().await;
        let all = async {
            for token in &wrong {
                judge(&world, token, token, false).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), all).await.unwrap();
        assert_eq!(db.contents().await, before);
        assert_eq!(world.pa_keys.asked(), 0, "nothing of this is worth a key set");
        world.stop().await;
    }

    // case 12
    async fn every_character_of_a_token_counts(db: Database) {
        let world = World::start(&db).await;
        let good = world.jwt("user-1");
        judge(&world, "as it is", &good, true).await;
        let before = db.contents().await;
        for place in 0..good.len() {
            let mut altered = good.clone().into_bytes();
            altered[place] = next(altered[place]);
            let altered = String::from_utf8(altered).unwrap();
            let (method, path) = if place % 2 == 0 { (Method::GET, "tasks") } else { (Method::POST, "oauth/token") };
            let answer = world.ask(method, PROVIDER, &format!("/a2a/{SHOP}/{path}")).bearer(&altered).send().await;
            assert_eq!(answer.status(), 401, "{place}: {altered}");
            answer.assert_unauthenticated();
        }
        // The last character of a part has bits that decode to nothing: none of them may be another way to write it.
        for end in good.match_indices('.').map(|(end, _)| end).chain([good.len()]) {
            for other in ALPHABET.chars().filter(|other| !good[..end].ends_with(*other)) {
                let altered = format!("{}{other}{}", &good[..end - 1], &good[end..]);
                let answer = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&altered).send().await;
                assert_eq!(answer.status(), 401, "{end}: {altered}");
                answer.assert_unauthenticated();
            }
        }
        assert_eq!(db.contents().await, before);
        assert!(world.pa_keys.asked() <= 2);
        judge(&world, "still", &good, true).await;
        world.stop().await;
    }

    // case 6
    async fn a_disabled_personal_agent_is_the_bare_401_until_it_is_enabled_again(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.set_pa_enabled(false).await;
        let before = db.contents().await;
        for (method, host, path) in routes(&world).await {
            world.ask(method, host, &path).bearer(&world.jwt("user-1")).send().await.assert_unauthenticated();
        }
        world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_unauthenticated();
        world.refresh(SHOP, "user-1", &tokens.refresh).await.assert_unauthenticated();
        assert_eq!(db.contents().await, before);
        let other = world.oauth_as(&world.other_pa, SHOP, "/device_authorization", "user-1", &[("scope", "orders:read")]);
        assert_eq!(other.await.status(), 200);
        world.set_pa_enabled(true).await;
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 200);
        world.stop().await;
    }

    // cases 6 and 22: routing comes before authentication, and the Brand after it
    async fn a_path_that_is_not_there_is_404_before_anybody_is_authenticated(db: Database) {
        let world = World::start(&db).await;
        let good = world.jwt("user-1");
        for path in ["/a2a", "/nowhere", &format!("/a2a/{SHOP}/message:send/"), &format!("/a2a/{SHOP}/Message:Send")] {
            assert_eq!(world.ask(Method::POST, PROVIDER, path).send().await.status(), 404, "{path}");
            assert_eq!(world.ask(Method::POST, PROVIDER, path).bearer(&good).send().await.status(), 404, "{path}");
        }
        for path in ["/a2a/01M3R53Q5SZQ6FQSMSDBSSREZZ/tasks", "/a2a/x/tasks"] {
            world.ask(Method::GET, PROVIDER, path).send().await.assert_unauthenticated();
            let answer = world.ask(Method::GET, PROVIDER, path).bearer(&good).send().await;
            assert_eq!((answer.status(), answer.text().as_str()), (404, ""), "{path}");
        }
        world.stop().await;
    }
}

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Another character of the alphabet; a letter for a dot.
fn next(character: u8) -> u8 {
    let alphabet = ALPHABET.as_bytes();
    alphabet.iter().position(|known| *known == character).map_or(b'A', |at| alphabet[(at + 1) % alphabet.len()])
}
