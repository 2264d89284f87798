//! What is refused before anything is done: by its name, as a problem, and with nothing changed.

use assent::domain::administrator::Access;
use assent::outbound::Method;
use serde_json::{Value, json};

use super::{Api, assert_problem, brand_body, operations};
use crate::support::database::on_both_databases;
use crate::support::world::{SHOP, World};

const NEW_KEY: &str = r#"{"name":"x","role":"auditor","brands":"*"}"#;

on_both_databases! {
    async fn a_body_is_strict_json_and_each_wrong_member_is_named(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let before = db.contents().await;
        let post = |path: &str, body: &str| api.ask(Method::POST, path).body("application/json", body.to_owned()).send();
        for body in [
            "", "{", "nonsense", "{\"name\":\"x\"} {}", "\u{feff}{}", "{\"name\":\"\\ud800\"}",
            r#"{"name":"x","name":"x","role":"auditor","brands":"*"}"#,
        ] {
            assert_problem(&post("/api-keys", body).await, 400, "malformed", None);
        }
        for (body, parameter) in [
            (r#"[]"#, "body"),
            (r#"null"#, "body"),
            (r#"["x","auditor","*",1]"#, "body"),
            (r#"{"role":"auditor","brands":"*"}"#, "name"),
            (r#"{"name":"x","role":"auditor"}"#, "brands"),
            (r#"{"name":1,"role":"auditor","brands":"*"}"#, "name"),
            (r#"{"name":"x","role":"root","brands":"*"}"#, "role"),
            (r#"{"name":"x","role":{"owner":null},"brands":"*"}"#, "role"),
            (r#"{"name":"x","role":"auditor","brands":[]}"#, "brands"),
            (r#"{"name":"x","role":"auditor","brands":["x"]}"#, "brands"),
            (r#"{"name":"x","role":"auditor","brands":"*","days":0}"#, "days"),
            (r#"{"name":"x","role":"auditor","brands":"*","days":367}"#, "days"),
            (r#"{"name":"x","role":"auditor","brands":"*","days":1.5}"#, "days"),
            (r#"{"name":"x","role":"auditor","brands":"*","days":-1}"#, "days"),
            (r#"{"name":"x","role":"auditor","brands":"*","more":1}"#, "more"),
            (r#"{"name":"","role":"auditor","brands":"*"}"#, "name"),
            (r#"{"name":"a\nb","role":"auditor","brands":"*"}"#, "name"),
        ] {
            let answer = post("/api-keys", body).await;
            assert_problem(&answer, 422, "invalid", Some(parameter));
        }
        let with = |place: &[&str], value: Value| {
            let mut body = brand_body("New Brand");
            body["delegation"] = json!({
                "login_url": "https://new.example/login",
                "assertion": { "issuer": "https://new.example", "jwks_uri": "https://new.example/jwks.json" },
                "scopes": [{ "id": "a:read", "description": "Read" }],
            });
            let inner = place.iter().fold(&mut body, |inner, name| match name.parse::<usize>() {
                Ok(index) => &mut inner[index],
                Err(_) => &mut inner[*name],
            });
            *inner = value;
            body
        };
        for (place, value, parameter) in [
            (&["delegation", "grant_days"][..], json!(366), "delegation.grant_days"),
            (&["delegation", "grant_days"], json!("30"), "delegation.grant_days"),
            (&["delegation", "access_token_seconds"], json!(59), "delegation.access_token_seconds"),
            (&["delegation", "scopes", "0", "id"], json!("a b"), "delegation.scopes[0].id"),
            (&["delegation", "scopes", "0", "wrong"], json!(1), "delegation.scopes[0].wrong"),
            (&["delegation", "scopes"], json!([]), "delegation.scopes"),
            (&["delegation", "login_url"], json!("nowhere"), "delegation.login_url"),
            (&["delegation", "theme"], json!([]), "delegation.theme"),
            (&["delegation", "theme"], json!({ "color": "#+12345" }), "delegation.theme.color"),
            (&["agent"], json!({ "builtin": "other" }), "agent"),
            (&["agent"], json!({ "url": "https://a.example", "timeout_seconds": 301 }), "agent.timeout_seconds"),
            (&["skills", "0", "tags"], json!([]), "skills[0].tags"),
            (&["skills", "0"], json!(["a", "b", "c", ["d"]]), "skills[0]"),
            (&["id"], json!(SHOP), "id"),
            (&["name"], json!(" "), "name"),
        ] {
            for dry in ["", "?dryRun=true"] {
                let answer = api.write(Method::POST, &format!("/brands{dry}"), with(place, value.clone())).await;
                assert_problem(&answer, 422, "invalid", Some(parameter));
            }
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn a_body_that_is_no_json_or_too_large_is_refused(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let before = db.contents().await;
        let ask = || api.ask(Method::POST, "/api-keys");
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/problem+json"] {
            assert_problem(&ask().body(kind, NEW_KEY).send().await, 415, "not-json", None);
        }
        assert_problem(&ask().bytes(NEW_KEY).send().await, 415, "not-json", None);
        let encoded = ask().body("application/json", NEW_KEY).header("content-encoding", "gzip");
        assert_problem(&encoded.send().await, 415, "not-json", None);
        let large = ask().body("application/json", vec![b' '; 64 * 1024 + 1]).send().await;
        assert_problem(&large, 413, "too-large", None);
        let more = api.ask(Method::POST, "/administrators/anna/enable").json(&json!({}));
        assert_problem(&more.send().await, 400, "malformed", None);
        assert_eq!(db.contents().await, before);
        assert_eq!(ask().body("application/json; charset=UTF-8", NEW_KEY).send().await.status(), 201);
        world.stop().await;
    }

    async fn what_no_operation_has_is_a_problem_too(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let before = db.contents().await;
        for path in ["/", "/nothing", "/grants/", "/Grants", "/openapi.json/x", "/grants/x/y/z", "/overview/.."] {
            let answer = api.get(path).await;
            if path == "/overview/.." {
                // The client has taken that away.
                continue;
            }
            assert_problem(&answer, 404, "not-found", None);
        }
        for (method, path, allow) in [
            (Method::DELETE, "/grants", "GET, HEAD"),
            (Method::POST, "/overview", "GET, HEAD"),
            (Method::GET, "/grants/revoke", "POST"),
            (Method::POST, "/brands/x", "GET, HEAD, PUT"),
            (Method::OPTIONS, "/personal-agents/x", "GET, HEAD, PATCH"),
            (Method::POST, "/openapi.json", "GET, HEAD"),
            (Method::PUT, "", "GET, HEAD"),
        ] {
            let answer = api.ask(method.clone(), path).send().await;
            assert_problem(&answer, 405, "no-method", None);
            assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        }
        // Outside of it nothing has changed.
        for path in ["/api", "/api/v2", "/api/v1x", "/nothing"] {
            world.ask_admin(Method::GET, path).send().await.assert_empty(404);
        }
        for (path, what) in [
            ("/grants/x", "no id"), ("/grants/a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAG", "no grant"), ("/brands/x", "no id"),
            ("/brands/01M3R53Q5SZQ6FQSMSDBSSREAZ", "no Brand"), ("/brands/01M3R53Q5SZQ6FQSMSDBSSREAZ/keys", "no Brand"),
            ("/personal-agents/x", "no agent"), ("/administrators/x", "nobody"), ("/api-keys/x", "no id"),
        ] {
            let answer = api.get(path).await;
            assert_problem(&answer, 404, "not-found", None);
            assert!(!what.is_empty());
        }
        let missing = json!({ "name": "x", "role": "auditor", "brands": ["01M3R53Q5SZQ6FQSMSDBSSREAZ"] });
        assert_problem(&api.write(Method::POST, "/api-keys", missing).await, 404, "not-found", Some("brands"));
        assert_eq!(db.contents().await, before);
        // HEAD is a GET without its body.
        let head = api.ask(Method::HEAD, "/overview").send().await;
        assert_eq!((head.status(), head.text().as_str()), (200, ""));
        world.stop().await;
    }

    async fn every_write_takes_an_idempotency_key_of_its_form_and_none_else(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let objects = super::Objects::of_shop(&world).await;
        let before = db.contents().await;
        for operation in operations().iter().filter(|operation| operation.effect.writes()) {
            for wrong in ["", "a b", "ä", &"x".repeat(256)] {
                let answer = objects.ask(&api, operation).header("idempotency-key", wrong).send().await;
                assert_problem(&answer, 422, "invalid", Some("Idempotency-Key"));
            }
            let twice = objects.ask(&api, operation).header("idempotency-key", "a").header("idempotency-key", "a");
            assert_problem(&twice.send().await, 422, "invalid", Some("Idempotency-Key"));
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
