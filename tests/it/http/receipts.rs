//! Receipts over HTTP (PACT §5.6): what they hold, what verifies them, and that they are good for nothing else.

use std::time::Duration;

use assent::crypto::jwks::KeySet;
use assent::crypto::receipt;
use assent::outbound::Method;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::support::backend::Script;
use crate::support::database::on_both_databases;
use crate::support::flow::{DEVICE_CODE_GRANT, message};
use crate::support::world::{AIRLINE, CLUB, PROVIDER, SHOP, World, interface_url};

async fn keys(world: &World, brand: &str) -> KeySet {
    KeySet::parse(&world.at_issuer(Method::GET, brand, "/jwks.json").send().await.0.body).unwrap()
}

/// A receipt of this Brand, and its claims as they stand beside it.
async fn receipt_of(world: &World, brand: &str) -> (String, Value) {
    let tokens = world.tokens(brand, "user-1", "jane", &["orders:read"]).await;
    let reply = world.send(brand, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
    let receipt = reply.json()["message"]["metadata"]["pact.receipt"].clone();
    (receipt["jws"].as_str().unwrap().to_owned(), receipt["claims"].clone())
}

on_both_databases! {
    // case 71
    async fn a_receipt_with_any_character_changed_or_of_another_brand_does_not_verify(db: Database) {
        let world = World::start(&db).await;
        for (brand, other) in [(SHOP, CLUB), (CLUB, SHOP)] {
            let (jws, _) = receipt_of(&world, brand).await;
            let (own, others) = (keys(&world, brand).await, keys(&world, other).await);
            assert!(receipt::verify(&jws, &own, Some(&interface_url(brand))).is_ok());
            assert!(receipt::verify(&jws, &own, Some(&interface_url(other))).is_err());
            assert!(receipt::verify(&jws, &others, None).is_err());
            for at in (0..jws.len()).filter(|at| jws.as_bytes()[*at] != b'.') {
                let mut bytes = jws.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let altered = String::from_utf8(bytes).unwrap();
                assert!(receipt::verify(&altered, &own, None).is_err(), "{at}: {altered}");
            }
        }
        world.stop().await;
    }

    // case 71
    async fn a_receipt_is_no_token(db: Database) {
        let world = World::start(&db).await;
        let (jws, _) = receipt_of(&world, SHOP).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let before = db.contents().await;
        let send = || {
            world.ask(Method::POST, PROVIDER, &format!("/a2a/{SHOP}/message:send")).json(&message("m-2", None, "Hi"))
        };
        send().bearer(&jws).send().await.assert_unauthenticated();
        send().bearer(&world.jwt("user-1")).delegation(&jws).send().await.assert_invalid_token();
        let token = world.at_issuer(Method::POST, SHOP, "/token").bearer(&jws);
        token
            .form(&[("grant_type", DEVICE_CODE_GRANT), ("device_code", &codes.device_code)])
            .send()
            .await
            .assert_unauthenticated();
        assert_eq!(world.refresh(SHOP, "user-1", &jws).await.oauth_error(), "invalid_grant");
        assert_eq!(world.poll(SHOP, "user-1", &jws).await.oauth_error(), "invalid_grant");
        assert_eq!(world.post_assertion(SHOP, &jws).await.status(), 403);
        assert_eq!(world.decide(SHOP, &jws, "allow", &["orders:read"]).await.status(), 403);
        let cookie = format!("__Host-assent-{SHOP}={jws}");
        assert_eq!(world.open(SHOP, &codes.user_code, Some(&cookie)).await.status(), 303);
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &jws)]).await.assert_empty(200);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn a_receipt_has_exactly_its_seven_claims_and_is_kept(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        world.backend.answer_with(Script::json(json!({
            "parts": [{ "text": "Cancelled." }], "scopesUsed": ["orders:cancel", "orders:read"],
            "actions": [
                { "tool": "lookup_orders" },
                { "tool": "cancel_order", "args": { "b": 1.0, "a": "\u{e9}" } },
                { "tool": "notify", "argsHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
            ],
        })));
        let reply = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Cancel it").await;
        let receipt = reply.json()["message"]["metadata"]["pact.receipt"].clone();
        // SHA-256 of {"a":"é","b":1}, the form of RFC 8785.
        let hash = BASE64_URL_SAFE_NO_PAD.encode(openssl::sha::sha256("{\"a\":\"\u{e9}\",\"b\":1}".as_bytes()));
        assert_eq!(
            receipt["claims"],
            json!({
                "grantId": tokens.grant(), "user": "jane", "pa": "https://pa.example.com", "brand": interface_url(AIRLINE),
                "scopesUsed": receipt["claims"]["scopesUsed"],
                "actions": [
                    { "tool": "lookup_orders" }, { "tool": "cancel_order", "argsHash": hash },
                    { "tool": "notify", "argsHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
                ],
                "ts": "2026-01-01T00:00:00Z",
            })
        );
        let mut used: Vec<&str> =
            receipt["claims"]["scopesUsed"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        used.sort_unstable();
        assert_eq!(used, ["orders:cancel", "orders:read"]);

        let jws = receipt["jws"].as_str().unwrap();
        let part = |place: usize| BASE64_URL_SAFE_NO_PAD.decode(jws.split('.').nth(place).unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&part(0)).unwrap();
        assert_eq!(header.as_object().unwrap().keys().collect::<Vec<_>>().len(), 3);
        assert_eq!((&header["typ"], &header["alg"]), (&json!("pact-receipt+jws"), &json!("ES256")));
        let payload = String::from_utf8(part(1)).unwrap();
        assert!(reply.text().contains(&payload), "the claims beside the JWS are not the bytes that were signed");
        assert_eq!(db.rows("SELECT jws FROM receipt").await, [format!("jws={jws}")]);
        world.stop().await;
    }

    // case 63
    async fn an_answer_whose_receipt_nobody_could_read_is_refused_and_nothing_is_kept(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let answer = |count: usize, missing: &[&str]| {
            let action = json!({ "tool": "t".repeat(128), "args": { "n": 1 } });
            Script::json(json!({
                "parts": [{ "text": "Done." }], "scopesUsed": ["orders:read"], "actions": vec![action; count],
                "missingScopes": missing,
            }))
        };
        let send = async |id: &str| world.send(AIRLINE, "user-1", Some(&tokens.access), id, None, "All of it").await;
        for missing in [&[][..], &["orders:cancel"]] {
            world.backend.answer_with(answer(80, missing));
            send("m-1").await.assert_a2a_error("INTERNAL");
            assert_eq!(db.count("SELECT id FROM receipt").await, 0);
            assert_eq!(db.count("SELECT sequence FROM audit WHERE action = 'receipt_signed'").await, 0);
            assert_eq!(db.count("SELECT message_id FROM turn WHERE state <> 'released'").await, 0);
        }
        // What fits is signed, and read again.
        world.backend.answer_with(answer(50, &[]));
        let reply = send("m-2").await;
        let jws = reply.json()["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
        assert!(receipt::verify(&jws, &keys(&world, AIRLINE).await, None).is_ok());
        world.stop().await;
    }

    async fn a_brand_that_signs_with_rs256_does_so_for_receipts(db: Database) {
        let world = World::start(&db).await;
        let (jws, claims) = receipt_of(&world, CLUB).await;
        let verified = receipt::verify(&jws, &keys(&world, CLUB).await, Some(&interface_url(CLUB))).unwrap();
        assert_eq!(serde_json::to_value(&verified).unwrap(), claims);
        let header = BASE64_URL_SAFE_NO_PAD.decode(jws.split('.').next().unwrap()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&header).unwrap()["alg"], "RS256");
        world.stop().await;
    }

    // case 56
    async fn a_revocation_during_a_turn_does_not_suppress_the_receipt_of_what_was_done(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let done = json!({ "parts": [{ "text": "Done." }], "scopesUsed": ["orders:read"] });
        world.backend.answer_with(Script::json(done).after(Duration::from_millis(500)));
        let (reply, ()) =
            tokio::join!(world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Do it"), async {
                world.backend.seen_at_least(1).await;
                world.oauth(AIRLINE, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
            },);
        assert_eq!(reply.status(), 200, "{}", reply.text());
        let claims = &reply.json()["message"]["metadata"]["pact.receipt"]["claims"];
        assert_eq!(claims["scopesUsed"], json!(["orders:read"]));
        assert_eq!(db.count("SELECT * FROM receipt").await, 1);
        let before = db.contents().await;
        let again = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&reply.context()), "Do it").await;
        again.assert_invalid_token();
        world
            .send(AIRLINE, "user-1", None, "m-2", Some(&reply.context()), "Hello")
            .await
            .assert_a2a_error("UNSUPPORTED_OPERATION");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
