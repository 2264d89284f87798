//! Receipts and the audit log: read, verified, and rid of personal data.

use assent::domain::administrator::{Access, Role};

use super::{contents, receipt_of_shop, who_did};
use crate::support::console::access;
use crate::support::database::{Kind, on_both_databases};
use crate::support::world::{SHOP, World};

on_both_databases! {
    // case 71
    async fn a_receipt_is_shown_in_words_and_as_it_was_signed(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", access(Role::Auditor, &[SHOP])).await;
        let anna = world.logged_in("anna").await;
        let receipt = receipt_of_shop(&world, "jane").await;
        let html = anna.page(&format!("/receipts/{}", receipt.id)).await;
        for shown in [
            receipt.jws.as_str(), "jane", "https://pa.example.com", receipt.grant.as_str(), "orders:read", "Example Shop",
            "What was done", &format!("/grants/{}", receipt.grant),
        ] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        world.stop().await;
    }

    async fn an_audit_row_says_what_was_before_and_what_is_after(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let html = anna.page(&format!("/audit/{SHOP}/1")).await;
        for shown in ["brand_applied", "There was none.", "&#34;name&#34;: &#34;Example Shop&#34;", "/erase\"", "Before", "After"] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        assert!(html.contains(&format!("/audit?subject={SHOP}")));
        world.stop().await;
    }

    // case 78
    async fn a_log_that_verifies_is_said_to_and_a_row_that_was_altered_is_named(db: Database) {
        let world = World::start(&db).await;
        world.administrator("auditor", access(Role::Auditor, &[])).await;
        let auditor = world.logged_in("auditor").await;
        receipt_of_shop(&world, "jane").await;
        let rows = db.count("SELECT sequence FROM audit").await;
        assert!(auditor.page("/audit/verify").await.contains("Nothing is changed"));
        let before = contents(&db).await;
        let good = auditor.sent("/audit/verify", &[]).await;
        let chains = db.count("SELECT brand_id FROM audit_head").await;
        assert_eq!(good.status(), 200);
        assert!(good.text().contains(&format!("All {rows} rows of {chains} chains verify")), "{}", good.text());
        assert_eq!(contents(&db).await, before, "it changes nothing");
        let unguarded = match db.kind {
            Kind::Sqlite => "DROP TRIGGER audit_no_update",
            Kind::Postgres => "ALTER TABLE audit DISABLE TRIGGER USER",
        };
        db.statement(unguarded).await.unwrap();
        let altered = db.statement("UPDATE audit SET payload = '{}' WHERE sequence = 2 AND brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAA'").await;
        assert_eq!(altered, Ok(1));
        let bad = auditor.sent("/audit/verify", &[]).await.text();
        assert!(bad.contains("The audit log does not verify") && bad.contains(&format!("/audit/{SHOP}/2\"")), "{bad}");
        assert!(bad.contains("its payload is not the one that was written"), "{bad}");
        world.stop().await;
    }

    // case 80
    async fn the_personal_data_of_a_row_is_erased_when_its_number_is_typed_and_the_chain_verifies(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let path = format!("/audit/{SHOP}/3/erase");
        assert!(anna.page(&path).await.contains("gone for good"));
        let before = contents(&db).await;
        for typed in ["", "2", "three"] {
            let answer = anna.sent(&path, &[("typed", typed)]).await;
            assert!(answer.status() == 422 && answer.text().contains("not the row&#39;s number"), "{}", answer.text());
        }
        assert_eq!(contents(&db).await, before);
        let done = anna.sent(&path, &[("typed", "3")]).await;
        assert!(done.status() == 200 && done.text().contains("The personal data is erased"), "{}", done.text());
        assert_eq!(who_did(&world, "audit_erased").await, ("anna".to_owned(), "3".to_owned()));
        let html = anna.page(&format!("/audit/{SHOP}/3")).await;
        assert!(html.contains("Its personal data was erased") && !html.contains("/erase\""), "{html}");
        assert!(anna.sent(&path, &[("typed", "3")]).await.text().contains("It was erased before"));
        let verified = anna.sent("/audit/verify", &[]).await.text();
        assert!(verified.contains("The audit log verifies") && verified.contains("Erased rows"), "{verified}");
        world.stop().await;
    }
}
