//! The first page: what is counted, what does not work, and for whom.

use assent::domain::administrator::{Access, Role};
use serde_json::json;

use crate::support::backend::Script;
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

/// The part of the page under this heading.
fn part<'a>(html: &'a str, heading: &str) -> &'a str {
    let (_, rest) = html.split_once(&format!(">{heading}</h2>")).unwrap_or_else(|| panic!("{heading}: {html}"));
    rest.split("</section>").next().unwrap()
}

on_both_databases! {
    async fn the_first_page_counts_what_users_decided_and_what_was_refused(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.tokens(AIRLINE, "user-2", "joe", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-3", "orders:read").await;
        let page = world.sign_in(SHOP, "jim", &codes.user_code).await;
        world.decide(SHOP, &page.session, "deny", &[]).await;
        world.codes(SHOP, "user-4", "orders:read").await;
        world.browser().log_in("anna", "not her password at all").await;
        world.message(SHOP, "user-1").bearer("a.b.c").send().await;
        let html = anna.page("/").await;
        for counted in ["<strong>2</strong>", "live grants", "<strong>1</strong>", "device codes that wait"] {
            assert!(html.contains(counted), "{counted}: {html}");
        }
        assert!(html.contains("Approvals: 2 in the last 24 hours") && html.contains("Denials: 1 in the last 24 hours"), "{html}");
        assert_eq!(html.matches("<rect class=\"bar\"").count(), 2);
        let refused = part(&html, "Refused authentications");
        assert!(refused.contains("password") && refused.contains("pa jwt"), "{refused}");
        assert!(html.contains("On this node since its start"));
        assert!(!html.contains(" style="));

        // Somebody of one Brand sees that Brand's numbers, and nothing of the Provider as a whole.
        world.administrator("bert", access(Role::Owner, &[AIRLINE])).await;
        let bert = world.logged_in("bert").await;
        let html = bert.page("/").await;
        assert!(html.contains("Approvals: 1 in the last 24 hours") && html.contains("Denials: None in"), "{html}");
        assert!(!html.contains("Refused authentications") && !html.contains("Example Shop"), "{html}");
        world.stop().await;
    }

    async fn agents_that_time_out_and_key_sets_that_do_not_load_stand_on_the_first_page(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", access(Role::Auditor, &[SHOP])).await;
        let (anna, bert) = (world.logged_in("anna").await, world.logged_in("bert").await);
        let quiet = anna.page("/").await;
        assert!(quiet.contains("Every turn at an agent was answered.") && quiet.contains("Every key set that this node asked for has loaded."));
        world.backend.answer_with(Script { status: 500, ..Script::json(json!({})) });
        world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        world.app.metrics.turn(AIRLINE, assent::metrics::AgentTurn::TimedOut);
        let nowhere = "http://127.0.0.1:9/jwks.json";
        world.apply(&crate::support::world::personal_agent_table("https://gone.example", "Gone", nowhere, true)).await;
        let url = url::Url::parse(nowhere).unwrap();
        let loaded = world.app.directory.with_remote_keys(&url, world.clock.now(), |_| Ok(())).await;
        assert!(loaded.is_err());
        let html = anna.page("/").await;
        let agents = part(&html, "Agents that do not answer");
        assert!(agents.contains("Skyline Airways") && agents.contains("<bdi>1</bdi>"), "{agents}");
        let keys = part(&html, "Key sets that do not load");
        assert!(keys.contains(nowhere) && keys.contains("personal agent https://gone.example"), "{keys}");
        let html = bert.page("/").await;
        assert!(!html.contains("Skyline") && !html.contains(nowhere), "{html}");
        world.stop().await;
    }
}
