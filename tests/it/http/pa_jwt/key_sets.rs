//! What is in a personal agent's key set, how long it counts, and how often it is fetched (PACT §3.1; RFC 7517 §5).

use std::time::Duration;

use assent::crypto::signer::{Signer, generate_key};
use assent::domain::brand::SigningAlg;
use assent::flow::admin::Run;
use assent::flow::admin::apply::{apply, parse};
use assent::outbound::Method;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::keys::under;
use super::{assert_accepted, claims, judge};
use crate::support::database::on_both_databases;
use crate::support::origin::{KEYS, Origin, Reply};
use crate::support::world::{PROVIDER, Party, SHOP, World, owner, personal_agent_table};

/// The first personal agent with a key of `alg` under `kid`, and the key as it would publish it.
fn key(world: &World, alg: SigningAlg, kid: &str) -> (Party, Value) {
    let key = generate_key(alg, kid).unwrap();
    let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
    let public = serde_json::from_str(&key.public_jwk).unwrap();
    (Party { issuer: world.pa.issuer.clone(), signer, key }, public)
}

fn private(party: &Party) -> Value {
    serde_json::from_str(party.key.private_jwk.expose()).unwrap()
}

fn without(key: &Value, name: &str) -> Value {
    let mut key = key.clone();
    key.as_object_mut().unwrap().remove(name);
    key
}

fn with(key: &Value, name: &str, value: &str) -> Value {
    let mut key = key.clone();
    key[name] = json!(value);
    key
}

on_both_databases! {
    // case 13
    async fn good_keys_are_found_among_whatever_else_a_set_holds(db: Database) {
        let world = World::start(&db).await;
        let (named, named_key) = key(&world, SigningAlg::Es256, "named");
        let (nameless, nameless_key) = key(&world, SigningAlg::Es256, "nameless");
        let (twin_ec, twin_ec_key) = key(&world, SigningAlg::Es256, "twin");
        let (twin_rsa, twin_rsa_key) = key(&world, SigningAlg::Rs256, "twin");
        let (whole, _) = key(&world, SigningAlg::Es256, "whole");
        let (secret, secret_key) = key(&world, SigningAlg::Es256, "encrypts");
        let (misused, misused_key) = key(&world, SigningAlg::Es256, "misused");
        let set = json!({ "keys": [
            null, 7, "key", [], {}, { "kty": "AKP", "kid": "named", "alg": "ML-DSA-65", "pub": "AAAA" },
            { "kty": "OKP", "kid": "named", "crv": "Ed25519", "x": nameless_key["x"] }, { "kty": "oct", "kid": "named", "k": "AAAA" },
            { "kty": "EC", "kid": "named", "crv": "P-256", "x": "AAAA" }, { "kty": "RSA", "kid": "named" }, { "kty": 1 },
            with(&named_key, "x", "not base64url"), with(&named_key, "crv", "P-384"), without(&named_key, "y"),
            with(&secret_key, "use", "enc"), with(&misused_key, "alg", "ES512"),
            twin_rsa_key, private(&whole), named_key, without(&nameless_key, "kid"), twin_ec_key,
            private(&twin_ec),
        ], "more": { "keys": [] } });
        // In one of the entries a member stands twice.
        let twice = format!("{{\"kty\":\"EC\",\"kty\":\"EC\",\"kid\":\"named\"}},{}", set["keys"][3]);
        world.pa_keys.serve_instead(set.to_string().replacen("[]", &twice, 1));
        for party in [&named, &twin_ec, &twin_rsa, &whole] {
            assert_accepted(&world, party.signer.public().kid().unwrap(), |ask| ask.bearer(&world.jwt_of(party, "user-1"))).await;
        }
        judge(&world, "without a kid", &under(&world, &nameless, &json!({ "alg": "ES256" })), true).await;
        judge(&world, "the kid of none", &world.jwt_of(&nameless, "user-1"), false).await;
        judge(&world, "a key that encrypts", &world.jwt_of(&secret, "user-1"), false).await;
        judge(&world, "a key of another algorithm", &world.jwt_of(&misused, "user-1"), false).await;
        let stored = db.contents().await.join("\n");
        for party in [&whole, &twin_ec] {
            assert!(!stored.contains(private(party)["d"].as_str().unwrap()), "private parts are not kept");
        }
        world.stop().await;
    }

    // case 16
    async fn ten_thousand_random_kids_are_worth_one_fetch_in_thirty_seconds(db: Database) {
        // More than one address may send in a moment.
        let world = World::with(&db, "[limits]\naddress_burst = 20000\n").await;
        assert_accepted(&world, "known", |ask| ask.bearer(&world.jwt("user-1"))).await;
        assert_eq!(world.pa_keys.asked(), 1);
        let flood = async |from: usize, to: usize| {
            let connections = 10;
            let share = (to - from) / connections;
            let shares = (0..connections).map(|n| refused_in_a_row(&world, from + n * share, from + (n + 1) * share));
            assert_eq!(join_all(shares).await.iter().sum::<usize>(), to - from);
        };
        flood(0, 9_000).await;
        assert_eq!(world.pa_keys.asked(), 2);
        world.advance(29);
        flood(9_000, 9_500).await;
        assert_eq!(world.pa_keys.asked(), 2);
        world.advance(1);
        flood(9_500, 10_000).await;
        assert_eq!(world.pa_keys.asked(), 3);
        assert_accepted(&world, "still known", |ask| ask.bearer(&world.jwt("user-1"))).await;
        assert_eq!(world.pa_keys.asked(), 3);
        world.stop().await;
    }

    // case 16: nobody waits for another
    async fn a_fetch_that_hangs_holds_up_neither_another_agent_nor_known_keys(db: Database) {
        let world = World::start(&db).await;
        let origin = Origin::start(None);
        origin.reply(KEYS, Reply::json(world.pa.jwks()));
        world.apply(&personal_agent_table(&world.pa.issuer, "First agent", &origin.url(KEYS), true)).await;
        assert_accepted(&world, "known", |ask| ask.bearer(&world.jwt("user-1"))).await;
        origin.reply(KEYS, Reply::Silence);
        let strangers: Vec<_> = (0..100).map(|n| {
            let token = under(&world, &world.pa, &json!({ "alg": "ES256", "kid": format!("k-{n}") }));
            let ask = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&token);
            tokio::spawn(async move { ask.send().await.status() })
        }).collect();
        while origin.asked(KEYS) < 2 {
            tokio::task::yield_now().await;
        }
        let other = world.jwt_of(&world.other_pa, "user-1");
        assert_accepted(&world, "another agent", |ask| ask.bearer(&other)).await;
        assert_accepted(&world, "a known key", |ask| ask.bearer(&world.jwt("user-1"))).await;
        assert!(strangers.iter().all(|stranger| !stranger.is_finished()), "they were answered while the fetch hung");
        for stranger in strangers {
            assert_eq!(stranger.await.unwrap(), 401);
        }
        assert_eq!(origin.asked(KEYS), 2);
        world.stop().await;
    }

    // case 17: a key
    async fn a_key_that_was_removed_stops_working_within_ten_minutes(db: Database) {
        for asked_in_between in [false, true] {
            let world = World::start(&db).await;
            let (newer, _) = key(&world, SigningAlg::Es256, "key-2");
            assert_accepted(&world, "before", |ask| ask.bearer(&world.jwt("user-1"))).await;
            world.pa_keys.serve_instead(newer.jwks());
            for step in 1..=6 {
                world.advance(100);
                if asked_in_between && step < 6 {
                    let answer = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks"));
                    assert_eq!(answer.bearer(&world.jwt("user-1")).send().await.status(), 200);
                }
            }
            judge(&world, "removed", &world.jwt("user-1"), false).await;
            judge(&world, "new", &world.jwt_of(&newer, "user-1"), true).await;
            world.stop().await;
        }
    }

    // case 17: a personal agent
    async fn a_disabled_agent_is_refused_within_two_seconds_on_every_node(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        for node in [&world, &other] {
            assert_accepted(node, "enabled", |ask| ask.bearer(&node.jwt("user-1"))).await;
        }
        let table = personal_agent_table(&world.pa.issuer, "First agent", &world.pa_keys.url(), false);
        apply(&world.app, &parse(&table).unwrap(), &owner(), Run::Real).await.unwrap();
        // Nothing but the clock of the nodes tells them.
        let refused = join_all([&world, &other].map(async |node| {
            let path = format!("/a2a/{SHOP}/tasks");
            while node.ask(Method::GET, PROVIDER, &path).bearer(&node.jwt("user-1")).send().await.status() != 401 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }));
        tokio::time::timeout(Duration::from_secs(2), refused).await.unwrap();
        assert_accepted(&other, "another agent", |ask| ask.bearer(&other.jwt_of(&other.other_pa, "user-1"))).await;
        world.stop().await;
        other.stop().await;
    }
}

/// Sends tokens under the kids of these numbers over one connection, without waiting for answers in between. How many of
/// them were 401.
async fn refused_in_a_row(world: &World, from: usize, to: usize) -> usize {
    let payload = BASE64_URL_SAFE_NO_PAD.encode(claims(world, "sub", json!("user-1")).to_string());
    let requests: String = (from..to)
        .map(|n| {
            let header = BASE64_URL_SAFE_NO_PAD.encode(format!("{{\"alg\":\"ES256\",\"kid\":\"k-{n:x}\"}}"));
            let token = format!("{header}.{payload}.{}", "A".repeat(86));
            let last = if n + 1 == to { "connection: close\r\n" } else { "" };
            format!("GET /a2a/{SHOP}/tasks HTTP/1.1\r\nhost: {PROVIDER}\r\nauthorization: Bearer {token}\r\n{last}\r\n")
        })
        .collect();
    let (mut reading, mut writing) = tokio::net::TcpStream::connect(world.public()).await.unwrap().into_split();
    let mut answers = String::new();
    let (sent, read) = tokio::join!(writing.write_all(requests.as_bytes()), reading.read_to_string(&mut answers));
    sent.unwrap();
    read.unwrap();
    answers.matches("HTTP/1.1 401 ").count()
}
