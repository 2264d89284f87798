//! Guessing passwords: slow for whoever guesses, and no way to lock anybody out.

use assent::domain::administrator::{Access, Role};
use assent::flow::admin::administrators::{Change, change};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::support::client::Answer;
use crate::support::console::{PASSWORD, access, by, hidden, name};
use crate::support::database::on_both_databases;
use crate::support::world::World;

const WRONG: &str = "wrong horse battery staple";

/// What anybody sees of an answer but its date and its id.
fn seen(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let headers = answer.0.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    (answer.status(), headers.cloned().collect(), answer.text())
}

fn wait(answer: &Answer) -> u64 {
    answer.header("retry-after").map_or(0, |seconds| seconds.parse().unwrap())
}

on_both_databases! {
    // case 75
    async fn an_unknown_name_and_a_wrong_password_get_the_same_bytes_after_the_same_work(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("gone", access(Role::Auditor, &[])).await;
        change(&world.app, &by(Access::EVERYTHING), &name("gone"), &Change::Disable).await.unwrap();
        let browser = world.browser();
        let token = hidden(&browser.get("/log-in").await.text(), "form_token");
        let before = db.contents().await;
        let mut first = None;
        for (who, password) in [
            ("anna", WRONG), ("nobody", WRONG), ("gone", PASSWORD), ("gone", WRONG), ("not a name!", WRONG), ("", WRONG),
            ("anna", ""), ("nobody", ""),
        ] {
            let counted = world.app.passwords.verifications();
            let answer = browser.post("/log-in", &[("form_token", &token), ("name", who), ("password", password)]).await;
            assert_eq!(answer.status(), 403, "{who}: {}", answer.text());
            assert_eq!(world.app.passwords.verifications() - counted, 1, "{who}");
            let expected = first.get_or_insert_with(|| seen(&answer));
            assert_eq!(seen(&answer), *expected, "{who}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 75
    async fn guessing_is_slowed_alike_for_names_that_are_there_and_not_and_locks_nobody_out(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let owners = world.logged_in("anna").await;
        owners.submit("/account", "/log-out", &[]).await;

        let mut waits = Vec::new();
        for who in ["anna", "nobody"] {
            let browser = world.browser();
            for _ in 0..5 {
                assert_eq!(browser.log_in(who, WRONG).await.status(), 403);
            }
            let counted = world.app.passwords.verifications();
            let refused = browser.log_in(who, PASSWORD).await;
            assert_eq!(refused.status(), 429, "{}", refused.text());
            assert_eq!(world.app.passwords.verifications(), counted, "no password is looked at");
            waits.push((wait(&refused), refused.text().replace(&hidden(&refused.text(), "form_token"), "")));
        }
        assert_eq!(waits[0], waits[1]);
        assert_eq!(waits[0].0, 2);

        // The owner's own browser is not concerned; another of theirs waits as long as it is told.
        assert_eq!(owners.log_in("anna", PASSWORD).await.status(), 303);
        let elsewhere = world.browser();
        let told = wait(&elsewhere.log_in("anna", PASSWORD).await);
        world.advance(told);
        assert_eq!(elsewhere.log_in("anna", PASSWORD).await.status(), 303);
        world.stop().await;
    }

    // case 75
    async fn what_a_browser_proves_it_has_logged_in_with_is_good_for_that_name_alone(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let known = anna.cookie("assent-admin-known").unwrap();
        for _ in 0..5 {
            world.browser().log_in("bert", WRONG).await;
        }
        for value in [known.as_str(), "x", &known.replacen('.', ".A", 2)] {
            let browser = world.browser();
            browser.set_cookie("assent-admin-known", value);
            assert_eq!(browser.log_in("bert", PASSWORD).await.status(), 429);
        }
        // Nor is it good for more than a handful of guesses itself.
        let stolen = world.browser();
        stolen.set_cookie("assent-admin-known", &known);
        for _ in 0..5 {
            assert_eq!(stolen.log_in("anna", WRONG).await.status(), 403);
        }
        assert_eq!(stolen.log_in("anna", WRONG).await.status(), 429);
        world.stop().await;
    }

    // case 75
    async fn what_a_browser_proves_it_has_logged_in_with_is_good_until_the_account_changes(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.logged_in("anna").await;
        let old = browser.cookie("assent-admin-known").unwrap();
        let new = "another horse battery staple";
        let form = [("password", PASSWORD), ("new_password", new), ("repeated_password", new)];
        assert_eq!(browser.submit("/account", "/account/password", &form).await.status(), 200);
        for _ in 0..5 {
            world.browser().log_in("anna", WRONG).await;
        }
        let stolen = world.browser();
        stolen.set_cookie("assent-admin-known", &old);
        assert_eq!(stolen.log_in("anna", new).await.status(), 429);
        // The browser in which it was changed is known on.
        assert_eq!(browser.submit("/account", "/log-out", &[]).await.status(), 303);
        assert_eq!(browser.log_in("anna", new).await.status(), 303);
        world.stop().await;
    }

    // case 75
    async fn whoever_is_known_waits_in_a_queue_that_strangers_cannot_fill(db: Database) {
        let world = World::with(&db, "[administrators]\npassword_permits = 1\npassword_waiting = 1\n").await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.logged_in("anna").await;
        let _working = world.app.limits.passwords.acquire().await.unwrap();
        let mut waiting = Box::pin(world.app.limits.passwords.acquire());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(world.browser().log_in("anna", PASSWORD).await.status(), 503);
        let form = [("password", PASSWORD), ("new_password", "a new horse battery"), ("repeated_password", "a new horse battery")];
        assert_eq!(browser.submit("/account", "/account/password", &form).await.status(), 200);
        assert_eq!(browser.submit("/account", "/log-out", &[]).await.status(), 303);
        assert_eq!(browser.log_in("anna", "a new horse battery").await.status(), 303);
        drop(waiting);
        world.stop().await;
    }

    // case 75
    async fn of_two_hundred_log_ins_at_once_as_many_wait_as_may_and_the_rest_is_told_when_to_come_back(db: Database) {
        const MORE: &str = "[administrators]\npassword_permits = 1\npassword_waiting = 3\nwrong_log_ins = 1000\n\
            wrong_log_ins_per_name = 1000\nwrong_log_ins_per_address = 1000\n";
        let world = World::with(&db, MORE).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let browser = world.browser();
        let token = hidden(&browser.get("/log-in").await.text(), "form_token");
        let counted = world.app.passwords.verifications();
        // Somebody else's password is being checked all the while.
        let mut working = Some(world.app.limits.passwords.acquire().await.unwrap());
        let form = [("form_token", token.as_str()), ("name", "anna"), ("password", WRONG)];
        let mut at_once: FuturesUnordered<_> = (0..200).map(|_| browser.post("/log-in", &form)).collect();
        let (mut busy, mut refused) = (0, 0);
        while let Some(answer) = at_once.next().await {
            match answer.status() {
                503 => {
                    assert!(wait(&answer) > 0);
                    busy += 1;
                }
                403 => refused += 1,
                status => panic!("{status}: {}", answer.text()),
            }
            if busy == 197 {
                working = None;
            }
        }
        drop(at_once);
        assert!(working.is_none());
        assert_eq!((busy, refused), (197, 3));
        assert_eq!(world.app.passwords.verifications() - counted, 3);
        assert_eq!(browser.log_in("anna", PASSWORD).await.status(), 303);
        world.stop().await;
    }
}
