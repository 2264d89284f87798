//! The token endpoint with refresh tokens over HTTP (RFC 6749 §6, RFC 9700 §4.14.2).

use futures_util::future::join_all;

use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::{Tokens, claims};
use crate::support::world::{AIRLINE, CLUB, SHOP, World};

const BOTH: &[&str] = &["orders:read", "orders:cancel"];

async fn refresh(world: &World, token: &str) -> Answer {
    world.refresh(SHOP, "user-1", token).await
}

async fn refreshed(world: &World, token: &str) -> Tokens {
    Tokens::of(&refresh(world, token).await)
}

async fn assert_refused(world: &World, token: &str) {
    let answer = refresh(world, token).await;
    assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "invalid_grant"));
}

async fn narrowed(world: &World, token: &str, scope: &str) -> Answer {
    let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("scope", scope)];
    world.oauth(SHOP, "/token", "user-1", &form).await
}

const REUSE: &str = "SELECT actor, subject FROM audit WHERE action = 'refresh_reuse'";

on_both_databases! {
    // case 51
    async fn a_refresh_token_in_other_hands_is_refused_and_its_family_lives(db: Database) {
        let world = World::start(&db).await;
        let used = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let tokens = refreshed(&world, &used.refresh).await;
        // Late enough for a used token to be a theft in its owner's hands.
        world.advance(11);
        let before = db.contents().await;
        for token in [&tokens.refresh, &used.refresh] {
            let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
            for answer in [
                world.oauth_as(&world.other_pa, SHOP, "/token", "user-1", &form).await,
                world.refresh(SHOP, "user-2", token).await,
                world.refresh(CLUB, "user-1", token).await,
                world.refresh(AIRLINE, "user-1", token).await,
            ] {
                assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "invalid_grant"));
                assert_eq!(answer.text(), refresh(&world, "rt_unknown").await.text());
            }
        }
        assert_eq!(db.contents().await, before);
        refreshed(&world, &tokens.refresh).await;
        world.stop().await;
    }

    // case 52
    async fn a_used_token_is_a_parallel_refresh_for_ten_seconds_and_a_theft_later(db: Database) {
        let world = World::start(&db).await;
        let first = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let second = refreshed(&world, &first.refresh).await;
        let before = db.contents().await;
        for seconds in [0, 9] {
            world.advance(seconds);
            assert_refused(&world, &first.refresh).await;
        }
        assert_eq!(db.contents().await, before);
        let third = refreshed(&world, &second.refresh).await;
        assert_eq!(db.count(REUSE).await, 0);

        world.advance(2);
        // The second was used 2 s ago, the first 11 s ago.
        assert_refused(&world, &second.refresh).await;
        assert_eq!(db.count(REUSE).await, 0);
        assert_refused(&world, &first.refresh).await;
        let alarm = db.rows(REUSE).await;
        assert_eq!(alarm, [format!("actor={} subject={}", world.pa.issuer, first.grant())]);
        let after = db.contents().await;
        for token in [&first, &second, &third] {
            assert_refused(&world, &token.refresh).await;
        }
        assert_eq!(db.contents().await, after, "one theft raises one alarm");
        // The grant is the User's, not the thief's: it lives, and a new consent gives a new family.
        let anew = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        assert_eq!(anew.grant(), first.grant());
        refreshed(&world, &anew.refresh).await;
        world.stop().await;
    }

    // case 53
    async fn of_fifty_refreshes_at_once_on_two_nodes_one_has_a_successor(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let answers = join_all((0..50).map(|n| refresh(if n % 2 == 0 { &world } else { &other }, &tokens.refresh))).await;
        let (won, lost): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status() == 200);
        assert_eq!((won.len(), lost.len()), (1, 49));
        assert!(lost.iter().all(|answer| answer.status() == 400 && answer.oauth_error() == "invalid_grant"));
        assert_eq!(db.count("SELECT digest FROM refresh_token").await, 2);
        assert_eq!(db.count("SELECT digest FROM refresh_token WHERE used_at IS NULL").await, 1);
        assert_eq!(db.count("SELECT sequence FROM audit WHERE action = 'tokens_refreshed'").await, 1);
        assert_eq!(db.count(REUSE).await, 0);
        refreshed(&other, &Tokens::of(won[0]).refresh).await;
        other.stop().await;
        world.stop().await;
    }

    // case 54
    async fn a_scope_may_narrow_one_token_and_the_next_may_return_to_the_grants(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let before = db.contents().await;
        for wider in ["refunds:issue", "orders:read refunds:issue", "orders:unknown", "orders", " ", "orders:read\torders:cancel"] {
            let answer = narrowed(&world, &tokens.refresh, wider).await;
            assert_eq!((answer.status(), answer.oauth_error().as_str()), (400, "invalid_scope"), "{wider:?}");
        }
        assert_eq!(db.contents().await, before);

        let narrow = Tokens::of(&narrowed(&world, &tokens.refresh, "orders:cancel").await);
        assert_eq!((narrow.scope.as_str(), &claims(&narrow.access)["scope"]), ("orders:cancel", &"orders:cancel".into()));
        // What it does not carry, it does not allow.
        let step_up = world.send(SHOP, "user-1", Some(&narrow.access), "m-1", None, "Where is my order?").await;
        assert_eq!(step_up.json()["task"]["metadata"]["pact.missingScopes"], serde_json::json!(["orders:read"]));
        let same = Tokens::of(&narrowed(&world, &narrow.refresh, "orders:cancel  orders:read orders:read").await);
        assert_eq!(same.scope, "orders:read orders:cancel");
        let narrow = Tokens::of(&narrowed(&world, &same.refresh, "orders:read").await);
        let whole = refreshed(&world, &narrow.refresh).await;
        assert_eq!(whole.scope, "orders:read orders:cancel");
        assert_eq!(whole.grant(), tokens.grant());
        world.stop().await;
    }

    // case 54: the grant's present scopes, be they more or fewer than the last token's
    async fn a_refresh_follows_what_the_user_decided_since(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let codes = world.codes(SHOP, "user-1", "refunds:issue").await;
        world.allow(SHOP, "jane", &codes, &["orders:read", "refunds:issue"]).await;
        let changed = refreshed(&world, &tokens.refresh).await;
        assert_eq!(changed.scope, "orders:read refunds:issue");
        let before = db.contents().await;
        let answer = narrowed(&world, &changed.refresh, "orders:cancel").await;
        assert_eq!(answer.oauth_error(), "invalid_scope");
        assert_eq!(db.contents().await, before);
        // The token of before allows no more than the grant does now.
        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Cancel my order").await;
        assert_eq!(reply.json()["task"]["metadata"]["pact.missingScopes"], serde_json::json!(["orders:cancel"]));
        world.stop().await;
    }

    // cases 51, 54: every refresh is judged by the grant as it is now
    async fn a_refresh_ends_with_the_grant(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        world.advance(30 * 86_400 - 100);
        let last = refresh(&world, &tokens.refresh).await;
        assert_eq!(last.oauth_json()["expires_in"], 100);
        let last = Tokens::of(&last);
        world.advance(100);
        let before = db.contents().await;
        assert_refused(&world, &last.refresh).await;
        world.send(SHOP, "user-1", Some(&last.access), "m-1", None, "Hello").await.assert_invalid_token();
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
