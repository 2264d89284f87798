//! Personal agents in the console: registered, changed, disabled and enabled, with a row of the audit log for each.

use assent::domain::administrator::{Access, Role};

use super::{assert_hides, assert_shows};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{SHOP, World};

const ONE: &str = "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com";

on_both_databases! {
    async fn a_personal_agent_that_is_disabled_is_refused_until_it_is_enabled(db: Database) {
        let world = World::start(&db).await;
        world.administrator("olga", access(Role::Operator, &[])).await;
        let olga = world.logged_in("olga").await;
        let issuer = [("issuer", "https://pa.example.com")];
        let disabled = olga.submit(ONE, "/personal-agents/disable", &issuer).await;
        let after = format!("{ONE}&done=disabled");
        assert_eq!((disabled.status(), disabled.header("location")), (303, Some(after.as_str())));
        assert_shows(&olga.get(&after).await, &["It is disabled", ">Enable<"]);
        world.send(SHOP, "user-1", None, "m-1", None, "Hello").await.assert_unauthenticated();
        let again = olga.submit(ONE, "/personal-agents/disable", &issuer).await;
        assert_eq!(again.header("location"), Some(format!("{ONE}&done=unchanged").as_str()));
        let enabled = olga.submit(ONE, "/personal-agents/enable", &issuer).await;
        assert_eq!(enabled.header("location"), Some(format!("{ONE}&done=enabled").as_str()));
        // An address says nothing that is not so.
        assert_hides(&olga.get(&after).await, &["It is disabled"]);
        assert_eq!(world.send(SHOP, "user-1", None, "m-1", None, "Hello").await.status(), 200);
        let actions = db.rows("SELECT action, actor FROM audit WHERE actor = 'olga' AND action LIKE 'personal_agent%' ORDER BY sequence").await;
        assert_eq!(actions, ["action=personal_agent_disabled actor=olga", "action=personal_agent_enabled actor=olga"]);
        world.stop().await;
    }

    async fn a_personal_agent_is_registered_and_changed_and_what_could_not_be_used_is_said(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let register = async |issuer: &str, name: &str, keys: &str| {
            let pairs = [("issuer", issuer), ("name", name), ("jwks_uri", keys)];
            anna.submit("/personal-agents/register", "/personal-agents/register", &pairs).await
        };
        let (new, keys) = ("https://new.example", "https://new.example/jwks.json");
        let before = db.contents().await;
        for (issuer, name, keys, status, problem) in [
            ("", "New", keys, 422, "issuer is empty"),
            (new, "", keys, 422, "name: must not be empty"),
            (new, "New", "", 422, "jwks_uri: is no URL"),
            (new, "New", "https://u:p@new.example/j", 422, "jwks_uri: "),
            ("https://pa.example.com", "New", keys, 409, "there is one with this issuer already"),
        ] {
            let answer = register(issuer, name, keys).await;
            assert_eq!(answer.status(), status, "{problem}: {}", answer.text());
            assert_shows(&answer, &["Nothing was done: ", problem]);
        }
        assert_eq!(db.contents().await, before);
        let done = register(new, "New", keys).await;
        let one = "/personal-agents/one?issuer=https%3A%2F%2Fnew.example";
        assert_eq!(done.header("location"), Some(format!("{one}&done=registered").as_str()), "{}", done.text());

        let change = async |name: &str, keys: &str| {
            let pairs = [("issuer", new), ("name", name), ("jwks_uri", keys)];
            anna.submit(one, "/personal-agents/change", &pairs).await
        };
        let before = db.contents().await;
        for (name, keys, problem) in [("", keys, "name: must not be empty"), ("New", "x", "jwks_uri: is no URL")] {
            let answer = change(name, keys).await;
            assert_eq!(answer.status(), 422);
            assert_shows(&answer, &["Nothing was done: ", problem]);
        }
        assert_eq!(change("New", keys).await.header("location"), Some(format!("{one}&done=unchanged").as_str()));
        assert_eq!(db.contents().await, before);
        assert_eq!(change("Renamed", keys).await.header("location"), Some(format!("{one}&done=changed").as_str()));
        assert_shows(&anna.get(one).await, &["<bdi>Renamed</bdi>"]);
        assert_shows(&anna.get("/personal-agents").await, &["Renamed", "First agent", "aria-sort=\"ascending\""]);
        assert_shows(&anna.get("/personal-agents.csv?search=renamed").await, &["https://new.example,Renamed,enabled,"]);
        let rows = db.rows("SELECT actor FROM audit WHERE action = 'personal_agent_applied' AND subject = 'https://new.example'").await;
        assert_eq!(rows, ["actor=anna", "actor=anna"]);
        let gone = anna.submit(one, "/personal-agents/disable", &[("issuer", "https://nobody.example")]).await;
        assert_eq!(gone.status(), 404);
        world.stop().await;
    }
}
