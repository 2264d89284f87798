//! The turn as a Brand's agent sees it: what is in it, who proves it, and what is never in it.

use assent::crypto::jwks::KeySet;
use assent::crypto::{delegation_token, turn_token};
use assent::outbound::Method;
use serde_json::{Value, json};

use crate::support::backend::{Script, SeenTurn};
use crate::support::database::{Kind, on_both_databases};
use crate::support::flow::{Page, Tokens, claims, code_in};
use crate::support::world::{AIRLINE, World, airline_table, http_agent, interface_url};

fn turns(world: &World) -> Vec<SeenTurn> {
    world.backend.seen()
}

fn last(world: &World) -> SeenTurn {
    turns(world).pop().unwrap()
}

on_both_databases! {
    // case 60
    async fn a_turn_has_exactly_its_members_and_delegation_only_under_a_token(db: Database) {
        let world = World::start(&db).await;
        let alone = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        let context = alone.context();
        let expected = json!({
            "brandId": AIRLINE, "contextId": context, "messageId": "m-1", "parts": [{ "text": "Hello" }],
            "caller": { "personalAgent": "https://pa.example.com", "sub": "user-1" },
        });
        assert_eq!(last(&world).json(), expected);
        assert_eq!(alone.json()["message"]["metadata"], Value::Null);

        let tokens = world.tokens(AIRLINE, "user-1", "jane-4471", &["orders:read", "orders:cancel"]).await;
        let form = [("grant_type", "refresh_token"), ("refresh_token", &tokens.refresh), ("scope", "orders:read")];
        let narrow = Tokens::of(&world.oauth(AIRLINE, "/token", "user-1", &form).await);
        for (id, token, scopes) in
            [("m-2", &tokens, json!(["orders:read", "orders:cancel"])), ("m-3", &narrow, json!(["orders:read"]))]
        {
            let sent = json!({ "message": {
                "messageId": id, "contextId": context, "role": "ROLE_USER", "metadata": { "x": 1 },
                "parts": [{ "text": "One", "mediaType": "text/plain" }, { "text": " two " }],
            }});
            let answer = world.message(AIRLINE, "user-1").delegation(&token.access).json(&sent).send().await;
            assert_eq!(answer.status(), 200, "{}", answer.text());
            let expected = json!({
                "brandId": AIRLINE, "contextId": context, "messageId": id,
                "parts": [{ "text": "One" }, { "text": " two " }],
                "caller": { "personalAgent": "https://pa.example.com", "sub": "user-1" },
                "delegation": { "user": "jane-4471", "scopes": scopes, "grantId": tokens.grant() },
            });
            let turn = last(&world);
            assert_eq!(turn.json(), expected);
            // Neither of the caller's tokens goes any further.
            let seen = format!("{}{}", turn.head, String::from_utf8(turn.body).unwrap());
            assert!(!seen.contains(&token.access) && !seen.to_lowercase().contains("x-a2a-user-delegation"), "{seen}");
        }
        world.stop().await;
    }

    async fn a_turn_token_verifies_against_the_brands_key_set_for_this_body_alone(db: Database) {
        let world = World::start(&db).await;
        let jwt = world.jwt("user-1");
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        let turn = last(&world);
        let token = turn.header("authorization").unwrap().strip_prefix("Bearer ").unwrap();
        let jwks = world.at_issuer(Method::GET, AIRLINE, "/jwks.json").send().await;
        let keys = KeySet::parse(&jwks.0.body).unwrap();
        let (interface, agent, now) = (interface_url(AIRLINE), world.backend.url(), world.clock.now());
        let verified = turn_token::verify(token, &keys, &interface, &agent, &turn.body, now).unwrap();
        assert_eq!(verified.exp.since(verified.iat).as_secs(), 60);
        let mut other = turn.body.clone();
        other.push(b' ');
        assert!(turn_token::verify(token, &keys, &interface, &agent, &other, now).is_err());
        assert!(turn_token::verify(token, &keys, &interface, "https://other.example", &turn.body, now).is_err());
        assert_eq!(turn.header("content-type"), Some("application/json"));
        assert_ne!(token, jwt);
        assert!(turn.head.starts_with("POST /turns HTTP/1.1\r\n"), "{}", turn.head);
        world.stop().await;
    }

    // case 70
    async fn the_idempotency_key_stays_for_a_retry_and_counts_the_step_ups(db: Database) {
        let world = World::start(&db).await;
        let mut tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-0", None, "Hello").await.context();
        let key = |world: &World| last(world).header("idempotency-key").unwrap().to_owned();
        assert_eq!(key(&world), format!("{context}/m-0"));

        world.backend.answer_with(Script { status: 500, ..Script::text("") });
        for _ in 0..2 {
            let failed = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
            failed.assert_a2a_error("INTERNAL");
            assert_eq!(key(&world), format!("{context}/m-1"), "a failure is retried under the same key");
        }
        let mut allowed = vec!["orders:read"];
        for (step_ups, missing) in ["orders:cancel", "refunds:issue"].into_iter().enumerate() {
            world.backend.answer_with(Script::json(json!({ "parts": [], "missingScopes": [missing] })));
            let asked = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
            let task = asked.json()["task"].clone();
            let expected = if step_ups == 0 { format!("{context}/m-1") } else { format!("{context}/m-1/{step_ups}") };
            assert_eq!(key(&world), expected);
            assert!(task["status"]["message"]["parts"][0]["text"].as_str().is_some_and(|text| !text.is_empty()));
            let code = code_in(task["metadata"]["pact.verificationUriComplete"].as_str().unwrap());
            allowed.push(missing);
            let page = world.sign_in(AIRLINE, "jane", &code).await;
            assert_eq!(world.decide(AIRLINE, &page.session, "allow", &allowed).await.status(), 303);
            tokens = Tokens::of(&world.refresh(AIRLINE, "user-1", &tokens.refresh).await);
        }
        world.backend.answer_with(Script::text("Done."));
        let done = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
        assert_eq!(done.json()["message"]["parts"], json!([{ "text": "Done." }]), "{}", done.text());
        assert_eq!(key(&world), format!("{context}/m-1/2"));

        // A message id cannot look like another message's count of step-ups.
        world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1/2", Some(&context), "Other").await;
        let keys: Vec<String> =
            turns(&world).iter().map(|turn| turn.header("idempotency-key").unwrap().to_owned()).collect();
        assert_eq!(keys.iter().filter(|key| **key == format!("{context}/m-1/2")).count(), 1, "{keys:?}");
        world.stop().await;
    }

    async fn a_brand_that_asked_for_it_gets_a_fresh_delegation_token_of_the_effective_scopes(db: Database) {
        let world = World::start(&db).await;
        world.apply(&airline_table(&world.brand_login, &http_agent(&world.backend, ", forward_token = true"))).await;
        world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await;
        assert_eq!(last(&world).json()["delegation"], Value::Null);

        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        let codes = world.codes(AIRLINE, "user-1", "refunds:issue").await;
        let page = Page::of(
            &world.post_assertion(AIRLINE, &world.assertion(AIRLINE, "jane", &codes.user_code, json!({}))).await,
        );
        assert_eq!(
            world.decide(AIRLINE, &page.session, "allow", &["orders:cancel", "refunds:issue"]).await.status(),
            303
        );
        world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        let delegation = last(&world).json()["delegation"].clone();
        assert_eq!(delegation["scopes"], json!(["orders:cancel"]), "the token's and the grant's");
        let token = delegation["token"].as_str().unwrap();
        assert_ne!(token, tokens.access);
        let (hosted, now) = (world.hosted(AIRLINE), world.clock.now());
        let (issuer, interface) = (&hosted.addresses.issuer, &hosted.addresses.interface_url);
        let verified = delegation_token::verify(token, &hosted.ring, issuer, interface, now).unwrap();
        assert_eq!(verified.scope.to_string(), "orders:cancel");
        assert_eq!(verified.exp.since(verified.iat).as_secs(), 300);
        assert_eq!(verified.iat, now);
        assert_eq!((verified.sub.as_str(), verified.grant_id.as_str()), ("jane", tokens.grant().as_str()));
        assert_ne!(json!(verified.jti.to_string()), claims(&tokens.access)["jti"]);
        world.stop().await;
    }

    async fn no_token_is_forwarded_of_a_grant_that_ends_while_the_turn_is_taken_up(db: Database) {
        let world = World::start(&db).await;
        world.apply(&airline_table(&world.brand_login, &http_agent(&world.backend, ", forward_token = true"))).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        // The grant ends with the commit that reserves the turn: as late as a revocation can be answered before it.
        let statements: &[&str] = match db.kind {
            Kind::Sqlite => &["CREATE TRIGGER ends AFTER INSERT ON turn BEGIN UPDATE delegation_grant
                SET state = 'ended', ended_at = 1, ended_by = 'user'; END"],
            Kind::Postgres => &[
                "CREATE FUNCTION ends() RETURNS trigger AS $$ BEGIN UPDATE delegation_grant
                    SET state = 'ended', ended_at = 1, ended_by = 'user'; RETURN NEW; END $$ LANGUAGE plpgsql",
                "CREATE TRIGGER ends AFTER INSERT ON turn FOR EACH ROW EXECUTE FUNCTION ends()",
            ],
        };
        for sql in statements {
            db.statement(sql).await.unwrap();
        }
        world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
        assert_eq!(turns(&world).len(), 0, "the agent was asked");
        assert_eq!(db.rows("SELECT state, reply FROM turn").await, ["state=released reply=NULL"]);
        assert_eq!(db.count("SELECT id FROM receipt").await, 0);
        world.stop().await;
    }

    async fn a_busy_agent_is_passed_on_with_a_time_to_wait_and_the_message_can_be_sent_again(db: Database) {
        let world = World::start(&db).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        for status in [429, 503] {
            world.backend.answer_with(Script { status, ..Script::text("busy") });
            let busy = world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Hello").await;
            busy.assert_empty(429);
            assert_eq!(busy.header("retry-after"), Some("1"));
        }
        world.backend.answer_with(Script::text("Now."));
        let done = world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Hello").await;
        assert_eq!(done.json()["message"]["parts"], json!([{ "text": "Now." }]));
        world.stop().await;
    }
}
