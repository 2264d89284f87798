//! Administrators at the console: who is let in, for how long, and which forms are taken.

mod access;
mod forms;
mod guessing;
mod second_factor;

use std::time::Duration;

use assent::domain::administrator::{Access, Role};
use assent::flow::admin::Verdict;
use assent::flow::admin::administrators::{Change, Changed, change};
use assent::outbound::Method;

use crate::support::console::{PASSWORD, access, by, name, secret};
use crate::support::database::on_both_databases;
use crate::support::world::{Setup, World};

const SESSION: &str = "assent-admin";

on_both_databases! {
    // case 76
    async fn a_log_in_gives_a_session_that_was_not_there_before_and_ends_the_old_one(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.browser();
        browser.set_cookie(SESSION, "chosen-by-somebody-else-chosen-by-somebody");
        let answer = browser.log_in(" ANNA ", PASSWORD).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/")));
        let first = browser.cookie(SESSION).unwrap();
        assert_ne!(first, "chosen-by-somebody-else-chosen-by-somebody");
        assert!(browser.is_in().await);

        // A second log-in of the same browser: another session, and the first is over.
        let page = browser.get("/log-in").await;
        assert_eq!((page.status(), page.header("location")), (303, Some("/")), "whoever is in goes on");
        let again = world.browser();
        again.get("/log-in").await;
        again.set_cookie(SESSION, &first);
        let token = {
            let fresh = world.browser();
            let html = fresh.get("/log-in").await.text();
            again.set_cookie("assent-admin-log-in", &fresh.cookie("assent-admin-log-in").unwrap());
            crate::support::console::hidden(&html, "form_token")
        };
        let answer = again.post("/log-in", &[("form_token", &token), ("name", "anna"), ("password", PASSWORD)]).await;
        assert_eq!(answer.status(), 303, "{}", answer.text());
        assert_ne!(again.cookie(SESSION).unwrap(), first);
        assert!(again.is_in().await && !browser.is_in().await);
        assert_eq!(db.count("SELECT digest FROM administrator_session").await, 1);
        world.stop().await;
    }

    // case 76
    async fn a_log_out_ends_the_session_on_every_node(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.logged_in("anna").await;
        let other = world.another_node(&db).await;
        let (kept, there) = (browser.at(&world), browser.at(&other));
        assert!(there.is_in().await);
        let out = browser.submit("/account", "/log-out", &[]).await;
        assert_eq!((out.status(), out.header("location")), (303, Some("/log-in")));
        assert_eq!(browser.cookie(SESSION), None);
        assert!(!kept.is_in().await && !there.is_in().await);
        assert_eq!(db.audit_actions("anna").await.unwrap(), ["administrator_created", "logged_in", "logged_out"]);
        other.stop().await;
        world.stop().await;
    }

    // case 76
    async fn another_password_ends_every_other_session(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let (here, there) = (world.logged_in("anna").await, world.logged_in("anna").await);
        let copied = here.at(&world);
        let (before, new) = (db.contents().await, "another horse battery staple");
        let pairs = |present, new, again| [("password", present), ("new_password", new), ("repeated_password", again)];
        for (form, status) in [
            (pairs("wrong horse battery staple", new, new), 403),
            (pairs(PASSWORD, "short", "short"), 422),
            (pairs(PASSWORD, new, "yet another horse battery"), 422),
        ] {
            let answer = here.submit("/account", "/account/password", &form).await;
            assert_eq!(answer.status(), status, "{form:?}: {}", answer.text());
        }
        assert_eq!(db.contents().await, before);
        let done = here.submit("/account", "/account/password", &pairs(PASSWORD, new, new)).await;
        assert_eq!(done.status(), 200, "{}", done.text());
        assert!(here.is_in().await && !there.is_in().await);
        // Whoever copied the cookie before has nothing.
        assert!(!copied.is_in().await);
        assert_eq!(world.browser().log_in("anna", PASSWORD).await.status(), 403);
        assert_eq!(world.browser().log_in("anna", new).await.status(), 303);
        world.stop().await;
    }

    async fn a_session_ends_when_it_is_idle_for_a_quarter_of_an_hour_and_after_eight_hours(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let idle = world.logged_in("anna").await;
        world.advance(899);
        assert!(idle.is_in().await);
        world.advance(900);
        assert!(!idle.is_in().await);

        let busy = world.logged_in("anna").await;
        for _ in 0..(8 * 60 / 14) {
            world.advance(14 * 60);
            assert!(busy.is_in().await);
        }
        world.advance(4 * 60 - 1);
        assert!(busy.is_in().await);
        world.advance(1);
        assert!(!busy.is_in().await);
        // Neither of them can still send a form.
        let before = db.contents().await;
        let token = assent::crypto::codes::form_token(&busy.cookie(SESSION).unwrap());
        let answer = busy.post("/log-out", &[("form_token", &token)]).await;
        assert_eq!(answer.status(), 403);
        assert!(answer.text().contains("not logged in any more"));
        assert_eq!(db.contents().await, before);
        // The sweeper removes their rows a day later.
        world.app.store.sweep(world.clock.now().plus(Duration::from_secs(1)), 100, world.clock.now()).await.unwrap();
        assert_eq!(db.count("SELECT digest FROM administrator_session").await, 0);
        world.stop().await;
    }

    async fn whoever_is_disabled_removed_or_has_another_role_is_out_at_once(db: Database) {
        let world = World::start(&db).await;
        let all = by(Access::EVERYTHING);
        world.administrator("owner", Access::EVERYTHING).await;
        for (who, change_it) in [
            ("b1", Change::Access(access(Role::Auditor, &[]))),
            ("b2", Change::Disable),
            ("b3", Change::Password(secret("another horse battery staple"))),
            ("b4", Change::Remove),
        ] {
            world.administrator(who, access(Role::Operator, &[])).await;
            let browser = world.logged_in(who).await;
            assert!(browser.is_in().await);
            let changed = change(&world.app, &all, &name(who), &change_it).await.unwrap();
            assert_eq!(changed, Verdict::Done(Changed::Done), "{who}");
            assert!(!browser.is_in().await, "{who}");
        }
        let refused = world.browser().log_in("b2", PASSWORD).await;
        assert_eq!(refused.status(), 403);
        change(&world.app, &all, &name("b2"), &Change::Enable).await.unwrap();
        assert_eq!(world.browser().log_in("b2", PASSWORD).await.status(), 303);
        world.stop().await;
    }

    async fn a_page_that_was_asked_for_comes_after_the_log_in_and_no_other_site_does(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.browser();
        let sent = browser.get("/account?x=1").await;
        assert_eq!((sent.status(), sent.header("location")), (303, Some("/log-in?next=%2Faccount%3Fx%3D1")));
        let page = browser.get("/log-in?next=%2Faccount%3Fx%3D1").await;
        assert!(page.text().contains("name=\"next\" value=\"/account?x=1\""));
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{policy}");
        for next in ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"] {
            let pairs = [("name", "anna"), ("password", PASSWORD), ("next", next)];
            let answer = world.browser().submit("/log-in", "/log-in", &pairs).await;
            assert_eq!((answer.status(), answer.header("location")), (303, Some("/")), "{next}");
        }
        world.stop().await;
    }

    async fn over_https_the_cookies_are_of_that_host_alone_and_forms_come_from_there(db: Database) {
        let setup = Setup { keys: "admin_url = \"https://ops.example.com\"\n".to_owned(), ..Setup::default() };
        let world = World::start_as(&db, &setup).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.browser();
        let page = browser.get("/log-in").await;
        let cookie = page.header("set-cookie").unwrap().to_owned();
        assert!(cookie.starts_with("__Host-assent-admin-log-in="), "{cookie}");
        for word in ["; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        let token = crate::support::console::hidden(&page.text(), "form_token");
        let form = [("form_token", token.as_str()), ("name", "anna"), ("password", PASSWORD)];
        // By the listener's own address: not where the browsers of this Provider come from.
        assert_eq!(browser.post("/log-in", &form).await.status(), 403);
        let ask = browser.ask(Method::POST, "/log-in").header("origin", "https://ops.example.com");
        let answer = browser.send(ask.form(&form)).await;
        assert_eq!(answer.status(), 303, "{}", answer.text());
        assert!(browser.cookie("__Host-assent-admin").is_some());
        assert!(browser.is_in().await);
        world.stop().await;
    }
}
