//! A revocation through the API: at once, everywhere, and in the audit log under the key that did it.

use assent::crypto::codes;
use assent::domain::administrator::Role;
use assent::outbound::Method;
use serde_json::json;

use super::{Api, assert_problem};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

on_both_databases! {
    // case 56
    async fn after_a_revocation_everything_under_the_grant_is_refused_on_every_node(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let api = Api::with(&world, access(Role::Operator, &[SHOP])).await;
        let id = db.store.api_key_by_digest(codes::digest(&api.key)).await.unwrap().unwrap().id;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let path = format!("/grants/{}/revoke", tokens.grant());
        assert_eq!(api.post(&path).await.json(), json!({ "grantId": tokens.grant(), "what": "ended" }));
        for node in [&other, &world] {
            node.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
            assert_eq!(node.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
            assert_eq!(node.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "invalid_grant");
            let told = node.oauth(SHOP, "/introspect", "user-1", &[("token", &tokens.access)]).await;
            assert_eq!(told.text(), r#"{"active":false}"#);
        }
        assert_eq!(api.post(&path).await.json()["what"], "already ended");
        let rows = db.rows("SELECT actor_kind, actor, subject FROM audit WHERE action = 'grant_ended'").await;
        assert_eq!(rows, [format!("actor_kind=administrator actor=api key {id} subject={}", tokens.grant())]);
        let shown = api.get(&format!("/grants/{}", tokens.grant())).await.json();
        assert_eq!((&shown["state"], &shown["endedBy"]), (&json!("ended"), &json!("administrator")));
        other.stop().await;
        world.stop().await;
    }

    // case 56
    async fn all_that_fit_end_once_their_count_was_seen(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, access(Role::Operator, &[])).await;
        let mut all = Vec::new();
        for (brand, user) in [(SHOP, "a"), (SHOP, "b"), (AIRLINE, "c")] {
            all.push((brand, user, world.tokens(brand, user, user, &["orders:read"]).await));
        }
        let filter = json!({ "brand": SHOP });
        let revoke = |shown: u64| api.write(Method::POST, "/grants/revoke", json!({ "filter": filter, "shown": shown }));
        let before = db.contents().await;
        assert_problem(&revoke(1).await, 409, "conflict", Some("shown"));
        assert_problem(&api.write(Method::POST, "/grants/revoke", json!({ "shown": 3 })).await, 422, "invalid", Some("filter"));
        assert_problem(&api.write(Method::POST, "/grants/revoke", json!({ "filter": {} })).await, 422, "invalid", Some("shown"));
        assert_eq!(db.contents().await, before);
        let count = api.get(&format!("/grants/count?state=live&brand={SHOP}")).await.json()["grants"].as_u64().unwrap();
        assert_eq!(revoke(count).await.json(), json!({ "ended": 2, "alreadyEnded": 0, "brands": 1 }));
        for (brand, user, tokens) in &all {
            let answer = world.refresh(brand, user, &tokens.refresh).await;
            assert_eq!(answer.status() == 200, *brand == AIRLINE, "{user}: {}", answer.text());
        }
        world.stop().await;
    }
}
