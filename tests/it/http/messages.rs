//! `message:send` (PACT §4): what is read, which context it is for, and that a message runs once.

use std::collections::HashSet;
use std::time::Duration;

use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::backend::Script;
use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::{Tokens, message};
use crate::support::world::{AIRLINE, PROVIDER, SHOP, World};

/// Posts these bytes as a message of the first user.
async fn post(world: &World, body: impl Into<Vec<u8>>) -> Answer {
    world.message(AIRLINE, "user-1").body("application/json", body).send().await
}

fn with(changes: Value) -> Value {
    let mut message = message("m-1", None, "Hello");
    for (name, value) in changes.as_object().unwrap() {
        message["message"][name] = value.clone();
    }
    message
}

fn texts(answer: &Answer) -> Value {
    answer.json()["message"]["parts"].clone()
}

on_both_databases! {
    // case 64
    async fn a_body_that_is_not_one_strict_json_object_is_refused(db: Database) {
        let world = World::start(&db).await;
        let good = message("m-1", None, "Hello").to_string();
        let inside = |text: &str| good.replace("\"Hello\"", text).into_bytes();
        let after = |text: &str| good.replacen('{', &format!("{{{text},"), 1).into_bytes();
        let mut invalid_utf8 = good.clone().into_bytes();
        let at = good.find("Hello").unwrap();
        invalid_utf8[at] = 0xff;
        let before = db.contents().await;
        for body in [
            [b"\xef\xbb\xbf", good.as_bytes()].concat(),
            after("\"x\":NaN"),
            after("\"x\":Infinity"),
            after("\"x\":1e999"),
            after("\"x\":01"),
            after("\"x\":{\"a\":1,\"a\":1}"),
            after(&format!("\"message\":{}", message("m-1", None, "Hello")["message"])),
            inside("\"\\ud800\""),
            inside("\"a\\udc00b\""),
            inside("'Hello'"),
            invalid_utf8,
            after(&format!("\"x\":{}{}", "[".repeat(10_000), "]".repeat(10_000))),
            after(&format!("\"x\":{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000))),
            format!("[{good}]").into_bytes(),
            format!("{good}{good}").into_bytes(),
            good.as_bytes()[..good.len() - 1].to_vec(),
            b"null".to_vec(),
            b"\"message\"".to_vec(),
            b"7".to_vec(),
            b"{}".to_vec(),
            Vec::new(),
            br#"{"message":null}"#.to_vec(),
            br#"{"message":[]}"#.to_vec(),
        ] {
            let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
            let answer = post(&world, body).await;
            assert_eq!(answer.status(), 400, "{shown}: {}", answer.text());
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        assert_eq!(db.contents().await, before);
        assert!(world.backend.seen().is_empty());
        world.stop().await;
    }

    // case 64
    async fn a_body_of_64_kib_is_read_and_a_byte_more_is_not(db: Database) {
        let world = World::start(&db).await;
        let of = |bytes: usize| {
            let body = message("m-1", None, "Hello").to_string();
            format!("{body}{}", " ".repeat(bytes - body.len()))
        };
        let before = db.contents().await;
        post(&world, of(64 * 1024 + 1)).await.assert_empty(413);
        let gzip =
            world.message(AIRLINE, "user-1").body("application/json", of(200)).header("content-encoding", "gzip");
        gzip.send().await.assert_empty(415);
        assert_eq!(db.contents().await, before);
        assert_eq!(post(&world, of(64 * 1024)).await.status(), 200);
        world.stop().await;
    }

    // case 65
    async fn parts_are_text_and_one_of_them_is_not_blank(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for parts in [
            json!([]),
            json!([{}]),
            json!([{ "text": "" }]),
            json!([{ "text": " " }]),
            json!([{ "text": "\n\t\u{a0}" }]),
            json!([{ "text": null }]),
            json!([{ "text": 1 }]),
            json!(["Hello"]),
            json!({ "text": "Hello" }),
            json!(null),
            json!([{ "text": "Hello" }, {}]),
            json!([{ "mediaType": "text/plain" }]),
        ] {
            let answer = post(&world, with(json!({ "parts": parts.clone() })).to_string()).await;
            assert_eq!(answer.status(), 400, "{parts}");
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        for part in [
            json!({ "text": "Hello", "url": "https://x.example/a.png" }),
            json!({ "url": "https://x.example/a.png" }),
            json!({ "data": {} }),
            json!({ "data": [1] }),
            json!({ "raw": "AAAA" }),
            json!({ "text": "Hello", "raw": "AAAA" }),
            json!({ "text": "Hello", "data": {} }),
        ] {
            let answer = post(&world, with(json!({ "parts": [{ "text": "Hello" }, part.clone()] })).to_string()).await;
            assert_eq!(answer.status(), 400, "{part}");
            answer.assert_a2a_error("CONTENT_TYPE_NOT_SUPPORTED");
        }
        assert_eq!(db.contents().await, before);
        assert!(world.backend.seen().is_empty());
        world.stop().await;
    }

    // case 66
    async fn only_a_user_speaks_and_never_to_a_task(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for role in [
            json!("user"),
            json!("ROLE_AGENT"),
            json!("ROLE_UNSPECIFIED"),
            json!("role_user"),
            json!(1),
            json!(null),
            json!(""),
        ] {
            let answer = post(&world, with(json!({ "role": role.clone() })).to_string()).await;
            assert_eq!(answer.status(), 400, "{role}");
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        let mut missing = message("m-1", None, "Hello");
        missing["message"].as_object_mut().unwrap().remove("role");
        post(&world, missing.to_string()).await.assert_a2a_error("INVALID_PARAMS");
        let task = post(&world, with(json!({ "taskId": "x" })).to_string()).await;
        task.assert_a2a_error("TASK_NOT_FOUND");
        assert_eq!(task.json()["error"]["message"], "Task not found");
        for id in [json!(null), json!(""), json!(1), json!("m".repeat(257)), json!("a\u{0}b")] {
            let answer = post(&world, with(json!({ "messageId": id })).to_string()).await;
            assert_eq!(answer.status(), 400);
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        assert_eq!(db.contents().await, before);
        assert!(world.backend.seen().is_empty());
        for changes in [
            json!({ "taskId": null }),
            json!({ "taskId": "" }),
            json!({ "contextId": null }),
            json!({ "contextId": "" }),
            json!({ "messageId": "\u{e9}".repeat(256) }),
            json!({ "unknown": [1], "extensions": null, "metadata": { "a": 1 } }),
        ] {
            let answer = post(&world, with(changes.clone()).to_string()).await;
            assert_eq!(answer.status(), 200, "{changes}: {}", answer.text());
        }
        world.stop().await;
    }

    // case 67
    async fn a_context_that_is_not_the_callers_is_unknown_in_the_same_bytes(db: Database) {
        let world = World::start(&db).await;
        let own = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        let other_sub = world.send(AIRLINE, "user-2", None, "m-0", None, "Hello").await.context();
        let elsewhere = world.send(SHOP, "user-1", None, "m-0", None, "Hello").await.context();
        let path = format!("/a2a/{AIRLINE}/message:send");
        let jwt = world.jwt_of(&world.other_pa, "user-1");
        let hello = message("m-0", None, "Hello");
        let other_pa = world.ask(Method::POST, PROVIDER, &path).bearer(&jwt).json(&hello).send().await.context();
        let before = db.contents().await;
        let mut bodies = HashSet::new();
        for context in [
            other_sub,
            elsewhere,
            other_pa,
            "f0c12e6b-231e-4d92-a610-2518a0f27d20".to_owned(),
            "x".to_owned(),
            own.to_uppercase(),
            own.replace('-', ""),
            format!("{{{own}}}"),
            format!("urn:uuid:{own}"),
            format!("{own} "),
            format!("{own}\u{0}"),
            "\u{0}".to_owned(),
            " ".to_owned(),
            "c".repeat(10_000),
            "' OR 1=1 --".to_owned(),
        ] {
            for id in ["m-0", "m-1"] {
                let answer = world.send(AIRLINE, "user-1", None, id, Some(&context), "Hello").await;
                assert_eq!(answer.status(), 400, "{context:?}");
                answer.assert_a2a_error("INVALID_PARAMS");
                bodies.insert(answer.text());
            }
        }
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        assert!(bodies.iter().next().unwrap().contains("\"Unknown contextId\""));
        assert_eq!(db.contents().await, before);
        assert_eq!(world.backend.seen().len(), 3);
        world.stop().await;
    }

    // case 68
    async fn of_twenty_sends_of_one_message_at_once_the_agent_runs_once(db: Database) {
        let world = World::start(&db).await;
        let elsewhere = world.another_node(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        for token in [None, Some(tokens.access.as_str())] {
            world.backend.answer_with(Script::text("Hello."));
            let context = world.send(AIRLINE, "user-1", token, "m-0", None, "Hello").await.context();
            let ran = world.backend.seen().len();
            world.backend.answer_with(Script::text("Once.").after(Duration::from_millis(300)));
            let send = || world.send(AIRLINE, "user-1", token, "m-1", Some(&context), "Do it");
            let at = |number: usize| if number.is_multiple_of(2) { &world } else { &elsewhere };
            let sends = (0..20).map(|number| at(number).send(AIRLINE, "user-1", token, "m-1", Some(&context), "Do it"));
            let answers = join_all(sends).await;
            assert_eq!(world.backend.seen().len(), ran + 1);
            let (done, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status() == 200);
            assert!(!done.is_empty());
            let bodies: HashSet<String> = done.iter().map(|answer| answer.text()).collect();
            assert_eq!(bodies.len(), 1);
            refused.iter().for_each(|answer| answer.assert_a2a_error("INVALID_PARAMS"));
            assert_eq!(send().await.text(), *bodies.iter().next().unwrap());
            assert_eq!(world.backend.seen().len(), ran + 1);
        }
        assert_eq!(db.count("SELECT * FROM receipt").await, 2);
        elsewhere.stop().await;
        world.stop().await;
    }

    async fn a_reply_has_only_what_a2a_gives_it(db: Database) {
        let world = World::start(&db).await;
        world.backend.answer_with(Script::json(json!({ "parts": [{ "text": "One" }, { "text": "Two" }] })));
        let answer = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        assert_eq!((answer.status(), answer.header("content-type")), (200, Some("application/a2a+json")));
        let json = answer.json();
        let message = &json["message"];
        assert_eq!(
            json,
            json!({ "message": {
                "messageId": message["messageId"], "contextId": message["contextId"], "role": "ROLE_AGENT",
                "parts": [{ "text": "One" }, { "text": "Two" }],
            }})
        );
        assert!(message["messageId"].is_string());
        let context = message["contextId"].as_str().unwrap();
        assert_eq!(uuid::Uuid::parse_str(context).unwrap().get_version_num(), 4);
        let again = world.send(AIRLINE, "user-1", None, "m-2", Some(context), "Hello").await;
        assert_eq!(again.context(), context);
        let other = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        assert_ne!(other.context(), context, "without contextId a new conversation begins");
        world.stop().await;
    }

    // case 68
    async fn a_retry_gets_the_stored_reply_to_the_byte_also_after_the_context_closed(db: Database) {
        let world = World::start(&db).await;
        let first = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        let context = first.context();
        world.backend.answer_with(Script::json(json!({ "parts": [{ "text": "Bye \u{1f44b}." }], "close": true })));
        let last = world.send(AIRLINE, "user-1", None, "m-2", Some(&context), "Bye").await;
        world.backend.answer_with(Script::text("Another."));
        for _ in 0..2 {
            for (id, reply) in [("m-1", &first), ("m-2", &last)] {
                let again = world.send(AIRLINE, "user-1", None, id, Some(&context), "whatever it says now").await;
                assert_eq!((again.text(), again.header("content-type")), (reply.text(), reply.header("content-type")));
            }
            let before = db.contents().await;
            let closed = world.send(AIRLINE, "user-1", None, "m-3", Some(&context), "Hello?").await;
            closed.assert_a2a_error("UNSUPPORTED_OPERATION");
            assert_eq!(db.contents().await, before);
            world.advance(7200);
        }
        assert_eq!(world.backend.seen().len(), 2);
        world.stop().await;
    }

    async fn a_reply_under_delegation_is_replayed_to_the_same_grant_alone(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let reply = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        let context = reply.context();
        let send =
            async |token: Option<&str>| world.send(AIRLINE, "user-1", token, "m-1", Some(&context), "Hello").await;
        let john = world.tokens(AIRLINE, "user-1", "john", &["orders:read"]).await;
        let before = db.contents().await;
        send(None).await.assert_a2a_error("INVALID_PARAMS");
        send(Some(&john.access)).await.assert_a2a_error("INVALID_PARAMS");
        assert_eq!(db.contents().await, before);
        assert_eq!(send(Some(&tokens.access)).await.text(), reply.text());
        let refreshed = Tokens::of(&world.refresh(AIRLINE, "user-1", &tokens.refresh).await);
        assert_eq!(send(Some(&refreshed.access)).await.text(), reply.text(), "another token of the same grant");

        world.oauth(AIRLINE, "/revoke", "user-1", &[("token", &refreshed.refresh)]).await.assert_empty(200);
        let anew = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        assert_ne!(anew.grant(), tokens.grant());
        let before = db.contents().await;
        send(Some(&refreshed.access)).await.assert_invalid_token();
        send(Some(&anew.access)).await.assert_a2a_error("INVALID_PARAMS");
        assert_eq!(db.contents().await, before);
        assert_eq!(world.backend.seen().len(), 1);
        // A reply without delegation is anybody's who may use the context.
        let alone = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        let again = world.send(AIRLINE, "user-1", Some(&anew.access), "m-1", Some(&alone.context()), "Hello").await;
        assert_eq!(again.text(), alone.text());
        world.stop().await;
    }

    // case 63
    async fn a_message_whose_agent_failed_runs_again(db: Database) {
        let world = World::start(&db).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        world.backend.answer_with(Script::hang_up());
        world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Hello").await.assert_a2a_error("INTERNAL");
        world.backend.answer_with(Script::text("Here."));
        let done = world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Hello").await;
        assert_eq!(texts(&done), json!([{ "text": "Here." }]));
        assert_eq!(world.backend.seen().len(), 3);
        world.stop().await;
    }

    // case 70
    async fn a_turn_is_taken_over_after_its_lease_and_the_one_before_can_no_longer_store(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-0", None, "Hello").await.context();
        let send = || world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it");
        world.backend.answer_with(Script::text("Too late.").after(Duration::from_millis(1500)));
        let (superseded, taken_over) = tokio::join!(send(), async {
            world.backend.seen_at_least(2).await;
            world.backend.answer_with(Script::text("In its place."));
            world.advance(6);
            send().await.assert_a2a_error("INVALID_PARAMS");
            assert_eq!(world.backend.seen().len(), 2);
            world.advance(1);
            send().await
        });
        assert_eq!(texts(&taken_over), json!([{ "text": "In its place." }]), "{}", taken_over.text());
        superseded.assert_a2a_error("INTERNAL");
        assert_eq!(send().await.text(), taken_over.text());
        assert_eq!(world.backend.seen().len(), 3);
        assert_eq!(db.count("SELECT * FROM receipt WHERE message_id = 'm-1'").await, 1);
        world.stop().await;
    }

    // case 70
    async fn a_turn_goes_on_when_its_sender_hangs_up(db: Database) {
        let world = World::start(&db).await;
        let context = world.send(AIRLINE, "user-1", None, "m-0", None, "Hello").await.context();
        let send = || world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Do it");
        world.backend.answer_with(Script::text("Done.").after(Duration::from_millis(500)));
        tokio::select! {
            _ = send() => panic!("answered too soon"),
            _ = world.backend.seen_at_least(2) => {}
        }
        let reply = loop {
            let again = send().await;
            if again.status() == 200 {
                break again;
            }
            again.assert_a2a_error("INVALID_PARAMS");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(texts(&reply), json!([{ "text": "Done." }]));
        assert_eq!(world.backend.seen().len(), 2);
        world.stop().await;
    }

    async fn a_context_without_a_turn_for_thirty_days_is_closed(db: Database) {
        const DAY: u64 = 86_400;
        let world = World::start(&db).await;
        let first = world.send(AIRLINE, "user-1", None, "m-1", None, "Hello").await;
        let context = first.context();
        world.advance(30 * DAY - 1);
        assert_eq!(world.send(AIRLINE, "user-1", None, "m-2", Some(&context), "Hello").await.status(), 200);
        world.advance(30 * DAY - 1);
        assert_eq!(world.send(AIRLINE, "user-1", None, "m-3", Some(&context), "Hello").await.status(), 200);
        world.advance(30 * DAY);
        let before = db.contents().await;
        let closed = world.send(AIRLINE, "user-1", None, "m-4", Some(&context), "Hello").await;
        closed.assert_a2a_error("UNSUPPORTED_OPERATION");
        assert_eq!(world.send(AIRLINE, "user-1", None, "m-1", Some(&context), "Hello").await.text(), first.text());
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
