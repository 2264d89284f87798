//! Step-up (PACT §5.5): the link that an answer carries, whose it is, and what becomes of it.

use std::collections::HashSet;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::support::backend::Script;
use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::{Page, Tokens, claims, code_in};
use crate::support::world::{AIRLINE, SHOP, World, consent_url};

const REFUND: &str = "Refund order A-88213";

fn link(answer: &Answer) -> String {
    let json = answer.json();
    assert_eq!(json["task"]["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{json}");
    json["task"]["metadata"]["pact.verificationUriComplete"].as_str().unwrap().to_owned()
}

/// A step-up for refunds, under the message id `id`, in a new context.
async fn step_up(world: &World, tokens: &Tokens, id: &str) -> Answer {
    world.send(SHOP, "user-1", Some(&tokens.access), id, None, REFUND).await
}

on_both_databases! {
    // case 62
    async fn what_the_agent_needs_is_allowed_at_the_link_and_the_message_is_done(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let text = "Cancel and refund order A-88213";
        let answer = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, text).await;
        assert_eq!((answer.status(), answer.header("content-type")), (200, Some("application/a2a+json")));
        let (json, context) = (answer.json(), answer.context());
        let task = &json["task"];
        assert_eq!(json.as_object().unwrap().len(), 1);
        assert_eq!(task["metadata"]["pact.missingScopes"], json!(["orders:cancel", "refunds:issue"]));
        let message = &task["status"]["message"];
        assert_eq!(message["role"], "ROLE_AGENT");
        assert_eq!((&message["contextId"], message["messageId"].is_string()), (&json!(context), true));
        assert_eq!(message["parts"], json!([{ "text": "I need permission to cancel orders and to issue refunds." }]));
        let receipt = &task["metadata"]["pact.receipt"]["claims"];
        assert_eq!((&receipt["scopesUsed"], &receipt["actions"]), (&json!([]), &json!([])));
        let found = world.ask(
            assent::outbound::Method::GET,
            "provider.example.com",
            &format!("/a2a/{SHOP}/tasks/{}", task["id"].as_str().unwrap()),
        );
        found.bearer(&world.jwt("user-1")).send().await.assert_a2a_error("TASK_NOT_FOUND");

        let page = world.sign_in(SHOP, "jane", &code_in(&link(&answer))).await;
        let decided =
            world.decide(SHOP, &page.session, "allow", &["orders:read", "orders:cancel", "refunds:issue"]).await;
        assert_eq!(decided.status(), 303, "{}", decided.text());
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(tokens.scope, "orders:read orders:cancel refunds:issue");
        let done = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", Some(&context), text).await;
        let actions = &done.json()["message"]["metadata"]["pact.receipt"]["claims"]["actions"];
        assert_eq!((&actions[1]["tool"], &actions[2]["tool"]), (&json!("cancel_order"), &json!("issue_refund")));
        world.stop().await;
    }

    // case 62
    async fn a_personal_agent_may_ask_for_the_missing_scopes_itself_and_keeps_the_old_ones(db: Database) {
        let world = World::start(&db).await;
        let first = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let answer = step_up(&world, &first, "m-1").await;
        let codes = world.codes(SHOP, "user-1", "refunds:issue").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let decided = world.decide(SHOP, &page.session, "allow", &["orders:read", "refunds:issue"]).await;
        assert_eq!(decided.status(), 303);
        let tokens = Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        assert_eq!((tokens.scope.as_str(), tokens.grant()), ("orders:read refunds:issue", first.grant()));
        let done = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", Some(&answer.context()), REFUND).await;
        assert!(done.json()["message"].is_object(), "{}", done.text());
        world.stop().await;
    }

    async fn the_link_is_the_consent_page_during_a_live_session_and_the_login_afterwards(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let signed_in = world.sign_in(SHOP, "jane", &codes.user_code).await;
        assert_eq!(world.decide(SHOP, &signed_in.session, "allow", &["orders:read"]).await.status(), 303);
        let tokens = Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        let while_live = link(&step_up(&world, &tokens, "m-1").await);
        let code = code_in(&while_live);
        assert_eq!(while_live, format!("{}?user_code={code}", consent_url(SHOP)));
        // The browser that signed in goes on without another login; no other browser does.
        assert_eq!(world.open(SHOP, &code, None).await.status(), 303);
        let page = Page::of(&world.open(SHOP, &code, signed_in.cookie.as_deref()).await);
        assert!(page.html.contains("Refund an order") && !page.html.contains(&format!(">{code}<")), "{}", page.html);

        world.advance(899);
        assert!(link(&step_up(&world, &tokens, "m-2").await).starts_with(&consent_url(SHOP)));
        world.advance(1);
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        let afterwards = link(&step_up(&world, &tokens, "m-3").await);
        assert!(afterwards.starts_with("https://login.example/login?lang=en&return_to="), "{afterwards}");
        world.sign_in(SHOP, "jane", &code_in(&afterwards)).await;
        world.stop().await;
    }

    // cases 34, 62
    async fn a_step_up_page_shows_no_code_and_only_the_grants_own_user_gets_it(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let other = world.codes(SHOP, "user-2", "orders:read").await;
        let john = world.sign_in(SHOP, "john", &other.user_code).await;
        let code = code_in(&link(&step_up(&world, &tokens, "m-1").await));
        let before = db.contents().await;
        let refused = world.post_assertion(SHOP, &world.assertion(SHOP, "john", &code, json!({}))).await;
        assert_eq!((refused.status(), refused.header("set-cookie")), (410, None));
        let unknown = world.post_assertion(SHOP, &world.assertion(SHOP, "mary", "BBBB-BBBB", json!({}))).await;
        assert_eq!(refused.text(), unknown.text());
        assert_eq!(world.open(SHOP, &code, john.cookie.as_deref()).await.status(), 303);
        assert_eq!(db.contents().await, before);

        let page = world.sign_in(SHOP, "jane", &code).await;
        assert!(!page.html.contains("If your agent shows a code"), "{}", page.html);
        assert!(!page.html.contains(&format!(">{code}<")), "{}", page.html);
        assert!(page.html.contains("while you talked to your agent"), "{}", page.html);
        assert!(page.html.contains("Already allowed"), "{}", page.html);
        // Nobody can poll for it: the code in the link is no device code.
        assert_eq!(world.poll(SHOP, "user-1", &code).await.oauth_error(), "invalid_grant");
        world.stop().await;
    }

    async fn a_pending_code_is_handed_out_again_while_it_has_two_minutes_left(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let first = code_in(&link(&step_up(&world, &tokens, "m-1").await));
        assert_eq!(code_in(&link(&step_up(&world, &tokens, "m-2").await)), first);
        let other = world.send(SHOP, "user-1", Some(&tokens.access), "m-3", None, "Cancel order A-88213").await;
        assert_ne!(code_in(&link(&other)), first, "other scopes");
        world.advance(480);
        assert_eq!(code_in(&link(&step_up(&world, &tokens, "m-4").await)), first, "120 s left");
        world.advance(1);
        let second = code_in(&link(&step_up(&world, &tokens, "m-5").await));
        assert_ne!(second, first, "119 s left");
        world.sign_in(SHOP, "jane", &first).await;
        world.sign_in(SHOP, "jane", &second).await;
        world.stop().await;
    }

    async fn step_ups_do_not_count_against_the_twenty_codes(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let mut codes = HashSet::new();
        for text in [REFUND, "Cancel order A-88213", "Cancel and refund order A-88213"] {
            codes.insert(code_in(&link(&world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, text).await)));
        }
        for _ in 0..20 {
            world.codes(SHOP, "user-1", "orders:read").await;
        }
        let too_many = world.oauth(SHOP, "/device_authorization", "user-1", &[("scope", "orders:read")]).await;
        assert_eq!(too_many.status(), 429);
        world.advance(500);
        codes.insert(code_in(&link(&step_up(&world, &tokens, "m-2").await)));
        assert_eq!(codes.len(), 4);
        world.stop().await;
    }

    // case 62
    async fn a_step_up_is_repeated_byte_for_byte_and_gets_a_fresh_link_when_its_code_has_run_out(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let first = step_up(&world, &tokens, "m-1").await;
        let context = first.context();
        let again = async |tokens: &Tokens| {
            world.send(SHOP, "user-1", Some(&tokens.access), "m-1", Some(&context), REFUND).await
        };
        let before = db.contents().await;
        assert_eq!(again(&tokens).await.text(), first.text());
        world.advance(599);
        assert_eq!(again(&tokens).await.text(), first.text(), "one second before the end");
        assert_eq!(db.contents().await, before);

        world.advance(1);
        let renewed = again(&tokens).await;
        let parts = |answer: &Answer| -> (String, Value) {
            let mut json = answer.json();
            let link = json["task"]["metadata"]["pact.verificationUriComplete"].take();
            (code_in(link.as_str().unwrap()), json)
        };
        let ((old, was), (new, is)) = (parts(&first), parts(&renewed));
        assert_ne!(new, old);
        assert_eq!(is, was, "only the link is another");
        let raw =
            |text: &str| text.split_once("\"pact.receipt\":").unwrap().1.split_once("},\"pact.").unwrap().0.to_owned();
        assert_eq!(raw(&renewed.text()), raw(&first.text()), "the receipt is the same to the byte");
        assert_eq!(again(&tokens).await.text(), renewed.text());

        let page = world.sign_in(SHOP, "jane", &new).await;
        assert_eq!(world.decide(SHOP, &page.session, "deny", &[]).await.status(), 303);
        let after_no = again(&tokens).await;
        assert!(![old.clone(), new.clone()].contains(&parts(&after_no).0), "a refused code is not handed out again");
        assert_eq!(db.count("SELECT * FROM receipt").await, 1);
        world.stop().await;
    }

    // case 62
    async fn of_twenty_who_ask_for_one_step_up_again_all_get_the_same_fresh_link(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let first = step_up(&world, &tokens, "m-1").await;
        let context = first.context();
        world.advance(600);
        let again = || world.send(SHOP, "user-1", Some(&tokens.access), "m-1", Some(&context), REFUND);
        let renewed: HashSet<String> = join_all((0..20).map(|_| again())).await.iter().map(Answer::text).collect();
        assert_eq!(renewed.len(), 1, "{renewed:?}");
        let next = again().await;
        assert!(renewed.contains(&next.text()));
        assert_ne!(code_in(&link(&next)), code_in(&link(&first)));
        world.sign_in(SHOP, "jane", &code_in(&link(&next))).await;
        world.stop().await;
    }

    // case 62
    async fn a_step_up_is_repeated_to_its_own_grant_alone(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let john = world.tokens(SHOP, "user-1", "john", &["orders:read", "refunds:issue"]).await;
        let first = step_up(&world, &tokens, "m-1").await;
        let before = db.contents().await;
        for token in [None, Some(john.access.as_str())] {
            let refused = world.send(SHOP, "user-1", token, "m-1", Some(&first.context()), REFUND).await;
            refused.assert_a2a_error("INVALID_PARAMS");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 62
    async fn without_a_delegation_token_a_step_up_is_an_ordinary_request_that_delegation_continues(db: Database) {
        let world = World::start(&db).await;
        let missing = json!({ "parts": [{ "text": "Connect your account." }], "missingScopes": ["orders:read"] });
        world.backend.answer_with(Script::json(missing));
        let first = world.send(AIRLINE, "user-1", None, "m-1", None, "My orders").await;
        assert!(link(&first).starts_with("https://login.example/login?lang=en&return_to="), "{}", first.text());
        assert_eq!(first.json()["task"]["metadata"]["pact.receipt"], Value::Null);
        let again = world.send(AIRLINE, "user-1", None, "m-1", Some(&first.context()), "My orders").await;
        assert_eq!(again.text(), first.text());
        assert_eq!(world.backend.seen().len(), 1);

        let page = world.sign_in(AIRLINE, "jane", &code_in(&link(&first))).await;
        assert_eq!(world.decide(AIRLINE, &page.session, "allow", &["orders:read"]).await.status(), 303);
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        world.backend.answer_with(Script::text("Here they are."));
        let context = first.context();
        let done = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "My orders").await;
        assert_eq!(done.json()["message"]["parts"], json!([{ "text": "Here they are." }]), "{}", done.text());
        let key = format!("{context}/m-1/1");
        assert_eq!(world.backend.seen()[1].header("idempotency-key"), Some(key.as_str()));
        world.stop().await;
    }

    // case 42
    async fn allowing_nothing_at_a_step_up_ends_the_grant(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let answer = step_up(&world, &tokens, "m-1").await;
        let page = world.sign_in(SHOP, "jane", &code_in(&link(&answer))).await;
        let ended = world.decide(SHOP, &page.session, "allow", &[]).await;
        let closing = world.closing(SHOP, &ended).await;
        assert!(closing.text().contains("Access ended"), "{}", closing.text());
        let message = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", Some(&answer.context()), REFUND).await;
        message.assert_invalid_token();
        let alone = world.send(SHOP, "user-1", None, "m-2", Some(&answer.context()), "Hello").await;
        alone.assert_a2a_error("UNSUPPORTED_OPERATION");
        world.stop().await;
    }

    // case 56
    async fn a_step_up_code_ends_with_its_grant(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let code = code_in(&link(&step_up(&world, &tokens, "m-1").await));
        let page = world.sign_in(SHOP, "jane", &code).await;
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        let before = db.contents().await;
        let late = world.decide(SHOP, &page.session, "allow", &["orders:read", "refunds:issue"]).await;
        assert_eq!(late.status(), 410, "{}", late.text());
        let assertion = world.assertion(SHOP, "jane", &code, json!({}));
        assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 410);
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 62
    async fn a_step_up_whose_grant_ends_as_it_is_decided_is_allowed_or_gone_and_never_shown_anew(db: Database) {
        let world = World::start(&db).await;
        for round in 0..12 {
            let user = format!("jane-{round}");
            let tokens = world.tokens(SHOP, "user-1", &user, &["orders:read"]).await;
            let code = code_in(&link(&step_up(&world, &tokens, "m-1").await));
            let page = world.sign_in(SHOP, &user, &code).await;
            let token = [("token", tokens.refresh.as_str())];
            let (decided, ended) = join(
                world.decide(SHOP, &page.session, "allow", &["orders:read", "refunds:issue"]),
                world.oauth(SHOP, "/revoke", "user-1", &token),
            )
            .await;
            ended.assert_empty(200);
            assert!([303, 410].contains(&decided.status()), "{} {}", decided.status(), decided.text());
        }
        world.stop().await;
    }

    // case 62
    async fn the_next_token_carries_what_the_user_left_ticked(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        let page = world.sign_in(SHOP, "jane", &code_in(&link(&step_up(&world, &tokens, "m-1").await))).await;
        let decided = world.decide(SHOP, &page.session, "allow", &["orders:read", "refunds:issue"]).await;
        assert_eq!(decided.status(), 303);
        // What was taken back is gone from the token that still names it.
        assert_eq!(claims(&tokens.access)["scope"], "orders:read orders:cancel");
        let cancel = world.send(SHOP, "user-1", Some(&tokens.access), "m-2", None, "Cancel order A-88213").await;
        assert_eq!(cancel.json()["task"]["metadata"]["pact.missingScopes"], json!(["orders:cancel"]));
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(tokens.scope, "orders:read refunds:issue");
        world.stop().await;
    }
}
