//! Administrators and API keys, as owners make, change and remove them.

use assent::domain::administrator::{Access, Role};

use super::{contents, who_did};
use crate::support::console::{PASSWORD, access};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

const NEW: &str = "another horse battery staple";

on_both_databases! {
    async fn an_administrator_is_made_and_logs_in_with_what_was_chosen(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        assert!(anna.page("/administrators").await.contains("/new-administrator\""));
        let html = anna.page("/new-administrator").await;
        assert!(html.contains("Example Shop") && html.contains("At all Brands"), "{html}");
        let good = [("name", "Bert"), ("role", "operator"), ("brand", SHOP), ("brand", AIRLINE), ("password", NEW), ("repeated_password", NEW)];
        let before = contents(&db).await;
        for (name, value, status, named) in [
            ("name", "anna", 409, "name: anna is taken"),
            ("name", "Ä", 422, "name "),
            ("role", "king", 422, "role:"),
            ("password", "short", 422, "password:"),
            ("repeated_password", "something else entirely", 422, "password: was not the same"),
        ] {
            let pairs: Vec<_> = good.iter().map(|(field, is)| (*field, if *field == name { value } else { *is })).collect();
            let pairs: Vec<_> = pairs.into_iter().map(|(field, is)| {
                (field, if name == "password" && field == "repeated_password" { value } else { is })
            }).collect();
            let answer = anna.sent("/new-administrator", &pairs).await;
            assert_eq!(answer.status(), status, "{name}: {}", answer.text());
            assert!(answer.text().contains(named), "{named}: {}", answer.text());
            assert!(!answer.text().contains(NEW), "a password is not sent back");
        }
        assert_eq!(contents(&db).await, before);
        let made = anna.sent("/new-administrator", &good).await;
        assert!(made.status() == 200 && made.text().contains("The administrator is made"), "{}", made.text());
        assert!(!made.text().contains(NEW));
        assert_eq!(who_did(&world, "administrator_created").await, ("anna".to_owned(), "bert".to_owned()));
        assert_eq!(world.browser().log_in("bert", NEW).await.status(), 303);
        let html = anna.page("/administrators/bert").await;
        for shown in ["operator", "Example Shop", "Skyline Airways", "/administrators/bert/remove\""] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        world.stop().await;
    }

    async fn each_deed_to_an_administrator_is_done_and_stands_in_the_log(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", access(Role::Auditor, &[SHOP])).await;
        let anna = world.logged_in("anna").await;
        let bert = world.logged_in("bert").await;
        let deed = async |deed: &str, pairs: &[(&str, &str)]| {
            let path = format!("/administrators/bert/{deed}");
            assert_eq!(anna.get(&path).await.status(), 200, "{path}");
            let answer = anna.sent(&path, pairs).await;
            (answer.status(), answer.text())
        };
        let before = contents(&db).await;
        for (what, pairs, status) in [
            ("access", &[("role", "operator")][..], 422),
            ("password", &[("password", "short"), ("repeated_password", "short")], 422),
            ("remove", &[("typed", "anna")], 422),
            ("remove", &[], 422),
        ] {
            assert_eq!(deed(what, pairs).await.0, status, "{what} {pairs:?}");
        }
        let (_, again) = deed("second-factor", &[]).await;
        assert!(again.contains("It was so before"));
        assert_eq!(contents(&db).await, before);

        assert!(bert.is_in().await);
        assert_eq!(deed("access", &[("role", "operator"), ("all", "yes")]).await.0, 200);
        assert!(!bert.is_in().await);
        assert_eq!(who_did(&world, "administrator_changed").await, ("anna".to_owned(), "bert".to_owned()));
        assert_eq!(deed("disable", &[]).await.0, 200);
        assert_eq!(world.browser().log_in("bert", PASSWORD).await.status(), 403);
        assert_eq!(deed("enable", &[]).await.0, 200);
        assert_eq!(deed("password", &[("password", NEW), ("repeated_password", NEW)]).await.0, 200);
        assert_eq!(who_did(&world, "password_changed").await, ("anna".to_owned(), "bert".to_owned()));
        assert_eq!(world.browser().log_in("bert", NEW).await.status(), 303);
        assert_eq!(deed("remove", &[("typed", "bert")]).await.0, 200);
        assert_eq!(who_did(&world, "administrator_removed").await, ("anna".to_owned(), "bert".to_owned()));
        assert_eq!(anna.get("/administrators/bert").await.status(), 404);
        world.stop().await;
    }

    // case 77
    async fn the_last_owner_of_all_brands_stays_and_is_told_why(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", access(Role::Owner, &[SHOP])).await;
        let anna = world.logged_in("anna").await;
        let before = contents(&db).await;
        for (deed, pairs) in [
            ("remove", &[("typed", "anna")][..]),
            ("disable", &[]),
            ("access", &[("role", "operator"), ("all", "yes")]),
            ("access", &[("role", "owner"), ("brand", SHOP)]),
        ] {
            let answer = anna.sent(&format!("/administrators/anna/{deed}"), pairs).await;
            assert_eq!(answer.status(), 409, "{deed}: {}", answer.text());
            assert!(answer.text().contains("the last enabled owner of all Brands"), "{deed}");
        }
        assert_eq!(contents(&db).await, before);
        assert!(anna.is_in().await);
        world.stop().await;
    }

    // cases 77, 83
    async fn an_api_key_is_shown_once_and_revoked_for_good(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let good = [("name", "deploy"), ("days", "30"), ("role", "operator"), ("brand", SHOP)];
        let before = contents(&db).await;
        for (name, value, named) in
            [("name", "", "name:"), ("days", "0", "days:"), ("days", "367", "days:"), ("days", "soon", "days:"), ("role", "x", "role:"), ("brand", "", "brand:")]
        {
            let pairs: Vec<_> = good.iter().map(|(field, is)| (*field, if *field == name { value } else { *is })).collect();
            let answer = anna.sent("/api-keys/new", &pairs).await;
            assert_eq!(answer.status(), 422, "{name}");
            assert!(answer.text().contains(named), "{named}: {}", answer.text());
        }
        assert_eq!(contents(&db).await, before);
        let made = anna.sent("/api-keys/new", &good).await;
        let html = made.text();
        assert_eq!((made.status(), made.header("location"), made.header("cache-control")), (200, None, Some("no-store")), "{html}");
        let secret = html.split("<pre class=\"secret\"").nth(1).unwrap().split('>').nth(1).unwrap().split('<').next().unwrap();
        assert!(secret.starts_with("assent_key_"), "{secret}");
        assert!(!contents(&db).await.concat().contains(secret));
        let (actor, id) = who_did(&world, "api_key_created").await;
        assert_eq!(actor, "anna");
        let list = anna.page("/administrators").await;
        assert!(list.contains(&id) && !list.contains(secret));
        let revoke = format!("/api-keys/{id}/revoke");
        assert!(anna.page(&revoke).await.contains("cannot be undone"));
        let revoked = anna.sent(&revoke, &[]).await;
        assert!(revoked.status() == 200 && revoked.text().contains("The API key is revoked"));
        assert_eq!(who_did(&world, "api_key_revoked").await, ("anna".to_owned(), id));
        assert!(anna.sent(&revoke, &[]).await.text().contains("It was revoked before"));
        assert_eq!(anna.get(&revoke).await.status(), 409);
        world.stop().await;
    }
}
