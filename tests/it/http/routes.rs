//! The table of routes under an interface URL (PACT §2.2): what each answers to a good JWT, and to what is not in it.

use assent::outbound::Method;
use serde_json::json;

use crate::support::client::Ask;
use crate::support::database::on_both_databases;
use crate::support::flow::message;
use crate::support::world::{AIRLINE, PLAIN, PROVIDER, SHOP, World};

fn at(world: &World, method: &Method, brand: &str, path: &str) -> Ask {
    world.ask(method.clone(), PROVIDER, &format!("/a2a/{brand}/{path}"))
}

const UNSUPPORTED: &str = "UNSUPPORTED_OPERATION";
const NO_PUSH: &str = "PUSH_NOTIFICATION_NOT_SUPPORTED";
const NO_TASK: &str = "TASK_NOT_FOUND";

fn operations() -> Vec<(Method, &'static str, &'static str)> {
    vec![
        (Method::GET, "tasks/t-1", NO_TASK),
        (Method::POST, "tasks/t-1:cancel", NO_TASK),
        (Method::POST, "message:stream", UNSUPPORTED),
        (Method::POST, "tasks/t-1:subscribe", UNSUPPORTED),
        (Method::GET, "tasks/t-1:subscribe", UNSUPPORTED),
        (Method::GET, "extendedAgentCard", UNSUPPORTED),
        (Method::GET, "tasks/t-1/pushNotificationConfigs", NO_PUSH),
        (Method::POST, "tasks/t-1/pushNotificationConfigs", NO_PUSH),
        (Method::GET, "tasks/t-1/pushNotificationConfigs/c-1", NO_PUSH),
        (Method::DELETE, "tasks/t-1/pushNotificationConfigs/c-1", NO_PUSH),
    ]
}

on_both_databases! {
    // case 6
    async fn every_route_answers_a_good_jwt_in_a2as_words_and_others_with_the_bare_401(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        for brand in [SHOP, AIRLINE, PLAIN] {
            for (method, path, reason) in operations() {
                let answer = at(&world, &method, brand, path).bearer(&world.jwt("user-1")).send().await;
                assert_eq!(answer.reason(), reason, "{method} {path}");
                answer.assert_a2a_error(reason);
                if reason == NO_TASK {
                    assert_eq!(answer.json()["error"]["message"], "Task not found: t-1");
                }
                at(&world, &method, brand, path).send().await.assert_unauthenticated();
                at(&world, &method, brand, path).bearer("a.b.c").send().await.assert_unauthenticated();
            }
            let tasks = at(&world, &Method::GET, brand, "tasks").bearer(&world.jwt("user-1")).send().await;
            assert_eq!((tasks.status(), tasks.header("content-type")), (200, Some("application/a2a+json")));
            assert_eq!(tasks.text(), r#"{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}"#);
            at(&world, &Method::GET, brand, "tasks").send().await.assert_unauthenticated();
            at(&world, &Method::POST, brand, "message:send").send().await.assert_unauthenticated();
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 69
    async fn a_page_size_is_a_plain_decimal_from_1_to_100_given_once(db: Database) {
        let world = World::start(&db).await;
        let tasks = |query: &str| at(&world, &Method::GET, SHOP, &format!("tasks{query}")).bearer(&world.jwt("user-1"));
        let before = db.contents().await;
        for wrong in [
            "0",
            "101",
            "1e1",
            "%2B5",
            "+5",
            "",
            "007",
            "-1",
            "1.0",
            "%205",
            "5%20",
            "0x10",
            "4294967297",
            "%D9%A5",
            "1&pageSize=1",
            "1&pageSize=",
            "5&pageSize=50",
        ] {
            let answer = tasks(&format!("?pageSize={wrong}")).send().await;
            assert_eq!(answer.status(), 400, "{wrong}");
            answer.assert_a2a_error("INVALID_PARAMS");
        }
        assert_eq!(db.contents().await, before);
        for (query, size) in [
            ("?pageSize=1", 1),
            ("?pageSize=100", 100),
            ("?pageSize=%35", 5),
            ("", 50),
            ("?", 50),
            ("?contextId=x&status=TASK_STATE_WORKING&pageToken=abc&historyLength=-1&unknown=%00&pageSize=7", 7),
        ] {
            let answer = tasks(query).send().await;
            assert_eq!(answer.json()["pageSize"], json!(size), "{query}");
        }
        world.stop().await;
    }

    async fn another_path_is_404_and_another_method_405_with_an_empty_body(db: Database) {
        let world = World::start(&db).await;
        let jwt = world.jwt("user-1");
        let body = message("m-1", None, "Hello").to_string();
        let before = db.contents().await;
        for path in [
            "",
            "message:send/",
            "Message:Send",
            "message:SEND",
            "message",
            "message:",
            "message:send:send",
            "message%253Asend",
            "message:send%2F",
            "/message:send",
            "./x/message:sends",
            "tasks/",
            "tasks/t-1/",
            "tasks/t-1:resubscribe/x",
            "Tasks",
            "extendedAgentCard/",
            "tasks/t-1/pushNotificationConfigs/",
            "tasks/t-1/pushNotificationConfigs/c/d",
            "oauth",
            ".well-known/agent.json",
            "v1/message:send",
        ] {
            for bearer in [Some(&jwt), None] {
                let ask = at(&world, &Method::POST, SHOP, path).body("application/json", body.clone());
                bearer.into_iter().fold(ask, |ask, jwt| ask.bearer(jwt)).send().await.assert_empty(404);
            }
        }
        for (method, path, allow) in [
            (Method::GET, "message:send", "POST"),
            (Method::HEAD, "message:send", "POST"),
            (Method::PUT, "message:send", "POST"),
            (Method::OPTIONS, "message:send", "POST"),
            (Method::GET, "message:stream", "POST"),
            (Method::POST, "tasks", "GET, HEAD"),
            (Method::DELETE, "tasks/t-1", "GET, HEAD"),
            (Method::POST, "tasks/t-1", "GET, HEAD"),
            (Method::GET, "tasks/t-1:cancel", "POST"),
            (Method::DELETE, "tasks/t-1:subscribe", "GET, HEAD, POST"),
            (Method::POST, "extendedAgentCard", "GET, HEAD"),
            (Method::DELETE, "tasks/t-1/pushNotificationConfigs", "GET, HEAD, POST"),
            (Method::POST, "tasks/t-1/pushNotificationConfigs/c-1", "GET, HEAD, DELETE"),
            (Method::POST, ".well-known/agent-card.json", "GET, HEAD"),
        ] {
            for bearer in [Some(&jwt), None] {
                let ask = at(&world, &method, SHOP, path);
                let answer = bearer.into_iter().fold(ask, |ask, jwt| ask.bearer(jwt)).send().await;
                assert_eq!(answer.status(), 405, "{method} {path}");
                answer.assert_empty(405);
                assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
            }
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn a_path_is_decoded_once_and_a_brand_that_is_not_there_is_404_after_the_jwt(db: Database) {
        let world = World::start(&db).await;
        let jwt = world.jwt("user-1");
        let body = message("m-1", None, "Hello").to_string();
        for path in ["message:send", "message%3Asend", "message%3asend", "%6dessage:send"] {
            let ask = at(&world, &Method::POST, SHOP, path).bearer(&jwt).body("application/json", body.clone());
            assert_eq!(ask.send().await.status(), 200, "{path}");
        }
        let found = at(&world, &Method::GET, SHOP, "tasks/a%20b%252F%2Fc").bearer(&jwt).send().await;
        assert_eq!(found.json()["error"]["message"], "Task not found: a b%2F/c");
        let before = db.contents().await;
        for brand in ["01M3R53Q5SZQ6FQSMSDBSSREAZ", "x", "01m3r53q5szq6fqsmsdbssreaa"] {
            let ask = |path: &str| at(&world, &Method::POST, brand, path).body("application/json", body.clone());
            ask("message:send").bearer(&jwt).send().await.assert_empty(404);
            ask("message:send").send().await.assert_unauthenticated();
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn the_content_type_and_the_protocol_version_are_not_enforced(db: Database) {
        let world = World::start(&db).await;
        let body = message("m-1", None, "Hello").to_string();
        for (content_type, version) in [
            ("text/plain", "2.0"),
            ("application/a2a+json", "1.0"),
            ("application/x-www-form-urlencoded", ""),
            ("nonsense", "0.3"),
        ] {
            let ask = at(&world, &Method::POST, PLAIN, "message:send").bearer(&world.jwt("user-1"));
            let ask = ask.body(content_type, body.clone()).header("a2a-version", version).header("a2a-extensions", "x");
            let answer = ask.send().await;
            assert_eq!((answer.status(), answer.header("content-type")), (200, Some("application/a2a+json")));
        }
        world.stop().await;
    }

    async fn head_answers_as_get_does_without_a_body(db: Database) {
        let world = World::start(&db).await;
        for (path, authenticated) in
            [("tasks", true), ("tasks/t-1", true), ("extendedAgentCard", true), (".well-known/agent-card.json", false)]
        {
            let ask = |method: &Method| {
                let ask = at(&world, method, SHOP, path);
                if authenticated { ask.bearer(&world.jwt("user-1")) } else { ask }
            };
            let (get, head) = (ask(&Method::GET).send().await, ask(&Method::HEAD).send().await);
            assert_eq!((head.status(), head.text().as_str()), (get.status(), ""), "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
            if authenticated {
                let bare = at(&world, &Method::HEAD, SHOP, path).send().await;
                bare.assert_unauthenticated();
            }
        }
        world.stop().await;
    }
}
