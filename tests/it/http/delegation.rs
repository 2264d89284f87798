//! The delegation token on a message (PACT §5.5): what is no token here, and what an agent may not do under a good one.

use std::time::Duration;

use assent::domain::brand::SigningAlg;
use assent::outbound::Method;
use serde_json::{Value, json};

use crate::support::backend::Script;
use crate::support::client::Ask;
use crate::support::database::on_both_databases;
use crate::support::flow::{Tokens, claims, message};
use crate::support::world::{AIRLINE, CLUB, PLAIN, PROVIDER, Party, SHOP, World, brand_table, http_agent};

fn ask_as(world: &World, pa: &Party, brand: &str, sub: &str) -> Ask {
    let path = format!("/a2a/{brand}/message:send");
    let ask = world.ask(Method::POST, PROVIDER, &path).bearer(&world.jwt_of(pa, sub));
    ask.json(&message("m-1", None, "Hello"))
}

fn ask(world: &World, brand: &str) -> Ask {
    ask_as(world, &world.pa, brand, "user-1")
}

on_both_databases! {
    // case 59
    async fn a_token_that_is_not_this_callers_at_this_brand_is_refused(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let shop = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let club = world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        let other_sub = world.tokens(AIRLINE, "user-2", "jane", &["orders:read"]).await;
        let hosted = world.hosted(AIRLINE);
        let now = world.clock.now();
        let signed = |typ: &str, changes: &[(&str, Value)]| {
            let mut claims = claims(&tokens.access);
            changes.iter().for_each(|(name, value)| claims[*name] = value.clone());
            hosted.ring.sign_claims(now, SigningAlg::Es256, typ, &claims).unwrap()
        };
        let altered = |at: usize| {
            let mut token = tokens.access.clone().into_bytes();
            token[at] = if token[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(token).unwrap()
        };
        let dots: Vec<usize> = tokens.access.match_indices('.').map(|(at, _)| at).collect();
        let before = db.contents().await;
        for (refused, why) in [
            (ask(&world, AIRLINE).delegation(&shop.access), "the shop's"),
            (ask(&world, SHOP).delegation(&tokens.access), "the airline's"),
            (ask(&world, SHOP).delegation(&club.access), "the club's"),
            (ask(&world, PLAIN).delegation(&tokens.access), "at a Brand without delegation"),
            (ask(&world, AIRLINE).delegation(&other_sub.access), "of another sub"),
            (ask_as(&world, &world.pa, AIRLINE, "user-2").delegation(&tokens.access), "under another sub"),
            (ask_as(&world, &world.other_pa, AIRLINE, "user-1").delegation(&tokens.access), "of another agent"),
            (ask(&world, AIRLINE).delegation(&tokens.refresh), "a refresh token"),
            (ask(&world, AIRLINE).delegation(&world.jwt("user-1")), "a personal-agent JWT"),
            (ask(&world, AIRLINE).delegation(&signed("JWT", &[])), "another type"),
            (ask(&world, AIRLINE).delegation(&signed("pact-receipt+jws", &[])), "another type"),
            (ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("iss", json!("https://evil.example"))])), "iss"),
            (ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("aud", json!("https://evil.example"))])), "aud"),
            (ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("sub", json!("john"))])), "sub"),
            (
                ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("client_id", json!(world.other_pa.issuer))])),
                "client_id",
            ),
            (ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("exp", json!(now.seconds()))])), "exp"),
            (ask(&world, AIRLINE).delegation(&signed("at+jwt", &[("grant_id", json!(shop.grant()))])), "grant_id"),
            (
                ask(&world, AIRLINE)
                    .delegation(&signed("at+jwt", &[("grant_id", json!("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA"))])),
                "no grant",
            ),
            (ask(&world, AIRLINE).delegation(&altered(dots[0] - 2)), "altered header"),
            (ask(&world, AIRLINE).delegation(&altered(dots[0] + 5)), "altered claims"),
            (ask(&world, AIRLINE).delegation(&altered(dots[1] + 5)), "altered signature"),
            (ask(&world, AIRLINE).delegation("x"), "no JWT"),
        ] {
            let answer = refused.send().await;
            assert_eq!(answer.status(), 401, "{why}: {}", answer.text());
            answer.assert_invalid_token();
        }
        // The personal-agent JWT comes first: without a good one, the answer is the bare 401.
        let path = format!("/a2a/{AIRLINE}/message:send");
        let bare = world.ask(Method::POST, PROVIDER, &path).bearer("a.b.c").delegation(&tokens.access);
        bare.json(&message("m-1", None, "Hello")).send().await.assert_unauthenticated();
        assert_eq!(db.contents().await, before);
        assert!(world.backend.seen().is_empty(), "the agent ran");
        assert_eq!(ask(&world, AIRLINE).delegation(&tokens.access).send().await.status(), 200);
        world.stop().await;
    }

    // case 59
    async fn an_expired_and_a_revoked_token_are_refused(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        world.advance(899);
        assert_eq!(ask(&world, AIRLINE).delegation(&tokens.access).send().await.status(), 200);
        world.advance(1);
        let before = db.contents().await;
        ask(&world, AIRLINE).delegation(&tokens.access).send().await.assert_invalid_token();
        assert_eq!(db.contents().await, before);

        let fresh = Tokens::of(&world.refresh(AIRLINE, "user-1", &tokens.refresh).await);
        world.oauth(AIRLINE, "/revoke", "user-1", &[("token", &fresh.access)]).await.assert_empty(200);
        let before = db.contents().await;
        ask(&world, AIRLINE).delegation(&fresh.access).send().await.assert_invalid_token();
        assert_eq!(db.contents().await, before);
        assert_eq!(world.backend.seen().len(), 1);
        world.stop().await;
    }

    // case 60
    async fn a_header_that_is_not_one_bearer_token_is_refused_and_never_forwarded(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let token = tokens.access.as_str();
        let name = "x-a2a-user-delegation";
        let before = db.contents().await;
        for values in [
            &[format!("Bearer {token}"), format!("Bearer {token}")][..],
            &[format!("Bearer {token}"), String::new()],
            &[format!("Bearer {token}, Bearer {token}")],
            &[format!("Bearer {token},{token}")],
            &[format!("Bearer {token} {token}")],
            &[format!("Bearer  {token}")],
            &[format!("Bearer\t{token}")],
            &[token.to_owned()],
            &[format!("Basic {token}")],
            &["Bearer".to_owned()],
            &["Bearer ".to_owned()],
            &[String::new()],
        ] {
            let ask = values.iter().fold(ask(&world, AIRLINE), |ask, value| ask.header(name, value));
            let answer = ask.send().await;
            assert_eq!(answer.status(), 401, "{values:?}");
            answer.assert_invalid_token();
        }
        let huge = ask(&world, AIRLINE).delegation(&"x".repeat(17 * 1024)).send().await;
        huge.assert_empty(431);
        assert_eq!(db.contents().await, before);
        assert!(world.backend.seen().is_empty(), "the agent ran");
        let lower = ask(&world, AIRLINE).header(name, &format!("bearer {token}")).send().await;
        assert_eq!(lower.status(), 200);
        world.stop().await;
    }

    // case 60
    async fn every_route_of_the_interface_refuses_a_bad_delegation_header(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for (method, path) in [
            (Method::POST, "message:send"),
            (Method::POST, "message:stream"),
            (Method::GET, "tasks"),
            (Method::GET, "tasks/t"),
            (Method::POST, "tasks/t:cancel"),
            (Method::GET, "extendedAgentCard"),
            (Method::POST, "tasks/t/pushNotificationConfigs"),
        ] {
            let ask = world.ask(method, PROVIDER, &format!("/a2a/{SHOP}/{path}")).bearer(&world.jwt("user-1"));
            ask.delegation("a.b.c").send().await.assert_invalid_token();
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 61
    async fn a_context_that_ran_as_one_brand_user_is_not_run_as_another(db: Database) {
        let world = World::start(&db).await;
        let jane = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let john = world.tokens(AIRLINE, "user-1", "john", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", Some(&jane.access), "m-1", None, "Hello").await.context();
        let before = db.contents().await;
        for id in ["m-1", "m-2"] {
            let answer = world.send(AIRLINE, "user-1", Some(&john.access), id, Some(&context), "Hello").await;
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(world.backend.seen().len(), 1);
        // The personal agent may always go on under its own JWT alone; that does not set the context free.
        assert_eq!(world.send(AIRLINE, "user-1", None, "m-3", Some(&context), "Hello").await.status(), 200);
        assert_eq!(world.backend.seen()[1].json()["delegation"], Value::Null);
        let still = world.send(AIRLINE, "user-1", Some(&john.access), "m-4", Some(&context), "Hello").await;
        still.assert_a2a_error("INVALID_PARAMS");
        assert_eq!(
            world.send(AIRLINE, "user-1", Some(&jane.access), "m-5", Some(&context), "Hello").await.status(),
            200
        );
        world.stop().await;
    }

    // case 61
    async fn a_context_that_began_without_delegation_goes_on_under_it(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await.context();
        let answer = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-2", Some(&context), "Hello").await;
        assert_eq!(answer.context(), context);
        assert_eq!(answer.json()["message"]["metadata"]["pact.receipt"]["claims"]["user"], "jane");
        assert_eq!(world.backend.seen()[1].json()["delegation"]["user"], "jane");
        world.stop().await;
    }

    // case 61
    async fn two_brand_users_who_continue_one_free_context_at_once_do_not_both_get_it(db: Database) {
        let world = World::start(&db).await;
        let jane = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let john = world.tokens(AIRLINE, "user-1", "john", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        let (first, second) = tokio::join!(
            world.send(AIRLINE, "user-1", Some(&jane.access), "m-1", Some(&context), "Hello"),
            world.send(AIRLINE, "user-1", Some(&john.access), "m-2", Some(&context), "Hello"),
        );
        let mut statuses = [first.status(), second.status()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400], "{} {}", first.text(), second.text());
        assert_eq!(world.backend.seen().len(), 2);
        world.stop().await;
    }

    // case 63
    async fn an_agent_that_claims_more_than_it_had_fails_without_a_receipt_and_is_recorded(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        let recorded =
            "SELECT actor_kind, subject, payload FROM audit WHERE action = 'agent_overreach' ORDER BY sequence";
        let claims = |scopes: Value| Script::json(json!({ "parts": [{ "text": "Did it." }], "scopesUsed": scopes }));
        for (rows, (script, token)) in [
            (claims(json!(["orders:read", "orders:cancel"])), Some(tokens.access.as_str())),
            (claims(json!(["never:offered"])), Some(tokens.access.as_str())),
            (claims(json!(["orders:read"])), None),
        ]
        .into_iter()
        .enumerate()
        {
            world.backend.answer_with(script);
            let answer = world.send(AIRLINE, "user-1", token, "m-1", Some(&context), "Do it").await;
            answer.assert_a2a_error("INTERNAL");
            assert_eq!(db.count(recorded).await, rows + 1);
        }
        let rows = db.rows(recorded).await;
        assert!(rows[0].starts_with(&format!("actor_kind=assent subject={context}")), "{rows:?}");
        assert!(rows[0].contains("orders:read orders:cancel") && rows[0].contains(&tokens.grant()), "{rows:?}");
        assert_eq!(db.count("SELECT * FROM receipt").await, 0);
        world.backend.answer_with(claims(json!(["orders:read"])));
        let done = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
        let receipt = &done.json()["message"]["metadata"]["pact.receipt"]["claims"];
        assert_eq!(receipt["scopesUsed"], json!(["orders:read"]), "{}", done.text());
        world.stop().await;
    }

    // case 63
    async fn an_agent_that_answers_nonsense_fails_and_the_message_can_be_sent_again(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        let good = json!({ "parts": [{ "text": "x" }] }).to_string();
        let raw = |content_type: &'static str, body: String| Script { content_type, body, ..Script::text("") };
        // The turn itself knows how often it was tried.
        let before = db.contents_but(&["turn", "context"]).await;
        for (script, why) in [
            (Script::json(json!({ "parts": [], "missingScopes": ["never:offered"] })), "unknown missing scope"),
            (
                Script::json(json!({ "parts": [], "missingScopes": ["refunds:issue", "x"] })),
                "one unknown missing scope",
            ),
            (Script::json(json!({ "parts": [], "missingScopes": ["orders:read"] })), "a scope that it has"),
            (
                Script::json(json!({ "parts": [{ "text": "x" }], "missingScopes": ["orders:cancel"], "close": true })),
                "closing",
            ),
            (raw("text/html", "<html>Bad gateway</html>".to_owned()), "HTML"),
            (raw("text/html", good.clone()), "JSON as HTML"),
            (raw("application/json", "<html></html>".to_owned()), "HTML as JSON"),
            (raw("application/json", String::new()), "nothing"),
            (raw("application/json", format!("{good} {good}")), "two answers"),
            (raw("application/json", format!("{good}{}", " ".repeat(10 << 20))), "10 MB"),
            (Script::json(json!({ "parts": [] })), "no parts"),
            (Script::json(json!({ "parts": [{ "text": "x" }], "sudo": true })), "an unknown member"),
            (Script::hang_up(), "no answer"),
            (Script { status: 302, ..Script::text("x") }, "a redirect"),
            (Script { status: 500, ..Script::text("x") }, "its own failure"),
            (Script::text("late").after(Duration::from_secs(3)), "a timeout"),
        ] {
            world.backend.answer_with(script);
            let answer = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
            assert_eq!(answer.status(), 500, "{why}: {}", answer.text());
            answer.assert_a2a_error("INTERNAL");
        }
        assert_eq!(db.contents_but(&["turn", "context"]).await, before);
        assert_eq!(db.rows("SELECT state FROM turn WHERE message_id = 'm-1'").await, ["state=released"]);
        world.backend.answer_with(Script::text("At last."));
        let done = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
        assert_eq!(done.json()["message"]["parts"], json!([{ "text": "At last." }]));
        assert_eq!(db.count("SELECT * FROM receipt").await, 1);
        world.stop().await;
    }

    // case 63
    async fn an_agent_of_a_brand_without_delegation_can_miss_nothing(db: Database) {
        let world = World::start(&db).await;
        world.apply(&brand_table(PLAIN, "Plain Store", &http_agent(&world.backend, ""), None)).await;
        let context = world.send(PLAIN, "user-1", None, "m-0", None, "Hello").await.context();
        world.backend.answer_with(Script::json(json!({ "parts": [], "missingScopes": ["orders:read"] })));
        world.send(PLAIN, "user-1", None, "m-1", Some(&context), "Do it").await.assert_a2a_error("INTERNAL");
        assert_eq!(db.count("SELECT * FROM device_authorization").await, 0);
        world.stop().await;
    }
}
