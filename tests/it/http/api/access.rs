//! Who may call what: roles, Brands, and keys that are not live.

use assent::domain::administrator::{Access, Reach, Role};
use assent::outbound::Method;
use serde_json::json;

use super::{Api, Objects, assert_problem, method, operations};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

/// Of these, a key of another Brand gets an answer in which nothing of the shop stands.
const LISTS_OF_WHATEVER_IS_IN_REACH: [&str; 4] = ["getOverview", "listBrands", "listAdministrators", "listApiKeys"];

on_both_databases! {
    // case 77
    async fn an_auditors_key_writes_nothing_and_another_brands_objects_are_not_there(db: Database) {
        let world = World::start(&db).await;
        let objects = Objects::of_shop(&world).await;
        let auditor = Api::with(&world, Access { role: Role::Auditor, reach: Reach::All }).await;
        let operator = Api::with(&world, access(Role::Operator, &[])).await;
        let elsewhere = Api::with(&world, access(Role::Owner, &[AIRLINE])).await;
        let auditor_elsewhere = Api::with(&world, access(Role::Auditor, &[AIRLINE])).await;
        let before = db.contents().await;
        for operation in operations() {
            let what = operation.id;
            let read = objects.ask(&auditor, &operation).send().await;
            if operation.effect.writes() {
                assert_problem(&read, 403, "forbidden", None);
                assert_problem(&objects.ask(&auditor_elsewhere, &operation).send().await, 403, "forbidden", None);
                // Its example is a good body: what is in the way is the role.
                if let Some((_, example)) = &operation.body {
                    let ask = auditor.ask(method(&operation), &objects.path(&operation)).json(example);
                    assert_problem(&ask.send().await, 403, "forbidden", None);
                }
            } else {
                assert_eq!(read.status(), operation.status, "{what}: {}", read.text());
            }
            let answer = objects.ask(&elsewhere, &operation).send().await;
            if LISTS_OF_WHATEVER_IS_IN_REACH.contains(&what) {
                assert_eq!(answer.status(), 200, "{what}");
                for foreign in [SHOP, "bert", &objects.api_key] {
                    assert!(!answer.text().contains(foreign), "{what}: {}", answer.text());
                }
            } else {
                let parameter = answer.json()["parameter"].as_str().map(str::to_owned);
                assert_problem(&answer, 404, "not-found", parameter.as_deref());
            }
        }
        // Owners alone give and take what others may do.
        for operation in operations().iter().filter(|operation| operation.effect.roles() == "owner") {
            assert_problem(&objects.ask(&operator, operation).send().await, 403, "forbidden", None);
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn lists_without_a_filter_show_nothing_out_of_reach(db: Database) {
        let world = World::start(&db).await;
        Objects::of_shop(&world).await;
        let elsewhere = Api::with(&world, access(Role::Auditor, &[AIRLINE])).await;
        for path in ["/grants", "/receipts", "/resource-server-keys"] {
            assert_eq!(elsewhere.get(path).await.json(), json!({ "items": [] }), "{path}");
        }
        assert_eq!(elsewhere.get("/grants/count").await.json(), json!({ "grants": 0, "brands": 0 }));
        for path in ["/brands", "/keys", "/audit"] {
            let answer = elsewhere.get(path).await;
            assert!(answer.text().contains(AIRLINE) && !answer.text().contains(SHOP), "{path}: {}", answer.text());
        }
        world.stop().await;
    }

    async fn every_failure_to_present_a_live_key_is_the_same(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let owner = Api::with(&world, Access::EVERYTHING).await;
        let gone = Api::with(&world, Access::EVERYTHING).await;
        let spent = Api::with(&world, Access::EVERYTHING).await;
        let id = |api: &Api<'_>| {
            let digest = assent::crypto::codes::digest(&api.key);
            let store = db.store.clone();
            async move { store.api_key_by_digest(digest).await.unwrap().unwrap().id }
        };
        let revoked = owner.post(&format!("/api-keys/{}/revoke", id(&gone).await)).await;
        assert_eq!(revoked.json()["what"], "revoked");
        let missing = || world.ask_admin(Method::GET, "/api/v1/grants");
        let first = missing().send().await;
        let mut refused = vec![
            gone.get("/grants").await,
            gone.at(&other).get("/grants").await,
            missing().bearer("assent_key_AAAA").send().await,
            missing().bearer(&world.jwt("user-1")).send().await,
            missing().header("authorization", &format!("Basic {}", owner.key)).send().await,
            missing().bearer(&owner.key).bearer(&owner.key).send().await,
            world.ask_admin(Method::GET, &format!("/api/v1/grants?access_token={}", owner.key)).send().await,
            missing().cookie(&format!("assent-admin={}", owner.key)).send().await,
            world.ask_admin(Method::POST, "/api/v1/api-keys").json(&json!({})).send().await,
        ];
        // A day is all that these keys have.
        world.advance(86_399);
        assert_eq!(spent.get("/grants").await.status(), 200);
        world.advance(1);
        refused.extend([spent.get("/grants").await, spent.at(&other).get("/grants").await]);
        assert_problem(&first, 401, "unauthenticated", None);
        for answer in refused {
            assert_eq!((answer.status(), answer.text()), (401, first.text()));
            assert_eq!(answer.header("www-authenticate"), Some(r#"Bearer realm="assent-api""#));
            let names = |answer: &crate::support::client::Answer| {
                let mut names: Vec<_> = answer.0.headers.iter().map(|(name, _)| name.to_string()).collect();
                // After a body that nobody reads, a connection ends.
                names.retain(|name| name != "connection");
                names.sort();
                names
            };
            assert_eq!(names(&answer), names(&first));
        }
        other.stop().await;
        world.stop().await;
    }

    async fn requests_count_against_the_address_whatever_their_key(db: Database) {
        let small = "[limits]\naddress_per_second = 1\naddress_burst = 3\n";
        let world = World::with(&db, small).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let wrong = || world.ask_admin(Method::GET, "/api/v1/overview").bearer("assent_key_AAAA");
        assert_eq!(api.get("/overview").await.status(), 200);
        assert_eq!(wrong().send().await.status(), 401);
        let nothing = async || api.get("/nothing").await.status();
        let found = [nothing().await, nothing().await, nothing().await];
        assert!(found.iter().all(|status| [404, 429].contains(status)) && found[2] == 429, "{found:?}");
        for refused in [api.get("/overview").await, wrong().send().await, api.get("/nothing").await] {
            assert_problem(&refused, 429, "too-many", None);
            assert_eq!(refused.header("retry-after"), Some("1"));
        }
        world.advance(1);
        assert_eq!(api.get("/overview").await.status(), 200);
        world.stop().await;
    }

    // case 77
    async fn an_auditors_write_leaves_nothing_behind_also_under_an_idempotency_key(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, access(Role::Auditor, &[])).await;
        assert_eq!(api.get("/overview").await.status(), 200);
        let before = db.contents().await;
        let write = api.ask(Method::POST, "/grants/revoke").header("idempotency-key", "k-1").json(&json!({}));
        assert_problem(&write.send().await, 403, "forbidden", None);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
