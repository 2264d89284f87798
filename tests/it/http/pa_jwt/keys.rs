//! Whose key a personal-agent JWT is verified with (PACT §3.1): the registered agent's, whatever the token says.

use assent::crypto::signer::{Signer, generate_key};
use assent::domain::brand::SigningAlg;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use josekit::jwk::Jwk;
use josekit::jwk::KeyPair as _;
use josekit::jwk::alg::ec::EcKeyPair;
use josekit::jwk::alg::ed::EdCurve;
use josekit::jws::{ES256, ES384, EdDSA, HS256, JwsSigner, PS256, RS256};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{assert_accepted, claims, judge};
use crate::support::database::on_both_databases;
use crate::support::keys::KeyServer;
use crate::support::world::{PROVIDER, Party, SHOP, World, personal_agent_table};

/// A token of `party` under a header of the test's own, with good claims.
pub(super) fn under(world: &World, party: &Party, header: &Value) -> String {
    let signer = ES256.signer_from_jwk(&Jwk::from_bytes(party.key.private_jwk.expose()).unwrap()).unwrap();
    signed_by(&signer, world, header)
}

/// A token with good claims, signed by whatever signs.
fn signed_by(signer: &dyn JwsSigner, world: &World, header: &Value) -> String {
    let claims = claims(world, "sub", json!("user-1"));
    let encode = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", encode(header), encode(&claims));
    let signature = signer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

on_both_databases! {
    // cases 1, 2
    async fn a_good_signature_of_another_algorithm_or_by_a_key_for_something_else_is_the_bare_401(db: Database) {
        let world = World::start(&db).await;
        let rsa = PS256.generate_key_pair(2048).unwrap();
        let ed = EdDSA.generate_key_pair(EdCurve::Ed25519).unwrap();
        let p384 = ES384.generate_key_pair().unwrap();
        let mut keys = vec![serde_json::from_str::<Value>(&world.pa.key.public_jwk).unwrap()];
        let mut publish = |kid: &str, jwk: &Jwk, more: Value| {
            let mut jwk = Value::Object(jwk.as_ref().clone());
            jwk.as_object_mut().unwrap().remove("alg");
            jwk["kid"] = json!(kid);
            jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            keys.push(jwk);
        };
        publish("rsa", &rsa.to_jwk_public_key(), json!({}));
        publish("rsa-pss", &rsa.to_jwk_public_key(), json!({ "alg": "PS256" }));
        publish("ed", &ed.to_jwk_public_key(), json!({}));
        publish("p384", &p384.to_jwk_public_key(), json!({}));
        let ec = Jwk::from_bytes(&world.pa.key.public_jwk).unwrap();
        publish("ec-for-rsa", &ec, json!({ "alg": "RS256" }));
        publish("ec-for-encryption", &ec, json!({ "use": "enc" }));
        publish("ec-for-signing", &ec, json!({ "key_ops": ["sign"] }));
        publish("ec", &ec, json!({ "alg": "ES256", "use": "sig", "key_ops": ["verify"] }));
        world.pa_keys.serve_instead(json!({ "keys": keys }).to_string());

        let mut rsa_key = rsa.to_jwk_private_key().as_ref().clone();
        rsa_key.remove("alg");
        let rsa_key = Jwk::from_map(rsa_key).unwrap();
        let own = Jwk::from_bytes(world.pa.key.private_jwk.expose()).unwrap();
        let es256 = || -> Box<dyn JwsSigner> { Box::new(ES256.signer_from_jwk(&own).unwrap()) };
        let rs256 = || -> Box<dyn JwsSigner> { Box::new(RS256.signer_from_jwk(&rsa_key).unwrap()) };
        let ps256 = || -> Box<dyn JwsSigner> { Box::new(PS256.signer_from_jwk(&rsa_key).unwrap()) };
        let hs256 = |key: Vec<u8>| -> Box<dyn JwsSigner> { Box::new(HS256.signer_from_bytes(key).unwrap()) };
        let pair = EcKeyPair::from_jwk(&own).unwrap();
        let before = db.contents().await;
        for (alg, kid, signer, accepted) in [
            ("ES256", "ec", es256(), true),
            ("RS256", "rsa", rs256(), true),
            ("PS256", "rsa", ps256(), false),
            ("PS256", "rsa-pss", ps256(), false),
            ("RS256", "rsa-pss", rs256(), false),
            ("RS256", "rsa", ps256(), false),
            ("EdDSA", "ed", Box::new(EdDSA.signer_from_jwk(&ed.to_jwk_private_key()).unwrap()), false),
            ("ES384", "p384", Box::new(ES384.signer_from_jwk(&p384.to_jwk_private_key()).unwrap()), false),
            ("ES256", "p384", Box::new(ES384.signer_from_jwk(&p384.to_jwk_private_key()).unwrap()), false),
            ("ES256", "ec-for-rsa", es256(), false),
            ("RS256", "ec-for-rsa", es256(), false),
            ("ES256", "ec-for-encryption", es256(), false),
            ("ES256", "ec-for-signing", es256(), false),
            ("ES256", "rsa", es256(), false),
            ("RS256", "ec", rs256(), false),
            ("HS256", "ec", hs256(world.pa.key.public_jwk.clone().into_bytes()), false),
            ("HS256", "ec", hs256(pair.to_pem_public_key()), false),
            ("HS256", "ec", hs256(pair.to_der_public_key()), false),
            ("ES256", "ec", hs256(pair.to_der_public_key()), false),
        ] {
            let token = signed_by(signer.as_ref(), &world, &json!({ "alg": alg, "kid": kid }));
            judge(&world, &format!("{alg} with {kid}"), &token, accepted).await;
        }
        for alg in ["none", "None", "NONE", "nOnE", ""] {
            let token = signed_by(es256().as_ref(), &world, &json!({ "alg": alg, "kid": "ec" }));
            judge(&world, alg, &token, false).await;
            judge(&world, alg, &format!("{}.", token.rsplit_once('.').unwrap().0), false).await;
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 8
    async fn a_header_that_points_to_keys_is_never_followed(db: Database) {
        let world = World::start(&db).await;
        let imposter = Party::new(&world.pa.issuer);
        let elsewhere = KeyServer::start(imposter.jwks()).await;
        let key: Value = serde_json::from_str(&imposter.key.public_jwk).unwrap();
        let pointers = [
            json!({ "jku": elsewhere.url() }), json!({ "x5u": elsewhere.url() }), json!({ "jwk": key }),
            json!({ "jku": elsewhere.url(), "x5u": elsewhere.url(), "jwk": key }), json!({ "x5c": ["MIIB"] }),
            json!({ "kid": elsewhere.url() }),
        ];
        let before = db.contents().await;
        for pointer in pointers {
            let mut header = json!({ "alg": "ES256", "typ": "JWT", "kid": "key-1" });
            header.as_object_mut().unwrap().extend(pointer.as_object().unwrap().clone());
            let what = header.to_string();
            judge(&world, &what, &under(&world, &imposter, &header), false).await;
            // The agent's own key verifies whatever else the header says.
            judge(&world, &what, &under(&world, &world.pa, &header), header["kid"] == "key-1").await;
        }
        assert_eq!(elsewhere.asked(), 0);
        assert!(world.pa_keys.asked() <= 2);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 9
    async fn an_unknown_kid_is_worth_one_fetch_and_no_more(db: Database) {
        let world = World::start(&db).await;
        let with_kid = |party: &Party, kid: &str| under(&world, party, &json!({ "alg": "ES256", "kid": kid }));
        let before = db.contents().await;
        judge(&world, "known", &with_kid(&world.pa, "key-1"), true).await;
        assert_eq!(world.pa_keys.asked(), 1);
        let strangers: Vec<String> = (0..20).map(|n| with_kid(&world.pa, &format!("stranger-{n}"))).collect();
        join_all(strangers.iter().map(|token| judge(&world, "stranger", token, false))).await;
        assert_eq!(world.pa_keys.asked(), 2);
        judge(&world, "known", &with_kid(&world.pa, "key-1"), true).await;
        assert_eq!(world.pa_keys.asked(), 2);

        // A key that is new in the set is found by that one fetch.
        let newer = generate_key(SigningAlg::Es256, "key-2").unwrap();
        let newer = Party { signer: Signer::from_private_jwk(newer.private_jwk.expose()).unwrap(), key: newer, issuer: world.pa.issuer.clone() };
        world.pa_keys.serve_instead(newer.jwks());
        judge(&world, "too soon", &with_kid(&newer, "key-2"), false).await;
        world.advance(30);
        judge(&world, "new", &with_kid(&newer, "key-2"), true).await;
        judge(&world, "removed", &with_kid(&world.pa, "key-1"), false).await;
        assert_eq!(world.pa_keys.asked(), 3);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 9
    async fn a_token_without_kid_is_verified_by_the_right_one_of_three_keys(db: Database) {
        let world = World::start(&db).await;
        let parties = ["1", "2", "3"].map(|_| Party::new(&world.pa.issuer));
        let without_kid = parties.each_ref().map(|party| {
            let mut key: Value = serde_json::from_str(&party.key.public_jwk).unwrap();
            key.as_object_mut().unwrap().remove("kid");
            key
        });
        world.pa_keys.serve_instead(json!({ "keys": without_kid }).to_string());
        let before = db.contents().await;
        for party in &parties {
            judge(&world, "one of three", &under(&world, party, &json!({ "alg": "ES256" })), true).await;
        }
        judge(&world, "none of them", &under(&world, &world.pa, &json!({ "alg": "ES256" })), false).await;
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 9
    async fn a_strange_kid_is_the_bare_401_and_nothing_worse(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        let strange = [
            "' OR 1=1 --", "../../etc/passwd", "", "\u{0}", "\r\nX-Evil: 1", "key-1 ", "KEY-1", "\u{202e}1-yek", "%00",
            &"k".repeat(8000),
        ];
        for kid in strange {
            let token = under(&world, &world.pa, &json!({ "alg": "ES256", "kid": kid }));
            judge(&world, kid, &token, false).await;
        }
        let long = under(&world, &world.pa, &json!({ "alg": "ES256", "kid": "k".repeat(1 << 20) }));
        let answer = raw(&world, &format!("GET /a2a/{SHOP}/tasks HTTP/1.1\r\nhost: {PROVIDER}\r\nauthorization: Bearer {long}\r\n\r\n")).await;
        // The server may close before it has read everything, and its answer may be lost by that.
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert_eq!(db.contents().await, before);
        assert_accepted(&world, "afterwards", |ask| ask.bearer(&world.jwt("user-1"))).await;
        world.stop().await;
    }

    // case 10
    async fn weak_and_malformed_keys_and_signatures_verify_nothing(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        let modulus = |bits: usize| BASE64_URL_SAFE_NO_PAD.encode(vec![0xb7_u8; bits / 8]);
        let rsa = openssl::rsa::Rsa::generate(1024).unwrap();
        let keys = json!([
            { "kty": "RSA", "kid": "short", "n": BASE64_URL_SAFE_NO_PAD.encode(rsa.n().to_vec()), "e": "AQAB" },
            { "kty": "RSA", "kid": "long", "n": modulus(16_384), "e": "AQAB" },
            { "kty": "EC", "kid": "off-curve", "crv": "P-256", "x": modulus(256), "y": modulus(256) },
            serde_json::from_str::<Value>(&world.pa.key.public_jwk).unwrap(),
        ]);
        world.pa_keys.serve_instead(json!({ "keys": keys }).to_string());
        let signed = |alg: &str, kid: &str| {
            let good = under(&world, &world.pa, &json!({ "alg": alg, "kid": kid }));
            good.rsplit_once('.').unwrap().0.to_owned()
        };
        let with = |signed: &str, signature: &[u8]| format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature));
        let short = signed("RS256", "short");
        let pkey = openssl::pkey::PKey::from_rsa(rsa).unwrap();
        let mut signer = openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &pkey).unwrap();
        let signature = signer.sign_oneshot_to_vec(short.as_bytes()).unwrap();
        judge(&world, "1024 bits", &with(&short, &signature), false).await;
        judge(&world, "16384 bits", &with(&signed("RS256", "long"), &[1; 2048]), false).await;
        judge(&world, "off-curve", &with(&signed("ES256", "off-curve"), &[1; 64]), false).await;

        let good = under(&world, &world.pa, &json!({ "alg": "ES256", "kid": "key-1" }));
        judge(&world, "good", &good, true).await;
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let (r, s) = signature.split_at(32);
        let zero = [0; 32];
        for wrong in [[&zero, s].concat(), [r, &zero].concat(), [s, r].concat(), [&zero[..1], r, s].concat(), vec![]] {
            judge(&world, "signature", &with(signed, &wrong), false).await;
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 6
    async fn an_agent_that_moved_its_keys_is_judged_by_the_new_ones(db: Database) {
        let world = World::start(&db).await;
        judge(&world, "before", &world.jwt("user-1"), true).await;
        let moved = Party::new(&world.pa.issuer);
        let server = KeyServer::start(moved.jwks()).await;
        world.apply(&personal_agent_table(&world.pa.issuer, "First agent", &server.url(), true)).await;
        judge(&world, "the old key", &world.jwt("user-1"), false).await;
        judge(&world, "the new key", &world.jwt_of(&moved, "user-1"), true).await;
        world.stop().await;
    }
}

/// Sends bytes and reads until the connection ends, as far as the server lets us.
async fn raw(world: &World, request: &str) -> String {
    let mut socket = tokio::net::TcpStream::connect(world.public()).await.unwrap();
    let _ = socket.write_all(request.as_bytes()).await;
    let mut answer = vec![0; 4096];
    let read = tokio::time::timeout(std::time::Duration::from_secs(20), socket.read(&mut answer)).await.unwrap();
    answer.truncate(read.unwrap_or(0));
    String::from_utf8_lossy(&answer).into_owned()
}
