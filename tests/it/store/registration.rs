//! Personal agents that register themselves: one row each, and never over another.

use assent::domain::audit::{Action, Actor, Entry, RequestId};
use assent::domain::id::Issuer;
use assent::domain::personal_agent::PersonalAgent;
use assent::domain::samples;
use assent::store::{Applied, Apply, Registered, Registration};
use futures_util::future::join_all;
use serde_json::json;
use url::Url;

use crate::support::build::{NOW, after, change, other_agent};
use crate::support::database::{Database, on_both_databases};

const MANY: u32 = 100;

fn stranger(host: &str) -> PersonalAgent {
    let issuer = format!("https://{host}");
    PersonalAgent {
        issuer: Issuer::parse(issuer.as_str()).unwrap(),
        jwks_uri: Url::parse(&format!("{issuer}/jwks.json")).unwrap(),
        name: issuer,
        enabled: true,
    }
}

async fn register(db: &Database, agent: &PersonalAgent, most: u32) -> Registered {
    let entry = Entry {
        brand: None,
        at: NOW,
        actor: Actor::PersonalAgent(agent.issuer.to_string()),
        action: Action::PersonalAgentRegistered,
        subject: agent.issuer.to_string(),
        request: RequestId("request-1".to_owned()),
        payload: json!({ "name": agent.name }),
    };
    db.register(&Registration { agent, most, entry: &entry, at: NOW }).await.unwrap()
}

on_both_databases! {
    async fn a_stranger_gets_a_row_an_audit_row_and_a_new_revision(db: Database) {
        db.with_directory().await;
        let agent = stranger("new.example");
        assert_eq!(register(&db, &agent, MANY).await, Registered::Done);
        let rows = db.directory().await.unwrap();
        assert_eq!(rows.personal_agents, [agent, other_agent(), samples::personal_agent()]);
        assert_eq!(rows.revision, 2);
        assert_eq!(db.audit_actions("https://new.example").await.unwrap(), ["personal_agent_registered"]);
    }

    async fn an_issuer_that_has_a_row_keeps_it_as_it_is(db: Database) {
        db.with_directory().await;
        let disabled = PersonalAgent { enabled: false, name: "Bad agent".to_owned(), ..stranger("bad.example") };
        db.apply(&Apply { personal_agents: vec![disabled.clone()], ..change(1) }).await.unwrap();
        let before = db.contents().await;
        assert_eq!(register(&db, &stranger("bad.example"), MANY).await, Registered::Known(disabled.clone()));
        let moved = PersonalAgent { jwks_uri: Url::parse("https://x.example/j").unwrap(), ..samples::personal_agent() };
        assert_eq!(register(&db, &moved, MANY).await, Registered::Known(samples::personal_agent()));
        assert_eq!(register(&db, &stranger("bad.example"), 0).await, Registered::Known(disabled));
        assert_eq!(db.contents().await, before);
    }

    async fn of_twenty_first_requests_one_makes_the_row(db: Database) {
        db.with_directory().await;
        let agent = stranger("new.example");
        let outcomes = join_all((0..20).map(|_| register(&db, &agent, MANY))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Known(agent.clone())).count(), 19);
        assert_eq!(db.directory_revision().await.unwrap(), 2);
        assert_eq!(db.audit_actions("https://new.example").await.unwrap(), ["personal_agent_registered"]);
    }

    async fn there_are_never_more_rows_than_there_may_be(db: Database) {
        db.with_directory().await;
        let strangers: Vec<_> = (0..20).map(|n| stranger(&format!("s-{n}.example"))).collect();
        let outcomes = join_all(strangers.iter().map(|agent| register(&db, agent, 7))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Done).count(), 5);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Registered::Full).count(), 15);
        assert_eq!(db.directory().await.unwrap().personal_agents.len(), 7);
        let before = db.contents().await;
        assert_eq!(register(&db, &stranger("late.example"), 7).await, Registered::Full);
        assert_eq!(register(&db, &stranger("late.example"), 0).await, Registered::Full);
        assert_eq!(db.contents().await, before);
        assert_eq!(register(&db, &stranger("late.example"), 8).await, Registered::Done);
    }

    async fn a_change_that_was_planned_before_a_registration_is_planned_again(db: Database) {
        db.with_directory().await;
        let agent = stranger("new.example");
        assert_eq!(register(&db, &agent, MANY).await, Registered::Done);
        let planned = |revision| {
            let disabled = PersonalAgent { enabled: false, ..agent.clone() };
            Apply { personal_agents: vec![disabled], at: after(1), ..change(revision) }
        };
        assert_eq!(db.apply(&planned(1)).await.unwrap(), Applied::Stale);
        assert_eq!(db.apply(&planned(2)).await.unwrap(), Applied::Done { narrowed: 0, ended: 0 });
        assert!(matches!(register(&db, &agent, MANY).await, Registered::Known(known) if !known.enabled));
    }
}
