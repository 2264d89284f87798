//! Somebody who can write the database and has not the master key: whatever they change or remove, the verification names it.

use assent::domain::audit::chain::{Finding, Head, Report};
use assent::domain::audit::{Action, Actor, Chain, Entry};
use assent::domain::device::{Decision, DeviceAuthorization, LIFE};
use assent::domain::grant::{EndedBy, Grant};
use assent::domain::id::Digest;
use assent::domain::samples;
use assent::store::{Apply, ContextChoice, Decide, Decided, Erased, TurnDone};
use futures_util::future::join_all;
use serde_json::json;

use crate::support::build::{
    NOW, REQUEST, after, authority, bank, caller, change, entry, jane, message, other_agent, reserve, shop, user,
};
use crate::support::database::{Database, Kind, on_both_databases};

/// What the verification tells.
async fn reports(db: &Database, only: Option<&Chain>, expected: &[Head]) -> Vec<Report> {
    let mut reports = Vec::new();
    db.verify_audit(only, expected, &mut |report| reports.push(report)).await.unwrap();
    reports
}

fn line(finding: &Finding) -> String {
    let chain = if finding.chain.is_empty() { "provider" } else { "brand" };
    let rows = finding.rows.map(|(first, last)| format!(" {first}-{last}")).unwrap_or_default();
    let about = finding.problem.subject().map(|(kind, _)| format!(" {kind}")).unwrap_or_default();
    format!("{chain}{rows} {}{about}", finding.problem.name())
}

/// What is wrong, one line each.
async fn wrong(db: &Database) -> Vec<String> {
    let finding = |report: Report| match report {
        Report::Wrong(finding) => Some(line(&finding)),
        Report::Erased { .. } | Report::Walked(_) => None,
    };
    reports(db, None, &[]).await.into_iter().filter_map(finding).collect()
}

async fn heads(db: &Database) -> Vec<Head> {
    let head = |report: Report| match report {
        Report::Walked(head) => Some(head),
        Report::Wrong(_) | Report::Erased { .. } => None,
    };
    reports(db, None, &[]).await.into_iter().filter_map(head).collect()
}

fn made(brand: bool, action: Action, subject: &str) -> Entry {
    let brand = brand.then(|| shop().id);
    Entry { brand, subject: subject.to_owned(), payload: json!({ "before": null, "after": {} }), ..entry(action) }
}

/// Everything that the log vouches for, as the program writes it: a Brand, personal agents, a decision, a grant, a receipt.
async fn written(db: &Database) -> Grant {
    let agents = vec![samples::personal_agent(), other_agent()];
    let audit = vec![
        made(false, Action::PersonalAgentApplied, agents[0].issuer.as_str()),
        made(false, Action::PersonalAgentApplied, agents[1].issuer.as_str()),
        made(true, Action::BrandApplied, shop().id.as_str()),
    ];
    db.apply(&Apply { brands: vec![shop()], personal_agents: agents, audit, ..change(0) }).await.unwrap();
    let device = db.requested().await;
    let grant = db.build.grant(&jane());
    let decided = db
        .decide(&Decide {
            decision: &Decision::Approve(grant.scopes.clone()),
            page_grant: None,
            grant: &grant,
            evidence: &db.build.evidence(&device, &jane()),
            entry: &Entry { subject: grant.id.to_string(), ..entry(Action::GrantCreated) },
        })
        .await;
    assert_eq!(decided.unwrap(), Decided::Done);
    receipt(db, &grant, "m-1").await;
    db.record(&entry(Action::SignedIn)).await.unwrap();
    grant
}

/// An administrator and an API key, as the program writes them.
async fn administered(db: &Database) {
    for (sql, action, subject) in [
        (
            "INSERT INTO administrator (name, password_hash, role, reach, version, created_at, changed_at)
            VALUES ('root', 'x', 'owner', '*', 1, 1, 1)",
            Action::AdministratorCreated,
            "root",
        ),
        (
            "INSERT INTO api_key (id, name, digest, role, reach, created_by, created_at, expires_at)
            VALUES ('key-1', 'x', 'x', 'owner', '*', 'root', 1, 1)",
            Action::ApiKeyCreated,
            "key-1",
        ),
    ] {
        db.statement(sql).await.unwrap();
        db.record(&made(false, action, subject)).await.unwrap();
    }
}

/// A turn under `grant`, with its receipt.
async fn receipt(db: &Database, grant: &Grant, id: &str) {
    let (brand, caller, id, authority) = (shop().id, caller(), message(id), authority(grant));
    let choice = ContextChoice::New(db.build.context());
    let reservation = db.running(&reserve(&brand, &caller, choice, &id, Some(&authority), NOW)).await;
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
}

/// Takes the triggers away, as somebody who owns the tables can.
async fn unguarded(db: &Database) {
    let triggers: &[&str] = match db.kind {
        Kind::Sqlite => &[
            "DROP TRIGGER audit_no_update",
            "DROP TRIGGER audit_no_delete",
            "DROP TRIGGER audit_head_no_delete",
            "DROP TRIGGER receipt_no_update",
            "DROP TRIGGER receipt_no_delete",
            "DROP TRIGGER consent_evidence_no_update",
            "DROP TRIGGER consent_evidence_no_delete",
        ],
        Kind::Postgres => &[
            "ALTER TABLE audit DISABLE TRIGGER USER",
            "ALTER TABLE audit_head DISABLE TRIGGER USER",
            "ALTER TABLE receipt DISABLE TRIGGER USER",
            "ALTER TABLE consent_evidence DISABLE TRIGGER USER",
        ],
    };
    for sql in triggers {
        db.statement(sql).await.unwrap();
    }
}

/// Does `sql` by hand, looks, and puts everything back as it was with `back`.
async fn tried(db: &Database, sql: &'static str, back: &[&'static str]) -> Vec<String> {
    assert!(db.statement(sql).await.unwrap() > 0, "{sql}");
    let found = wrong(db).await;
    for sql in back {
        db.statement(sql).await.unwrap();
    }
    assert_eq!(wrong(db).await, [""; 0], "after {sql}");
    found
}

/// Copies of what is about to be damaged.
async fn copied(db: &Database) {
    for sql in [
        "CREATE TABLE kept_audit AS SELECT * FROM audit",
        "CREATE TABLE kept_head AS SELECT * FROM audit_head",
        "CREATE TABLE kept_receipt AS SELECT * FROM receipt",
        "CREATE TABLE kept_evidence AS SELECT * FROM consent_evidence",
    ] {
        db.statement(sql).await.unwrap();
    }
}

const AUDIT_BACK: &[&str] = &["DELETE FROM audit", "INSERT INTO audit SELECT * FROM kept_audit"];
const HEAD_BACK: &[&str] = &["DELETE FROM audit_head", "INSERT INTO audit_head SELECT * FROM kept_head"];
const RECEIPT_BACK: &[&str] = &["DELETE FROM receipt", "INSERT INTO receipt SELECT * FROM kept_receipt"];
const EVIDENCE_BACK: &[&str] =
    &["DELETE FROM consent_evidence", "INSERT INTO consent_evidence SELECT * FROM kept_evidence"];

on_both_databases! {
    async fn a_log_that_nobody_touched_has_nothing_wrong_and_prints_its_heads(db: Database) {
        written(&db).await;
        assert_eq!(wrong(&db).await, [""; 0]);
        let heads = heads(&db).await;
        assert_eq!(heads.iter().map(|head| (head.chain.as_str(), head.sequence)).collect::<Vec<_>>(), [("", 2), (shop().id.as_str(), 4)]);
        // One chain alone.
        let one = reports(&db, Some(&Chain::Provider), &[]).await;
        assert_eq!(one, [Report::Walked(heads[0].clone())]);
    }

    async fn every_column_of_an_audit_row_that_is_changed_names_the_row(db: Database) {
        written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        for (sql, expected) in [
            ("UPDATE audit SET at = at + 1 WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET actor_kind = 'assent' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET actor = 'x' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET action = 'x' WHERE brand_id <> '' AND sequence = 4", "brand 4-4 changed"),
            ("UPDATE audit SET subject = 'x' WHERE brand_id <> '' AND sequence = 4", "brand 4-4 changed"),
            ("UPDATE audit SET request_id = 'x' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET payload = '{}' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 payload_changed"),
            ("UPDATE audit SET payload = NULL WHERE brand_id <> '' AND sequence = 2", "brand 2-2 erased_unsaid"),
            ("UPDATE audit SET digest = 'x' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET bound_id = 'x' WHERE brand_id <> '' AND sequence = 4", "brand 4-4 changed"),
            ("UPDATE audit SET bound_digest = 'x' WHERE brand_id <> '' AND sequence = 4", "brand 4-4 changed"),
            ("UPDATE audit SET seal = NULL WHERE brand_id <> '' AND sequence = 2", "brand 2-2 unsealed"),
            ("UPDATE audit SET seal = digest WHERE brand_id <> '' AND sequence = 4", "brand 4-4 seal_wrong"),
            ("UPDATE audit SET sequence = 5 WHERE brand_id <> '' AND sequence = 4", "brand 4-4 missing"),
            ("UPDATE audit SET brand_id = 'x' WHERE brand_id <> '' AND sequence = 4", "brand 4-4 missing"),
            ("UPDATE audit SET payload_digest = 'x' WHERE brand_id <> '' AND sequence = 2", "brand 2-2 changed"),
            ("UPDATE audit SET subject = 'x' WHERE brand_id = '' AND sequence = 1", "provider 1-1 changed"),
        ] {
            let found = tried(&db, sql, AUDIT_BACK).await;
            assert!(found.iter().any(|found| found == expected), "{sql}: {found:?}");
        }
    }

    async fn every_audit_row_that_is_removed_is_named_the_newest_too(db: Database) {
        written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        for (sql, expected) in [
            ("DELETE FROM audit WHERE brand_id <> '' AND sequence = 1", "brand 1-1 missing"),
            ("DELETE FROM audit WHERE brand_id <> '' AND sequence = 2", "brand 2-2 missing"),
            ("DELETE FROM audit WHERE brand_id <> '' AND sequence = 3", "brand 3-3 missing"),
            ("DELETE FROM audit WHERE brand_id <> '' AND sequence = 4", "brand 4-4 missing"),
            ("DELETE FROM audit WHERE brand_id = '' AND sequence = 2", "provider 2-2 missing"),
            ("DELETE FROM audit WHERE brand_id = ''", "provider 1-2 missing"),
            ("DELETE FROM audit WHERE brand_id <> ''", "brand 1-4 missing"),
        ] {
            let found = tried(&db, sql, AUDIT_BACK).await;
            assert!(found.iter().any(|found| found == expected), "{sql}: {found:?}");
        }
    }

    async fn rows_that_are_added_or_exchanged_by_hand_are_named(db: Database) {
        written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        const ADDED: &str = "INSERT INTO audit SELECT brand_id, 5, at, actor_kind, actor, action, subject, request_id, payload,
            payload_digest, digest, seal, bound_id, bound_digest FROM audit WHERE brand_id <> '' AND sequence = 4";
        let found = tried(&db, ADDED, AUDIT_BACK).await;
        assert!(found.contains(&"brand 5-5 beyond_head".to_owned()), "{found:?}");
        for sql in ["UPDATE audit SET sequence = -2 WHERE brand_id <> '' AND sequence = 2",
            "UPDATE audit SET sequence = 2 WHERE brand_id <> '' AND sequence = 3"] {
            db.statement(sql).await.unwrap();
        }
        let found = tried(&db, "UPDATE audit SET sequence = 3 WHERE sequence = -2", AUDIT_BACK).await;
        assert!(found.contains(&"brand 2-3 seal_wrong".to_owned()), "{found:?}");
    }

    async fn a_head_that_is_changed_set_back_or_removed_shows(db: Database) {
        written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        for (sql, expected) in [
            ("UPDATE audit_head SET sequence = 3 WHERE brand_id <> ''", "brand 4-4 beyond_head"),
            ("UPDATE audit_head SET sequence = 6 WHERE brand_id <> ''", "brand 5-6 missing"),
            ("UPDATE audit_head SET digest = 'x' WHERE brand_id <> ''", "brand head_changed"),
            ("UPDATE audit_head SET seal = 'x' WHERE brand_id <> ''", "brand head_seal_wrong"),
            ("UPDATE audit_head SET seal = NULL WHERE brand_id <> ''", "brand head_unsealed"),
            ("UPDATE audit_head SET brand_id = 'x' WHERE brand_id <> ''", "brand no_head"),
            ("DELETE FROM audit_head WHERE brand_id <> ''", "brand no_head"),
        ] {
            let found = tried(&db, sql, HEAD_BACK).await;
            assert!(found.iter().any(|found| found == expected), "{sql}: {found:?}");
        }
        // The newest row and the head together: a row's own seal is none for a head.
        db.statement("DELETE FROM audit WHERE brand_id <> '' AND sequence = 4").await.unwrap();
        let set_back = "UPDATE audit_head SET sequence = 3,
            digest = (SELECT digest FROM audit a WHERE a.brand_id = audit_head.brand_id AND a.sequence = 3),
            seal = (SELECT seal FROM audit a WHERE a.brand_id = audit_head.brand_id AND a.sequence = 3) WHERE brand_id <> ''";
        assert_eq!(tried(&db, set_back, &[AUDIT_BACK, HEAD_BACK].concat()).await, ["brand head_seal_wrong"]);
    }

    async fn what_was_cut_off_does_not_look_whole_once_the_chain_goes_on(db: Database) {
        written(&db).await;
        unguarded(&db).await;
        for sql in [
            "DELETE FROM audit WHERE brand_id <> '' AND sequence = 4",
            "UPDATE audit_head SET sequence = 3,
            digest = (SELECT digest FROM audit a WHERE a.brand_id = audit_head.brand_id AND a.sequence = 3),
            seal = (SELECT seal FROM audit a WHERE a.brand_id = audit_head.brand_id AND a.sequence = 3) WHERE brand_id <> ''",
        ] {
            db.statement(sql).await.unwrap();
        }
        for _ in 0..2 {
            db.record(&entry(Action::SignedIn)).await.unwrap();
            assert_eq!(wrong(&db).await, ["brand 4-4 seal_broken"]);
        }
        db.statement("DELETE FROM audit_head WHERE brand_id <> ''").await.unwrap();
        db.record(&entry(Action::SignedIn)).await.unwrap();
        assert_eq!(wrong(&db).await, ["brand 4-4 seal_broken", "brand 7-7 seal_broken"]);
    }

    async fn a_chain_that_is_removed_with_its_head_shows_and_so_does_one_that_begins_anew(db: Database) {
        let grant = written(&db).await;
        unguarded(&db).await;
        for sql in ["DELETE FROM audit WHERE brand_id <> ''", "DELETE FROM audit_head WHERE brand_id <> ''"] {
            db.statement(sql).await.unwrap();
        }
        let unvouched = ["brand unvouched receipt", "brand unvouched evidence", "brand unvouched grant"];
        assert_eq!(wrong(&db).await, [&["brand no_chain"][..], &unvouched].concat());
        db.record(&Entry { subject: grant.id.to_string(), ..entry(Action::GrantCreated) }).await.unwrap();
        assert_eq!(wrong(&db).await, [&["brand 1-1 beginning"][..], &unvouched[..2]].concat());
        for sql in ["DELETE FROM audit WHERE brand_id = ''", "DELETE FROM audit_head WHERE brand_id = ''"] {
            db.statement(sql).await.unwrap();
        }
        let agents = ["provider unvouched personal_agent"; 2];
        assert_eq!(wrong(&db).await, [&["brand 1-1 beginning"][..], &unvouched[..2], &agents].concat());
    }

    async fn every_column_of_a_receipt_that_is_changed_names_it(db: Database) {
        let grant = written(&db).await;
        let other = db.build.grant(&user("joe"));
        let device = db.requested().await;
        db.decide(&Decide {
            decision: &Decision::Approve(other.scopes.clone()),
            page_grant: None,
            grant: &other,
            evidence: &db.build.evidence(&device, &user("joe")),
            entry: &Entry { subject: other.id.to_string(), ..entry(Action::GrantCreated) },
        })
        .await
        .unwrap();
        receipt(&db, &grant, "m-2").await;
        let made_bank = Entry { brand: Some(bank().id), ..made(true, Action::BrandApplied, bank().id.as_str()) };
        db.apply(&Apply { brands: vec![bank()], audit: vec![made_bank], ..change(1) }).await.unwrap();
        copied(&db).await;
        unguarded(&db).await;
        for (sql, expected) in [
            ("UPDATE receipt SET id = 'x' WHERE message_id = 'm-1'", &["bound_gone bound", "unvouched receipt"][..]),
            (
                "UPDATE receipt SET brand_id = (SELECT id FROM brand WHERE name = 'Example Bank') WHERE message_id = 'm-1'",
                &["bound_gone bound", "unvouched receipt"],
            ),
            (
                "UPDATE receipt SET grant_id = (SELECT id FROM delegation_grant WHERE brand_user = 'joe')
                WHERE message_id = 'm-1'",
                &["not_as_vouched receipt"],
            ),
            ("UPDATE receipt SET context_id = 'x' WHERE message_id = 'm-1'", &["not_as_vouched receipt"]),
            ("UPDATE receipt SET message_id = 'x' WHERE message_id = 'm-1'", &["not_as_vouched receipt"]),
            ("UPDATE receipt SET jws = 'x' WHERE message_id = 'm-1'", &["not_as_vouched receipt"]),
            ("UPDATE receipt SET created_at = created_at + 1 WHERE message_id = 'm-1'", &["not_as_vouched receipt"]),
            ("DELETE FROM receipt WHERE message_id = 'm-1'", &["bound_gone bound"]),
            ("DELETE FROM receipt WHERE message_id = 'm-2'", &["bound_gone bound"]),
            (
                "INSERT INTO receipt SELECT 'zzz', brand_id, grant_id, context_id, message_id, jws, created_at FROM receipt
                WHERE message_id = 'm-1'",
                &["unvouched receipt"],
            ),
        ] {
            let found = tried(&db, sql, RECEIPT_BACK).await;
            assert_eq!(found.len(), expected.len(), "{sql}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.ends_with(expected), "{sql}: {found}");
            }
        }
    }

    async fn every_column_of_a_decisions_evidence_that_is_changed_names_it(db: Database) {
        written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        const GONE: &str = "brand 2-2 bound_gone bound";
        const CHANGED: &str = "brand not_as_vouched evidence";
        for (sql, expected) in [
            ("UPDATE consent_evidence SET device_authorization_id = 'x'", &[GONE, "brand unvouched evidence"][..]),
            ("UPDATE consent_evidence SET brand_user = 'x'", &[CHANGED]),
            ("UPDATE consent_evidence SET pa_issuer = 'x'", &[CHANGED]),
            ("UPDATE consent_evidence SET pa_sub = 'x'", &[CHANGED]),
            ("UPDATE consent_evidence SET grant_id = NULL", &[CHANGED]),
            ("UPDATE consent_evidence SET decision = 'denied'", &[CHANGED]),
            ("UPDATE consent_evidence SET shown = '{}'", &[CHANGED]),
            ("UPDATE consent_evidence SET language = 'x'", &[CHANGED]),
            ("UPDATE consent_evidence SET granted = 'orders:read'", &[CHANGED]),
            ("UPDATE consent_evidence SET assertion = '{}'", &[CHANGED]),
            ("UPDATE consent_evidence SET decided_at = decided_at + 1", &[CHANGED]),
            ("DELETE FROM consent_evidence", &[GONE]),
        ] {
            assert_eq!(tried(&db, sql, EVIDENCE_BACK).await, expected, "{sql}");
        }
    }

    async fn a_grant_that_is_brought_back_to_life_or_that_nobody_allowed_shows(db: Database) {
        let grant = written(&db).await;
        let ended = Entry { subject: grant.id.to_string(), ..entry(Action::GrantEnded) };
        assert!(db.end_grant(&grant.id, EndedBy::User, &ended).await.unwrap());
        assert_eq!(wrong(&db).await, [""; 0]);
        let alive = "UPDATE delegation_grant SET state = 'live', ended_at = NULL, ended_by = NULL";
        let back = ["UPDATE delegation_grant SET state = 'ended', ended_at = 1, ended_by = 'user'"];
        assert_eq!(tried(&db, alive, &back).await, ["brand at_odds grant"]);
        let copy = "INSERT INTO delegation_grant SELECT 'a2agrant_x', brand_id, 'joe', pa_issuer, pa_sub, scopes, version,
            created_at, decided_at, expires_at, last_used_at, 'live', NULL, NULL FROM delegation_grant";
        let back = ["DELETE FROM delegation_grant WHERE id = 'a2agrant_x'"];
        assert_eq!(tried(&db, copy, &back).await, ["brand unvouched grant"]);
    }

    async fn a_grant_that_expired_for_a_new_one_is_ended_by_a_row_and_expiry_excuses_no_other(db: Database) {
        let grant = written(&db).await;
        // Ended by hand, as if it had run out.
        let by_hand = "UPDATE delegation_grant SET state = 'ended', ended_at = 1, ended_by = 'expiry'";
        let back = ["UPDATE delegation_grant SET state = 'live', ended_at = NULL, ended_by = NULL"];
        assert_eq!(tried(&db, by_hand, &back).await, ["brand at_odds grant"]);

        let then = grant.expires_at;
        let device = DeviceAuthorization { expires_at: then.plus(LIFE), ..db.build.device() };
        db.store_device(&device).await;
        let fresh = Grant { created_at: then, decided_at: then, expires_at: then.plus(LIFE), ..db.build.grant(&jane()) };
        let decided = db
            .decide(&Decide {
                decision: &Decision::Approve(fresh.scopes.clone()),
                page_grant: None,
                grant: &fresh,
                evidence: &db.build.evidence(&device, &jane()),
                entry: &Entry { at: then, subject: fresh.id.to_string(), ..entry(Action::GrantCreated) },
            })
            .await;
        assert_eq!(decided.unwrap(), Decided::Done);
        assert_eq!(wrong(&db).await, [""; 0]);
        // Brought back to life, with a new one.
        db.statement("UPDATE delegation_grant SET state = 'ended', ended_at = 1, ended_by = 'user' WHERE state = 'live'").await.unwrap();
        assert_eq!(wrong(&db).await, ["brand at_odds grant"]);
        db.statement("UPDATE delegation_grant SET state = 'live', ended_at = NULL, ended_by = NULL, expires_at = expires_at + 1
            WHERE ended_by = 'expiry'").await.unwrap();
        assert_eq!(wrong(&db).await, ["brand at_odds grant"; 2]);
    }

    async fn rows_at_no_place_of_a_chain_are_named_and_vouch_for_nothing(db: Database) {
        let grant = written(&db).await;
        copied(&db).await;
        unguarded(&db).await;
        // An erasure that no row of the chain says, and one that a row before it says.
        db.statement("UPDATE audit SET payload = NULL WHERE brand_id <> '' AND sequence = 2").await.unwrap();
        let said = "INSERT INTO audit SELECT brand_id, 0, at, actor_kind, actor, 'audit_erased', '2', request_id, payload,
            payload_digest, digest, seal, NULL, NULL FROM audit WHERE brand_id <> '' AND sequence = 4";
        assert_eq!(tried(&db, said, AUDIT_BACK).await, ["brand 0-0 out_of_place", "brand 2-2 erased_unsaid"]);
        // The row of a receipt, of a grant and of an agent, before the first.
        for (sql, back, unvouched) in [
            ("INSERT INTO receipt SELECT 'zzz', brand_id, grant_id, context_id, message_id, jws, created_at FROM receipt",
                "DELETE FROM receipt WHERE id = 'zzz'", "brand unvouched receipt"),
            ("INSERT INTO delegation_grant SELECT 'zzz', brand_id, 'joe', pa_issuer, pa_sub, scopes, version,
                created_at, decided_at, expires_at, last_used_at, 'live', NULL, NULL FROM delegation_grant",
                "DELETE FROM delegation_grant WHERE id = 'zzz'", "brand unvouched grant"),
            ("UPDATE delegation_grant SET state = 'ended', ended_at = 1, ended_by = 'user'",
                "UPDATE delegation_grant SET state = 'live', ended_at = NULL, ended_by = NULL", "brand at_odds grant"),
            ("INSERT INTO personal_agent SELECT 'zzz', name, jwks_uri, enabled, created_at, updated_at FROM personal_agent
                WHERE issuer LIKE '%other%'", "DELETE FROM personal_agent WHERE issuer = 'zzz'", "provider unvouched personal_agent"),
        ] {
            db.statement(sql).await.unwrap();
            let mut place = 0;
            for (chain, action, subject) in [
                ("<> ''", "receipt_signed", "zzz"), ("<> ''", "grant_created", "zzz"),
                ("<> ''", "grant_ended", grant.id.as_str()), ("= ''", "personal_agent_registered", "zzz"),
            ] {
                let added = format!("INSERT INTO audit SELECT brand_id, {place}, at, actor_kind, actor, '{action}', '{subject}',
                    request_id, payload, payload_digest, digest, seal, 'zzz', bound_digest FROM audit
                    WHERE brand_id {chain} AND sequence = 2");
                db.statement(added.leak()).await.unwrap();
                place -= 1;
            }
            let mut found = wrong(&db).await;
            found.retain(|found| !found.ends_with("out_of_place"));
            assert_eq!(found, [unvouched], "{sql}");
            for sql in [&[back][..], AUDIT_BACK].concat() {
                db.statement(sql).await.unwrap();
            }
            assert_eq!(wrong(&db).await, [""; 0], "after {sql}");
        }
    }

    async fn a_chain_whose_head_is_at_nothing_is_not_there(db: Database) {
        written(&db).await;
        unguarded(&db).await;
        db.statement("DELETE FROM audit WHERE brand_id <> ''").await.unwrap();
        db.statement("UPDATE audit_head SET sequence = 0, digest = '', seal = NULL WHERE brand_id <> ''").await.unwrap();
        assert!(wrong(&db).await.contains(&"brand no_chain".to_owned()));
    }

    async fn the_provider_chain_cannot_be_removed_and_begun_anew(db: Database) {
        written(&db).await;
        administered(&db).await;
        assert_eq!(wrong(&db).await, [""; 0]);
        unguarded(&db).await;
        db.statement("DELETE FROM audit WHERE brand_id = ''").await.unwrap();
        db.statement("DELETE FROM audit_head WHERE brand_id = ''").await.unwrap();
        let expected = [
            "provider unvouched personal_agent", "provider unvouched personal_agent", "provider unvouched administrator",
            "provider unvouched api_key",
        ];
        assert_eq!(wrong(&db).await, expected);
        // Whatever happens afterwards to those that are there makes none of them.
        for (action, subject) in [
            (Action::PersonalAgentDisabled, samples::personal_agent().issuer.to_string()),
            (Action::PersonalAgentEnabled, samples::personal_agent().issuer.to_string()),
            (Action::LoggedIn, "root".to_owned()), (Action::AdministratorChanged, "root".to_owned()),
        ] {
            db.record(&Entry { brand: None, subject, ..entry(action) }).await.unwrap();
        }
        let changed = json!({ "before": { "name": "x" }, "after": {} });
        let subject = samples::personal_agent().issuer.to_string();
        db.record(&Entry { brand: None, subject, payload: changed, ..entry(Action::PersonalAgentApplied) }).await.unwrap();
        assert_eq!(wrong(&db).await, expected);
    }

    async fn what_the_log_took_away_and_somebody_brings_back_shows(db: Database) {
        written(&db).await;
        administered(&db).await;
        for (brand, action, subject) in [
            (false, Action::AdministratorRemoved, "root".to_owned()),
            (false, Action::ApiKeyRevoked, "key-1".to_owned()),
            (false, Action::PersonalAgentDisabled, other_agent().issuer.to_string()),
        ] {
            db.record(&made(brand, action, &subject)).await.unwrap();
        }
        let found = wrong(&db).await;
        assert_eq!(found, [
            "provider at_odds personal_agent", "provider unvouched administrator", "provider at_odds api_key",
        ]);
        // An empty database has nothing wrong.
        db.statement("DELETE FROM administrator").await.unwrap();
        db.statement("UPDATE api_key SET revoked_at = 1").await.unwrap();
        db.statement("UPDATE personal_agent SET enabled = FALSE").await.unwrap();
        assert_eq!(wrong(&db).await, [""; 0]);
    }

    async fn a_database_that_nobody_has_used_has_nothing_wrong(db: Database) {
        assert_eq!(reports(&db, None, &[]).await, []);
    }

    async fn a_cell_of_another_type_names_its_row_and_the_walk_goes_on(db: Database) {
        let grant = written(&db).await;
        receipt(&db, &grant, "m-2").await;
        copied(&db).await;
        unguarded(&db).await;
        if db.kind == Kind::Postgres {
            // Its columns hold nothing but what they are for.
            assert!(db.statement("UPDATE audit SET at = 'x'").await.is_err());
            return;
        }
        for (sql, back, expected) in [
            ("UPDATE audit SET actor = CAST(actor AS BLOB) WHERE brand_id <> '' AND sequence = 2", AUDIT_BACK,
                &["brand 2-2 unreadable", "brand 3-3 unchecked"][..]),
            ("UPDATE audit SET at = at + 0.5 WHERE brand_id <> '' AND sequence = 5", AUDIT_BACK, &["brand 5-5 unreadable"]),
            ("UPDATE audit SET request_id = x'ff' WHERE brand_id = '' AND sequence = 1", AUDIT_BACK,
                &["provider 1-1 unreadable", "provider 2-2 unchecked"]),
            ("UPDATE audit SET sequence = 'x' WHERE brand_id <> '' AND sequence = 5", AUDIT_BACK,
                &["brand out_of_place", "brand 5-5 missing", "brand not_as_vouched receipt"]),
            ("UPDATE audit_head SET digest = CAST(digest AS BLOB) WHERE brand_id <> ''", HEAD_BACK, &["brand head_unreadable"]),
            ("UPDATE audit_head SET sequence = 'x' WHERE brand_id <> ''", HEAD_BACK, &["brand head_unreadable"]),
            ("UPDATE receipt SET jws = x'00' WHERE message_id = 'm-1'", RECEIPT_BACK, &["brand not_as_vouched receipt"]),
            ("UPDATE receipt SET jws = x'00'", RECEIPT_BACK, &["brand not_as_vouched receipt"; 2]),
            ("UPDATE receipt SET id = CAST(id AS BLOB) WHERE message_id = 'm-1'", RECEIPT_BACK,
                &["brand 3-3 bound_gone bound", "brand not_as_vouched receipt"]),
            ("UPDATE consent_evidence SET shown = x'ff'", EVIDENCE_BACK, &["brand not_as_vouched evidence"]),
        ] {
            assert_eq!(tried(&db, sql, back).await, expected, "{sql}");
        }
        // A chain that cannot even be named.
        let found = tried(&db, "UPDATE audit SET brand_id = CAST(x'ff' AS TEXT) WHERE brand_id <> '' AND sequence = 5", AUDIT_BACK).await;
        assert_eq!(found, ["provider unreadable", "brand 5-5 missing", "brand unvouched receipt"]);
    }

    async fn a_database_from_before_there_were_seals_says_so_until_its_head_is_kept(db: Database) {
        written(&db).await;
        unguarded(&db).await;
        for sql in ["UPDATE audit SET seal = NULL WHERE brand_id <> ''", "UPDATE audit_head SET seal = NULL WHERE brand_id <> ''"] {
            db.statement(sql).await.unwrap();
        }
        assert_eq!(wrong(&db).await, ["brand 1-4 unsealed", "brand head_unsealed"]);
        let kept = heads(&db).await;
        db.record(&entry(Action::SignedIn)).await.unwrap();
        assert_eq!(wrong(&db).await, ["brand 1-4 unsealed", "brand 5-5 seal_broken"]);
        let later = heads(&db).await;
        assert_eq!(reports(&db, None, &kept).await, later.clone().into_iter().map(Report::Walked).collect::<Vec<_>>());
        db.statement("UPDATE audit SET subject = 'x' WHERE brand_id <> '' AND sequence = 3").await.unwrap();
        assert!(reports(&db, None, &kept).await.iter().any(|report| matches!(report, Report::Wrong(_))));
    }

    async fn a_head_that_was_printed_earlier_shows_what_was_rolled_back(db: Database) {
        written(&db).await;
        unguarded(&db).await;
        copied(&db).await;
        db.record(&entry(Action::SignedIn)).await.unwrap();
        let kept = heads(&db).await;
        for sql in [AUDIT_BACK, HEAD_BACK].concat() {
            db.statement(sql).await.unwrap();
        }
        assert_eq!(wrong(&db).await, [""; 0], "an older state that was true");
        let told = reports(&db, None, &kept).await;
        let lines: Vec<_> = told.iter().filter_map(|report| if let Report::Wrong(found) = report { Some(line(found)) } else { None }).collect();
        assert_eq!(lines, ["brand 5-5 ends_before_expected"]);
        // Also when the chain has grown again, and when it is gone altogether.
        db.record(&Entry { at: after(1), ..entry(Action::SignedIn) }).await.unwrap();
        let told = reports(&db, None, &kept).await;
        assert!(told.iter().any(|report| matches!(report, Report::Wrong(found) if line(found) == "brand 5-5 not_as_expected")), "{told:?}");
        let gone = Head { chain: "01M3R53Q5SZQ6FQSMSDBSSREAZ".to_owned(), sequence: 3, digest: Digest::new([1; 32]).to_hex() };
        let told = reports(&db, None, &[gone]).await;
        assert!(told.iter().any(|report| matches!(report, Report::Wrong(found) if line(found) == "brand 3-3 ends_before_expected")), "{told:?}");
    }

    async fn an_erased_payload_is_named_as_erased_with_who_did_it_in_the_log(db: Database) {
        written(&db).await;
        let chain = Chain::Brand(shop().id);
        let erased = Entry {
            actor: Actor::Administrator("root".to_owned()),
            subject: "2".to_owned(),
            ..entry(Action::AuditErased)
        };
        assert_eq!(db.audit_has_payload(&chain, 2).await.unwrap(), Some(true));
        assert_eq!(db.erase_payload(&chain, 2, &erased).await.unwrap(), Erased::Done);
        assert_eq!(db.audit_has_payload(&chain, 2).await.unwrap(), Some(false));
        let before = db.contents().await;
        assert_eq!(db.erase_payload(&chain, 2, &erased).await.unwrap(), Erased::Already);
        assert_eq!(db.erase_payload(&chain, 99, &erased).await.unwrap(), Erased::NotThere);
        assert_eq!(db.audit_has_payload(&chain, 99).await.unwrap(), None);
        assert_eq!(db.contents().await, before);
        let told = reports(&db, Some(&chain), &[]).await;
        assert_eq!(told[0], Report::Erased { chain: shop().id.to_string(), rows: (2, 2) });
        assert!(matches!(told[1..], [Report::Walked(_)]), "{told:?}");
        assert_eq!(db.rows("SELECT payload FROM audit WHERE sequence = 2 AND brand_id <> ''").await, ["payload=NULL"]);
    }

    async fn of_many_who_erase_one_payload_at_once_one_stands_in_the_log(db: Database) {
        written(&db).await;
        let (chain, erased) = (Chain::Brand(shop().id), Entry { subject: "2".to_owned(), ..entry(Action::AuditErased) });
        let outcomes = join_all((0..20).map(|_| db.erase_payload(&chain, 2, &erased))).await;
        let done = outcomes.into_iter().map(Result::unwrap).filter(|outcome| *outcome == Erased::Done).count();
        assert_eq!((done, db.count("SELECT sequence FROM audit WHERE action = 'audit_erased'").await), (1, 1));
        assert_eq!(wrong(&db).await, [""; 0]);
    }

    async fn a_log_that_is_being_written_has_nothing_wrong_and_stays_one_chain(db: Database) {
        let grant = written(&db).await;
        let writing = join_all((0..60).map(|n| {
            let (db, grant) = (&db, &grant);
            async move { if n % 3 == 0 { receipt(db, grant, &format!("n-{n}")).await } else { db.record(&entry(Action::SignedIn)).await.unwrap() } }
        }));
        let looking = join_all((0..5).map(|_| wrong(&db)));
        let (_, looked) = futures_util::future::join(writing, looking).await;
        assert_eq!(looked, vec![Vec::<String>::new(); 5]);
        assert_eq!(wrong(&db).await, [""; 0]);
        assert_eq!(heads(&db).await[1].sequence, 64);
    }

    async fn a_log_of_many_pages_is_walked_to_its_end(db: Database) {
        written(&db).await;
        for _ in 0..1001 {
            db.record(&entry(Action::SignedIn)).await.unwrap();
        }
        assert_eq!(wrong(&db).await, [""; 0]);
        unguarded(&db).await;
        db.statement("UPDATE audit SET subject = 'x' WHERE sequence IN (500, 501, 502, 1005)").await.unwrap();
        assert_eq!(wrong(&db).await, ["brand 500-502 changed", "brand 1005-1005 changed"]);
    }
}
