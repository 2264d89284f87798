//! Who sees what: a role changes nothing that it may not, and a Brand out of reach is not there.

use std::fs;
use std::path::Path;

use assent::domain::administrator::{Access, Role};

use super::{assert_hides, assert_shows};
use crate::support::console::{Browser, access, hidden};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

/// The paths of every form that changes something, as the table of routes has them: all but those of one's own account.
fn forms() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/routes.rs");
    let source = fs::read_to_string(source).unwrap();
    let rows =
        source.split("Row::at(\"").skip(1).filter(|row| row.split("Row::at").next().unwrap().contains(".post(admin::"));
    let paths = rows.map(|row| row.split('"').next().unwrap().to_owned());
    let paths: Vec<_> = paths.filter(|path| !path.starts_with("/log-") && !path.starts_with("/account")).collect();
    assert!(paths.contains(&"/grants/revoke".to_owned()) && paths.len() >= 6, "{paths:?}");
    paths
}

async fn token(browser: &Browser<'_>) -> String {
    hidden(&browser.get("/account").await.text(), "form_token")
}

on_both_databases! {
    // case 77
    async fn every_form_tells_an_auditor_that_their_role_does_not_allow_it_and_does_nothing(db: Database) {
        let world = World::start(&db).await;
        let grant = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await.grant();
        world.administrator("audrey", access(Role::Auditor, &[])).await;
        world.administrator("arthur", access(Role::Auditor, &[SHOP])).await;
        for name in ["audrey", "arthur"] {
            let auditor = world.logged_in(name).await;
            let token = token(&auditor).await;
            let issuer = world.pa.issuer.as_str();
            let before = db.contents().await;
            // Verifying changes nothing, so it is theirs.
            for path in forms().into_iter().filter(|path| path != "/audit/verify") {
                let path = path.replace("{grant}", &grant).replace("{brand}", SHOP).replace(['{', '}'], "");
                for issuer in [issuer, "https://new.example", ""] {
                    let filled = [
                        ("form_token", token.as_str()),
                        ("issuer", issuer),
                        ("name", "New"),
                        ("jwks_uri", "https://new.example/jwks.json"),
                        ("count", "1"),
                        ("confirmation", "1"),
                    ];
                    let answer = auditor.post(&path, &filled).await;
                    assert_eq!(answer.status(), 403, "{path}");
                    assert_shows(&answer, &["Your role does not allow this", "<nav aria-label=\"Console\">"]);
                }
            }
            for path in ["/grants/revoke", "/personal-agents/register"] {
                assert_eq!(auditor.get(path).await.status(), 403, "{path}");
            }
            assert_eq!(db.contents().await, before);
            let page = auditor.get(&format!("/grants/{grant}")).await;
            assert_eq!(page.status(), 200);
            assert_hides(&page, &["Revoke this grant"]);
            assert_hides(&auditor.get("/grants").await, &["/grants/revoke"]);
        }
        let audrey = world.logged_in("audrey").await;
        let address = "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com";
        assert_hides(&audrey.get(address).await, &["action=\"/personal-agents/", "action=\"/grants/revoke\""]);
        assert_hides(&audrey.get("/personal-agents").await, &["/personal-agents/register"]);
        world.stop().await;
    }

    // case 77
    async fn an_operator_of_one_brand_sees_nothing_of_another_and_nothing_of_the_provider(db: Database) {
        let world = World::start(&db).await;
        let own = world.tokens(SHOP, "user-1", "jane-of-the-shop", &["orders:read"]).await.grant();
        let foreign = world.tokens(AIRLINE, "user-2", "joe-of-the-airline", &["orders:read"]).await.grant();
        world.tokens(AIRLINE, "user-3", "jane-of-the-shop", &["orders:read"]).await;
        world.administrator("olga", access(Role::Operator, &[SHOP])).await;
        let olga = world.logged_in("olga").await;
        let before = db.contents().await;

        let list = olga.get("/grants").await;
        assert_shows(&list, &[&own, "1 grant of 1 Brand"]);
        assert_hides(&list, &[&foreign, "joe-of-the-airline", AIRLINE, "href=\"/personal-agents"]);
        let of_both = olga.get("/grants?user=jane-of-the-shop").await;
        assert_shows(&of_both, &["1 grant of 1 Brand"]);
        let csv = olga.get("/grants.csv").await;
        assert_shows(&csv, &[&own]);
        assert_hides(&csv, &[&foreign, AIRLINE]);
        let revoke = olga.get("/grants/revoke").await;
        assert_shows(&revoke, &["1 grant of 1 Brand"]);
        for missing in [
            format!("/grants/{foreign}"),
            format!("/grants/{foreign}/evidence"),
            format!("/grants?brand={AIRLINE}"),
            format!("/grants.csv?brand={AIRLINE}"),
            format!("/grants/revoke?brand={AIRLINE}"),
            "/grants/a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAZ".to_owned(),
            "/grants/x".to_owned(),
            "/personal-agents".to_owned(),
            "/personal-agents.csv".to_owned(),
            "/personal-agents/register".to_owned(),
            "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com".to_owned(),
        ] {
            let answer = olga.get(&missing).await;
            assert_eq!(answer.status(), 404, "{missing}");
            assert_shows(&answer, &["There is no such thing here", "<nav aria-label=\"Console\">"]);
        }
        for (looked_for, found) in [(own.as_str(), true), ("jane-of-the-shop", true), (&foreign, false), ("joe-of-the-airline", false), ("First agent", false), ("https://pa.example.com", false)] {
            let looked_for: String = url::form_urlencoded::byte_serialize(looked_for.as_bytes()).collect();
            let answer = olga.get(&format!("/search?q={looked_for}")).await;
            assert_eq!(answer.status(), if found { 303 } else { 200 }, "{looked_for}: {}", answer.text());
        }
        let token = token(&olga).await;
        let issuer = world.pa.issuer.as_str();
        for (path, more) in [
            (format!("/grants/{foreign}/revoke"), vec![]),
            ("/grants/revoke".to_owned(), vec![("brand", AIRLINE), ("count", "2"), ("confirmation", "2")]),
            ("/personal-agents/disable".to_owned(), vec![("issuer", issuer)]),
            ("/personal-agents/enable".to_owned(), vec![("issuer", issuer)]),
            ("/personal-agents/change".to_owned(), vec![("issuer", issuer), ("name", "x"), ("jwks_uri", "https://x.example")]),
            ("/personal-agents/register".to_owned(), vec![("issuer", "https://new.example"), ("name", "x"), ("jwks_uri", "https://x.example")]),
        ] {
            let mut filled = vec![("form_token", token.as_str())];
            filled.extend(more);
            assert_eq!(olga.post(&path, &filled).await.status(), 404, "{path}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn what_is_looked_for_is_led_to_when_it_is_one_thing_alone(db: Database) {
        let world = World::start(&db).await;
        let grant = world.tokens(SHOP, "user-1", "first", &["orders:read"]).await.grant();
        world.tokens(SHOP, "user-2", "jane", &["orders:read"]).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let agent = "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com";
        for (looked_for, leads_to) in [
            ("https%3A%2F%2Fpa.example.com", agent.to_owned()),
            ("++pa.example.com+", agent.to_owned()),
            ("FIRST+a", agent.to_owned()),
            (grant.as_str(), format!("/grants/{grant}")),
            ("jane", "/grants?user=jane".to_owned()),
        ] {
            let answer = anna.get(&format!("/search?q={looked_for}")).await;
            assert_eq!((answer.status(), answer.header("location")), (303, Some(leads_to.as_str())), "{looked_for}");
            assert_eq!(anna.get(&leads_to).await.status(), 200);
        }
        // A User and a personal agent; two personal agents; nothing; and nothing asked for.
        assert_shows(&anna.get("/search?q=first").await, &["Personal agent", "First agent", ">User<", "/grants?user=first"]);
        assert_shows(&anna.get("/search?q=agent").await, &["First agent", "Second agent"]);
        assert_shows(&anna.get("/search?q=%3Cb%3E").await, &["Nothing is called", "&#60;b&#62;"]);
        for nothing in ["/search", "/search?q=", "/search?q=+"] {
            assert_shows(&anna.get(nothing).await, &["A personal agent is found by its issuer"]);
        }
        world.stop().await;
    }
}
