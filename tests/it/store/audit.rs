//! The audit log: a chain without gaps over digests, and evidence that cannot be changed.

use assent::domain::audit::{Action, Actor, Entry, RequestId};
use assent::domain::grant::EndedBy;
use assent::store::{ContextChoice, TurnDone};
use futures_util::future::join_all;
use openssl::sha::sha256;
use serde_json::json;

use crate::support::build::{NOW, REQUEST, after, authority, bank, caller, entry, jane, message, reserve, shop};
use crate::support::database::{Database, Kind, on_both_databases};

/// The stored text of one row's column, from `column=value` words of a query for just that column.
async fn column(db: &Database, sql: &'static str) -> Vec<String> {
    let rows = db.rows(sql).await;
    rows.iter().map(|row| row.split_once('=').unwrap().1.to_owned()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A row's digest, written anew from the rule: each field with its length before it.
fn digest(fields: &[&str]) -> String {
    let text: String = fields.iter().map(|field| format!("{}:{field}", field.len())).collect();
    hex(&sha256(text.as_bytes()))
}

on_both_databases! {
    async fn each_rows_digest_covers_the_row_before_it(db: Database) {
        let entries: Vec<Entry> = [Action::SignedIn, Action::GrantCreated, Action::TokensIssued]
            .into_iter()
            .enumerate()
            .map(|(n, action)| Entry {
                at: after(u64::try_from(n).unwrap()),
                payload: json!({ "n": n, "name": "Jane \u{0} ü" }),
                ..entry(action)
            })
            .collect();
        for entry in &entries {
            db.record(entry).await.unwrap();
        }
        let digests = column(&db, "SELECT digest FROM audit ORDER BY sequence").await;
        let payloads = column(&db, "SELECT payload FROM audit ORDER BY sequence").await;
        let mut previous = String::new();
        for (n, entry) in entries.iter().enumerate() {
            let expected = digest(&[
                &previous,
                shop().id.as_str(),
                &(n + 1).to_string(),
                &entry.at.millis().to_string(),
                "user",
                "jane-4471",
                entry.action.name(),
                "subject-1",
                "request-1",
                &hex(&sha256(payloads[n].as_bytes())),
            ]);
            assert_eq!(digests[n], expected, "row {}", n + 1);
            assert_eq!(payloads[n], serde_json::to_string(&entry.payload).unwrap());
            previous = expected;
        }
        assert_eq!(column(&db, "SELECT digest FROM audit_head").await, [previous]);
    }

    async fn fifty_rows_at_the_same_instant_make_a_chain_without_gaps(db: Database) {
        let rows: Vec<Entry> =
            (0..50).map(|n| Entry { subject: format!("subject-{n}"), ..entry(Action::SignedIn) }).collect();
        for done in join_all(rows.iter().map(|row| db.record(row))).await {
            done.unwrap();
        }
        let sequence = column(&db, "SELECT sequence FROM audit ORDER BY sequence").await;
        let expected: Vec<String> = (1..=50).map(|n: i32| n.to_string()).collect();
        assert_eq!(sequence, expected);
        let subjects = column(&db, "SELECT subject FROM audit ORDER BY sequence").await;
        let digests = column(&db, "SELECT digest FROM audit ORDER BY sequence").await;
        let payloads = column(&db, "SELECT payload_digest FROM audit ORDER BY sequence").await;
        let mut previous = String::new();
        for n in 0..50 {
            let row = Entry { subject: subjects[n].clone(), ..entry(Action::SignedIn) };
            previous = row.digest(i64::try_from(n).unwrap() + 1, &previous, &payloads[n]).to_hex();
            assert_eq!(digests[n], previous);
        }
    }

    async fn each_brand_and_the_provider_have_a_chain_of_their_own(db: Database) {
        for brand in [Some(shop().id), Some(bank().id), None, Some(shop().id)] {
            db.record(&Entry { brand, ..entry(Action::SignedIn) }).await.unwrap();
        }
        let chains = db.rows("SELECT brand_id, sequence FROM audit ORDER BY brand_id, sequence").await;
        let row = |brand: &str, sequence| format!("brand_id={brand} sequence={sequence}");
        let (shop, bank) = (shop().id, bank().id);
        assert_eq!(chains, [row("", 1), row(shop.as_str(), 1), row(shop.as_str(), 2), row(bank.as_str(), 1)]);
    }

    async fn every_actor_and_every_action_can_be_stored(db: Database) {
        let actors = [
            Actor::User("jane-4471".to_owned()),
            Actor::PersonalAgent("https://pa.example.com".to_owned()),
            Actor::Administrator("root".to_owned()),
            Actor::Assent,
        ];
        let actions = [
            Action::BrandApplied,
            Action::PersonalAgentApplied,
            Action::KeyCreated,
            Action::SignedIn,
            Action::GrantCreated,
            Action::GrantChanged,
            Action::GrantEnded,
            Action::RequestDenied,
            Action::RequestApproved,
            Action::TokensIssued,
            Action::TokensRefreshed,
            Action::RefreshReuse,
            Action::AgentOverreach,
            Action::BrandRemoved,
            Action::PersonalAgentDisabled,
            Action::PersonalAgentEnabled,
            Action::KeyAdvanced,
            Action::KeyRetired,
            Action::KeyCompromised,
            Action::AdministratorCreated,
            Action::AdministratorChanged,
            Action::AdministratorRemoved,
            Action::PasswordChanged,
            Action::SecondFactorChanged,
            Action::LoggedIn,
            Action::LoggedOut,
            Action::ApiKeyCreated,
            Action::ApiKeyRevoked,
            Action::ResourceServerKeyCreated,
            Action::ResourceServerKeyRevoked,
            Action::EventGivenUp,
            Action::ReceiptSigned,
            Action::Swept,
            Action::AuditErased,
            Action::SealBroken,
        ];
        for actor in actors {
            db.record(&Entry { actor, ..entry(Action::SignedIn) }).await.unwrap();
        }
        for action in actions {
            let request = RequestId("another".to_owned());
            db.record(&Entry { subject: "s".to_owned(), request, ..entry(action) }).await.unwrap();
        }
        let kinds = column(&db, "SELECT actor_kind FROM audit WHERE subject = 'subject-1' ORDER BY sequence").await;
        assert_eq!(kinds, ["user", "personal_agent", "administrator", "assent"]);
        assert_eq!(db.audit_actions("s").await.unwrap(), actions.map(Action::name));
    }

    async fn evidence_can_neither_be_changed_nor_removed(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, authority) = (shop().id, caller(), message("m-1"), authority(&grant));
        let choice = ContextChoice::New(db.build.context());
        let reservation = db.running(&reserve(&brand, &caller, choice, &first, Some(&authority), NOW)).await;
        db.answered(&TurnDone {
            reservation: &reservation,
            brand: &brand,
            reply: "done",
            receipt: Some((&grant.id, db.build.receipt(), "jws")),
            close: false,
            request: &REQUEST,
            now: NOW,
        })
        .await;
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let before = db.contents().await;
        for sql in [
            "UPDATE audit SET payload = '{}' WHERE sequence = 1",
            "UPDATE audit SET payload = NULL, subject = 'x' WHERE sequence = 1",
            "UPDATE audit SET payload = NULL, digest = 'x' WHERE sequence = 1",
            "UPDATE audit SET actor = 'x'",
            "UPDATE audit SET payload = NULL, seal = NULL WHERE sequence = 1",
            "UPDATE audit SET payload = NULL, bound_id = 'x' WHERE sequence = 1",
            "UPDATE audit SET payload = NULL, bound_digest = NULL WHERE sequence = 1",
            "DELETE FROM audit",
            "UPDATE receipt SET jws = 'x'",
            "DELETE FROM receipt",
            "UPDATE consent_evidence SET granted = 'x'",
            "DELETE FROM consent_evidence",
            "DELETE FROM audit_head",
        ] {
            let refused = db.statement(sql).await.unwrap_err();
            assert!(refused.contains("append-only"), "{sql}: {refused}");
        }
        if db.kind == Kind::Postgres {
            for sql in ["TRUNCATE audit", "TRUNCATE receipt", "TRUNCATE consent_evidence", "TRUNCATE audit_head"] {
                assert!(db.statement(sql).await.unwrap_err().contains("append-only"), "{sql}");
            }
        }
        assert_eq!(db.contents().await, before);
    }

    async fn a_rows_payload_can_be_erased_and_its_digests_stay(db: Database) {
        db.record(&entry(Action::SignedIn)).await.unwrap();
        let before = db.rows("SELECT payload_digest, digest FROM audit").await;
        assert_eq!(db.statement("UPDATE audit SET payload = NULL").await, Ok(1));
        assert_eq!(db.rows("SELECT payload_digest, digest FROM audit").await, before);
        assert_eq!(column(&db, "SELECT payload FROM audit").await, ["NULL"]);
        assert!(db.statement("UPDATE audit SET payload = '{}'").await.unwrap_err().contains("append-only"));
    }
}
