//! The Brand's login comes back (PACT §5.3): which assertions open the consent page, and how often.

use std::collections::HashSet;

use assent::domain::brand::SigningAlg;
use assent::outbound::Method;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use serde_json::{Value, json};

use crate::support::database::on_both_databases;
use crate::support::flow::{Page, Tokens};
use crate::support::world::{CLUB, Party, SHOP, World, brand_table, consent_url};

const FORM: &str = "application/x-www-form-urlencoded";

/// A JWT with any header whose signature is what `sign` makes of its first two parts.
fn forged(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(sign(signed.as_bytes())))
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).unwrap();
    Signer::new(MessageDigest::sha256(), &key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

on_both_databases! {
    // case 32
    async fn an_assertion_that_another_signed_creates_nothing(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let own = |changes| world.assertion_claims(SHOP, "jane", &code, changes);
        let other_login = Party::new("https://login.other.example");
        let by = |party: &Party, claims: &Value| party.signer.sign_claims("JWT", claims).unwrap();
        let ours = world.hosted(SHOP);
        let public = world.brand_login.key.public_jwk.as_bytes();
        let hs256 = json!({ "alg": "HS256", "kid": "key-1", "typ": "JWT" });
        let before = db.contents().await;
        for assertion in [
            by(&other_login, &own(json!({}))),
            by(&other_login, &own(json!({ "iss": other_login.issuer }))),
            by(&world.pa, &own(json!({}))),
            by(&world.pa, &own(json!({ "iss": world.pa.issuer }))),
            ours.ring.sign_claims(world.clock.now(), SigningAlg::Es256, "JWT", &own(json!({}))).unwrap(),
            ours.ring.sign_claims(world.clock.now(), SigningAlg::Rs256, "JWT", &own(json!({}))).unwrap(),
            forged(&json!({ "alg": "none" }), &own(json!({})), |_| Vec::new()),
            forged(&hs256, &own(json!({})), |text| hmac(public, text)),
            forged(&json!({ "alg": "ES256", "kid": "key-1" }), &own(json!({})), |_| vec![0; 64]),
            world.jwt("jane"),
            "a.b.c".to_owned(),
        ] {
            let answer = world.post_assertion(SHOP, &assertion).await;
            assert_eq!(answer.status(), 403, "{assertion}");
            assert!(answer.text().contains("Your sign-in could not be verified"));
            assert_eq!(answer.header("set-cookie"), None);
        }
        assert_eq!(db.contents().await, before);
        world.sign_in(SHOP, "jane", &code).await;
        world.stop().await;
    }

    // case 32: each Brand's login signs for that Brand alone
    async fn an_assertion_of_another_brands_login_creates_nothing(db: Database) {
        let world = World::start(&db).await;
        let club_login = Party::new("https://login.club.example");
        world.apply(&brand_table(CLUB, "Book Club", "{ builtin = \"demo\" }", Some((&club_login, "")))).await;
        let shop_code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let club_code = world.codes(CLUB, "user-1", "orders:read").await.user_code;
        let before = db.contents().await;
        for (brand, code, login, issuer) in [
            (SHOP, &shop_code, &club_login, &club_login.issuer),
            (SHOP, &shop_code, &club_login, &world.brand_login.issuer),
            (CLUB, &club_code, &world.brand_login, &world.brand_login.issuer),
            (CLUB, &club_code, &world.brand_login, &club_login.issuer),
        ] {
            let claims = world.assertion_claims(brand, "jane", code, json!({ "iss": issuer }));
            let answer = world.post_assertion(brand, &login.signer.sign_claims("JWT", &claims).unwrap()).await;
            assert_eq!(answer.status(), 403, "{brand} {issuer}");
        }
        assert_eq!(db.contents().await, before);
        let claims = world.assertion_claims(CLUB, "jane", &club_code, json!({ "iss": club_login.issuer }));
        Page::of(&world.post_assertion(CLUB, &club_login.signer.sign_claims("JWT", &claims).unwrap()).await);
        world.stop().await;
    }

    // case 32
    async fn an_assertion_with_a_wrong_claim_creates_nothing(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let now = world.clock.now().seconds();
        let audience = consent_url(SHOP);
        let before = db.contents().await;
        for changes in [
            json!({ "aud": consent_url(CLUB) }),
            json!({ "aud": format!("{audience}?user_code={code}") }),
            json!({ "aud": format!("{audience}/") }),
            json!({ "aud": [&audience, &audience] }),
            json!({ "aud": [] }),
            json!({ "aud": null }),
            json!({ "iss": "https://login.example/" }),
            json!({ "iss": null }),
            json!({ "sub": null }),
            json!({ "sub": "" }),
            json!({ "sub": 7 }),
            json!({ "jti": null }),
            json!({ "jti": "" }),
            json!({ "jti": "j".repeat(256) }),
            json!({ "user_code": null }),
            json!({ "user_code": "" }),
            json!({ "user_code": "BCDF-GHJ" }),
            json!({ "iat": null }),
            json!({ "exp": null }),
            json!({ "exp": now + 301 }),
            json!({ "iat": now + 31, "exp": now + 120 }),
            json!({ "iat": now - 100, "exp": now - 31 }),
            json!({ "nbf": now + 31 }),
        ] {
            let answer = world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &code, changes.clone())).await;
            assert_eq!(answer.status(), 403, "{changes}");
        }
        for typ in ["at+jwt", "pact-receipt+jws", "assent-turn+jwt"] {
            let claims = world.assertion_claims(SHOP, "jane", &code, json!({}));
            let assertion = world.brand_login.signer.sign_claims(typ, &claims).unwrap();
            assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403, "{typ}");
        }
        assert_eq!(db.contents().await, before);
        for changes in [
            json!({ "aud": [audience] }),
            json!({ "exp": now + 300 }),
            json!({ "iat": now + 27, "exp": now + 120 }),
            json!({ "iat": now - 100, "exp": now - 27 }),
        ] {
            let answer = world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &code, changes.clone())).await;
            assert_eq!(answer.status(), 200, "{changes}");
        }
        world.stop().await;
    }

    // case 33
    async fn an_assertion_that_is_posted_again_opens_nothing_more(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let assertion = world.assertion(SHOP, "jane", &code, json!({}));
        Page::of(&world.post_assertion(SHOP, &assertion).await);
        let before = db.contents().await;
        for _ in 0..2 {
            let again = world.post_assertion(SHOP, &assertion).await;
            assert_eq!((again.status(), again.header("set-cookie")), (403, None));
            assert!(again.text().contains("https://login.example/login?lang=en"), "no way back to the Brand's login");
        }
        world.advance(148);
        assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403, "at the end of its life");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 33
    async fn of_fifty_posts_of_one_assertion_at_once_one_succeeds(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let assertion = world.assertion(SHOP, "jane", &code, json!({}));
        let elsewhere = world.another_node(&db).await;
        let node = |number: usize| if number.is_multiple_of(2) { &world } else { &elsewhere };
        let answers = join_all((0..50).map(|number| node(number).post_assertion(SHOP, &assertion))).await;
        let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200);
        assert!(statuses[1..].iter().all(|status| *status == 403), "{statuses:?}");
        assert_eq!(db.count("SELECT * FROM assertion_jti").await, 1);
        assert_eq!(db.count("SELECT * FROM browser_session").await, 1);
        assert_eq!(db.count("SELECT * FROM consent_page").await, 1);
        assert_eq!(db.count("SELECT * FROM audit WHERE action = 'signed_in'").await, 1);
        elsewhere.stop().await;
        world.stop().await;
    }

    // case 33
    async fn the_same_jti_is_accepted_from_two_brands(db: Database) {
        let world = World::start(&db).await;
        for brand in [SHOP, CLUB] {
            let code = world.codes(brand, "user-1", "orders:read").await.user_code;
            let assertion = world.assertion(brand, "jane", &code, json!({ "jti": "the-same" }));
            Page::of(&world.post_assertion(brand, &assertion).await);
        }
        world.stop().await;
    }

    // case 34
    async fn unknown_expired_and_decided_codes_get_one_and_the_same_page(db: Database) {
        let world = World::start(&db).await;
        let expired = world.codes(SHOP, "user-1", "orders:read").await;
        let holder_of_expired = world.sign_in(SHOP, "jane", &expired.user_code).await;
        world.advance(601);
        let allowed = world.codes(SHOP, "user-1", "orders:read").await;
        let holder_of_allowed = world.sign_in(SHOP, "jane", &allowed.user_code).await;
        assert_eq!(world.decide(SHOP, &holder_of_allowed.session, "allow", &["orders:read"]).await.status(), 303);
        let denied = world.codes(SHOP, "user-2", "orders:read").await;
        let holder_of_denied = world.sign_in(SHOP, "jane", &denied.user_code).await;
        assert_eq!(world.decide(SHOP, &holder_of_denied.session, "deny", &[]).await.status(), 303);
        let elsewhere = world.codes(CLUB, "user-1", "orders:read").await;

        let before = db.contents().await;
        let mut pages = HashSet::new();
        let codes = ["BBBB-BBBB", &expired.user_code, &allowed.user_code, &denied.user_code, &elsewhere.user_code];
        for (place, code) in codes.into_iter().enumerate() {
            let assertion = world.assertion(SHOP, &format!("mallory-{place}"), code, json!({}));
            let answer = world.post_assertion(SHOP, &assertion).await;
            assert_eq!((answer.status(), answer.header("set-cookie")), (410, None), "{code}");
            pages.insert(answer.text());
        }
        assert_eq!(pages.len(), 1, "{pages:?}");

        for (code, holder, status, sentence) in [
            (&expired, &holder_of_expired, 410, "The time to decide has run out"),
            (&allowed, &holder_of_allowed, 409, "You have already allowed this"),
            (&denied, &holder_of_denied, 409, "This was not allowed"),
        ] {
            let shown = world.open(SHOP, &code.user_code, holder.cookie.as_deref()).await;
            assert_eq!(shown.status(), status, "{sentence}");
            assert!(shown.text().contains(sentence), "{}", shown.text());
            let decided = world.decide(SHOP, &holder.session, "allow", &["orders:read"]).await;
            assert_eq!(decided.status(), status, "{sentence}");
            assert!(decided.text().contains(sentence), "{}", decided.text());
            assert_eq!(world.open(SHOP, &code.user_code, None).await.status(), 303, "{sentence}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 35
    async fn what_an_assertion_says_of_the_user_is_escaped_or_refused(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let post =
            async |changes: Value| world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &code, changes)).await;
        let markup = "<script>alert('\"&')</script>";
        for changes in [
            json!({ "email": markup }),
            json!({ "email": null, "name": markup }),
            json!({ "email": null, "sub": markup }),
        ] {
            let answer = post(changes.clone()).await;
            assert_eq!(answer.status(), 200, "{changes}");
            let html = answer.text();
            assert!(html.contains("&#60;script&#62;alert(&#39;&#34;&#38;&#39;)&#60;/script&#62;"), "{html}");
            assert!(!html.contains("<script>"), "{html}");
        }
        for member in ["email", "name"] {
            let mut changes = json!({ "email": null });
            changes[member] = json!("Ja\u{202e}ne\u{0} \u{2066}Doe\r\n\u{1b}[31m");
            let html = Page::of(&post(changes).await).html;
            assert!(html.contains("<bdi>Jane Doe[31m</bdi>"), "{html}");
            assert!(!html.contains(['\u{202e}', '\u{2066}', '\u{0}', '\u{1b}']));
        }
        let before = db.contents().await;
        for changes in [
            json!({ "sub": "a\u{202e}b" }),
            json!({ "sub": "a\u{0}b" }),
            json!({ "sub": "a\nb" }),
            json!({ "sub": "s".repeat(10 * 1024) }),
            json!({ "sub": "s".repeat(256) }),
            json!({ "name": "n".repeat(10 * 1024) }),
            json!({ "email": "e".repeat(10 * 1024) }),
            json!({ "name": ["Jane"] }),
            json!({ "email": 7 }),
        ] {
            assert_eq!(post(changes.clone()).await.status(), 403, "{changes:.80}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 36
    async fn a_code_is_found_however_it_is_written(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let (left, right) = code.split_once('-').unwrap();
        let wide =
            |text: &str| -> String { text.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect() };
        for written in [
            code.to_lowercase(),
            format!("{left}{right}"),
            format!("{} {}", left.to_lowercase(), right.to_lowercase()),
            format!("  {left} - {right}\n"),
            format!("{left}\u{2013}{right}"),
            format!("{left}\u{2212}{right}"),
            format!("{left}\u{2011}{right}"),
            format!("{left}\u{a0}{right}"),
            wide(&code),
            wide(&code.to_lowercase()),
        ] {
            let page = world.sign_in(SHOP, "jane", &written).await;
            assert!(page.html.contains(&code), "{written:?}");
            let query: String = url::form_urlencoded::byte_serialize(written.as_bytes()).collect();
            let opened = world.open(SHOP, &query, page.cookie.as_deref()).await;
            assert!(opened.status() == 200 && opened.text().contains(&code), "{written:?}");
        }
        let before = db.contents().await;
        for written in [format!("{code}B"), format!("{left}.{right}"), format!("{left}-A{}", &right[1..])] {
            let assertion = world.assertion(SHOP, "jane", &written, json!({}));
            assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 403, "{written:?}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 37
    async fn an_assertion_comes_by_a_posted_form_alone(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
        let form = format!("assertion={assertion}");
        let multipart =
            format!("--x\r\nContent-Disposition: form-data; name=\"assertion\"\r\n\r\n{assertion}\r\n--x--\r\n");
        let before = db.contents().await;
        let post = || world.at_issuer(Method::POST, SHOP, "/consent");
        for (ask, status) in [
            (post().json(&json!({ "assertion": assertion })), 415),
            (post().body("multipart/form-data; boundary=x", multipart), 415),
            (post().body("text/plain", form.clone()), 415),
            (post().body(&format!("{FORM}; charset=utf-16"), form.clone()), 415),
            (post().body(FORM, form.clone()).header("content-encoding", "gzip"), 415),
            (post().body(FORM, format!("{form}&{form}")), 400),
            (post().body(FORM, ""), 400),
            (post().body(FORM, format!("{form}%00")), 400),
            (world.at_issuer(Method::POST, SHOP, &format!("/consent?{form}")).body(FORM, ""), 400),
            (world.at_issuer(Method::PUT, SHOP, "/consent").body(FORM, form.clone()), 405),
            (world.at_issuer(Method::PUT, SHOP, "/consent/decision").body(FORM, form.clone()), 405),
        ] {
            let answer = ask.send().await;
            assert_eq!((answer.status(), answer.header("set-cookie")), (status, None), "{}", answer.text());
        }
        // The consent URL has a GET form, which looks at no assertion.
        let shown = world.at_issuer(Method::GET, SHOP, &format!("/consent?{form}")).send().await;
        assert_eq!((shown.status(), shown.header("set-cookie")), (200, None));
        assert!(shown.text().contains("Enter the code from your agent"));
        assert_eq!(db.contents().await, before);
        Page::of(&post().body(&format!("{FORM};charset=UTF-8"), form).send().await);
        world.stop().await;
    }

    // case 38
    async fn a_refused_assertion_does_not_burn_its_jti(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let jti = json!({ "jti": "jti-1" });
        let claims = world.assertion_claims(SHOP, "jane", &codes.user_code, jti.clone());
        let forged = Party::new("https://login.example").signer.sign_claims("JWT", &claims).unwrap();
        let before = db.contents().await;
        assert_eq!(world.post_assertion(SHOP, &forged).await.status(), 403);
        let wrong_code = world.assertion(SHOP, "jane", "BBBB-BBBB", jti.clone());
        assert_eq!(world.post_assertion(SHOP, &wrong_code).await.status(), 410);
        let wrong_audience = world.assertion(SHOP, "jane", &codes.user_code, json!({ "jti": "jti-1", "aud": "x" }));
        assert_eq!(world.post_assertion(SHOP, &wrong_audience).await.status(), 403);
        assert_eq!(db.contents().await, before);

        let page = Page::of(&world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &codes.user_code, jti)).await);
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read"]).await.status(), 303);
        Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        world.stop().await;
    }

    async fn wrong_codes_count_against_the_brand_user_and_the_address(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let post = async |user: &str, code: &str| {
            world.post_assertion(SHOP, &world.assertion(SHOP, user, code, json!({}))).await
        };
        for _ in 0..5 {
            assert_eq!(post("mallory", "BBBB-BBBB").await.status(), 410);
        }
        let before = db.contents().await;
        let refused = post("mallory", &code).await;
        assert_eq!((refused.status(), refused.header("retry-after")), (429, Some("600")));
        assert_eq!(db.contents().await, before);
        assert_eq!(post("jane", &code).await.status(), 200, "another user of the same address");
        for _ in 0..5 {
            assert_eq!(post("trudy", "CCCC-CCCC").await.status(), 410);
        }
        assert_eq!(post("jane", &code).await.status(), 429, "ten wrong codes from one address");
        world.advance(600);
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        assert_eq!(post("mallory", &code).await.status(), 200, "after Retry-After");
        world.stop().await;
    }

    async fn of_fifty_wrong_codes_of_one_user_at_once_five_are_looked_at(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let assertions: Vec<_> = (0..50).map(|_| world.assertion(SHOP, "mallory", "BBBB-BBBB", json!({}))).collect();
        let answers = join_all(assertions.iter().map(|assertion| world.post_assertion(SHOP, assertion))).await;
        let looked_at = answers.iter().filter(|answer| answer.status() == 410).count();
        assert_eq!(looked_at, 5);
        assert_eq!(answers.iter().filter(|answer| answer.status() == 429).count(), 45);
        let right = world.assertion(SHOP, "mallory", &code, json!({}));
        assert_eq!(world.post_assertion(SHOP, &right).await.status(), 429);
        world.stop().await;
    }

    async fn the_same_assertion_again_is_no_further_guess(db: Database) {
        let world = World::start(&db).await;
        let code = world.codes(SHOP, "user-1", "orders:read").await.user_code;
        let wrong = world.assertion(SHOP, "jane", "BBBB-BBBB", json!({}));
        for _ in 0..8 {
            assert_eq!(world.post_assertion(SHOP, &wrong).await.status(), 410, "a page that is loaded again");
        }
        world.sign_in(SHOP, "jane", &code).await;
        world.stop().await;
    }
}
