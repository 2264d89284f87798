//! The second factor: asked for once it is proven, and each code good once.

use assent::clock::Timestamp;
use assent::crypto::totp;
use assent::domain::administrator::Access;
use assent::secret::Secret;
use futures_util::future::join;

use crate::support::client::Answer;
use crate::support::console::{Browser, PASSWORD, hidden};
use crate::support::database::on_both_databases;
use crate::support::world::World;

/// The secret of the offer on an account page, as an app would read it.
fn offered(html: &str) -> Secret<Vec<u8>> {
    let (_, text) = html.split_once("secret=").unwrap();
    let text = text.split_once('&').unwrap().0;
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes() {
        let place = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".iter().position(|known| *known == letter).unwrap();
        bits = (bits << 5) | u32::try_from(place).unwrap();
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
        }
    }
    Secret::new(bytes)
}

fn code(secret: &Secret<Vec<u8>>, now: Timestamp) -> String {
    totp::code_at(secret, now).unwrap()
}

/// Turns the second factor of `browser`'s administrator on.
async fn enable(world: &World, browser: &Browser<'_>) -> Secret<Vec<u8>> {
    let html = browser.get("/account").await.text();
    let secret = offered(&html);
    let (token, offer) = (hidden(&html, "form_token"), hidden(&html, "offer"));
    let code = code(&secret, world.clock.now());
    let form = [("form_token", token.as_str()), ("offer", &offer), ("password", PASSWORD), ("code", &code)];
    let answer = browser.post("/account/second-factor", &form).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    secret
}

async fn enter(browser: &Browser<'_>, code: &str) -> Answer {
    browser.submit("/log-in/code", "/log-in/code", &[("code", code)]).await
}

on_both_databases! {
    async fn a_second_factor_is_asked_for_once_it_is_proven_and_ends_other_sessions(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let (browser, other) = (world.logged_in("anna").await, world.logged_in("anna").await);
        let html = browser.get("/account").await.text();
        let (token, offer) = (hidden(&html, "form_token"), hidden(&html, "offer"));
        let right = code(&offered(&html), world.clock.now());
        let wrong = if right == "000000" { "000001" } else { "000000" };
        let before = db.contents().await;
        let strangers = hidden(&other.get("/account").await.text(), "offer");
        for (offer, password, code, status) in [
            (offer.as_str(), PASSWORD, wrong, 403),
            (&offer, "wrong horse battery staple", &right, 403),
            (&strangers, PASSWORD, &right, 409),
            ("x", PASSWORD, &right, 409),
        ] {
            let form = [("form_token", token.as_str()), ("offer", offer), ("password", password), ("code", code)];
            let answer = browser.post("/account/second-factor", &form).await;
            assert_eq!(answer.status(), status, "{}", answer.text());
        }
        assert_eq!(db.contents().await, before);

        let secret = enable(&world, &browser).await;
        assert!(browser.is_in().await && !other.is_in().await);
        let stored = db.rows("SELECT sealed_totp FROM administrator").await.concat();
        assert!(!stored.contains(&totp::base32(&secret)));

        let again = world.browser();
        let half = again.log_in("anna", PASSWORD).await;
        assert_eq!((half.status(), half.header("location")), (303, Some("/log-in/code?next=%2F")));
        assert!(!again.is_in().await, "half of a log-in opens nothing");
        assert_eq!(enter(&again, wrong).await.status(), 403);
        world.advance(30);
        let session = again.cookie("assent-admin").unwrap();
        let whole = enter(&again, &code(&secret, world.clock.now())).await;
        assert_eq!((whole.status(), whole.header("location")), (303, Some("/")), "{}", whole.text());
        assert_ne!(again.cookie("assent-admin").unwrap(), session, "it is another session");
        assert!(again.is_in().await);

        let off = again.submit("/account", "/account/second-factor/off", &[("password", "wrong horse battery")]).await;
        assert_eq!(off.status(), 403);
        let off = again.submit("/account", "/account/second-factor/off", &[("password", PASSWORD)]).await;
        assert_eq!(off.status(), 200, "{}", off.text());
        assert!(again.is_in().await && !browser.is_in().await);
        world.logged_in("anna").await;
        world.stop().await;
    }

    async fn a_code_is_good_once_also_for_two_at_the_same_instant(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let first = world.logged_in("anna").await;
        let secret = enable(&world, &first).await;
        // The code that proved it is spent.
        let browser = world.browser();
        browser.log_in("anna", PASSWORD).await;
        assert_eq!(enter(&browser, &code(&secret, world.clock.now())).await.status(), 403);

        let other_node = world.another_node(&db).await;
        for _ in 0..5 {
            world.advance(900);
            let now = code(&secret, world.clock.now());
            let (one, other) = (world.browser(), other_node.browser());
            one.log_in("anna", PASSWORD).await;
            other.log_in("anna", PASSWORD).await;
            let (a, b) = join(enter(&one, &now), enter(&other, &now)).await;
            let mut statuses = [a.status(), b.status()];
            statuses.sort_unstable();
            assert_eq!(statuses, [303, 403], "{} {}", a.text(), b.text());
            assert_ne!(one.is_in().await, other.is_in().await);
        }
        other_node.stop().await;
        world.stop().await;
    }

    // case 75
    async fn whoever_waited_as_told_logs_in_with_password_and_code_without_another_wait(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let secret = enable(&world, &world.logged_in("anna").await).await;
        let browser = world.browser();
        for _ in 0..13 {
            let mut refused = browser.log_in("anna", "wrong horse battery staple").await;
            if refused.status() == 429 {
                world.advance(refused.header("retry-after").unwrap().parse().unwrap());
                refused = browser.log_in("anna", "wrong horse battery staple").await;
            }
            assert_eq!(refused.status(), 403);
        }
        let told = browser.log_in("anna", PASSWORD).await;
        assert_eq!((told.status(), told.header("retry-after")), (429, Some("512")));
        world.advance(512);
        assert_eq!(browser.log_in("anna", PASSWORD).await.status(), 303);
        let done = enter(&browser, &code(&secret, world.clock.now())).await;
        assert_eq!((done.status(), done.header("location")), (303, Some("/")), "{}", done.text());
        assert!(browser.is_in().await);
        world.stop().await;
    }

    // case 76
    async fn a_log_in_that_takes_the_place_of_anothers_session_is_recorded_also_when_it_stops_half_way(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", Access::EVERYTHING).await;
        enable(&world, &world.logged_in("anna").await).await;
        let browser = world.browser();
        // A tab that was left open.
        let token = hidden(&browser.get("/log-in").await.text(), "form_token");
        let as_anna = [("form_token", token.as_str()), ("name", "anna"), ("password", PASSWORD)];
        assert_eq!(browser.log_in("bert", PASSWORD).await.status(), 303);
        assert!(browser.is_in().await);
        assert_eq!(browser.post("/log-in", &as_anna).await.status(), 303);
        assert!(!browser.is_in().await);
        let rows = ["administrator_created", "logged_in", "logged_out"];
        assert_eq!(db.audit_actions("bert").await.unwrap(), rows);
        // What was no session is no log-out.
        assert_eq!(browser.log_in("anna", PASSWORD).await.status(), 303);
        assert_eq!(db.audit_actions("bert").await.unwrap(), rows);
        world.stop().await;
    }

    async fn half_a_log_in_runs_out_and_codes_are_guessed_no_faster_than_passwords(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let secret = enable(&world, &world.logged_in("anna").await).await;
        world.advance(60);
        let late = world.browser();
        late.log_in("anna", PASSWORD).await;
        world.advance(300);
        let page = late.get("/log-in/code").await;
        assert_eq!((page.status(), page.header("location")), (303, Some("/log-in")));

        let guesser = world.browser();
        guesser.log_in("anna", PASSWORD).await;
        let right = code(&secret, world.clock.now());
        let wrong = if right == "000000" { "000001" } else { "000000" };
        for _ in 0..5 {
            assert_eq!(enter(&guesser, wrong).await.status(), 403);
            // The right password in between forgets nothing.
            let again = guesser.log_in("anna", PASSWORD).await;
            assert!([303, 429].contains(&again.status()));
        }
        let waits = enter(&guesser, &right).await;
        assert_eq!(waits.status(), 429, "{}", waits.text());
        world.stop().await;
    }
}
