//! Token introspection over HTTP (RFC 7662): a personal agent about its own tokens, a Brand's account API about that
//! Brand's.

use assent::crypto::signer::Signer;
use assent::domain::id::ResourceServerKeyId;
use assent::flow::admin::Verdict;
use assent::flow::admin::resource_server_keys::{RevokedKey, list, revoke};
use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::{Tokens, claims};
use crate::support::world::{AIRLINE, CLUB, PLAIN, SHOP, World, brand_table, interface_url, issuer, owner};

/// The Brand's account API asks about `token` with `key`.
async fn ask(world: &World, brand: &str, key: &str, token: &str) -> Answer {
    world.at_issuer(Method::POST, brand, "/introspect").bearer(key).form(&[("token", token)]).send().await
}

async fn asked_by_pa(world: &World, brand: &str, sub: &str, token: &str) -> Answer {
    world.oauth(brand, "/introspect", sub, &[("token", token)]).await
}

/// That the answer says nothing but that the token is not good.
fn assert_inactive(answer: &Answer) {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.oauth_json();
    assert_eq!(answer.text(), r#"{"active":false}"#);
}

fn assert_active(answer: &Answer, scope: &str) {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let said = answer.oauth_json();
    assert_eq!((&said["active"], &said["scope"]), (&json!(true), &json!(scope)), "{said}");
}

on_both_databases! {
    async fn a_good_token_is_described_to_its_personal_agent_and_to_the_brands_account_api(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, AIRLINE, CLUB] {
            let key = world.resource_server_key(brand).await;
            let tokens = world.tokens(brand, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
            let (host, prefix) = issuer(brand);
            let iss = format!("https://{host}{prefix}");
            let now = world.clock.now().seconds();
            let expected = json!({
                "active": true, "iss": iss, "aud": interface_url(brand), "sub": "jane", "client_id": world.pa.issuer,
                "scope": "orders:read orders:cancel", "grant_id": tokens.grant(), "iat": now, "exp": now + 900,
                "token_type": "Bearer",
            });
            let before = db.contents().await;
            assert_eq!(ask(&world, brand, &key, &tokens.access).await.oauth_json(), expected);
            assert_eq!(asked_by_pa(&world, brand, "user-1", &tokens.access).await.oauth_json(), expected);
            let refresh = asked_by_pa(&world, brand, "user-1", &tokens.refresh).await.oauth_json();
            let mut renewing = expected.clone();
            (renewing["aud"], renewing["token_type"]) = (json!(iss), json!("refresh_token"));
            renewing["exp"] = json!(now + 30 * 86_400);
            assert_eq!(refresh, renewing);
            // Whatever the hint says, the token is found (RFC 7662 §2.1).
            let form = [("token", tokens.access.as_str()), ("token_type_hint", "refresh_token")];
            assert_eq!(world.oauth(brand, "/introspect", "user-1", &form).await.oauth_json(), expected);
            // What renews tokens is not for the account API.
            assert_inactive(&ask(&world, brand, &key, &tokens.refresh).await);
            assert_eq!(db.contents().await, before, "asking changes nothing");
        }
        world.stop().await;
    }

    // case 57
    async fn a_token_that_is_not_the_askers_is_as_unknown_as_garbage(db: Database) {
        let world = World::start(&db).await;
        let used = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &used.refresh).await);
        let (key, of_club) = (world.resource_server_key(SHOP).await, world.resource_server_key(CLUB).await);
        let before = db.contents().await;
        for token in [&tokens.access, &tokens.refresh, &used.refresh] {
            let form = [("token", token.as_str())];
            assert_inactive(&world.oauth_as(&world.other_pa, SHOP, "/introspect", "user-1", &form).await);
            assert_inactive(&asked_by_pa(&world, SHOP, "user-2", token).await);
            assert_inactive(&asked_by_pa(&world, CLUB, "user-1", token).await);
            assert_inactive(&ask(&world, CLUB, &of_club, token).await);
        }
        assert_inactive(&asked_by_pa(&world, SHOP, "user-1", &used.refresh).await);
        let altered = format!("{}A", tokens.access);
        let unsigned = tokens.access.rsplit_once('.').unwrap().0.to_owned() + ".";
        let forged = {
            let signer: &Signer = &world.brand_login.signer;
            signer.sign_claims("at+jwt", &claims(&tokens.access)).unwrap()
        };
        for garbage in ["x", "rt_", "a.b.c", "..", "' OR 1=1 --", &altered, &unsigned, &forged, &tokens.grant()] {
            assert_inactive(&asked_by_pa(&world, SHOP, "user-1", garbage).await);
            assert_inactive(&ask(&world, SHOP, &key, garbage).await);
        }
        assert_eq!(db.contents().await, before);
        assert_active(&ask(&world, SHOP, &key, &tokens.access).await, "orders:read");
        world.stop().await;
    }

    // case 59
    async fn a_key_opens_introspection_of_its_own_brand_and_nothing_else(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let (key, of_club) = (world.resource_server_key(SHOP).await, world.resource_server_key(CLUB).await);
        let before = db.contents().await;
        ask(&world, SHOP, &of_club, &tokens.access).await.assert_unauthenticated();
        for wrong in ["assent_rsk_", "assent_rsk_x", &key[..key.len() - 1], &format!("{key}A"), &key.to_uppercase()] {
            ask(&world, SHOP, wrong, &tokens.access).await.assert_unauthenticated();
        }
        for path in ["/token", "/revoke", "/device_authorization"] {
            let form = [("token", tokens.access.as_str()), ("scope", "orders:read")];
            world.at_issuer(Method::POST, SHOP, path).bearer(&key).form(&form).send().await.assert_unauthenticated();
        }
        let twice = world.at_issuer(Method::POST, SHOP, "/introspect").bearer(&key).bearer(&key);
        twice.form(&[("token", &tokens.access)]).send().await.assert_unauthenticated();
        let in_form = world.at_issuer(Method::POST, SHOP, "/introspect").form(&[("token", &tokens.access), ("access_token", &key)]);
        in_form.send().await.assert_unauthenticated();
        // Where there is no authorization server there is nothing to ask.
        ask(&world, PLAIN, &key, &tokens.access).await.assert_empty(404);
        let nothing = world.at_issuer(Method::POST, SHOP, "/introspect").bearer(&key).form(&[]).send().await;
        assert_eq!((nothing.status(), nothing.oauth_error().as_str()), (400, "invalid_request"));
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 56
    async fn what_has_ended_expired_or_lost_its_ground_is_inactive(db: Database) {
        let world = World::start(&db).await;
        let key = world.resource_server_key(SHOP).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        // A scope that the Brand no longer offers has left the token.
        let whole = brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", Some((&world.brand_login, "")));
        let cancel = "{ id = \"orders:cancel\", description = \"Cancel an order\", writes = true },\n";
        assert!(whole.contains(cancel));
        world.apply(&whole.replace(cancel, "")).await;
        assert_active(&ask(&world, SHOP, &key, &tokens.access).await, "orders:read");
        assert_active(&asked_by_pa(&world, SHOP, "user-1", &tokens.refresh).await, "orders:read");

        world.set_pa_enabled(false).await;
        assert_inactive(&ask(&world, SHOP, &key, &tokens.access).await);
        asked_by_pa(&world, SHOP, "user-1", &tokens.access).await.assert_unauthenticated();
        world.set_pa_enabled(true).await;
        assert_active(&ask(&world, SHOP, &key, &tokens.access).await, "orders:read");

        world.advance(900);
        assert_inactive(&ask(&world, SHOP, &key, &tokens.access).await);
        assert_inactive(&asked_by_pa(&world, SHOP, "user-1", &tokens.access).await);
        assert_active(&asked_by_pa(&world, SHOP, "user-1", &tokens.refresh).await, "orders:read");
        world.advance(30 * 86_400 - 900);
        assert_inactive(&asked_by_pa(&world, SHOP, "user-1", &tokens.refresh).await);

        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        db.statement("UPDATE signing_key SET state = 'compromised' WHERE brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAA'").await.unwrap();
        db.statement("UPDATE directory_revision SET revision = revision + 1").await.unwrap();
        world.app.directory.refresh(&world.app.store).await.unwrap();
        assert_inactive(&ask(&world, SHOP, &key, &tokens.access).await);

        world.apply(&brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", None)).await;
        ask(&world, SHOP, &key, &tokens.access).await.assert_empty(404);
        asked_by_pa(&world, SHOP, "user-1", &tokens.access).await.assert_empty(404);
        world.stop().await;
    }

    async fn a_revoked_key_opens_nothing_at_once_on_every_node_and_an_expired_one_neither(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let (key, lasting) = (world.resource_server_key(SHOP).await, world.resource_server_key_for(SHOP, Some(1)).await);
        assert_active(&ask(&other, SHOP, &key, &tokens.access).await, "orders:read");
        let by = owner();
        let Verdict::Done(keys) = list(&world.app, &by, None).await.unwrap() else { panic!("a list") };
        let id: ResourceServerKeyId = keys.iter().find(|key| key.expires_at.is_none()).unwrap().id.clone();

        // Ten at once: one revokes, and there is one audit row.
        let all = join_all((0..10).map(|n| revoke(if n % 2 == 0 { &world.app } else { &other.app }, &by, &id))).await;
        let revoked = all.into_iter().filter(|done| *done.as_ref().unwrap() == Verdict::Done(RevokedKey::Revoked));
        assert_eq!(revoked.count(), 1);
        for node in [&world, &other] {
            ask(node, SHOP, &key, &tokens.access).await.assert_unauthenticated();
            assert_active(&ask(node, SHOP, &lasting, &tokens.access).await, "orders:read");
        }
        let rows = db.rows("SELECT action, actor, subject FROM audit WHERE action LIKE 'resource_server_key%' ORDER BY sequence").await;
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert_eq!(rows[2], format!("action=resource_server_key_revoked actor=test subject={id}"));

        world.advance(86_400);
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        ask(&world, SHOP, &lasting, &tokens.access).await.assert_unauthenticated();
        // Nothing of a key but its digest is stored.
        let stored = db.contents().await.join("\n");
        assert!(!stored.contains(&key) && !stored.contains(&key["assent_rsk_".len()..]));
        other.stop().await;
        world.stop().await;
    }
}
