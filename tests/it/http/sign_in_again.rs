//! What comes twice or too late at the Brand's login: a repeated POST, a personal agent that was disabled meanwhile.

use assent::outbound::Method;
use serde_json::json;

use crate::support::database::on_both_databases;
use crate::support::flow::Page;
use crate::support::world::{CLUB, SHOP, World};

on_both_databases! {
    // case 33
    async fn a_repeated_post_after_the_decision_is_403_and_no_guess(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
        let page = Page::of(&world.post_assertion(SHOP, &assertion).await);
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 303);
        let before = db.contents().await;
        for _ in 0..11 {
            assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403);
        }
        assert_eq!(db.contents().await, before);
        let next = world.codes(SHOP, "user-1", "orders:cancel").await;
        world.sign_in(SHOP, "jane", &next.user_code).await;
        world.stop().await;
    }

    // case 29
    async fn nothing_is_decided_for_a_personal_agent_that_is_disabled(db: Database) {
        let world = World::start(&db).await;
        world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        let covered = world.codes(CLUB, "user-1", "orders:read").await;
        let open = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &open.user_code).await;
        world.set_pa_enabled(false).await;
        let before = db.contents().await;
        let assertion = world.assertion(CLUB, "jane", &covered.user_code, json!({}));
        assert_eq!(world.post_assertion(CLUB, &assertion).await.status(), 410);
        assert_eq!(world.open(SHOP, &open.user_code, page.cookie.as_deref()).await.status(), 303);
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 403);
        assert_eq!(db.contents().await, before);
        world.set_pa_enabled(true).await;
        assert_eq!(world.post_assertion(CLUB, &assertion).await.status(), 200, "the assertion was not spent");
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 303);
        world.stop().await;
    }

    // case 29: in the two seconds in which another node has not heard of it
    async fn a_covered_request_of_an_agent_that_another_node_disabled_is_not_approved_and_no_fault(db: Database) {
        let world = World::start(&db).await;
        world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        let covered = world.codes(CLUB, "user-1", "orders:read").await;
        let other = world.another_node(&db).await;
        other.set_pa_enabled(false).await;
        let before = db.contents().await;
        let assertion = world.assertion(CLUB, "jane", &covered.user_code, json!({}));
        assert_eq!(world.post_assertion(CLUB, &assertion).await.status(), 410);
        assert_eq!(db.contents().await, before);
        other.stop().await;
        world.stop().await;
    }

    // case 46
    async fn a_head_of_the_consent_page_keeps_no_page(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let before = db.contents().await;
        let path = format!("/consent?user_code={}", codes.user_code);
        let head = world.at_issuer(Method::HEAD, SHOP, &path).cookie(page.cookie.as_deref().unwrap()).send().await;
        assert_eq!((head.status(), head.text().as_str()), (200, ""));
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn the_closing_page_ends_with_the_consent_page_and_with_the_grant(db: Database) {
        let world = World::start(&db).await;
        let closing = async |session: &str| {
            world.at_issuer(Method::GET, SHOP, &format!("/consent/decision?session={session}")).send().await.status()
        };
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        assert_eq!(closing(&page.session).await, 403, "nothing is decided yet");
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 303);
        assert_eq!(closing(&page.session).await, 200);
        assert_eq!(closing("x").await, 403);
        world.advance(600);
        assert_eq!(closing(&page.session).await, 403);
        world.stop().await;
    }
}
