//! The token endpoint with device codes over HTTP (RFC 8628 §3.4, §3.5).

use assent::domain::id::GrantId;
use assent::flow::admin::Verdict;
use assent::flow::admin::grants::{RevokedGrant, revoke};
use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Codes, Tokens};
use crate::support::world::{AIRLINE, CLUB, SHOP, World, brand_table, owner};

async fn poll(world: &World, codes: &Codes) -> Answer {
    world.poll(SHOP, "user-1", &codes.device_code).await
}

/// `error` of a poll of `user-1` at the shop.
async fn polled(world: &World, codes: &Codes) -> String {
    let answer = poll(world, codes).await;
    assert_eq!(answer.status(), 400);
    answer.oauth_error()
}

/// A code of `user-1` at the shop that jane has allowed, and that nobody has collected.
async fn approved(world: &World) -> Codes {
    let codes = world.codes(SHOP, "user-1", "orders:read").await;
    world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
    codes
}

async fn end_the_grant(world: &World, db: &Database) {
    let ids = db.rows("SELECT id FROM delegation_grant WHERE state = 'live'").await;
    let [id] = ids.as_slice() else { panic!("{ids:?}") };
    let id = GrantId::parse(id.strip_prefix("id=").unwrap()).unwrap();
    assert_eq!(revoke(&world.app, &owner(), &id).await.unwrap(), Verdict::Done(RevokedGrant::Ended));
}

on_both_databases! {
    // case 25
    async fn polling_at_exactly_the_interval_is_always_pending_and_writes_nothing(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let before = db.contents().await;
        for _ in 0..45 {
            assert_eq!(polled(&world, &codes).await, "authorization_pending");
            world.advance(5);
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 25
    async fn a_poll_that_is_too_soon_slows_down_and_does_not_move_the_expiry(db: Database) {
        let world = World::start(&db).await;
        let (codes, other) = (world.codes(SHOP, "user-1", "orders:read").await, world.codes(SHOP, "user-1", "orders:read").await);
        let before = db.contents().await;
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        world.advance(4);
        let answer = poll(&world, &codes).await;
        assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "slow_down"));
        assert!(answer.json()["error_description"].as_str().unwrap().contains("10 seconds"), "{}", answer.text());
        world.advance(9);
        assert_eq!(polled(&world, &codes).await, "slow_down");
        world.advance(15);
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        world.advance(14);
        assert_eq!(polled(&world, &codes).await, "slow_down");
        // Another code of the same agent has its own pace.
        assert_eq!(polled(&world, &other).await, "authorization_pending");
        // 42 s have passed.
        world.advance(599 - 42);
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        world.advance(1);
        assert_eq!(polled(&world, &codes).await, "expired_token");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 25: half a second of tolerance, on a clock finer than seconds
    async fn half_a_second_too_soon_is_in_time(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        world.clock.advance(std::time::Duration::from_millis(4500));
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        world.clock.advance(std::time::Duration::from_millis(4499));
        assert_eq!(polled(&world, &codes).await, "slow_down");
        world.stop().await;
    }

    // case 26
    async fn an_approved_code_gives_tokens_at_once_however_fast_it_was_polled(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read orders:cancel").await;
        for _ in 0..5 {
            poll(&world, &codes).await;
        }
        assert_eq!(polled(&world, &codes).await, "slow_down");
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let answer = poll(&world, &codes).await;
        let tokens = Tokens::of(&answer);
        let body = answer.oauth_json();
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["token_type", "access_token", "refresh_token", "expires_in", "scope"]);
        assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(900)));
        assert_eq!(tokens.scope, "orders:read");
        assert_eq!(polled(&world, &codes).await, "invalid_grant");
        world.stop().await;
    }

    // case 27
    async fn of_fifty_polls_at_once_on_two_nodes_one_gets_tokens(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let codes = approved(&world).await;
        let answers = join_all((0..50).map(|n| poll(if n % 2 == 0 { &world } else { &other }, &codes))).await;
        let (won, lost): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status() == 200);
        assert_eq!(won.len(), 1);
        assert_eq!(lost.len(), 49);
        assert!(lost.iter().all(|answer| answer.status() == 400 && answer.oauth_error() == "invalid_grant"));
        assert_eq!(db.count("SELECT digest FROM refresh_token").await, 1);
        assert_eq!(db.count("SELECT sequence FROM audit WHERE action = 'tokens_issued'").await, 1);
        let tokens = Tokens::of(won[0]);
        let reply = other.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        assert_eq!(reply.status(), 200);
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 200);
        other.stop().await;
        world.stop().await;
    }

    // case 28: before the page
    async fn a_code_that_expired_before_the_sign_in_opens_no_page(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.advance(600);
        assert_eq!(polled(&world, &codes).await, "expired_token");
        let before = db.contents().await;
        let answer = world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &codes.user_code, json!({}))).await;
        assert_eq!(answer.status(), 410);
        assert!(answer.text().contains("This code cannot be used"));
        assert_eq!(polled(&world, &codes).await, "expired_token");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 28: while the page is open, and after it
    async fn a_code_that_expires_under_an_open_page_cannot_be_decided_and_the_page_says_so(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.advance(590);
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let cookie = page.cookie.clone().unwrap();
        assert_eq!(world.open(SHOP, &codes.user_code, Some(&cookie)).await.status(), 200);
        world.advance(10);
        let before = db.contents().await;
        for decision in ["allow", "deny", "allow"] {
            let answer = world.decide(SHOP, &page.session, decision, &["orders:read"]).await;
            assert_eq!(answer.status(), 410);
            assert!(answer.text().contains("The time to decide has run out"), "{}", answer.text());
            assert_eq!(polled(&world, &codes).await, "expired_token");
        }
        let again = world.open(SHOP, &codes.user_code, Some(&cookie)).await;
        assert_eq!(again.status(), 410);
        assert!(again.text().contains("The time to decide has run out"), "{}", again.text());
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 28: decided in time, collected late
    async fn an_approval_can_be_collected_for_a_minute_after_the_code_expired(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let late = world.codes(SHOP, "user-1", "orders:read").await;
        world.advance(599);
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        world.allow(SHOP, "jane", &late, &["orders:read"]).await;
        world.advance(60);
        Tokens::of(&poll(&world, &codes).await);
        world.advance(1);
        assert_eq!(polled(&world, &late).await, "expired_token");
        assert_eq!(polled(&world, &codes).await, "invalid_grant");
        world.stop().await;
    }

    // case 29
    async fn a_denied_code_is_denied_for_good(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let answer = world.decide(SHOP, &page.session, "deny", &["orders:read"]).await;
        assert_eq!(answer.status(), 303, "{}", answer.text());
        assert_eq!(polled(&world, &codes).await, "access_denied");
        let before = db.contents().await;
        let second = world.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
        assert_eq!(second.status(), 409);
        for seconds in [0, 1, 599, 100, 3600] {
            world.advance(seconds);
            assert_eq!(polled(&world, &codes).await, "access_denied");
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(db.count("SELECT id FROM delegation_grant").await, 0);
        world.stop().await;
    }

    // case 29
    async fn an_approval_whose_grant_has_ended_gives_nothing_not_even_under_a_new_grant(db: Database) {
        let world = World::start(&db).await;
        let codes = approved(&world).await;
        end_the_grant(&world, &db).await;
        let before = db.contents().await;
        assert_eq!(polled(&world, &codes).await, "invalid_grant");
        assert_eq!(db.contents().await, before);
        let later = approved(&world).await;
        let before = db.contents().await;
        assert_eq!(polled(&world, &codes).await, "invalid_grant");
        assert_eq!(db.contents().await, before);
        Tokens::of(&poll(&world, &later).await);
        world.stop().await;
    }

    // case 29
    async fn a_disabled_personal_agent_collects_nothing_until_it_is_enabled_again(db: Database) {
        let world = World::start(&db).await;
        let codes = approved(&world).await;
        world.set_pa_enabled(false).await;
        let before = db.contents().await;
        poll(&world, &codes).await.assert_unauthenticated();
        assert_eq!(db.contents().await, before);
        world.set_pa_enabled(true).await;
        Tokens::of(&poll(&world, &codes).await);
        world.stop().await;
    }

    // case 29
    async fn a_brand_that_stopped_delegation_is_404_and_its_grants_have_ended(db: Database) {
        let world = World::start(&db).await;
        let codes = approved(&world).await;
        let tokens = world.tokens(SHOP, "user-2", "joe", &["orders:read"]).await;
        let agent = "{ builtin = \"demo\" }";
        world.apply(&brand_table(SHOP, "Example Shop", agent, None)).await;
        let before = db.contents().await;
        for answer in [poll(&world, &codes).await, world.refresh(SHOP, "user-2", &tokens.refresh).await] {
            assert_eq!((answer.status(), answer.text().as_str()), (404, ""));
        }
        world.send(SHOP, "user-2", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
        assert_eq!(db.contents().await, before);
        assert_eq!(db.count("SELECT id FROM delegation_grant WHERE state = 'live'").await, 0);
        // Delegation that comes back does not bring the grants back.
        world.apply(&brand_table(SHOP, "Example Shop", agent, Some((&world.brand_login, "")))).await;
        let before = db.contents().await;
        assert_eq!(polled(&world, &codes).await, "invalid_grant");
        assert_eq!(world.refresh(SHOP, "user-2", &tokens.refresh).await.oauth_error(), "invalid_grant");
        world.send(SHOP, "user-2", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 30
    async fn one_kind_of_code_is_not_taken_for_another(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let before = db.contents().await;
        let user_code = codes.user_code.replace('-', "");
        let bare = codes.device_code.strip_prefix("dc_").unwrap();
        for wrong in [codes.user_code.as_str(), &user_code, &tokens.refresh, &tokens.access, bare, "dc_", "dc_unknown"] {
            assert_eq!(world.poll(SHOP, "user-1", wrong).await.oauth_error(), "invalid_grant", "{wrong}");
        }
        for wrong in [codes.device_code.as_str(), &codes.user_code, &tokens.access] {
            assert_eq!(world.refresh(SHOP, "user-1", wrong).await.oauth_error(), "invalid_grant", "{wrong}");
        }
        for wrong in [codes.device_code.as_str(), &tokens.refresh] {
            let assertion = world.assertion(SHOP, "jane", wrong, json!({}));
            assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403, "{wrong}");
            let typed = world.at_issuer(Method::GET, SHOP, &format!("/consent?user_code={wrong}")).send().await;
            assert_eq!(typed.status(), 400, "{wrong}");
            assert!(!typed.text().contains(wrong), "a token is given back: {}", typed.text());
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 200);
        world.stop().await;
    }

    // case 31
    async fn nobody_else_learns_or_disturbs_anything_by_polling(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let strangers = async || {
            let device_code = codes.device_code.as_str();
            let answers = [
                world.poll_as(&world.other_pa, SHOP, "user-1", device_code).await,
                world.poll(SHOP, "user-2", device_code).await,
                world.poll(SHOP, "USER-1", device_code).await,
                world.poll(CLUB, "user-1", device_code).await,
                world.poll(AIRLINE, "user-1", device_code).await,
            ];
            let unknown = world.poll(SHOP, "user-1", "dc_unknown").await.text();
            for answer in answers {
                assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "invalid_grant"));
                assert_eq!(answer.text(), unknown);
            }
        };
        let before = db.contents().await;
        strangers().await;
        // The first poll of the owner is in time all the same.
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        strangers().await;
        world.advance(5);
        assert_eq!(polled(&world, &codes).await, "authorization_pending");
        assert_eq!(db.contents().await, before);
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let before = db.contents().await;
        strangers().await;
        assert_eq!(db.contents().await, before);
        Tokens::of(&poll(&world, &codes).await);
        strangers().await;
        world.stop().await;
    }
}
