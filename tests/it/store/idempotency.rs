//! Claims of requests under idempotency keys: one carries it out, and whoever is too late keeps nothing.

use assent::domain::account::{ApiKey, StoredApiKey};
use assent::domain::administrator::Access;
use assent::domain::audit::{Action, Entry};
use assent::domain::id::{ApiKeyId, Digest};
use assent::store::{Claim, Claimed};
use futures_util::future::join_all;

use crate::support::build::{NOW, after, entry};
use crate::support::database::{Database, on_both_databases};

const KEY: &str = "01M3R53Q5SZQ6FQSMSDBSSREAP";

async fn with_api_key(db: &Database) {
    let key = ApiKey {
        id: ApiKeyId::parse(KEY).unwrap(),
        name: "test".to_owned(),
        access: Access::EVERYTHING,
        created_by: "anna".to_owned(),
        created_at: NOW,
        expires_at: after(86_400),
        last_used_at: None,
        revoked_at: None,
    };
    let entry = Entry { brand: None, ..entry(Action::ApiKeyCreated) };
    db.create_api_key(&StoredApiKey { digest: Digest::new([1; 32]), key }, &entry).await.unwrap();
}

fn claim(run: &str, request: u8, at: u64) -> Claim {
    Claim {
        api_key: ApiKeyId::parse(KEY).unwrap(),
        key: Digest::new([7; 32]),
        request: Digest::new([request; 32]),
        run: run.to_owned(),
        at: after(at),
        held_until: after(at + 300),
        forget_before: after(at).minus(std::time::Duration::from_secs(86_400)),
    }
}

on_both_databases! {
    async fn of_many_claims_at_once_one_is_to_be_carried_out(db: Database) {
        with_api_key(&db).await;
        let claims: Vec<_> = (0..8).map(|n| claim(&format!("run-{n}"), 1, 0)).collect();
        let claimed = join_all(claims.iter().map(|claim| db.claim_request(claim))).await;
        let claimed: Vec<_> = claimed.into_iter().map(Result::unwrap).collect();
        assert_eq!(claimed.iter().filter(|claimed| **claimed == Claimed::Run).count(), 1, "{claimed:?}");
        let running = Claimed::Running { until: after(300) };
        assert!(claimed.iter().all(|claimed| *claimed == Claimed::Run || *claimed == running), "{claimed:?}");
        assert_eq!(db.claim_request(&claim("late", 2, 1)).await.unwrap(), Claimed::Another);
    }

    async fn an_answer_is_kept_once_and_told_to_the_same_request_alone(db: Database) {
        with_api_key(&db).await;
        let first = claim("run-1", 1, 0);
        assert_eq!(db.claim_request(&first).await.unwrap(), Claimed::Run);
        assert!(db.keep_answer(&first, 201, "sealed").await.unwrap());
        let before = db.contents().await;
        assert!(!db.keep_answer(&first, 404, "other").await.unwrap());
        assert!(!db.keep_answer(&claim("run-2", 1, 0), 404, "other").await.unwrap());
        db.give_up_claim(&first).await.unwrap();
        let answered = Claimed::Answered { status: 201, sealed: "sealed".to_owned() };
        assert_eq!(db.claim_request(&claim("run-2", 1, 86_399)).await.unwrap(), answered);
        assert_eq!(db.claim_request(&claim("run-2", 2, 1)).await.unwrap(), Claimed::Another);
        assert_eq!(db.contents().await, before);
        // A day later the key is free, for whatever request.
        assert_eq!(db.claim_request(&claim("run-3", 2, 86_400)).await.unwrap(), Claimed::Run);
    }

    async fn nobody_takes_over_from_who_died_in_the_middle(db: Database) {
        with_api_key(&db).await;
        let dead = claim("dead", 1, 0);
        assert_eq!(db.claim_request(&dead).await.unwrap(), Claimed::Run);
        let before = db.contents().await;
        let running = Claimed::Running { until: after(300) };
        assert_eq!(db.claim_request(&claim("early", 1, 299)).await.unwrap(), running);
        assert_eq!(db.claim_request(&claim("other", 2, 300)).await.unwrap(), Claimed::Another);
        for at in [300, 86_399] {
            assert_eq!(db.claim_request(&claim("late", 1, at)).await.unwrap(), Claimed::Lost);
        }
        assert_eq!(db.contents().await, before);
        // It was not dead, only slow.
        assert!(db.keep_answer(&dead, 201, "sealed").await.unwrap());
        let answered = Claimed::Answered { status: 201, sealed: "sealed".to_owned() };
        assert_eq!(db.claim_request(&claim("late", 1, 400)).await.unwrap(), answered);
    }

    async fn a_claim_that_was_given_up_is_free_and_old_ones_are_swept(db: Database) {
        with_api_key(&db).await;
        let first = claim("run-1", 1, 0);
        assert_eq!(db.claim_request(&first).await.unwrap(), Claimed::Run);
        db.give_up_claim(&first).await.unwrap();
        let second = claim("run-2", 2, 10);
        assert_eq!(db.claim_request(&second).await.unwrap(), Claimed::Run);
        assert!(db.keep_answer(&second, 200, "sealed").await.unwrap());
        assert_eq!(db.sweep(after(10), 100, after(86_410)).await.unwrap(), 0);
        assert_eq!(db.sweep(after(11), 100, after(86_411)).await.unwrap(), 1);
        assert_eq!(db.count("SELECT run FROM api_idempotency").await, 0);
    }
}
