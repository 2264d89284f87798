//! The consent page (PACT §5.3): what stands on it, who may see it, and what surrounds it.

use assent::outbound::Method;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::faults::Fault;
use crate::support::flow::{Page, Tokens};
use crate::support::world::{AIRLINE, CLUB, SHOP, World, brand_table, issuer};

/// That this leads to the Brands' login, which gets `code` and nothing of the User.
fn assert_leads_to_login(answer: &Answer, brand: &str, code: &str) {
    assert_eq!(answer.status(), 303, "{}", answer.text());
    let (host, prefix) = issuer(brand);
    let return_to = format!("https://{host}{prefix}/consent?user_code={code}");
    let login =
        url::Url::parse_with_params("https://login.example/login?lang=en", [("return_to", &return_to)]).unwrap();
    let location = url::Url::parse(answer.header("location").unwrap()).unwrap();
    let pairs = |url: &url::Url| url.query_pairs().into_owned().collect::<Vec<_>>();
    assert_eq!(
        (location.host_str(), location.path(), pairs(&location)),
        (login.host_str(), login.path(), pairs(&login))
    );
    assert_eq!((answer.header("set-cookie"), answer.text().as_str()), (None, ""));
}

/// The text of a page, without its tags.
fn words(html: &str) -> String {
    let (_, main) = html.split_once("<main id=\"content\">").unwrap();
    let text: String = main.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That a page keeps itself from being framed, cached, sniffed or scripted, and sends its forms to `form_action` alone.
fn assert_shielded(answer: &Answer, form_action: &str) {
    let policy = answer.header("content-security-policy").unwrap();
    let directive = |name: &str| policy.split("; ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '));
    assert_eq!(directive("form-action"), Some(form_action), "{policy}");
    assert_eq!(directive("frame-ancestors"), Some("'none'"));
    assert_eq!(directive("default-src"), Some("'none'"));
    assert_eq!(directive("base-uri"), Some("'none'"));
    assert!(!policy.contains("unsafe-"), "{policy}");
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name} of {}", answer.status());
    }
}

on_both_databases! {
    // case 45
    async fn markup_in_names_and_descriptions_is_shown_as_text(db: Database) {
        let world = World::start(&db).await;
        let evil = "<img src=x onerror='alert(1)'> & <b>bold</b> \\\"quoted\\\" {{ 7 }}";
        let shown =
            "&#60;img src=x onerror=&#39;alert(1)&#39;&#62; &#38; &#60;b&#62;bold&#60;/b&#62; &#34;quoted&#34; {{ 7 }}";
        let agent = format!(
            "[[personal_agent]]\nname = \"{evil}\"\nissuer = \"{}\"\njwks_uri = \"{}\"\n",
            world.pa.issuer,
            world.pa_keys.url()
        );
        let shop = brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", Some((&world.brand_login, "")));
        let shop =
            shop.replace("Look up your orders", evil).replace("Orders and their status", &format!("Detail {evil}"));
        world.apply(&format!("{agent}{shop}")).await;

        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        for part in [
            format!("<strong><bdi>{shown}</bdi></strong> (<bdi class=\"address\""),
            format!("<bdi>{shown}</bdi></label>"),
            format!("<bdi>Detail {shown}</bdi></p>"),
        ] {
            assert!(page.html.contains(&part), "{part} in {}", page.html);
        }
        assert!(!page.html.contains("<img") && !page.html.contains("<b>"), "{}", page.html);
        let decided = world.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
        let closing = world.closing(SHOP, &decided).await.text();
        assert!(closing.contains(shown) && !closing.contains("<img"), "{closing}");
        world.stop().await;
    }

    // case 46
    async fn link_previews_change_nothing(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, AIRLINE, CLUB] {
            world.tokens(brand, "user-1", "jane", &["orders:read"]).await;
            let codes = world.codes(brand, "user-1", "orders:read").await;
            let page = world.sign_in(brand, "jane", &codes.user_code);
            let page = if brand == CLUB { None } else { Some(page.await) };
            let cookie = page.as_ref().and_then(|page| page.cookie.clone());
            let before = db.contents().await;
            let decided = db.contents_but(&["consent_page"]).await;
            let of_page = page.as_ref().map_or("x", |page| page.session.as_str());
            let decision = format!("/consent/decision?session={of_page}&decision=allow&scope=orders:read");
            let with_code = format!("/consent?user_code={}", codes.user_code);
            for (path, status) in [
                (with_code.as_str(), 303),
                ("/consent", 200),
                ("/consent?user_code=", 200),
                ("/consent?user_code=nonsense", 400),
                ("/consent?user_code=BBBB-BBBB", 303),
                ("/consent/decision", 403),
                (&decision, 403),
                ("/jwks.json", 200),
                ("/.well-known/oauth-authorization-server", 200),
            ] {
                for method in [Method::GET, Method::HEAD] {
                    let answer = world.at_issuer(method.clone(), brand, path).send().await;
                    assert_eq!(answer.status(), status, "{method} {path}");
                    assert!(method == Method::GET || answer.text().is_empty(), "{method} {path}");
                }
            }
            assert_eq!(db.contents().await, before, "without a cookie nothing at all is stored");
            for method in [Method::GET, Method::HEAD].into_iter().filter(|_| cookie.is_some()) {
                let ask = world.at_issuer(method, brand, &with_code).cookie(cookie.as_deref().unwrap());
                assert_eq!(ask.send().await.status(), 200);
            }
            // The pages that were made say nothing of what anyone may do.
            assert_eq!(db.contents_but(&["consent_page"]).await, decided);
            let pending = world.poll(brand, "user-1", &codes.device_code).await;
            assert_eq!(pending.oauth_error(), "authorization_pending");
        }
        world.stop().await;
    }

    // case 47
    async fn a_cookie_that_was_set_before_is_ignored_and_a_new_one_is_issued(db: Database) {
        let world = World::start(&db).await;
        let own = world.codes(SHOP, "mallory", "orders:read").await;
        let planted = world.sign_in(SHOP, "mallory", &own.user_code).await.cookie.unwrap();
        let name = format!("__Host-assent-{SHOP}");
        for cookie in [planted.clone(), format!("{name}=q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA")] {
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
            let ask = world.at_issuer(Method::POST, SHOP, "/consent").form(&[("assertion", &assertion)]);
            let answer = ask.cookie(&cookie).send().await;
            let page = Page::of(&answer);
            assert_ne!(page.cookie.as_ref(), Some(&cookie));
            assert_eq!(answer.0.headers.iter().filter(|(name, _)| name == "set-cookie").count(), 1);
            // What was planted has not become Jane's session; her own has.
            assert_leads_to_login(&world.open(SHOP, &codes.user_code, Some(&cookie)).await, SHOP, &codes.user_code);
            assert_eq!(world.open(SHOP, &codes.user_code, page.cookie.as_deref()).await.status(), 200);
            let twice = format!("{}; {cookie}", page.cookie.unwrap());
            assert_eq!(
                world.open(SHOP, &codes.user_code, Some(&twice)).await.status(),
                303,
                "a cookie that comes twice"
            );
        }
        world.stop().await;
    }

    // case 47
    async fn another_persons_link_leads_to_the_login_even_with_a_live_session(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, CLUB] {
            // Jane's own grant would cover what is asked for; the link is of another of the personal agent's users, or of
            // another personal agent.
            world.tokens(brand, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
            let mine = world.codes(brand, "user-1", "refunds:issue").await;
            let cookie = world.sign_in(brand, "jane", &mine.user_code).await.cookie.unwrap();
            let other_sub = world.codes(brand, "mallory", "orders:read").await;
            let form = [("scope", "orders:read")];
            let other_pa = world.oauth_as(&world.other_pa, brand, "/device_authorization", "user-1", &form).await;
            let other_pa = other_pa.json()["user_code"].as_str().unwrap().to_owned();
            let before = db.contents().await;
            for code in [&other_sub.user_code, &other_pa] {
                assert_leads_to_login(&world.open(brand, code, Some(&cookie)).await, brand, code);
            }
            assert_eq!(db.contents().await, before);
            assert_eq!(
                world.poll(brand, "mallory", &other_sub.device_code).await.oauth_error(),
                "authorization_pending"
            );

            // Her own agent's next link needs no login, but a decision: nothing is approved by a GET.
            let next = world.codes(brand, "user-1", "orders:read").await;
            let page = Page::of(&world.open(brand, &next.user_code, Some(&cookie)).await);
            assert_eq!(world.poll(brand, "user-1", &next.device_code).await.oauth_error(), "authorization_pending");
            world.advance(900);
            let late = world.codes(brand, "user-1", "orders:read").await;
            assert_leads_to_login(&world.open(brand, &late.user_code, Some(&cookie)).await, brand, &late.user_code);
            assert_eq!(world.decide(brand, &page.session, "allow", &["orders:read"]).await.status(), 410);
        }
        world.stop().await;
    }

    // case 47
    async fn an_assertion_approves_without_a_page_what_the_grant_covers_and_leaves_the_grant_as_it_was(db: Database) {
        const GRANTS: &str = "SELECT id, scopes, version, decided_at, expires_at, state FROM delegation_grant";
        let world = World::start(&db).await;
        world.tokens(CLUB, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        let grant = db.rows(GRANTS).await;
        world.advance(86_400);
        let covered = world.codes(CLUB, "user-1", "orders:read").await;
        let answer = world.post_assertion(CLUB, &world.assertion(CLUB, "jane", &covered.user_code, json!({}))).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert!(answer.text().contains("Allowed") && !answer.text().contains("name=\"session\""), "{}", answer.text());
        assert!(answer.header("set-cookie").is_some());
        let tokens = Tokens::of(&world.poll(CLUB, "user-1", &covered.device_code).await);
        assert_eq!(tokens.scope, "orders:read");
        assert_eq!(db.rows(GRANTS).await, grant);

        // More than it covers, another of the agent's users, another personal agent, another Brand user, another Brand.
        let wider = world.codes(CLUB, "user-1", "orders:read refunds:issue").await;
        world.sign_in(CLUB, "jane", &wider.user_code).await;
        let other_sub = world.codes(CLUB, "user-2", "orders:read").await;
        let page = world.sign_in(CLUB, "jane", &other_sub.user_code).await;
        assert!(page.html.contains("already acts on this"), "{}", page.html);
        let form = [("scope", "orders:read")];
        let other_pa = world.oauth_as(&world.other_pa, CLUB, "/device_authorization", "user-1", &form).await;
        world.sign_in(CLUB, "jane", other_pa.json()["user_code"].as_str().unwrap()).await;
        let other_user = world.codes(CLUB, "user-1", "orders:read").await;
        world.sign_in(CLUB, "john", &other_user.user_code).await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let without = world.codes(SHOP, "user-1", "orders:read").await;
        world.sign_in(SHOP, "jane", &without.user_code).await;
        for (brand, sub, codes) in [
            (CLUB, "user-1", &wider),
            (CLUB, "user-2", &other_sub),
            (CLUB, "user-1", &other_user),
            (SHOP, "user-1", &without),
        ] {
            assert_eq!(world.poll(brand, sub, &codes.device_code).await.oauth_error(), "authorization_pending");
        }

        // A grant that has ended covers nothing.
        assert_eq!(world.oauth(CLUB, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.status(), 200);
        let after = world.codes(CLUB, "user-1", "orders:read").await;
        world.sign_in(CLUB, "jane", &after.user_code).await;
        assert_eq!(world.poll(CLUB, "user-1", &after.device_code).await.oauth_error(), "authorization_pending");
        world.stop().await;
    }

    // case 50
    async fn the_page_says_who_wants_what_of_whom(db: Database) {
        let world = World::start(&db).await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "refunds:issue orders:cancel").await;
        world.advance(180);
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let text = words(&page.html);
        for sentence in [
            "First agent (https://pa.example.com) asks to act on your Example Shop account",
            "Signed in as jane@example.com",
            &format!("it must be {}.", codes.user_code),
            "Asked 3 minutes ago.",
            "If you did not start this, do not allow it.",
            "First agent wants to",
            "Cancel an order can make changes",
            "Refund an order can make changes",
            "Already allowed",
            "Look up your orders",
            "Orders and their status",
            "What you allow lasts until 31 January 2026.",
        ] {
            assert!(text.contains(sentence), "{sentence} in {text}");
        }
        let boxes: Vec<&str> =
            page.html.split("<input type=\"checkbox\"").skip(1).map(|rest| rest.split_once('>').unwrap().0).collect();
        let value = |input: &str| input.split_once("value=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
        assert_eq!(
            boxes.iter().map(|input| value(input)).collect::<Vec<_>>(),
            ["orders:cancel", "refunds:issue", "orders:read"]
        );
        assert!(boxes.iter().all(|input| input.contains("name=\"scope\"") && input.ends_with(" checked")), "{boxes:?}");
        let (_, form) = page.html.split_once("<form").unwrap();
        let action = format!("action=\"https://provider.example.com/a2a/{SHOP}/oauth/consent/decision\"");
        assert!(form.starts_with(" method=\"post\"") && form.contains(&action), "{form}");
        assert!(
            page.session.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
            "{}",
            page.session
        );
        assert!(text.find("Signed in as").unwrap() < text.find("First agent wants to").unwrap());
        world.stop().await;
    }

    // case 50
    async fn who_is_signed_in_is_named_by_what_the_brand_tells(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        for (changes, shown) in [
            (json!({ "name": "Jane Doe", "email": "jane@shop.example" }), "Signed in as jane@shop.example"),
            (json!({ "name": "Jane Doe", "email": null }), "Signed in as Jane Doe"),
            (json!({ "email": null }), "Signed in as jane-4471"),
        ] {
            let page = Page::of(&world.post_assertion(SHOP, &world.assertion(SHOP, "jane-4471", &code, changes)).await);
            assert!(words(&page.html).contains(shown), "{shown} in {}", page.html);
        }
        world.stop().await;
    }

    // case 41
    async fn every_page_keeps_itself_from_being_framed_cached_sniffed_or_scripted(db: Database) {
        let world = World::start(&db).await;
        for (brand, form_action) in
            [(SHOP, "https://provider.example.com"), (AIRLINE, "https://auth.airline.example https://airline.example")]
        {
            let codes = world.codes(brand, "user-1", "orders:read").await;
            let good = world.assertion(brand, "jane", &codes.user_code, json!({}));
            let consent = world.post_assertion(brand, &good).await;
            let page = Page::of(&consent);
            let cookie = page.cookie.clone();
            let wrong_code = world.assertion(brand, "jane", "BBBB-BBBB", json!({}));
            let anew = world.open(brand, &codes.user_code, cookie.as_deref()).await;
            let replay = world.post_assertion(brand, &good).await;
            let decision = world.decide(brand, &page.session, "deny", &[]).await;
            let again = world.decide(brand, &page.session, "deny", &[]).await;
            let mut pages = vec![
                (200, form_action, consent.clone()),
                (200, form_action, anew),
                (200, "'self' https://login.example", world.at_issuer(Method::GET, brand, "/consent").send().await),
                (400, "'self' https://login.example", world.open(brand, "nonsense", None).await),
                (403, "'self'", replay),
                (410, "'self'", world.post_assertion(brand, &wrong_code).await),
                (403, "'self'", world.decide(brand, "unknown", "allow", &[]).await),
                (400, "'self'", world.decide(brand, &page.session, "perhaps", &[]).await),
                (409, "'self'", again),
                (409, "'self'", world.open(brand, &codes.user_code, cookie.as_deref()).await),
            ];
            if brand == SHOP {
                pages.push((200, "'self'", world.closing(SHOP, &decision).await));
            }
            for (status, form_action, answer) in pages {
                assert_eq!(answer.status(), status, "{}", answer.text());
                assert_shielded(&answer, form_action);
            }
            let cookie = consent.header("set-cookie").unwrap();
            let mut attributes: Vec<&str> = cookie.split("; ").collect();
            let pair = attributes.remove(0);
            attributes.sort_unstable();
            assert!(pair.starts_with(&format!("__Host-assent-{brand}=")), "{pair}");
            assert_eq!(attributes, ["HttpOnly", "Max-Age=900", "Path=/", "SameSite=Lax", "Secure"]);
            assert!(!page.html.contains(pair.split_once('=').unwrap().1), "the cookie stands on the page");
        }
        world.stop().await;
    }

    // case 41: the pages of a bad day, and the one that comes without a decision
    async fn pages_that_few_will_see_keep_themselves_from_being_framed_as_well(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
        let post = async || world.post_assertion(SHOP, &assertion).await;
        let busy = db.with_fault(Fault::Full, "INSERT ON browser_session", post).await;
        let wrong = || world.assertion(SHOP, "mallory", "BBBB-BBBB", json!({}));
        for _ in 0..5 {
            assert_eq!(world.post_assertion(SHOP, &wrong()).await.status(), 410);
        }
        let too_many = world.post_assertion(SHOP, &wrong()).await;
        // A row that nobody understands.
        db.statement("UPDATE consent_page SET shown = '{}'").await.unwrap();
        let failed = world.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
        for (status, answer) in [(503, busy), (429, too_many), (500, failed)] {
            assert_eq!(answer.status(), status, "{}", answer.text());
            assert_shielded(&answer, "'self'");
        }

        world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        let covered = world.codes(CLUB, "user-1", "orders:read").await;
        let closing = world.post_assertion(CLUB, &world.assertion(CLUB, "jane", &covered.user_code, json!({}))).await;
        assert_eq!(closing.status(), 200, "{}", closing.text());
        assert!(closing.header("set-cookie").is_some());
        assert_shielded(&closing, "'self'");
        world.stop().await;
    }
}
