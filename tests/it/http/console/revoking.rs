//! What is taken back in the console is over at once, on every node: one grant, or all that were counted and no more.

use std::collections::BTreeSet;

use assent::crypto::evidence;
use assent::domain::administrator::{Access, Role};

use super::{assert_hides, assert_shows, link};
use crate::support::client::Answer;
use crate::support::console::{Browser, access};
use crate::support::database::{Kind, on_both_databases};
use crate::support::flow::Tokens;
use crate::support::world::{AIRLINE, SHOP, World};

/// Sends the form that ends all grants of the first personal agent, as the page has it, with what is typed.
async fn type_in(browser: &Browser<'_>, count: &str, typed: &str) -> Answer {
    let pairs = [("personal_agent", "https://pa.example.com"), ("count", count), ("confirmation", typed)];
    browser.submit("/grants/revoke?personal_agent=https%3A%2F%2Fpa.example.com", "/grants/revoke", &pairs).await
}

/// That nothing goes on under a grant, on any of these nodes.
async fn assert_over(nodes: &[&World], id: &str, sub: &str, tokens: &Tokens) {
    for node in nodes {
        assert_eq!(node.refresh(id, sub, &tokens.refresh).await.oauth_error(), "invalid_grant");
        node.send(id, sub, Some(&tokens.access), "m-9", None, "Hello").await.assert_invalid_token();
        let seen = node.oauth(id, "/introspect", sub, &[("token", &tokens.access)]).await;
        assert_eq!(seen.oauth_json()["active"], false);
    }
}

on_both_databases! {
    // case 56
    async fn a_grant_that_is_revoked_on_its_page_is_over_on_every_node(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        world.administrator("olga", access(Role::Operator, &[SHOP])).await;
        let olga = world.logged_in("olga").await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let uncollected = world.codes(SHOP, "user-1", "orders:read").await;
        world.allow(SHOP, "jane", &uncollected, &["orders:read"]).await;
        world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        let grant = tokens.grant();
        let page = olga.get(&format!("/grants/{grant}")).await;
        assert_eq!(page.status(), 200, "{}", page.text());
        assert_shows(&page, &[
            "live", "Example Shop", "jane", "First agent", "https://pa.example.com", "user-1", "orders:read", "Allowed",
            "Called lookup orders", "Revoke this grant", &format!("/audit?subject={grant}"),
        ]);

        let form = format!("/grants/{grant}/revoke");
        let done = olga.submit(&format!("/grants/{grant}"), &form, &[]).await;
        let after = format!("/grants/{grant}?done=revoked");
        assert_eq!((done.status(), done.header("location")), (303, Some(after.as_str())));
        let page = olga.get(&after).await;
        assert_shows(&page, &["It has ended, on every node.", "ended", "administrator olga"]);
        assert_hides(&page, &["Revoke this grant"]);
        assert_over(&[&other, &world], SHOP, "user-1", &tokens).await;
        assert_eq!(other.poll(SHOP, "user-1", &uncollected.device_code).await.oauth_error(), "invalid_grant");
        let rows = db.rows("SELECT subject, actor_kind, actor FROM audit WHERE action = 'grant_ended'").await;
        assert_eq!(rows, [format!("subject={grant} actor_kind=administrator actor=olga")]);

        let before = db.contents().await;
        let again = olga.submit(&format!("/grants/{grant}"), &form, &[]).await;
        assert_eq!(again.header("location"), Some(format!("/grants/{grant}?done=already").as_str()));
        assert_shows(&olga.get(&format!("/grants/{grant}?done=already")).await, &["it had ended before"]);
        assert_eq!(db.contents().await, before);
        other.stop().await;
        world.stop().await;
    }

    // cases 56 and 78
    async fn all_grants_of_a_personal_agent_end_once_their_number_was_typed(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let mut all = Vec::new();
        for n in 0..3 {
            for id in [SHOP, AIRLINE] {
                let sub = format!("user-{n}");
                all.push((id, sub.clone(), world.tokens(id, &sub, &sub, &["orders:read"]).await));
            }
        }
        let agent = anna.get("/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com").await;
        assert_shows(&agent, &["6 grants of 2 Brands", "Example Shop", "name=\"count\" value=\"6\"", "Type 6 to revoke them"]);
        let before = db.contents().await;
        for (count, typed) in [("6", "5"), ("6", ""), ("6", "7"), ("6", "-6"), ("6", "six"), ("7", "6")] {
            let wrong = type_in(&anna, count, typed).await;
            assert_eq!(wrong.status(), 422, "{count} {typed}");
            assert_shows(&wrong, &["Nothing was done", "6 grants of 2 Brands", "name=\"count\" value=\"6\""]);
        }
        assert_eq!(type_in(&anna, "", "6").await.status(), 400);
        assert_eq!(db.contents().await, before);

        // One more came while somebody typed.
        all.push((SHOP, "user-9".to_owned(), world.tokens(SHOP, "user-9", "user-9", &["orders:read"]).await));
        let before = db.contents().await;
        let more = type_in(&anna, "6", "6").await;
        assert_eq!(more.status(), 409);
        assert_shows(&more, &["Nothing was done: more fit by now", "7 grants of 2 Brands", "name=\"count\" value=\"7\""]);
        assert_eq!(db.contents().await, before);

        let done = type_in(&anna, "7", " 7 ").await;
        assert_eq!(done.status(), 200, "{}", done.text());
        assert_shows(&done, &["7 grants have ended", "2 Brands"]);
        for (id, sub, tokens) in &all {
            assert_over(&[&other, &world], id, sub, tokens).await;
        }
        let rows = db.rows("SELECT subject, actor FROM audit WHERE action = 'grant_ended'").await;
        let expected: BTreeSet<_> =
            all.iter().map(|(_, _, tokens)| format!("subject={} actor=anna", tokens.grant())).collect();
        assert_eq!((rows.len(), rows.into_iter().collect::<BTreeSet<_>>()), (7, expected));
        let request = link(&done, "Their audit rows").split("request=").nth(1).unwrap().to_owned();
        let mut of_it = db.rows("SELECT request_id, action FROM audit").await;
        of_it.retain(|row| row.contains(&format!("request_id={request} ")));
        assert_eq!(of_it, vec![format!("request_id={request} action=grant_ended"); 7], "of this and no other");

        let before = db.contents().await;
        let nothing = type_in(&anna, "7", "7").await;
        assert_eq!(nothing.status(), 200);
        assert_shows(&nothing, &["0 grants have ended", "nothing was done"]);
        assert_eq!(db.contents().await, before);
        assert_shows(&anna.get("/grants/revoke").await, &["there is nothing to revoke"]);
        other.stop().await;
        world.stop().await;
    }

    async fn the_evidence_of_a_grant_is_a_signed_file_and_an_altered_record_is_not_signed(db: Database) {
        let world = World::start(&db).await;
        world.administrator("audrey", access(Role::Auditor, &[SHOP])).await;
        let audrey = world.logged_in("audrey").await;
        let grant = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await.grant();
        let file = audrey.get(&format!("/grants/{grant}/evidence")).await;
        assert_eq!(file.status(), 200, "{}", file.text());
        let name = format!("attachment; filename=\"evidence-{grant}.json\"");
        assert_eq!(file.header("content-disposition"), Some(name.as_str()));
        assert_eq!((file.header("content-type"), file.header("cache-control")), (Some("application/json"), Some("no-store")));
        assert_eq!(evidence::check(&file.json(), None, None), []);
        let unguarded = match db.kind {
            Kind::Sqlite => "DROP TRIGGER consent_evidence_no_update",
            Kind::Postgres => "ALTER TABLE consent_evidence DISABLE TRIGGER USER",
        };
        db.statement(unguarded).await.unwrap();
        db.statement("UPDATE consent_evidence SET language = 'de'").await.unwrap();
        let altered = audrey.get(&format!("/grants/{grant}/evidence")).await;
        assert_eq!(altered.status(), 409, "{}", altered.text());
        assert_eq!(altered.header("content-disposition"), None);
        assert_shows(&altered, &["Nothing was exported", &grant]);
        world.stop().await;
    }
}
