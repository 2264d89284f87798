//! The decision (PACT §5.3): from which page, by whom, on what, and only once.

use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::client::{Answer, Ask};
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Codes, Page, Tokens, hidden_session};
use crate::support::world::{AIRLINE, CLUB, SHOP, World, brand_table};

const ALLOWED: &str = "You have already allowed this";
const DENIED: &str = "This was not allowed";

/// The decision to allow reading, with whatever headers a browser adds.
fn allow(world: &World, brand: &str, session: &str) -> Ask {
    let form = [("session", session), ("decision", "allow"), ("scope", "orders:read")];
    world.at_issuer(Method::POST, brand, "/consent/decision").form(&form)
}

/// Two pages of one code, from two windows.
async fn two_pages(world: &World, codes: &Codes) -> (Page, Page) {
    let first = world.sign_in(SHOP, "jane", &codes.user_code).await;
    (first, world.sign_in(SHOP, "jane", &codes.user_code).await)
}

/// The one answer that decided, and the others.
fn winner(answers: Vec<Answer>) -> (Answer, Vec<Answer>) {
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status() == 303);
    assert_eq!(won.len(), 1, "{} decided", won.len());
    (won[0].clone(), lost)
}

async fn decisions(db: &Database) -> Vec<String> {
    db.rows("SELECT decision, granted FROM consent_evidence").await
}

on_both_databases! {
    // case 39
    async fn a_decision_without_our_own_page_is_refused_and_the_code_stays_pending(db: Database) {
        let world = World::start(&db).await;
        for (brand, own, other) in [
            (SHOP, "https://provider.example.com", "https://auth.airline.example"),
            (AIRLINE, "https://auth.airline.example", "https://provider.example.com"),
        ] {
            let codes = world.codes(brand, "user-1", "orders:read").await;
            let page = world.sign_in(brand, "jane", &codes.user_code).await;
            let before = db.contents().await;
            let good = || allow(&world, brand, &page.session);
            let cookie = page.cookie.as_deref().unwrap();
            let no_session = [("decision", "allow"), ("scope", "orders:read")];
            for refused in [
                world.at_issuer(Method::POST, brand, "/consent/decision").form(&no_session).cookie(cookie),
                allow(&world, brand, "").cookie(cookie),
                allow(&world, brand, "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA").cookie(cookie),
                allow(&world, brand, cookie.split_once('=').unwrap().1).cookie(cookie),
                good().header("origin", "https://evil.example"),
                good().header("origin", other),
                good().header("origin", &format!("{own}.evil.example")),
                good().header("origin", &own.replace("https", "http")),
                good().header("origin", "null"),
                good().header("origin", "null").header("sec-fetch-site", "cross-site"),
                good().header("origin", own).header("sec-fetch-site", "cross-site"),
                good().header("sec-fetch-site", "cross-site"),
                good().header("sec-fetch-site", "same-site"),
                good().header("sec-fetch-site", "none"),
                good().header("origin", own).header("origin", "https://evil.example"),
            ] {
                let answer = refused.send().await;
                assert_eq!(answer.status(), 403, "{}", answer.text());
                assert!(answer.text().contains("Your decision was not accepted"));
            }
            assert_eq!(db.contents().await, before);
            let pending = world.poll(brand, "user-1", &codes.device_code).await;
            assert_eq!(pending.oauth_error(), "authorization_pending");
            let done = good().header("origin", "null").header("sec-fetch-site", "same-origin").send().await;
            assert_eq!(done.status(), 303, "{}", done.text());
        }
        world.stop().await;
    }

    // case 39
    async fn our_own_page_decides_with_and_without_the_browsers_headers(db: Database) {
        let world = World::start(&db).await;
        let own = "https://provider.example.com";
        for headers in [
            &[][..],
            &[("origin", own)],
            &[("sec-fetch-site", "same-origin")],
            &[("origin", own), ("sec-fetch-site", "same-origin")],
        ] {
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
            let ask = allow(&world, SHOP, &page.session);
            let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
            assert_eq!(ask.send().await.status(), 303, "{headers:?}");
            Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        }
        world.stop().await;
    }

    // case 40
    async fn a_session_is_good_for_its_own_brand_and_code_alone(db: Database) {
        let world = World::start(&db).await;
        let shop = world.codes(SHOP, "user-1", "orders:read").await;
        let club = world.codes(CLUB, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &shop.user_code).await;
        world.sign_in(CLUB, "jane", &club.user_code).await;
        let second = world.codes(SHOP, "user-2", "orders:read").await;
        let before = db.contents().await;
        assert_eq!(allow(&world, CLUB, &page.session).send().await.status(), 403);
        // The session's cookie reaches no other code either: neither at its own Brand nor at another.
        let cookie = page.cookie.as_deref();
        assert_eq!(world.open(SHOP, &second.user_code, cookie).await.status(), 303);
        let renamed = cookie.unwrap().replace(SHOP, CLUB);
        assert_eq!(world.open(CLUB, &club.user_code, Some(&renamed)).await.status(), 303);
        assert_eq!(db.contents().await, before);

        let form = [
            ("session", page.session.as_str()),
            ("decision", "allow"),
            ("scope", "orders:read"),
            ("user_code", second.user_code.as_str()),
        ];
        let decided = world.at_issuer(Method::POST, SHOP, "/consent/decision").form(&form).send().await;
        assert_eq!(decided.status(), 303, "{}", decided.text());
        Tokens::of(&world.poll(SHOP, "user-1", &shop.device_code).await);
        assert_eq!(world.poll(SHOP, "user-2", &second.device_code).await.oauth_error(), "authorization_pending");
        assert_eq!(world.poll(CLUB, "user-1", &club.device_code).await.oauth_error(), "authorization_pending");
        world.stop().await;
    }

    // case 42
    async fn a_scope_that_was_not_on_the_page_is_refused(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let before = db.contents().await;
        for (decision, scopes) in [
            ("allow", &["orders:read", "orders:cancel"][..]),
            ("allow", &["refunds:issue"]),
            ("allow", &["orders:read", "never:offered"]),
            ("allow", &["orders:read orders:cancel"]),
            ("allow", &["\"quoted\""]),
            ("deny", &["refunds:issue"]),
            ("Allow", &["orders:read"]),
            ("", &["orders:read"]),
            ("withdraw", &[]),
        ] {
            let answer = world.decide(SHOP, &page.session, decision, scopes).await;
            assert_eq!(answer.status(), 400, "{decision} {scopes:?} {}", answer.text());
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 303);
        world.stop().await;
    }

    // case 42
    async fn allowing_nothing_denies_the_request_and_ends_the_grant_that_was_shown(db: Database) {
        let world = World::start(&db).await;
        let first = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &first.user_code).await;
        assert_eq!(world.decide(SHOP, &page.session, "allow", &[]).await.status(), 303);
        assert_eq!(world.poll(SHOP, "user-1", &first.device_code).await.oauth_error(), "access_denied");
        assert_eq!(db.count("SELECT * FROM delegation_grant").await, 0);

        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:cancel").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let answer = world.decide(SHOP, &page.session, "allow", &[]).await;
        let closing = world.closing(SHOP, &answer).await;
        assert!(closing.text().contains("Access ended"), "{}", closing.text());
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "access_denied");
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
        world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
        assert_eq!(db.audit_actions(&tokens.grant()).await.unwrap().last().unwrap(), "grant_ended");
        world.stop().await;
    }

    // case 42
    async fn denying_leaves_an_existing_grant_as_it_was(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let grants = db.rows("SELECT * FROM delegation_grant").await;
        let codes = world.codes(SHOP, "user-1", "orders:read orders:cancel").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        assert_eq!(world.decide(SHOP, &page.session, "deny", &["orders:read"]).await.status(), 303);
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "access_denied");
        assert_eq!(db.rows("SELECT * FROM delegation_grant").await, grants);
        Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        world.stop().await;
    }

    // case 42
    async fn a_grant_that_changed_meanwhile_leaves_the_code_undecided_and_shows_the_page_anew(db: Database) {
        let world = World::start(&db).await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let here = world.codes(SHOP, "user-1", "orders:cancel").await;
        let page = world.sign_in(SHOP, "jane", &here.user_code).await;
        let there = world.codes(SHOP, "user-1", "refunds:issue").await;
        world.allow(SHOP, "jane", &there, &["refunds:issue"]).await;

        let before = db.contents_but(&["consent_page"]).await;
        let mut session = page.session.clone();
        for decision in ["deny", "allow"] {
            let anew = world.decide(SHOP, &page.session, decision, &["orders:read", "orders:cancel"]).await;
            assert_eq!(anew.status(), 409, "{}", anew.text());
            let html = anew.text();
            assert!(html.contains("Nothing was decided. Please look again."), "{html}");
            assert!(html.contains("value=\"refunds:issue\"") && !html.contains("value=\"orders:read\""), "{html}");
            session = hidden_session(&html);
            assert_ne!(session, page.session);
        }
        assert_eq!(db.contents_but(&["consent_page"]).await, before);
        assert_eq!(world.poll(SHOP, "user-1", &here.device_code).await.oauth_error(), "authorization_pending");
        let decided = world.decide(SHOP, &session, "allow", &["refunds:issue", "orders:cancel"]).await;
        assert_eq!(decided.status(), 303, "{}", decided.text());
        let tokens = Tokens::of(&world.poll(SHOP, "user-1", &here.device_code).await);
        assert_eq!(tokens.scope, "orders:cancel refunds:issue");
        world.stop().await;
    }

    // case 42
    async fn a_grant_that_was_revoked_under_an_open_page_does_not_come_back_by_it(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:cancel").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        let before = db.contents_but(&["consent_page"]).await;
        let anew = world.decide(SHOP, &page.session, "allow", &["orders:read", "orders:cancel"]).await;
        assert_eq!(anew.status(), 409, "{}", anew.text());
        let html = anew.text();
        assert!(html.contains("value=\"orders:cancel\"") && !html.contains("value=\"orders:read\""), "{html}");
        assert_eq!(db.contents_but(&["consent_page"]).await, before);
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "authorization_pending");
        world.stop().await;
    }

    // case 42
    async fn a_scope_that_the_brand_took_away_under_an_open_page_is_not_granted(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read orders:cancel").await;
        let gone = world.codes(SHOP, "user-2", "orders:cancel").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let page_of_gone = world.sign_in(SHOP, "jane", &gone.user_code).await;
        let shop = brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", Some((&world.brand_login, "")));
        let cancel = "{ id = \"orders:cancel\", description = \"Cancel an order\", writes = true },\n";
        assert!(shop.contains(cancel));
        world.apply(&shop.replace(cancel, "")).await;

        let before = db.contents_but(&["consent_page"]).await;
        let anew = world.decide(SHOP, &page.session, "allow", &["orders:read", "orders:cancel"]).await;
        assert_eq!(anew.status(), 409, "{}", anew.text());
        assert!(!anew.text().contains("value=\"orders:cancel\""), "{}", anew.text());
        assert_eq!(db.contents_but(&["consent_page"]).await, before);
        let session = hidden_session(&anew.text());
        assert_eq!(world.decide(SHOP, &session, "allow", &["orders:read"]).await.status(), 303);
        assert_eq!(Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await).scope, "orders:read");

        let nothing_left = world.decide(SHOP, &page_of_gone.session, "allow", &["orders:cancel"]).await;
        assert_eq!(nothing_left.status(), 409, "{}", nothing_left.text());
        let session = hidden_session(&nothing_left.text());
        assert_eq!(world.decide(SHOP, &session, "allow", &[]).await.status(), 303);
        assert_eq!(world.poll(SHOP, "user-2", &gone.device_code).await.oauth_error(), "access_denied");
        world.stop().await;
    }

    // case 42
    async fn two_first_requests_that_are_allowed_at_once_make_one_grant(db: Database) {
        let world = World::start(&db).await;
        let first = world.codes(SHOP, "user-1", "orders:read").await;
        let second = world.codes(SHOP, "user-1", "orders:cancel").await;
        let pages = [
            (world.sign_in(SHOP, "jane", &first.user_code).await, "orders:read"),
            (world.sign_in(SHOP, "jane", &second.user_code).await, "orders:cancel"),
        ];
        let decide = |(page, scope): &(Page, &'static str)| {
            let (world, session, scope) = (&world, page.session.clone(), *scope);
            async move { world.decide(SHOP, &session, "allow", &[scope]).await }
        };
        let (_, lost) = winner(join_all(pages.iter().map(decide)).await);
        assert_eq!(lost[0].status(), 409);
        assert!(lost[0].text().contains("Nothing was decided"), "{}", lost[0].text());
        assert_eq!(db.count("SELECT * FROM delegation_grant").await, 1);
        assert_eq!(decisions(&db).await.len(), 1);
        world.stop().await;
    }

    // case 43
    async fn allowing_twice_at_the_same_instant_has_one_outcome(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let (first, second) = two_pages(&world, &codes).await;
        let sessions = [&first, &second, &first, &second].map(|page| page.session.as_str());
        let elsewhere = world.another_node(&db).await;
        let at = [&world, &elsewhere, &elsewhere, &world].into_iter().zip(sessions);
        let answers = join_all(at.map(|(node, session)| node.decide(SHOP, session, "allow", &["orders:read"]))).await;
        let (_, lost) = winner(answers);
        for answer in lost {
            assert_eq!(answer.status(), 409);
            assert!(answer.text().contains(ALLOWED), "{}", answer.text());
        }
        assert_eq!(db.count("SELECT * FROM delegation_grant").await, 1);
        assert_eq!(decisions(&db).await, ["decision=approved granted=orders:read"]);
        Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "invalid_grant");
        world.stop().await;
    }

    // case 43
    async fn allowing_and_denying_at_the_same_instant_have_one_outcome_that_the_second_shows(db: Database) {
        let world = World::start(&db).await;
        let elsewhere = world.another_node(&db).await;
        for round in 0..6 {
            let sub = format!("user-{round}");
            let codes = world.codes(SHOP, &sub, "orders:read").await;
            let (first, second) = two_pages(&world, &codes).await;
            let (allowed, denied) = tokio::join!(
                world.decide(SHOP, &first.session, "allow", &["orders:read"]),
                elsewhere.decide(SHOP, &second.session, "deny", &[]),
            );
            let poll = world.poll(SHOP, &sub, &codes.device_code).await;
            let grants = db.rows("SELECT pa_sub FROM delegation_grant").await;
            let has_grant = grants.contains(&format!("pa_sub={sub}"));
            match (allowed.status(), denied.status()) {
                (303, 409) => {
                    assert!(denied.text().contains(ALLOWED), "{}", denied.text());
                    Tokens::of(&poll);
                    assert!(has_grant);
                }
                (409, 303) => {
                    assert!(allowed.text().contains(DENIED), "{}", allowed.text());
                    assert_eq!(poll.oauth_error(), "access_denied");
                    assert!(!has_grant);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(decisions(&db).await.len(), 6);
        world.stop().await;
    }

    // case 43
    async fn a_second_decision_shows_the_first_and_changes_nothing(db: Database) {
        let world = World::start(&db).await;
        for (first, shown) in [("allow", ALLOWED), ("deny", DENIED)] {
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            let (one, two) = two_pages(&world, &codes).await;
            let scopes: &[&str] = if first == "allow" { &["orders:read"] } else { &[] };
            assert_eq!(world.decide(SHOP, &one.session, first, scopes).await.status(), 303);
            let before = db.contents().await;
            for (page, again) in [(&one, "allow"), (&one, "deny"), (&two, "allow"), (&two, "deny")] {
                let answer = world.decide(SHOP, &page.session, again, &["orders:read"]).await;
                assert_eq!(answer.status(), 409, "{first} then {again}");
                assert!(answer.text().contains(shown), "{first} then {again}: {}", answer.text());
            }
            assert_eq!(db.contents().await, before);
        }
        world.stop().await;
    }

    // case 44
    async fn a_code_that_expired_under_an_open_page_can_no_longer_be_allowed(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.advance(300);
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        world.advance(299);
        assert_eq!(world.open(SHOP, &codes.user_code, page.cookie.as_deref()).await.status(), 200);
        world.advance(1);
        let before = db.contents().await;
        for decision in ["allow", "deny"] {
            let answer = world.decide(SHOP, &page.session, decision, &["orders:read"]).await;
            assert_eq!(answer.status(), 410, "{decision}");
            assert!(answer.text().contains("The time to decide has run out"), "{}", answer.text());
        }
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "expired_token");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn without_a_way_back_the_flow_ends_on_a_page_that_says_what_was_decided(db: Database) {
        let world = World::start(&db).await;
        for (decision, scopes, title, sentence) in [
            ("allow", &["orders:cancel"][..], "Allowed", "Cancel an order"),
            ("deny", &["orders:read"], "Not allowed", "Nothing new was allowed."),
            ("allow", &[], "Access ended", "You left nothing ticked."),
            ("allow", &[], "Not allowed", "Nothing new was allowed."),
        ] {
            let codes = world.codes(SHOP, "user-1", "orders:read orders:cancel").await;
            let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
            let decision_url = format!("/consent/decision?session={}", page.session);
            let early = world.at_issuer(Method::GET, SHOP, &decision_url).send().await;
            assert_eq!(early.status(), 403, "nothing is decided yet");
            let decided = world.decide(SHOP, &page.session, decision, scopes).await;
            let before = db.contents().await;
            for _ in 0..2 {
                let html = world.closing(SHOP, &decided).await.text();
                assert!(html.contains(&format!("<h1>{title}</h1>")) && html.contains(sentence), "{html}");
                assert!(!html.contains("Look up your orders"), "{html}");
            }
            let club = world.at_issuer(Method::GET, CLUB, &decision_url).send().await;
            assert_eq!(club.status(), 403, "another Brand's");
            assert_eq!(db.contents().await, before);
        }
        world.stop().await;
    }

    async fn the_way_back_to_the_brand_tells_the_outcome_and_nothing_else(db: Database) {
        let world = World::start(&db).await;
        let base = "https://airline.example/connected?from=assent&client=https%3A%2F%2Fpa.example.com&status=";
        for (decision, scopes, end) in [
            ("allow", &["orders:cancel", "orders:read"][..], "approved&scope=orders%3Aread+orders%3Acancel"),
            ("deny", &["orders:read"], "denied"),
            ("allow", &[], "denied"),
        ] {
            let codes = world.codes(AIRLINE, "user-1", "orders:read orders:cancel").await;
            let page = world.sign_in(AIRLINE, "jane", &codes.user_code).await;
            let answer = world.decide(AIRLINE, &page.session, decision, scopes).await;
            assert_eq!(answer.status(), 303);
            assert_eq!(answer.header("location"), Some(format!("{base}{end}").as_str()));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!(answer.text(), "");
        }
        let second = json!(db.rows("SELECT state FROM delegation_grant").await);
        assert_eq!(second, json!(["state=ended"]));
        world.stop().await;
    }
}
