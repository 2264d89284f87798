//! The User's own list of grants: who sees it, what stands on it, and that what is taken back there ends at once.

use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::backend::Script;
use crate::support::client::{Answer, Ask};
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Page, Tokens, claims};
use crate::support::world::{AIRLINE, CLUB, PLAIN, SHOP, World, issuer, personal_agent_table};

fn grants_url(brand: &str) -> String {
    let (host, prefix) = issuer(brand);
    format!("https://{host}{prefix}/grants")
}

impl World {
    /// An assertion of `user` for the list of grants, with other or more claims.
    pub(crate) fn grants_assertion(&self, brand: &str, user: &str, changes: serde_json::Value) -> String {
        let mut all = json!({ "aud": grants_url(brand), "user_code": null });
        for (name, value) in changes.as_object().unwrap() {
            all[name] = value.clone();
        }
        self.assertion(brand, user, "", all)
    }

    pub(crate) async fn post_grants_assertion(&self, brand: &str, assertion: &str) -> Answer {
        self.at_issuer(Method::POST, brand, "/grants").form(&[("assertion", assertion)]).send().await
    }

    /// The list of `user`, as the Brand's own pages open it.
    pub(crate) async fn grants(&self, brand: &str, user: &str) -> Page {
        page(&self.post_grants_assertion(brand, &self.grants_assertion(brand, user, json!({}))).await)
    }

    pub(crate) async fn revoke_on_page(&self, brand: &str, session: &str, grant: &str) -> Answer {
        self.revocation(brand).form(&[("session", session), ("grant", grant)]).send().await
    }

    fn revocation(&self, brand: &str) -> Ask {
        self.at_issuer(Method::POST, brand, "/grants/revoke")
    }
}

/// A page with or without anything to revoke.
fn page(answer: &Answer) -> Page {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let html = answer.text();
    let cookie = answer.header("set-cookie").map(|cookie| cookie.split(';').next().unwrap().to_owned());
    let session =
        html.split_once("name=\"session\" value=\"").map(|(_, rest)| rest.split_once('"').unwrap().0.to_owned());
    Page { session: session.unwrap_or_default(), cookie, html }
}

/// The text of a page, without its tags.
fn words(html: &str) -> String {
    let (_, main) = html.split_once("<main id=\"content\">").unwrap();
    let text: String = main.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_leads_to_login(answer: &Answer, brand: &str) {
    assert_eq!((answer.status(), answer.text().as_str()), (303, ""), "{}", answer.text());
    let location = url::Url::parse(answer.header("location").unwrap()).unwrap();
    let pairs: Vec<_> = location.query_pairs().into_owned().collect();
    let expected = [("lang".to_owned(), "en".to_owned()), ("return_to".to_owned(), grants_url(brand))];
    assert_eq!(
        (location.host_str(), location.path(), pairs.as_slice()),
        (Some("login.example"), "/login", &expected[..])
    );
    assert_eq!(answer.header("set-cookie"), None);
}

async fn live(db: &Database) -> Vec<String> {
    db.rows("SELECT id FROM delegation_grant WHERE state = 'live' ORDER BY id").await
}

on_both_databases! {
    async fn an_assertion_opens_the_list_with_what_each_agent_may_do_and_did(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        world.tokens(AIRLINE, "user-1", "joe", &["refunds:issue"]).await;
        world.tokens(SHOP, "user-1", "jane", &["refunds:issue"]).await;
        for number in 0..5 {
            world.advance(60);
            world.backend.answer_with(Script::json(json!({
                "parts": [{ "text": "Done." }], "scopesUsed": ["orders:read", "orders:cancel"],
                "actions": [{ "tool": format!("cancel_order-{number}") }],
            })));
            let sent = world.send(AIRLINE, "user-1", Some(&tokens.access), &format!("m-{number}"), None, "Cancel it").await;
            assert_eq!(sent.status(), 200, "{}", sent.text());
        }
        let answer = world.post_grants_assertion(AIRLINE, &world.grants_assertion(AIRLINE, "jane", json!({}))).await;
        let page = page(&answer);
        let text = words(&page.html);
        for expected in [
            "Agents on your Skyline Airways account", "Signed in as jane@example.com", "First agent", "https://pa.example.com",
            "Allowed since 1 January 2026. Ends on 31 January 2026.", "Look up your orders", "Orders and their status",
            "Cancel an order can make changes",
            "1 January 2026, 00:05 UTC Did: cancel order 4. Used: Look up your orders; Cancel an order.",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(!text.contains("Refund an order"), "other Users' and other Brands' grants are elsewhere: {text}");
        let order: Vec<_> = (0..5).rev().map(|number| text.find(&format!("cancel order {number}"))).collect();
        assert!(order[..3].is_sorted() && order[..3].iter().all(Option::is_some), "newest first: {order:?}");
        assert_eq!(order[3..], [None, None], "bounded");
        // The rest is one link away.
        let more = page.html.split("?grant=").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
        let more = world.at_issuer(Method::GET, AIRLINE, &format!("/grants?grant={more}")).cookie(page.cookie.as_deref().unwrap());
        let text = words(&more.send().await.text());
        assert!(text.contains("cancel order 1") && text.contains("cancel order 0") && !text.contains("cancel order 2"), "{text}");
        assert!(text.contains("All agents"));

        // The page is shielded as every other.
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'; form-action https://auth.airline.example"), "{policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("set-cookie").unwrap().starts_with(&format!("__Host-assent-{AIRLINE}=")));
        let audit = db.rows("SELECT actor, action FROM audit WHERE subject = 'grants'").await;
        assert_eq!(audit, ["actor=jane action=signed_in"]);
        world.stop().await;
    }

    async fn who_has_no_session_is_sent_to_the_brands_login_and_who_has_one_is_not(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, AIRLINE] {
            let list = |cookie: Option<&str>| {
                let ask = world.at_issuer(Method::GET, brand, "/grants");
                cookie.into_iter().fold(ask, Ask::cookie).send()
            };
            assert_leads_to_login(&list(None).await, brand);
            let codes = world.codes(brand, "user-1", "orders:read").await;
            let consent = world.sign_in(brand, "jane", &codes.user_code).await;
            assert!(consent.html.contains(&format!("<a href=\"{}\">", grants_url(brand))), "{}", consent.html);
            // The session of a sign-in for a code shows the list too, and of that User alone.
            let cookie = consent.cookie.as_deref();
            assert!(words(&list(cookie).await.text()).contains("No agent may act on your"));
            assert_eq!(world.decide(brand, &consent.session, "allow", &["orders:read"]).await.status(), 303);
            assert!(words(&list(cookie).await.text()).contains("First agent"));
            let other = if brand == SHOP { AIRLINE } else { SHOP };
            assert_leads_to_login(&world.at_issuer(Method::GET, other, "/grants").cookie(cookie.unwrap()).send().await, other);
            world.advance(900);
            assert_leads_to_login(&list(cookie).await, brand);
        }
        assert_eq!(world.at_issuer(Method::GET, PLAIN, "/grants").send().await.status(), 404);
        assert_eq!(world.at_issuer(Method::POST, PLAIN, "/grants").form(&[("assertion", "x")]).send().await.status(), 404);
        world.stop().await;
    }

    // cases 32, 33: on this page too
    async fn an_assertion_for_the_list_is_good_there_alone_and_once(db: Database) {
        let world = World::start(&db).await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let good = world.grants_assertion(SHOP, "jane", json!({ "jti": "list-1" }));
        let before = db.contents().await;
        for (what, assertion) in [
            ("for the consent page", world.assertion(SHOP, "jane", &codes.user_code, json!({}))),
            ("with a code", world.grants_assertion(SHOP, "jane", json!({ "user_code": codes.user_code }))),
            ("for another Brand", world.grants_assertion(CLUB, "jane", json!({}))),
            ("for the revocation", world.grants_assertion(SHOP, "jane", json!({ "aud": format!("{}/revoke", grants_url(SHOP)) }))),
            ("with a query", world.grants_assertion(SHOP, "jane", json!({ "aud": format!("{}?x=1", grants_url(SHOP)) }))),
            ("of another login", world.grants_assertion(SHOP, "jane", json!({ "iss": "https://evil.example" }))),
            ("without jti", world.grants_assertion(SHOP, "jane", json!({ "jti": null }))),
            ("without sub", world.grants_assertion(SHOP, "jane", json!({ "sub": null }))),
            ("too long", world.grants_assertion(SHOP, "jane", json!({ "exp": world.clock.now().seconds() + 301 }))),
            ("garbage", "a.b.c".to_owned()),
        ] {
            let answer = world.post_grants_assertion(SHOP, &assertion).await;
            assert_eq!((answer.status(), answer.header("set-cookie")), (403, None), "{what}: {}", answer.text());
        }
        assert_eq!(world.post_assertion(SHOP, &good).await.status(), 403, "not at the consent URL");
        assert_eq!(db.contents().await, before);

        let answers = join_all((0..20).map(|_| world.post_grants_assertion(SHOP, &good))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status() == 200).count(), 1);
        assert!(answers.iter().all(|answer| [200, 403].contains(&answer.status())));
        // One list of what was spent for both pages.
        let again = world.assertion(SHOP, "jane", &codes.user_code, json!({ "jti": "list-1" }));
        assert_eq!(world.post_assertion(SHOP, &again).await.status(), 403);
        world.stop().await;
    }

    // case 46
    async fn looking_at_the_list_changes_nothing(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let page = world.grants(SHOP, "jane").await;
        let before = db.contents().await;
        let kept = db.contents_but(&["grants_page"]).await;
        let grant = tokens.grant();
        let session = &page.session;
        let with = format!("/grants/revoke?session={session}&grant={grant}");
        for (path, status) in [("/grants", 303), (&format!("/grants?grant={grant}"), 303), ("/grants?x=%00", 303), (&with, 405)] {
            for method in [Method::GET, Method::HEAD] {
                let answer = world.at_issuer(method.clone(), SHOP, path).send().await;
                assert_eq!(answer.status(), status, "{method} {path}");
            }
        }
        let head = world.at_issuer(Method::HEAD, SHOP, "/grants").cookie(page.cookie.as_deref().unwrap()).send().await;
        assert_eq!((head.status(), head.text().as_str()), (200, ""));
        assert_eq!(db.contents().await, before);
        let get = world.at_issuer(Method::GET, SHOP, "/grants").cookie(page.cookie.as_deref().unwrap()).send().await;
        assert_eq!(get.status(), 200);
        assert_eq!(db.contents_but(&["grants_page"]).await, kept, "the page that was made says nothing of what anyone may do");
        world.stop().await;
    }

    // case 56
    async fn what_the_user_takes_back_ends_at_once_and_the_page_says_when(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let of_joe = world.tokens(SHOP, "user-1", "joe", &["orders:read"]).await;
        world.advance(60);
        // Without any cookie: the page's own value is what counts.
        let page = world.grants(SHOP, "jane").await;
        let answer = other.revoke_on_page(SHOP, &page.session, &tokens.grant()).await;
        let text = words(&answer.text());
        assert_eq!(answer.status(), 200);
        let said = "First agent can no longer act on your Example Shop account. This took effect on 1 January 2026, 00:01 UTC.";
        assert!(text.contains(said), "{text}");
        assert!(text.contains("No agent may act on your") && text.contains("You took it back on 1 January 2026."), "{text}");
        for node in [&world, &other] {
            node.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
            assert_eq!(node.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
        }
        let rows = db.rows("SELECT actor_kind, actor, subject FROM audit WHERE action = 'grant_ended'").await;
        assert_eq!(rows, [format!("actor_kind=user actor=jane subject={}", tokens.grant())]);
        let ended = db.rows("SELECT id, ended_by FROM delegation_grant WHERE state = 'ended'").await;
        assert_eq!(ended, [format!("id={} ended_by=user", tokens.grant())]);
        assert_eq!(world.refresh(SHOP, "user-1", &of_joe.refresh).await.status(), 200);

        // A reload repeats the POST: it says the same, and nothing more is done.
        world.advance(60);
        let before = db.contents_but(&["grants_page"]).await;
        let again = world.revoke_on_page(SHOP, &page.session, &tokens.grant()).await;
        assert!(words(&again.text()).contains(said), "{}", again.text());
        assert_eq!(db.contents_but(&["grants_page"]).await, before);
        other.stop().await;
        world.stop().await;
    }

    // case 43: on this page
    async fn of_ten_revocations_at_once_one_ends_the_grant(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let (page, grant) = (world.grants(SHOP, "jane").await, tokens.grant());
        for answer in join_all((0..10).map(|_| world.revoke_on_page(SHOP, &page.session, &grant))).await {
            assert_eq!(answer.status(), 200, "{}", answer.text());
            assert!(words(&answer.text()).contains("can no longer act"));
        }
        assert_eq!(db.count("SELECT subject FROM audit WHERE action = 'grant_ended'").await, 1);
        world.stop().await;
    }

    // cases 39, 40
    async fn a_revocation_from_elsewhere_or_of_what_was_not_shown_ends_nothing(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let of_joe = world.tokens(SHOP, "user-1", "joe", &["orders:read"]).await;
        let of_club = world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        let page = world.grants(SHOP, "jane").await;
        let codes = world.codes(SHOP, "user-1", "orders:cancel").await;
        let consent = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let (live, before) = (live(&db).await, db.contents().await);
        let (session, grant) = (page.session.as_str(), tokens.grant());
        let cookie = page.cookie.as_deref().unwrap();
        let form = [("session", session), ("grant", grant.as_str())];
        for (name, value) in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "none")] {
            let answer = world.revocation(SHOP).cookie(cookie).header(name, value).form(&form).send().await;
            assert_eq!(answer.status(), 403, "{name}: {value}");
        }
        let value_of_cookie = cookie.split_once('=').unwrap().1;
        for (session, grant, status) in [
            ("", grant.as_str(), 403),
            ("x", &grant, 403),
            (value_of_cookie, &grant, 403),
            (&consent.session, &grant, 403),
            (session, "", 400),
            (session, "x", 400),
            (session, &of_joe.grant(), 400),
            (session, &of_club.grant(), 400),
            (session, "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAZ", 400),
        ] {
            let answer = world.revocation(SHOP).cookie(cookie).form(&[("session", session), ("grant", grant)]).send().await;
            assert_eq!(answer.status(), status, "{session} {grant}: {}", answer.text());
        }
        // At another Brand, and as a decision.
        assert_eq!(world.revoke_on_page(CLUB, session, &of_club.grant()).await.status(), 403);
        assert_eq!(world.decide(SHOP, session, "allow", &[]).await.status(), 403);
        assert_eq!(db.contents().await, before);
        world.advance(600);
        assert_eq!(world.revoke_on_page(SHOP, session, &grant).await.status(), 403);
        assert_eq!(self::live(&db).await, live);
        world.stop().await;
    }

    // case 42: on this page
    async fn a_grant_that_changed_meanwhile_is_not_revoked_and_the_list_is_shown_anew(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let page = world.grants(SHOP, "jane").await;
        let more = world.tokens(SHOP, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        assert_eq!(more.grant(), tokens.grant());
        let answer = world.revoke_on_page(SHOP, &page.session, &tokens.grant()).await;
        assert_eq!(answer.status(), 409);
        let text = words(&answer.text());
        assert!(text.contains("Nothing was revoked") && text.contains("Cancel an order"), "{text}");
        assert_eq!(world.refresh(SHOP, "user-1", &more.refresh).await.status(), 200);
        // The page anew is one to decide on.
        let session = answer.text().split_once("name=\"session\" value=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
        let answer = world.revoke_on_page(SHOP, &session, &tokens.grant()).await;
        assert!(words(&answer.text()).contains("can no longer act"));
        world.stop().await;
    }

    // case 45
    async fn markup_in_names_tools_and_descriptions_is_shown_as_text_on_the_list(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let evil = "<img src=x onerror='alert(1)'>";
        world.apply(&personal_agent_table(&world.pa.issuer, evil, &world.pa_keys.url(), true)).await;
        world.backend.answer_with(Script::json(json!({
            "parts": [{ "text": "Done." }], "scopesUsed": [], "actions": [{ "tool": evil }],
        })));
        assert_eq!(world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hi").await.status(), 200);
        let html = world.grants(AIRLINE, "jane").await.html;
        assert!(!html.contains("<img") && html.matches("&#60;img").count() >= 3, "{html}");
        world.stop().await;
    }

    async fn another_users_grant_is_not_there_and_what_has_ended_is_told_briefly(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let of_joe = world.tokens(SHOP, "user-1", "joe", &["orders:read"]).await;
        let sent = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        assert_eq!(sent.status(), 200, "{}", sent.text());
        let form = [("token", tokens.refresh.as_str())];
        assert_eq!(world.oauth(SHOP, "/revoke", "user-1", &form).await.status(), 200);
        let page = world.grants(SHOP, "jane").await;
        assert!(words(&page.html).contains("First agent https://pa.example.com The agent gave it up on 1 January 2026."), "{}", page.html);
        assert!(!page.html.contains("<form"), "there is nothing to revoke");
        let one = |grant: String| world.at_issuer(Method::GET, SHOP, &format!("/grants?grant={grant}")).cookie(page.cookie.as_deref().unwrap()).send();
        let past = words(&one(tokens.grant()).await.text());
        assert!(past.contains("Used: Look up your orders") || past.contains("Did: "), "{past}");
        let foreign = one(of_joe.grant()).await;
        assert!(!words(&foreign.text()).contains("First agent"), "{}", foreign.text());
        world.advance(30 * 86_400);
        let text = words(&world.grants(SHOP, "joe").await.html);
        assert!(text.contains("It ran out on 31 January 2026."), "{text}");
        // Looking has ended nothing by itself.
        assert_eq!(db.count("SELECT id FROM delegation_grant WHERE ended_by = 'expiry'").await, 0);
        assert!(claims(&of_joe.access)["grant_id"].is_string());
        let again = Tokens::of(&world.poll(SHOP, "user-1", &{
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            world.allow(SHOP, "joe", &codes, &["orders:read"]).await;
            codes.device_code
        }).await);
        assert_ne!(again.grant(), of_joe.grant());
        world.stop().await;
    }
}
