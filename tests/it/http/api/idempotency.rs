//! Idempotency keys: what is sent again is not done again.

use assent::crypto::codes;
use assent::domain::administrator::Access;
use assent::flow::admin::idempotency::{Begun, begin};
use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{Api, assert_problem};
use crate::support::client::{Answer, Ask};
use crate::support::database::on_both_databases;
use crate::support::faults::Fault;
use crate::support::world::World;

fn new_key(name: &str) -> Value {
    json!({ "name": name, "role": "auditor", "brands": "*" })
}

fn make(api: &Api<'_>, key: &str, name: &str) -> Ask {
    api.ask(Method::POST, "/api-keys").header("idempotency-key", key).json(&new_key(name))
}

fn assert_again(answer: &Answer, first: &Answer) {
    assert_eq!((answer.status(), answer.text()), (first.status(), first.text()));
    assert_eq!(answer.header("content-type"), first.header("content-type"));
    assert_eq!(answer.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.header("idempotency-replayed"), None);
}

const MADE: &str = "SELECT id FROM api_key WHERE name <> 'test'";

on_both_databases! {
    async fn what_is_sent_again_is_answered_again_and_not_done_again(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let first = make(&api, "the-first-key", "one").send().await;
        assert_eq!(first.status(), 201);
        let before = db.contents().await;
        assert_again(&make(&api, "the-first-key", "one").send().await, &first);
        assert_again(&make(&api.at(&other), "the-first-key", "one").send().await, &first);
        // Neither the key that was made nor the key of the request stands in the database.
        let secret = first.json()["key"].as_str().unwrap().to_owned();
        assert!(!before.concat().contains(&secret) && !before.concat().contains("the-first-key"));
        // Another request, and the same body elsewhere.
        let another = Some("Idempotency-Key");
        assert_problem(&make(&api, "the-first-key", "two").send().await, 422, "another-request", another);
        let elsewhere = api.ask(Method::POST, "/audit/provider/1/erase").header("idempotency-key", "the-first-key").send().await;
        assert_problem(&elsewhere, 422, "another-request", another);
        assert_eq!(db.contents().await, before);
        // Whoever has another API key has keys of their own.
        let somebody_else = Api::with(&world, Access::EVERYTHING).await;
        let theirs = make(&somebody_else, "the-first-key", "one").send().await;
        assert_eq!((theirs.status(), theirs.header("idempotency-replayed")), (201, None));
        assert_eq!(db.count(MADE).await, 2);
        other.stop().await;
        world.stop().await;
    }

    async fn a_refusal_is_answered_again_too_and_a_day_later_it_is_another_request(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let missing = || api.post_with("k-2", "/administrators/nobody/disable");
        let first = missing().await;
        assert_problem(&first, 404, "not-found", None);
        world.administrator("nobody", Access::EVERYTHING).await;
        world.administrator("somebody", Access::EVERYTHING).await;
        assert_again(&missing().await, &first);
        let long = json!({ "name": "long", "role": "owner", "brands": "*", "days": 9 });
        let long = Api { world: &world, key: super::text(&api.write(Method::POST, "/api-keys", long).await.json()["key"]) };
        let made = make(&long, "k-3", "three").send().await;
        world.advance(86_399);
        assert_again(&make(&long, "k-3", "three").send().await, &made);
        world.advance(1);
        let later = make(&long, "k-3", "three").send().await;
        assert_eq!((later.status(), later.header("idempotency-replayed")), (201, None));
        assert_ne!(later.text(), made.text());
        world.stop().await;
    }

    async fn of_many_at_once_one_does_it(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let there = api.at(&other);
        let answers = join_all((0..8).map(|n| make(if n % 2 == 0 { &api } else { &there }, "k-4", "four").send())).await;
        assert_eq!(db.count(MADE).await, 1);
        let first: Vec<_> = answers.iter().filter(|answer| answer.status() == 201).collect();
        assert!(!first.is_empty());
        for answer in &answers {
            match answer.status() {
                201 => assert_eq!(answer.text(), first[0].text()),
                _ => {
                    assert_problem(answer, 409, "under-way", None);
                    assert!(answer.header("retry-after").is_some());
                }
            }
        }
        assert_eq!(first.iter().filter(|answer| answer.header("idempotency-replayed").is_none()).count(), 1);
        other.stop().await;
        world.stop().await;
    }

    async fn a_fault_is_not_kept(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let before = db.contents().await;
        let failed = db.with_fault(Fault::Full, "INSERT ON api_key", async || make(&api, "k-5", "five").send().await).await;
        assert_problem(&failed, 503, "busy", None);
        assert_eq!(failed.header("retry-after"), Some("1"));
        assert_eq!(db.contents().await, before);
        let made = make(&api, "k-5", "five").send().await;
        assert_eq!((made.status(), made.header("idempotency-replayed")), (201, None));
        // One that cannot even be begun is not done.
        let unbegun = db.with_fault(Fault::Full, "INSERT ON api_idempotency", async || make(&api, "k-6", "six").send().await).await;
        assert_problem(&unbegun, 503, "busy", None);
        assert_eq!(db.count(MADE).await, 1);
        world.stop().await;
    }

    async fn of_a_request_that_died_in_the_middle_nobody_says_that_it_was_done_or_was_not_and_it_is_done_no_second_time(db: Database) {
        let world = World::start(&db).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let id = db.store.api_key_by_digest(codes::digest(&api.key)).await.unwrap().unwrap().id;
        let request = format!("POST /api/v1/api-keys\n{}", new_key("seven"));
        let begun = begin(&world.app, &id, "k-7", &request).await.unwrap();
        assert!(matches!(begun, Begun::Run(_)), "{begun:?}");
        let waiting = make(&api, "k-7", "seven").send().await;
        assert_problem(&waiting, 409, "under-way", None);
        let seconds: u64 = waiting.header("retry-after").unwrap().parse().unwrap();
        world.advance(seconds - 1);
        assert_eq!(make(&api, "k-7", "seven").send().await.status(), 409);
        assert_eq!(db.count(MADE).await, 0);
        world.advance(1);
        assert_problem(&make(&api, "k-7", "another").send().await, 422, "another-request", Some("Idempotency-Key"));
        assert_problem(&make(&api, "k-7", "seven").send().await, 409, "outcome-unknown", None);
        assert_eq!(db.count(MADE).await, 0);
        // Whoever looked and found nothing sends it under another key.
        assert_eq!(make(&api, "k-8", "seven").send().await.status(), 201);
        world.stop().await;
    }
}

impl Api<'_> {
    async fn post_with(&self, key: &str, path: &str) -> Answer {
        self.ask(Method::POST, path).header("idempotency-key", key).send().await
    }
}
