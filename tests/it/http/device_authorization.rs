//! Device authorization over HTTP (RFC 8628 §3.1, §3.2; PACT §5.3).

use assent::outbound::Method;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::Tokens;
use crate::support::world::{AIRLINE, CLUB, PLAIN, PROVIDER, SHOP, World};

async fn ask_for(world: &World, sub: &str, scope: &str) -> Answer {
    world.oauth(SHOP, "/device_authorization", sub, &[("scope", scope)]).await
}

on_both_databases! {
    // case 22: the answer of RFC 8628 §3.2
    async fn a_request_gets_both_codes_and_both_links(db: Database) {
        let world = World::start(&db).await;
        for (brand, consent) in [
            (SHOP, format!("https://{PROVIDER}/a2a/{SHOP}/oauth/consent")),
            (AIRLINE, "https://auth.airline.example/consent".to_owned()),
        ] {
            let codes = world.codes(brand, "user-1", "orders:read").await;
            let members: Vec<&String> = codes.answer.as_object().unwrap().keys().collect();
            assert_eq!(members, ["device_code", "user_code", "verification_uri", "verification_uri_complete", "expires_in", "interval"]);
            let random = codes.device_code.strip_prefix("dc_").unwrap();
            assert!(random.len() == 43 && random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
            let (left, right) = codes.user_code.split_once('-').unwrap();
            assert!(left.len() == 4 && right.len() == 4);
            assert!(format!("{left}{right}").chars().all(|letter| "BCDFGHJKLMNPQRSTVWXZ".contains(letter)));
            for (name, return_to) in [
                ("verification_uri", consent.clone()),
                ("verification_uri_complete", format!("{consent}?user_code={}", codes.user_code)),
            ] {
                let link = url::Url::parse(codes.answer[name].as_str().unwrap()).unwrap();
                let query: Vec<(String, String)> = link.query_pairs().into_owned().collect();
                let expected = [("lang".to_owned(), "en".to_owned()), ("return_to".to_owned(), return_to)];
                assert_eq!(query, expected, "{link}");
                assert!(link.as_str().starts_with("https://login.example/login?"));
            }
            assert_eq!((&codes.answer["expires_in"], &codes.answer["interval"]), (&json!(600), &json!(5)));
            // Neither code is stored as it is.
            let rows = db.contents().await.join("\n");
            assert!(!rows.contains(&codes.device_code) && !rows.contains(&codes.user_code));
            assert!(!rows.contains(&format!("{left}{right}")));
        }
        world.stop().await;
    }

    // case 19
    async fn a_scope_that_the_brand_does_not_offer_is_invalid(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for scope in [
            "", " ", "orders", "orders:rea", "rders:read", "orders:read2", "orders:readorders:cancel", "Orders:Read",
            "orders:unknown", "orders:read orders:unknown", "orders:unknown orders:read", "orders:read,orders:cancel",
            "orders:read\torders:cancel", "orders:read\norders:cancel", "orders:read\u{a0}orders:cancel", "*",
            "orders:*", "\"orders:read\"", "orders:réad", "openid", &"x".repeat(4000),
        ] {
            let answer = ask_for(&world, "user-1", scope).await;
            assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "invalid_scope"), "{scope:?}");
        }
        let missing = world.oauth(SHOP, "/device_authorization", "user-1", &[]).await;
        assert_eq!((missing.status(), missing.oauth_error().as_str()), (400, "invalid_scope"));
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 19
    async fn repeated_ids_and_spaces_collapse_into_the_brands_order(db: Database) {
        let world = World::start(&db).await;
        for scope in ["orders:cancel orders:read", "orders:read  orders:cancel", " orders:cancel   orders:read orders:cancel "] {
            let codes = world.codes(SHOP, "user-1", scope).await;
            world.allow(SHOP, "jane", &codes, &["orders:cancel", "orders:read"]).await;
            let tokens = Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
            assert_eq!(tokens.scope, "orders:read orders:cancel", "{scope:?}");
        }
        let rows = db.rows("SELECT DISTINCT scopes FROM device_authorization").await;
        assert_eq!(rows, ["scopes=orders:read orders:cancel"]);
        world.stop().await;
    }

    // case 20
    async fn the_client_id_of_another_is_invalid_client_on_every_endpoint(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let own = world.pa.issuer.as_str();
        let forms: [(&str, Vec<(&str, &str)>); 4] = [
            ("/device_authorization", vec![("scope", "orders:read")]),
            ("/token", vec![("grant_type", crate::support::flow::DEVICE_CODE_GRANT), ("device_code", &codes.device_code)]),
            ("/token", vec![("grant_type", "refresh_token"), ("refresh_token", &tokens.refresh)]),
            ("/revoke", vec![("token", &tokens.refresh)]),
        ];
        let before = db.contents().await;
        let slash = format!("{own}/");
        for (path, form) in &forms {
            for other in [&world.other_pa.issuer, "https://unknown.example.com", slash.as_str(), "HTTPS://PA.EXAMPLE.COM", "user-1"] {
                let form = [form.as_slice(), &[("client_id", other)]].concat();
                let answer = world.oauth(SHOP, path, "user-1", &form).await;
                assert_eq!((answer.status(), answer.oauth_error().as_str()), (401, "invalid_client"), "{path} {other}");
                assert_eq!(answer.header("www-authenticate"), Some(r#"Bearer realm="a2a""#));
            }
        }
        assert_eq!(db.contents().await, before);
        for (path, form) in forms {
            for own in [&[("client_id", own)][..], &[("client_id", "")], &[]] {
                if path != "/token" || own.is_empty() {
                    let form = [form.as_slice(), own].concat();
                    assert_ne!(world.oauth(SHOP, path, "user-1", &form).await.status(), 401, "{path}");
                }
            }
        }
        let again = [("grant_type", "refresh_token"), ("refresh_token", "rt_unknown"), ("client_id", own)];
        assert_eq!(world.oauth(SHOP, "/token", "user-1", &again).await.oauth_error(), "invalid_grant");
        world.stop().await;
    }

    // case 23
    async fn the_21st_live_code_waits_just_as_long_as_retry_after_says(db: Database) {
        let world = World::start(&db).await;
        let mut first = None;
        for count in 0..20 {
            if count == 5 {
                world.advance(100);
            }
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            first.get_or_insert(codes);
        }
        world.advance(50);
        let before = db.contents().await;
        let answer = ask_for(&world, "user-1", "orders:read").await;
        assert_eq!(answer.status(), 429, "{}", answer.text());
        answer.oauth_error();
        assert_eq!(answer.header("retry-after"), Some("450"));
        assert_eq!(db.contents().await, before);

        // Nobody else is held up.
        assert_eq!(ask_for(&world, "user-2", "orders:read").await.status(), 200);
        world.codes(CLUB, "user-1", "orders:read").await;
        let other = world.oauth_as(&world.other_pa, SHOP, "/device_authorization", "user-1", &[("scope", "orders:read")]);
        assert_eq!(other.await.status(), 200);
        let pending = world.poll(SHOP, "user-1", &first.unwrap().device_code).await;
        assert_eq!(pending.oauth_error(), "authorization_pending");

        world.advance(449);
        let before = db.contents().await;
        let answer = ask_for(&world, "user-1", "orders:read").await;
        assert_eq!((answer.status(), answer.header("retry-after")), (429, Some("1")));
        assert_eq!(db.contents().await, before);
        world.advance(1);
        // Five have expired by now: five can be made.
        for _ in 0..5 {
            assert_eq!(ask_for(&world, "user-1", "orders:read").await.status(), 200);
        }
        assert_eq!(ask_for(&world, "user-1", "orders:read").await.status(), 429);
        world.stop().await;
    }

    // case 23: at once
    async fn of_many_requests_at_once_twenty_get_codes(db: Database) {
        let world = World::start(&db).await;
        let answers = futures_util::future::join_all((0..40).map(|_| ask_for(&world, "user-1", "orders:read"))).await;
        let done = answers.iter().filter(|answer| answer.status() == 200).count();
        let refused = answers.iter().filter(|answer| answer.status() == 429).count();
        assert_eq!((done, refused), (20, 20));
        assert_eq!(db.count("SELECT id FROM device_authorization").await, 20);
        world.stop().await;
    }

    // case 23: a code that was decided on is not live
    async fn a_decided_code_makes_room_for_another(db: Database) {
        let world = World::start(&db).await;
        let mut all = Vec::new();
        for _ in 0..20 {
            all.push(world.codes(SHOP, "user-1", "orders:read").await);
        }
        let before = db.contents().await;
        assert_eq!(ask_for(&world, "user-1", "orders:read").await.status(), 429);
        assert_eq!(db.contents().await, before);
        let page = world.sign_in(SHOP, "jane", &all[7].user_code).await;
        assert_eq!(world.decide(SHOP, &page.session, "deny", &[]).await.status(), 303);
        assert_eq!(ask_for(&world, "user-1", "orders:read").await.status(), 200);
        let before = db.contents().await;
        assert_eq!(ask_for(&world, "user-1", "orders:read").await.status(), 429);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 24
    async fn a_brand_without_delegation_has_no_authorization_server(db: Database) {
        let world = World::start(&db).await;
        let paths = [
            (Method::GET, "/.well-known/oauth-authorization-server"),
            (Method::POST, "/device_authorization"),
            (Method::POST, "/token"),
            (Method::POST, "/revoke"),
            (Method::POST, "/introspect"),
            (Method::GET, "/consent"),
            (Method::POST, "/consent"),
            (Method::POST, "/consent/decision"),
            (Method::GET, "/grants"),
            (Method::POST, "/grants"),
        ];
        let before = db.contents().await;
        for brand in [PLAIN, "01M3R53Q5SZQ6FQSMSDBSSREZZ"] {
            for (method, path) in &paths {
                let ask = world.at_issuer(method.clone(), brand, path).bearer(&world.jwt("user-1"));
                let form = [("scope", "orders:read"), ("assertion", "a.b.c"), ("session", "x"), ("token", "x")];
                let ask = if *method == Method::POST { ask.form(&form) } else { ask };
                assert_eq!(ask.send().await.status(), 404, "{method} {path} at {brand}");
                // Who does not say who it is learns no more of a Brand than of any other.
                if ["/device_authorization", "/token", "/revoke"].contains(path) {
                    let nobody = world.at_issuer(method.clone(), brand, path).form(&form);
                    nobody.send().await.assert_unauthenticated();
                }
            }
            let inserted = format!("/.well-known/oauth-authorization-server/a2a/{brand}/oauth");
            assert_eq!(world.ask(Method::GET, PROVIDER, &inserted).send().await.status(), 404);
        }
        assert_eq!(db.contents().await, before);
        let jwks = world.at_issuer(Method::GET, PLAIN, "/jwks.json").send().await;
        assert_eq!(jwks.status(), 200);
        assert!(!jwks.json()["keys"].as_array().unwrap().is_empty());
        // It is there for the Identity profile.
        assert_eq!(world.send(PLAIN, "user-1", None, "m-1", None, "Hello").await.status(), 200);
        world.stop().await;
    }
}
