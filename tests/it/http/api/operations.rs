//! What each operation does when all is well, and the document that describes it.

use std::collections::BTreeSet;

use assent::domain::administrator::Access;
use assent::outbound::Method;
use serde_json::{Value, json};

use super::{Api, Objects, brand_body, operations, text};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, PLAIN, SHOP, World};

/// They take away what others look at.
const LAST: [&str; 5] = ["removeAdministrator", "revokeApiKey", "retireKey", "giveUpKey", "removeBrand"];

on_both_databases! {
    async fn every_operation_answers_as_it_says(db: Database) {
        let world = World::start(&db).await;
        let objects = Objects::of_shop(&world).await;
        let owner = Api::with(&world, Access::EVERYTHING).await;
        let (last, first): (Vec<_>, Vec<_>) = operations().into_iter().partition(|operation| LAST.contains(&operation.id));
        for operation in first.iter().chain(&last) {
            let answer = objects.ask(&owner, operation).send().await;
            assert_eq!(answer.status(), operation.status, "{}: {}", operation.id, answer.text());
            assert_eq!(answer.header("content-type"), Some("application/json"), "{}", operation.id);
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{}", operation.id);
            assert!(answer.header("x-request-id").is_some());
            assert!(answer.json().is_object(), "{}", operation.id);
        }
        world.stop().await;
    }

    async fn a_brand_is_made_shown_changed_and_removed(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let dry = api.write(Method::POST, "/brands?dryRun=true", brand_body("New Brand")).await;
        assert_eq!((&dry.json()["dryRun"], &dry.json()["changes"][0]["id"]), (&json!(true), &json!("(new)")));
        assert_eq!(db.count("SELECT id FROM brand WHERE name = 'New Brand'").await, 0);
        let made = api.write(Method::POST, "/brands", brand_body("New Brand")).await.json();
        let change = &made["changes"][0];
        assert_eq!((&change["what"], &change["kind"]), (&json!("created"), &json!("brand")));
        let path = format!("/brands/{}", text(&change["id"]));
        let again = api.write(Method::POST, "/brands", brand_body("New Brand")).await;
        super::assert_problem(&again, 409, "conflict", Some("name"));
        // It is served at once, and a key can be made for it.
        let key = json!({ "name": "x", "role": "auditor", "brands": [text(&change["id"])] });
        assert_eq!(api.write(Method::POST, "/api-keys", key).await.status(), 201);
        let mut wanted = brand_body("Newer Brand");
        let unchanged = api.write(Method::PUT, &path, brand_body("New Brand")).await.json();
        assert_eq!(unchanged["changes"][0]["what"], "unchanged");
        wanted["version"] = json!("2.0.0");
        let changed = api.write(Method::PUT, &path, wanted.clone()).await.json();
        assert_eq!(changed["changes"][0]["fields"], json!(["name", "profile.version"]));
        let shown = api.get(&path).await.json();
        assert_eq!((&shown["name"], &shown["profile"]["version"]), (&json!("Newer Brand"), &json!("2.0.0")));
        assert_eq!(shown["state"], "served");
        let wrong = api.write(Method::POST, &format!("{path}/remove"), json!({ "name": "New Brand" })).await;
        super::assert_problem(&wrong, 409, "conflict", Some("name"));
        let removed = api.write(Method::POST, &format!("{path}/remove"), json!({ "name": "Newer Brand" })).await.json();
        assert_eq!((&removed["what"], &removed["grantsEnded"]), (&json!("removed"), &json!(0)));
        assert_eq!(api.get(&path).await.json()["state"], "removed");
        world.stop().await;
    }

    async fn a_personal_agent_is_registered_changed_disabled_and_enabled(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let new = json!({ "issuer": "https://new.example/x?y", "name": "New", "jwksUri": "https://new.example/jwks.json" });
        let made = api.write(Method::POST, "/personal-agents", new.clone()).await;
        assert_eq!((made.status(), &made.json()["enabled"]), (201, &json!(true)));
        let taken = api.write(Method::POST, "/personal-agents", new).await;
        super::assert_problem(&taken, 409, "conflict", Some("issuer"));
        let path = "/personal-agents/https%3A%2F%2Fnew.example%2Fx%3Fy";
        assert_eq!(api.get(path).await.json()["issuer"], "https://new.example/x?y");
        let changed = api.write(Method::PATCH, path, json!({ "name": "Newer" })).await.json();
        assert_eq!((&changed["name"], &changed["jwksUri"]), (&json!("Newer"), &json!("https://new.example/jwks.json")));
        assert_eq!(api.post(&format!("{path}/disable")).await.json()["enabled"], false);
        assert_eq!(api.post(&format!("{path}/disable")).await.json()["enabled"], false);
        assert_eq!(api.post(&format!("{path}/enable")).await.json()["enabled"], true);
        // What is disabled gets 401 at once.
        let first = "/personal-agents/https%3A%2F%2Fpa.example.com";
        assert_eq!(api.post(&format!("{first}/disable")).await.status(), 200);
        world.send(SHOP, "user-1", None, "m-1", None, "Hello").await.assert_unauthenticated();
        world.stop().await;
    }

    async fn keys_are_rotated_and_leave(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let keys = async || api.get(&format!("/brands/{SHOP}/keys")).await.json()["items"].clone();
        let old = text(&keys().await[0]["kid"]);
        let last = api.write(Method::POST, &format!("/keys/{old}/retire"), json!({})).await;
        super::assert_problem(&last, 409, "conflict", Some("now"));
        let rotate = |now: bool| api.write(Method::POST, "/brands/01M3R53Q5SZQ6FQSMSDBSSREAA/keys/rotate", json!({ "now": now }));
        let made = rotate(false).await.json();
        assert_eq!((&made["what"], &made["brandId"]), (&json!("made"), &json!(SHOP)));
        assert_eq!(rotate(false).await.json()["what"], "already under way");
        assert_eq!(rotate(true).await.json()["what"], "advanced");
        world.advance(10);
        let left = api.write(Method::POST, &format!("/keys/{old}/compromise"), json!({})).await.json();
        assert_eq!(left["what"], "given up");
        let again = api.write(Method::POST, &format!("/keys/{old}/compromise"), json!({})).await.json();
        assert_eq!(again["what"], "already given up");
        let all = keys().await;
        let states: BTreeSet<_> = all.as_array().unwrap().iter().map(|key| text(&key["state"])).collect();
        assert_eq!(states, BTreeSet::from(["signing".to_owned(), "compromised".to_owned()]));
        assert!(all.as_array().unwrap().iter().all(|key| key["jwk"]["kty"] == "EC" && key["jwk"].get("d").is_none()));
        world.stop().await;
    }

    async fn administrators_and_keys_are_made_changed_and_taken_away(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let carl = json!({
            "name": "carl", "role": "operator", "brands": [SHOP, AIRLINE], "password": "correct horse battery staple",
        });
        let made = api.write(Method::POST, "/administrators", carl.clone()).await;
        assert_eq!((made.status(), &made.json()["brands"]), (201, &json!([SHOP, AIRLINE])));
        assert!(!made.text().contains("password") && !made.text().contains("argon2"));
        super::assert_problem(&api.write(Method::POST, "/administrators", carl).await, 409, "conflict", Some("name"));
        let browser = world.logged_in("carl").await;
        let changed = api.write(Method::PUT, "/administrators/carl", json!({ "role": "auditor", "brands": "*" })).await.json();
        assert_eq!((&changed["role"], &changed["brands"]), (&json!("auditor"), &json!("*")));
        assert!(!browser.is_in().await);
        assert_eq!(api.post("/administrators/carl/disable").await.json()["enabled"], false);
        assert_eq!(api.post("/administrators/carl/enable").await.json()["enabled"], true);
        let password = json!({ "password": "another good password" });
        let set = api.write(Method::POST, "/administrators/carl/password", password).await.json();
        assert_eq!(set, json!({ "id": "carl", "what": "changed" }));
        assert_eq!(browser.log_in("carl", "another good password").await.status(), 303);
        assert_eq!(api.post("/administrators/carl/second-factor/off").await.json()["what"], "unchanged");
        assert_eq!(api.post("/administrators/carl/remove").await.json(), json!({ "id": "carl", "what": "removed" }));
        super::assert_problem(&api.get("/administrators/carl").await, 404, "not-found", None);
        for deed in ["disable", "remove"] {
            super::assert_problem(&api.post(&format!("/administrators/anna/{deed}")).await, 409, "conflict", None);
        }
        let key = api.write(Method::POST, "/api-keys", json!({ "name": "x", "role": "auditor", "brands": "*", "days": 2 })).await;
        let (key, id) = (text(&key.json()["key"]), text(&key.json()["id"]));
        let with_it = Api { world: &world, key: key.clone() };
        assert_eq!(with_it.get("/overview").await.status(), 200);
        let listed = api.get("/api-keys").await;
        assert!(listed.text().contains(&id) && !listed.text().contains(&key));
        assert_eq!(api.get(&format!("/api-keys/{id}")).await.json()["state"], "live");
        assert_eq!(api.post(&format!("/api-keys/{id}/revoke")).await.json()["what"], "revoked");
        assert_eq!(api.post(&format!("/api-keys/{id}/revoke")).await.json()["what"], "already revoked");
        assert_eq!(with_it.get("/overview").await.status(), 401);
        // The audit log names the key that did it.
        let by = db.rows("SELECT actor FROM audit WHERE action = 'administrator_removed'").await;
        assert!(by[0].starts_with("actor=api key 01"), "{by:?}");
        world.stop().await;
    }

    async fn the_audit_log_is_read_verified_and_erased_from(db: Database) {
        let world = World::start(&db).await;
        Objects::of_shop(&world).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let verify = |body: Value| api.write(Method::POST, "/audit/verify", body);
        let whole = verify(json!({})).await.json();
        assert_eq!((&whole["isWhole"], &whole["more"]), (&json!(true), &json!(false)));
        let heads = whole["reports"].as_array().unwrap();
        assert!(heads.iter().all(|head| head["what"] == "head"), "{whole}");
        let head = heads.iter().find(|head| head["chain"] == SHOP).unwrap().clone();
        let kept = json!({ "chain": SHOP, "sequence": head["sequence"], "digest": head["digest"] });
        assert_eq!(verify(json!({ "heads": [kept] })).await.json()["isWhole"], true);
        let other = json!({ "chain": SHOP, "sequence": head["sequence"], "digest": "ab".repeat(32) });
        let wrong = verify(json!({ "chain": SHOP, "heads": [other] })).await.json();
        assert_eq!(wrong["isWhole"], false, "{wrong}");
        let row = api.get(&format!("/audit?chain={SHOP}&limit=1")).await.json()["items"][0].clone();
        let erase = || api.post("/audit/01M3R53Q5SZQ6FQSMSDBSSREAA/1/erase");
        assert_eq!(erase().await.json()["what"], "erased");
        assert_eq!(erase().await.json()["what"], "already erased");
        super::assert_problem(&api.post(&format!("/audit/{SHOP}/999999/erase")).await, 404, "not-found", None);
        assert!(row["sequence"].as_i64().unwrap() > 1);
        let after = verify(json!({ "chain": SHOP })).await.json();
        assert_eq!((&after["isWhole"], &after["reports"][0]["what"]), (&json!(true), &json!("erased")), "{after}");
        world.stop().await;
    }

    async fn the_document_has_every_operation_and_needs_no_key(db: Database) {
        let world = World::start(&db).await;
        let document = world.ask_admin(Method::GET, "/api/v1/openapi.json").send().await;
        assert_eq!((document.status(), document.header("content-type")), (200, Some("application/json")));
        let document = document.json();
        assert_eq!(document["openapi"], "3.1.0");
        let mut ids = BTreeSet::new();
        for operation in operations() {
            let described = &document["paths"][operation.path][operation.method.as_str().to_ascii_lowercase()];
            assert_eq!(described["operationId"], operation.id);
            assert!(ids.insert(operation.id), "{} stands twice", operation.id);
            for part in operation.path.split('{').skip(1) {
                let name = part.split('}').next().unwrap();
                let parameters = described["parameters"].as_array().unwrap();
                let is_it = |given: &&Value| given["name"] == name && given["in"] == "path" && given["required"] == true;
                assert_eq!(parameters.iter().filter(is_it).count(), 1, "{} {name}", operation.id);
            }
            assert!(described["responses"][operation.status.to_string()].is_object());
        }
        let described = document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap());
        assert_eq!(described.count(), ids.len());
        let written = document.to_string();
        for reference in written.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        // What is bounded says so.
        let brand = &document["components"]["schemas"]["PutBrandBody"]["properties"];
        let delegation = brand["delegation"].to_string();
        assert!(delegation.contains("\"maximum\":365") && delegation.contains("\"minimum\":60"), "{delegation}");
        let page = world.ask_admin(Method::GET, "/api/v1").send().await;
        assert_eq!((page.status(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        for operation in operations() {
            assert!(page.text().contains(operation.path), "{}", operation.id);
        }
        assert!(!page.text().contains("<script"));
        world.stop().await;
    }

    async fn a_grant_is_shown_with_what_happened_and_exported(db: Database) {
        let world = World::start(&db).await;
        let objects = Objects::of_shop(&world).await;
        let api = Api::with(&world, access(assent::domain::administrator::Role::Auditor, &[SHOP])).await;
        let shown = api.get(&format!("/grants/{}", objects.grant)).await.json();
        assert_eq!((&shown["user"], &shown["state"]), (&json!("jane"), &json!("live")));
        assert_eq!((shown["tokens"].as_array().unwrap().len(), shown["receipts"].as_array().unwrap().len()), (1, 1));
        let tokens = api.get(&format!("/grants/{}/tokens", objects.grant)).await.json();
        assert_eq!(tokens["items"], shown["tokens"]);
        let receipts = api.get(&format!("/receipts?grant={}", objects.grant)).await.json();
        assert_eq!(receipts["items"], shown["receipts"]);
        let exported = api.get(&format!("/grants/{}/evidence", objects.grant)).await.json();
        let problems = assent::crypto::evidence::check(&exported["evidence"], None, None);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(api.get("/grants/count?state=live").await.json(), json!({ "grants": 1, "brands": 1 }));
        assert_eq!(api.get("/overview").await.json()["liveGrants"], 1);
        assert_eq!(api.get(&format!("/brands/{PLAIN}")).await.status(), 404);
        world.stop().await;
    }
}
