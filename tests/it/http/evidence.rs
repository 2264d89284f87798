//! The auditor's export: made by the program while the server runs, verified by it without a network, and refused after any
//! change.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assent::crypto::evidence::{Problem, check, sign};
use assent::crypto::jwks::KeySet;
use assent::crypto::ring::{self, KeyRing};
use assent::crypto::seal::MasterKey;
use assent::domain::administrator::{Access, Reach, Role};
use assent::domain::audit::{Actor, Chain, RequestId};
use assent::domain::brand::SigningAlg;
use assent::domain::id::{BrandId, GrantId, KeyId};
use assent::domain::signing_key::KeyState;
use assent::entropy::Entropy;
use assent::flow::admin::audit::erase;
use assent::flow::admin::brands::{self, Removed};
use assent::flow::admin::evidence::{Exported, export};
use assent::flow::admin::{By, Verdict, keys};
use assent::outbound::Method;
use assent::protocol::evidence::Document;
use assent::store::Erased;
use serde_json::{Value, json};

use crate::support::database::{Kind, on_both_databases};
use crate::support::flow::{Page, Tokens};
use crate::support::process::Program;
use crate::support::world::{CLUB, MASTER_KEY, SHOP, World, brand_table, interface_url, owner};

fn by(access: Access) -> By {
    By { actor: Actor::Administrator("auditor".to_owned()), access, request: RequestId("test".to_owned()) }
}

/// A grant with two decisions, refreshed tokens, a receipt and its end.
async fn lived(world: &World, brand: &str) -> GrantId {
    let tokens = world.tokens(brand, "user-1", "jane", &["orders:read"]).await;
    let reply = world.send(brand, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    world.advance(60);
    let tokens = world.tokens(brand, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
    world.refresh(brand, "user-1", &tokens.refresh).await;
    let reply = world.send(brand, "user-1", Some(&tokens.access), "m-2", None, "Cancel my order").await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    GrantId::parse(tokens.grant()).unwrap()
}

async fn exported(world: &World, grant: &GrantId) -> Value {
    match export(&world.app, &by(Access::EVERYTHING), grant).await.unwrap() {
        Verdict::Done(Exported::Done { document, warnings }) => {
            assert_eq!(warnings, [""; 0]);
            serde_json::to_value(&document).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// What is wrong with a record that is not signed.
async fn refused(world: &World, grant: &GrantId) -> Vec<String> {
    match export(&world.app, &by(Access::EVERYTHING), grant).await.unwrap() {
        Verdict::Done(Exported::Altered(said)) => said,
        other => panic!("{other:?}"),
    }
}

/// The Brand's key set, as anybody can fetch it.
async fn published(world: &World, brand: &str) -> String {
    world.at_issuer(Method::GET, brand, "/jwks.json").send().await.text()
}

fn problems(document: &Value, keys: Option<&str>) -> Vec<String> {
    let keys = keys.map(|keys| KeySet::parse(keys.as_bytes()).unwrap());
    check(document, keys.as_ref(), None).iter().map(|problem| problem.text().to_owned()).collect()
}

/// A pointer to each value that is no object and no list.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| leaves(value, &format!("{at}/{}", name.replace('/', "~1")), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| leaves(value, &format!("{at}/{n}"), found))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(at.to_owned()),
    }
}

fn altered(value: &Value) -> Value {
    match value {
        Value::String(text) if text.ends_with('A') => json!(format!("{}B", &text[..text.len() - 1])),
        Value::String(text) => {
            json!(format!("{}A", text.chars().take(text.chars().count().saturating_sub(1)).collect::<String>()))
        }
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::Bool(flag) => json!(!flag),
        Value::Null => json!("2026-01-01T00:00:00.000Z"),
        Value::Array(_) | Value::Object(_) => panic!("a leaf"),
    }
}

on_both_databases! {
    async fn an_export_holds_texts_login_decisions_tokens_receipts_and_the_end(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let document = exported(&world, &grant).await;
        assert_eq!(document["grant"]["id"], grant.as_str());
        assert_eq!(document["brand"]["interface_url"], interface_url(SHOP));
        let decisions = document["decisions"].as_array().unwrap();
        assert_eq!(decisions.len(), 2);
        assert_eq!(decisions[0]["shown"]["requested"][0]["description"], "Look up your orders");
        assert_eq!((&decisions[0]["language"], &decisions[0]["granted"]), (&json!("en"), &json!("orders:read")));
        assert_eq!((&decisions[0]["login"]["iss"], &decisions[0]["login"]["sub"]), (&json!("https://login.example"), &json!("jane")));
        assert_eq!(document["tokens"].as_array().unwrap().len(), 3);
        assert_eq!(document["receipts"].as_array().unwrap().len(), 2);
        let actions: Vec<_> = document["audit"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
        let expected = ["signed_in", "grant_created", "tokens_issued", "receipt_signed", "signed_in", "grant_changed",
            "tokens_issued", "tokens_refreshed", "receipt_signed"];
        assert_eq!(actions, expected);
        assert_eq!(problems(&document, Some(&published(&world, SHOP).await)), [""; 0]);

        let changed = document["audit"][5]["payload"].as_str().unwrap();
        let changed: Value = serde_json::from_str(changed).unwrap();
        assert_eq!((&changed["before"]["scopes"], &changed["after"]["scopes"]), (&json!("orders:read"), &json!("orders:read orders:cancel")));

        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        let document = exported(&world, &grant).await;
        assert_eq!(document["grant"]["ended_by"], "personal_agent");
        assert_eq!(problems(&document, Some(&published(&world, SHOP).await)), [""; 0]);
        world.stop().await;
    }

    async fn an_export_is_refused_after_any_value_in_it_was_altered(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let (document, keys) = (exported(&world, &grant).await, published(&world, SHOP).await);
        let mut found = Vec::new();
        leaves(&document, "", &mut found);
        assert!(found.len() > 150, "{}", found.len());
        for leaf in &found {
            let mut changed = document.clone();
            let value = changed.pointer_mut(leaf).unwrap();
            *value = altered(value);
            assert_ne!(changed, document, "{leaf}");
            assert!(!problems(&changed, Some(&keys)).is_empty(), "{leaf} with the Brand's keys");
            assert!(!problems(&changed, None).is_empty(), "{leaf} with the keys inside");
        }
        for list in ["decisions", "tokens", "receipts", "audit", "keys"] {
            let mut changed = document.clone();
            changed[list].as_array_mut().unwrap().pop();
            assert!(!problems(&changed, Some(&keys)).is_empty(), "{list}");
        }
        let mut more = document.clone();
        more["note"] = json!("");
        assert!(!problems(&more, Some(&keys)).is_empty());

        // One word of what was shown: where it is, and against what.
        let mut changed = document.clone();
        changed["decisions"][0]["shown"]["requested"][0]["description"] = json!("Look up all orders");
        let said = problems(&changed, Some(&keys));
        assert!(said.iter().any(|said| said == "changed since it was signed: decisions"), "{said:?}");
        assert!(said.iter().any(|said| said.contains("is not what row") && said.starts_with("decision ")), "{said:?}");
        world.stop().await;
    }

    async fn whoever_signs_an_altered_export_with_a_key_of_their_own_is_refused_by_the_brands_keys(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let (document, keys) = (exported(&world, &grant).await, published(&world, SHOP).await);
        let mut forged: Document = serde_json::from_value(document).unwrap();
        let (brand, master, entropy) = (BrandId::parse(SHOP).unwrap(), MasterKey::parse(MASTER_KEY).unwrap(), Entropy::seeded(9));
        let now = world.clock.now();
        let kid = KeyId::parse(forged.keys[0].kid.clone()).unwrap();
        let row = ring::generate(SigningAlg::Es256, &brand, kid, KeyState::Live { signs_from: now }, now, &master, &entropy).unwrap();
        forged.keys[0].jwk = Some(serde_json::from_str(&row.public_jwk).unwrap());
        forged.grant.last_used_at = None;
        // What a forger cannot sign anew by changing little is left out.
        forged.receipts.clear();
        forged.audit.retain(|row| row.action != "receipt_signed");
        let ring = KeyRing::open(&brand, &[row], &master).unwrap();
        sign(&mut forged, &ring, SigningAlg::Es256, now).unwrap();
        let forged = serde_json::to_value(&forged).unwrap();
        assert_eq!(problems(&forged, None), [""; 0], "with its own keys it holds together");
        assert!(problems(&forged, Some(&keys)).iter().any(|said| said.starts_with("signature: ")));
        world.stop().await;
    }

    async fn a_retired_keys_receipts_verify_and_a_compromised_keys_do_not(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, CLUB).await;
        let before = exported(&world, &grant).await;
        assert_eq!(problems(&before, Some(&published(&world, CLUB).await)), [""; 0]);
        for sql in [
            "UPDATE signing_key SET state = 'retired' WHERE brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAD'",
            "UPDATE directory_revision SET revision = revision + 1",
        ] {
            db.statement(sql).await.unwrap();
        }
        world.app.directory.refresh(&world.app.store).await.unwrap();
        assert_eq!(problems(&before, Some(&published(&world, CLUB).await)), [""; 0]);
        for sql in [
            "UPDATE signing_key SET state = 'compromised' WHERE brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAD'",
            "UPDATE directory_revision SET revision = revision + 1",
        ] {
            db.statement(sql).await.unwrap();
        }
        world.app.directory.refresh(&world.app.store).await.unwrap();
        let said = problems(&before, Some(&published(&world, CLUB).await));
        assert!(said.iter().any(|said| said.starts_with("signature: ")), "{said:?}");
        assert_eq!(said.iter().filter(|said| said.starts_with("receipt ")).count(), 2, "{said:?}");
        world.stop().await;
    }

    async fn what_was_altered_in_the_database_is_not_signed(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let unguarded = match db.kind {
            Kind::Sqlite => "DROP TRIGGER consent_evidence_no_update",
            Kind::Postgres => "ALTER TABLE consent_evidence DISABLE TRIGGER USER",
        };
        db.statement(unguarded).await.unwrap();
        db.statement("UPDATE consent_evidence SET language = 'fr'").await.unwrap();
        let outcome = export(&world.app, &by(Access::EVERYTHING), &grant).await.unwrap();
        let Verdict::Done(Exported::Altered(said)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(said.iter().filter(|said| said.starts_with("decision ")).count(), 2, "{said:?}");
        assert_eq!(said.iter().filter(|said| said.starts_with("audit log: evidence ")).count(), 2, "{said:?}");
        assert_eq!(said.len(), 4, "{said:?}");
        world.stop().await;
    }

    async fn a_record_from_which_rows_were_removed_is_not_signed(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        world.tokens(SHOP, "user-2", "joe", &["orders:read"]).await;
        exported(&world, &grant).await;
        let triggers: &[&str] = match db.kind {
            Kind::Sqlite => &["DROP TRIGGER receipt_no_delete", "DROP TRIGGER audit_no_delete"],
            Kind::Postgres => &["ALTER TABLE audit DISABLE TRIGGER USER", "ALTER TABLE receipt DISABLE TRIGGER USER"],
        };
        for sql in triggers {
            db.statement(sql).await.unwrap();
        }
        // A receipt with its row, behind which stands another grant's.
        for sql in [
            "DELETE FROM audit WHERE bound_id = (SELECT id FROM receipt WHERE message_id = 'm-2')",
            "DELETE FROM receipt WHERE message_id = 'm-2'",
        ] {
            assert_eq!(db.statement(sql).await, Ok(1));
        }
        let said = refused(&world, &grant).await;
        assert!(said.iter().any(|said| said.ends_with(": not there")), "{said:?}");
        assert!(said.iter().all(|said| said.starts_with("audit row ")), "{said:?}");
        world.stop().await;
    }

    async fn an_end_that_was_taken_out_with_its_row_is_not_signed_away(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let grant = GrantId::parse(tokens.grant()).unwrap();
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        world.tokens(SHOP, "user-2", "joe", &["orders:read"]).await;
        exported(&world, &grant).await;
        let unguarded = match db.kind {
            Kind::Sqlite => "DROP TRIGGER audit_no_delete",
            Kind::Postgres => "ALTER TABLE audit DISABLE TRIGGER USER",
        };
        for sql in [
            unguarded,
            "DELETE FROM audit WHERE action = 'grant_ended'",
            "UPDATE delegation_grant SET state = 'live', ended_at = NULL, ended_by = NULL",
        ] {
            db.statement(sql).await.unwrap();
        }
        let said = refused(&world, &grant).await;
        assert!(said.iter().any(|said| said.ends_with(": not there")), "{said:?}");
        world.stop().await;
    }

    async fn a_grant_and_tokens_that_contradict_their_rows_are_not_signed(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        exported(&world, &grant).await;
        for (sql, back, expected) in [
            ("UPDATE delegation_grant SET created_at = created_at - 1", "UPDATE delegation_grant SET created_at = created_at + 1",
                "grant: created_at"),
            ("UPDATE delegation_grant SET decided_at = decided_at - 1", "UPDATE delegation_grant SET decided_at = decided_at + 1",
                "grant: decided_at"),
            ("UPDATE delegation_grant SET expires_at = expires_at + 86400000",
                "UPDATE delegation_grant SET expires_at = expires_at - 86400000", "grant: expires_at"),
            ("UPDATE delegation_grant SET ended_at = ended_at + 1", "UPDATE delegation_grant SET ended_at = ended_at - 1",
                "grant: ended_at"),
            ("UPDATE delegation_grant SET ended_by = 'user'", "UPDATE delegation_grant SET ended_by = 'personal_agent'",
                "grant: ended_by"),
            ("UPDATE delegation_grant SET scopes = 'orders:read refunds:issue'",
                "UPDATE delegation_grant SET scopes = 'orders:read'", "grant: it is not what"),
            ("UPDATE refresh_token SET created_at = created_at + 1", "UPDATE refresh_token SET created_at = created_at - 1",
                "was issued at another time"),
            ("UPDATE refresh_token SET token_scopes = 'refunds:issue' WHERE token_scopes = 'orders:read'",
                "UPDATE refresh_token SET token_scopes = 'orders:read' WHERE token_scopes = 'refunds:issue'",
                "no row of the audit log has issued it"),
            ("DELETE FROM refresh_token", "", "the token that it issued is not in the document"),
        ] {
            assert!(db.statement(sql).await.unwrap() > 0, "{sql}");
            let said = refused(&world, &grant).await;
            assert!(said.iter().any(|said| said.contains(expected)), "{sql}: {said:?}");
            if !back.is_empty() {
                db.statement(back).await.unwrap();
                exported(&world, &grant).await;
            }
        }
        world.stop().await;
    }

    async fn nodes_whose_clocks_differ_a_little_leave_a_record_that_holds_together(db: Database) {
        let world = World::start(&db).await;
        world.advance(60);
        let behind = world.node_behind(&db, Duration::from_millis(50)).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let tokens = Tokens::of(&behind.poll(SHOP, "user-1", &codes.device_code).await);
        let reply = behind.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        let codes = world.codes(SHOP, "user-1", "orders:read orders:cancel").await;
        world.allow(SHOP, "jane", &codes, &["orders:read", "orders:cancel"]).await;
        let tokens = Tokens::of(&behind.poll(SHOP, "user-1", &codes.device_code).await);
        let reply = behind.send(SHOP, "user-1", Some(&tokens.access), "m-2", None, "Cancel my order").await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        behind.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        let document = exported(&world, &GrantId::parse(tokens.grant()).unwrap()).await;
        assert!(document["tokens"][0]["issued_at"].as_str() < document["decisions"][0]["decided_at"].as_str());
        assert_eq!(problems(&document, Some(&published(&world, SHOP).await)), [""; 0]);
        behind.stop().await;
        world.stop().await;
    }

    async fn a_page_that_was_opened_again_from_a_later_session_is_decided_under_that_login(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let asked = world.codes(SHOP, "user-1", "orders:cancel").await;
        world.sign_in(SHOP, "jane", &asked.user_code).await;
        let other = world.codes(SHOP, "user-1", "orders:read").await;
        let later = world.sign_in(SHOP, "jane", &other.user_code).await;
        let page = Page::of(&world.open(SHOP, &asked.user_code, later.cookie.as_deref()).await);
        assert_eq!(world.decide(SHOP, &page.session, "allow", &["orders:read", "orders:cancel"]).await.status(), 303);
        let document = exported(&world, &GrantId::parse(tokens.grant()).unwrap()).await;
        let signed_in = document["audit"].as_array().unwrap().iter().rfind(|row| row["action"] == "signed_in").unwrap();
        let jti = document["decisions"][1]["login"]["jti"].as_str().unwrap();
        assert!(!signed_in["payload"].as_str().unwrap().contains(jti), "another login than the code's own");
        assert_eq!(problems(&document, Some(&published(&world, SHOP).await)), [""; 0]);
        world.stop().await;
    }

    async fn a_change_of_the_brand_whose_payload_was_erased_still_verifies(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        let grant = GrantId::parse(tokens.grant()).unwrap();
        let table = brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", Some((&world.brand_login, "")));
        let table = table.replace("{ id = \"orders:cancel\", description = \"Cancel an order\", writes = true },\n", "");
        world.apply(&table).await;
        let narrow = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(narrow.scope, "orders:read");
        world.send(SHOP, "user-1", Some(&narrow.access), "m-1", None, "Where is my order?").await;
        let whole = exported(&world, &grant).await;
        let changed = whole["audit"].as_array().unwrap().iter().find(|row| row["action"] == "grant_changed").unwrap();
        let chain = Chain::Brand(BrandId::parse(SHOP).unwrap());
        let erased = erase(&world.app, &owner(), &chain, changed["sequence"].as_i64().unwrap()).await.unwrap();
        assert_eq!(erased, Verdict::Done(Erased::Done));
        let keys = published(&world, SHOP).await;
        assert_eq!(problems(&exported(&world, &grant).await, Some(&keys)), [""; 0]);
        // What is erased does not let the grant be more than it was.
        db.statement("UPDATE delegation_grant SET scopes = 'orders:read refunds:issue'").await.unwrap();
        assert_eq!(refused(&world, &grant).await, ["grant: it is not what the decisions and the audit log made of it"]);
        // Nor does an erasure of all that can be erased make it fail.
        db.statement("UPDATE delegation_grant SET scopes = 'orders:read'").await.unwrap();
        for row in whole["audit"].as_array().unwrap() {
            erase(&world.app, &owner(), &chain, row["sequence"].as_i64().unwrap()).await.unwrap();
        }
        assert_eq!(problems(&exported(&world, &grant).await, Some(&keys)), [""; 0]);
        world.stop().await;
    }

    async fn the_evidence_of_a_removed_brand_is_signed_by_its_last_key(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let (brand, keys) = (BrandId::parse(SHOP).unwrap(), published(&world, SHOP).await);
        let removed = brands::remove(&world.app, &owner(), &brand, "Example Shop").await.unwrap();
        assert_eq!(removed, Verdict::Done(Removed::Done { ended: 1 }));
        let document = exported(&world, &grant).await;
        assert_eq!((&document["grant"]["ended_by"], &document["brand"]["name"]), (&json!("brand_change"), &json!("Example Shop")));
        assert_eq!(document["keys"][0]["state"], "retired");
        assert_eq!(problems(&document, Some(&keys)), [""; 0]);
        // Who may not look at the Brand gets nothing still.
        let other = Access { role: Role::Auditor, reach: Reach::Brands([BrandId::parse(CLUB).unwrap()].into()) };
        assert_eq!(export(&world.app, &by(other), &grant).await.unwrap(), Verdict::NotThere);
        db.statement("UPDATE signing_key SET state = 'compromised'").await.unwrap();
        assert_eq!(export(&world.app, &by(Access::EVERYTHING), &grant).await.unwrap(), Verdict::Done(Exported::NoKey));
        let (code, said, error) = Program::new(&db).assent(&["evidence", grant.as_str()]);
        assert!(code == 1 && said.is_empty() && error.contains("all its keys are compromised"), "{error}");
        world.stop().await;
    }

    async fn a_key_that_has_given_way_stands_in_an_export_as_retired(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let brand = BrandId::parse(SHOP).unwrap();
        assert!(matches!(keys::rotate(&world.app, &owner(), &brand, true).await.unwrap(), Verdict::Done(_)));
        world.advance(10);
        let document = exported(&world, &grant).await;
        let states: Vec<_> = document["keys"].as_array().unwrap().iter().map(|key| key["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["retired", "live"]);
        assert_eq!(problems(&document, Some(&published(&world, SHOP).await)), [""; 0]);
        world.stop().await;
    }

    async fn a_grant_out_of_reach_is_not_there(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let only = |brand: &str| Access { role: Role::Auditor, reach: Reach::Brands([BrandId::parse(brand).unwrap()].into()) };
        assert_eq!(export(&world.app, &by(only(CLUB)), &grant).await.unwrap(), Verdict::NotThere);
        assert!(matches!(export(&world.app, &by(only(SHOP)), &grant).await.unwrap(), Verdict::Done(Exported::Done { .. })));
        let unknown = GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap();
        assert_eq!(export(&world.app, &by(Access::EVERYTHING), &unknown).await.unwrap(), Verdict::NotThere);
        world.stop().await;
    }

    async fn the_program_exports_while_the_server_runs_and_verifies_without_a_network(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let program = Program::new(&db);
        let (code, document, error) = program.assent(&["evidence", grant.as_str()]);
        assert_eq!(code, 0, "{error}");
        program.write("evidence.json", &document);
        program.write("jwks.json", &published(&world, SHOP).await);
        fs::remove_file(program.place().join("assent.toml")).unwrap();
        let verify = |more: &[&str]| program.offline(&[&["evidence", "verify", "evidence.json"], more].concat());
        let (code, said, error) = verify(&["--jwks", "jwks.json", "--brand", &interface_url(SHOP)]);
        assert_eq!((code, error.as_str()), (0, ""), "{said}");
        assert!(said.contains(grant.as_str()) && said.contains("2 decisions, 3 tokens, 2 receipts"), "{said}");
        let (code, _, error) = verify(&[]);
        assert!(code == 0 && error.contains("only that it holds together"), "{error}");
        let (code, said, error) = verify(&["--jwks", "jwks.json", "--brand", &interface_url(CLUB)]);
        assert!(code == 1 && said.is_empty() && error.contains("signature: "), "{error}");
        program.write("evidence.json", &document.replacen("Look up your orders", "Look up your order", 1));
        let (code, said, error) = verify(&["--jwks", "jwks.json"]);
        assert!(code == 1 && said.is_empty() && error.contains("changed since it was signed: decisions"), "{error}");
        program.write("jwks.json", &published(&world, CLUB).await);
        program.write("evidence.json", &document);
        let (code, said, error) = verify(&["--jwks", "jwks.json"]);
        assert!(code == 1 && said.is_empty() && error.contains("no usable key"), "{error}");
        world.stop().await;
    }

    async fn the_program_verifies_lists_and_erases_the_audit_log_while_the_server_runs(db: Database) {
        let world = World::start(&db).await;
        let grant = lived(&world, SHOP).await;
        let program = Program::new(&db);
        let (code, said, error) = program.assent(&["audit", "verify"]);
        assert_eq!((code, error.as_str()), (0, ""), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("head ")).count(), 5, "{said}");
        program.write("heads", &said);

        let (code, said, _) = program.assent(&["audit", "list", "--subject", grant.as_str(), "--action", "grant_created", "--json"]);
        assert_eq!(code, 0);
        let row: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&row["actor"]["name"], &row["payload"]["before"]), (&json!("jane"), &json!(null)));
        assert_eq!(row["payload"]["after"]["scopes"], "orders:read");
        let sequence = row["sequence"].to_string();
        let (_, said, more) = program.assent(&["audit", "list", "--brand", SHOP, "--limit", "2"]);
        assert_eq!(said.lines().count(), 2, "{said}");
        let cursor = more.trim().rsplit(' ').next().unwrap();
        let (_, next, _) = program.assent(&["audit", "list", "--brand", SHOP, "--limit", "2", "--after", cursor]);
        assert!(next.lines().count() == 2 && !said.contains(next.lines().next().unwrap()), "{next}");

        let erase = |more: &[&str]| program.assent(&[&["audit", "erase", SHOP, &sequence], more].concat());
        let before = db.contents().await;
        assert_eq!(erase(&["--dry-run"]).0, 0);
        let (code, said, error) = erase(&[]);
        assert!(code == 2 && said.is_empty() && error.contains("--yes"), "{error}");
        assert_eq!(program.assent(&["audit", "erase", SHOP, "9999", "--yes"]).0, 1);
        assert_eq!(db.contents().await, before);
        assert_eq!(erase(&["--yes"]).0, 0);
        let (code, said, _) = program.assent(&["audit", "verify", "--brand", SHOP, "--expect", "heads", "--json"]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(&format!(r#"{{"what":"erased","chain":"{SHOP}","first":{sequence},"last":{sequence}}}"#)), "{said}");
        // What is erased from the log is not needed to verify evidence.
        let document = exported(&world, &grant).await;
        assert_eq!(problems(&document, None), [""; 0]);

        let unguarded = match db.kind {
            Kind::Sqlite => "DROP TRIGGER receipt_no_delete",
            Kind::Postgres => "ALTER TABLE receipt DISABLE TRIGGER USER",
        };
        db.statement(unguarded).await.unwrap();
        db.statement("DELETE FROM receipt WHERE message_id = 'm-2'").await.unwrap();
        let (code, said, error) = program.assent(&["audit", "verify"]);
        assert!(code == 1 && error.contains("1 thing is wrong"), "{error}");
        assert_eq!(said.lines().filter(|line| line.starts_with("wrong ") && line.contains("is gone")).count(), 1, "{said}");
        let outcome = export(&world.app, &by(Access::EVERYTHING), &grant).await.unwrap();
        let Verdict::Done(Exported::Altered(said)) = outcome else { panic!("{outcome:?}") };
        assert!(said.len() == 2 && said[0].ends_with("is gone"), "{said:?}");
        assert!(said[1].ends_with("what it vouches for is not in the document"), "{said:?}");
        world.stop().await;
    }
}

#[test]
fn the_binary_is_where_it_is_looked_for() {
    assert!(Path::new(env!("CARGO_BIN_EXE_assent")).exists());
    assert!(matches!(check(&json!([]), None, None)[..], [Problem::Wrong(_)]));
}
