//! A machine's clock that is set back by a minute: what has expired stays so, what was spent stays spent, and nobody is
//! told to wait for longer.

use std::time::Duration;

use assent::outbound::Method;
use serde_json::json;

use crate::support::database::on_both_databases;
use crate::support::flow::Tokens;
use crate::support::world::{PROVIDER, SHOP, World};

const MINUTE: Duration = Duration::from_secs(60);

on_both_databases! {
    // case 87: codes and pages
    async fn an_expired_code_does_not_come_to_life(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        world.advance(601);
        let polled = async || world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error();
        let decided = async || world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status();
        let opened = async || {
            let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
            world.post_assertion(SHOP, &assertion).await.status()
        };
        assert_eq!((polled().await.as_str(), decided().await, opened().await), ("expired_token", 410, 410));
        world.clock.set_back(MINUTE);
        for _ in 0..3 {
            assert_eq!((polled().await.as_str(), decided().await, opened().await), ("expired_token", 410, 410));
            world.advance(30);
        }
        assert_eq!(db.count("SELECT id FROM delegation_grant").await, 0);
        world.stop().await;
    }

    // case 87: JWTs and tokens
    async fn an_expired_token_does_not_come_to_life(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let jwt = world.jwt("user-1");
        world.advance(901);
        let with_jwt = world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&jwt);
        let send = async || world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        with_jwt.clone().send().await.assert_unauthenticated();
        send().await.assert_invalid_token();
        world.clock.set_back(MINUTE);
        with_jwt.send().await.assert_unauthenticated();
        send().await.assert_invalid_token();
        // What is new is good at once, although the machine would call it a minute early.
        let fresh = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(world.send(SHOP, "user-1", Some(&fresh.access), "m-2", None, "Hello").await.status(), 200);
        world.stop().await;
    }

    // case 87: assertion ids
    async fn no_assertion_is_accepted_twice(db: Database) {
        let world = World::start(&db).await;
        let first = world.codes(SHOP, "user-1", "orders:read").await;
        let assertion = world.assertion(SHOP, "jane", &first.user_code, json!({}));
        assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 200);
        // A day and more later its id has left; the assertion has run out long ago, and stays so.
        for (later, back) in [(0, 60), (149, 60), (500, 60), (2 * 86_400, 60)] {
            world.advance(later);
            let now = world.clock.now();
            world.app.store.sweep(now.minus(Duration::from_secs(86_400)), 500, now).await.unwrap();
            world.clock.set_back(Duration::from_secs(back));
            assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403, "after {later} s");
            world.advance(back);
        }
        assert_eq!(db.count("SELECT jti FROM assertion_jti").await, 0);
        world.stop().await;
    }

    // case 87: limits and pacing
    async fn nobody_is_slowed_down_or_locked_out_by_it(db: Database) {
        let small = "[limits]\nsub_per_second = 1\nsub_burst = 2\n";
        let world = World::with(&db, small).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let poll = async || world.poll(SHOP, "user-1", &codes.device_code).await;
        assert_eq!(poll().await.oauth_error(), "authorization_pending");
        world.clock.set_back(MINUTE);
        // For a minute the clock shows one instant: polls at the interval are in time all the same.
        for _ in 0..15 {
            world.advance(5);
            assert_eq!(poll().await.oauth_error(), "authorization_pending");
        }
        world.clock.set_back(MINUTE);
        let list = || world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(&world.jwt("user-2"));
        for expected in [200, 200, 429] {
            assert_eq!(list().send().await.status(), expected);
        }
        world.advance(1);
        assert_eq!(list().send().await.status(), 200);
        world.stop().await;
    }
}
