//! The lists of Brands, keys, receipts and the audit log: narrowed, ordered, paged and whole as CSV.

use assent::domain::administrator::{Access, Role};

use super::{key_of, receipt_of_shop};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, CLUB, SHOP, World};

/// The records of a CSV without the head, which has no line breaks in its values here.
fn records(csv: &str) -> Vec<String> {
    csv.trim_end().split("\r\n").skip(1).map(str::to_owned).collect()
}

on_both_databases! {
    async fn each_list_is_narrowed_by_what_its_address_says_and_refuses_what_it_does_not_know(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let (jane, joe) = (receipt_of_shop(&world, "jane").await, receipt_of_shop(&world, "joe").await);
        let (shop, club) = (key_of(&world, SHOP).await, key_of(&world, CLUB).await);
        let row = |chain: &str, row: u32| format!("/audit/{chain}/{row}\"");
        let (janes, joes) = (format!("/receipts/{}\"", jane.id), format!("/receipts/{}\"", joe.id));
        let under_jane = format!("/receipts?grant={}", jane.grant);
        for (address, shown, hidden) in [
            ("/brands", "Book Club", "No Brand fits"),
            ("/brands?search=book", "Book Club", "Example Shop"),
            ("/brands?state=served", "Book Club", "No Brand fits"),
            ("/brands?state=removed", "No Brand fits", "Book Club"),
            ("/keys", &club, "No key fits"),
            (&format!("/keys?brand={SHOP}"), &shop, &club),
            ("/receipts", &janes, "No receipt fits"),
            ("/receipts?user=joe", &joes, &janes),
            (&under_jane, &janes, &joes),
            ("/receipts?personal_agent=https%3A%2F%2Fother-pa.example.com", "No receipt fits", &janes),
            ("/audit?chain=provider", "administrator_created", "brand_applied"),
            (&format!("/audit?chain={SHOP}"), &row(SHOP, 1), &row("provider", 1)),
            ("/audit?actor=jane", "jane (user)", "joe (user)"),
            ("/audit?action=brand_applied", "brand_applied", "administrator_created"),
            (&format!("/audit?subject={CLUB}"), &row(CLUB, 1), &row(SHOP, 1)),
            ("/audit?request=nothing", "No row fits", "brand_applied"),
        ] {
            let html = anna.page(address).await;
            assert!(html.contains(shown), "{address} does not show {shown}: {html}");
            let rows = html.split("</form>").last().unwrap();
            assert!(!rows.contains(hidden), "{address} shows {hidden}: {html}");
        }
        for address in ["/brands?state=x", "/brands?x=1", "/keys?brand=x", "/receipts?grant=x", "/audit?chain=x", "/audit?cursor=x", "/audit?sort=at"] {
            assert_eq!(anna.get(address).await.status(), 400, "{address}");
        }
        world.stop().await;
    }

    async fn the_audit_log_is_paged_to_its_end_without_a_gap(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        for number in 0..60 {
            world.administrator(&format!("a{number}"), access(Role::Auditor, &[SHOP])).await;
        }
        let anna = world.logged_in("anna").await;
        let (mut address, mut seen) = ("/audit?action=administrator_created".to_owned(), Vec::new());
        loop {
            let html = anna.page(&address).await;
            seen.extend(html.split("/audit/provider/").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
            let Some((next, _)) = html.split_once("\" rel=\"next\"") else { break };
            address = next.rsplit('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
        }
        assert_eq!(seen.len(), 61);
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), 61);
        let csv = anna.get("/audit.csv?action=administrator_created").await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
        assert_eq!(records(&csv.text()).len(), 61);
        world.stop().await;
    }

    // case 77
    async fn a_list_and_its_csv_hold_what_is_within_reach_alone(db: Database) {
        let world = World::start(&db).await;
        world.administrator("bert", access(Role::Auditor, &[AIRLINE])).await;
        let bert = world.logged_in("bert").await;
        let receipt = receipt_of_shop(&world, "jane").await.id.to_string();
        let shop = key_of(&world, SHOP).await;
        for list in ["brands", "keys", "receipts", "audit"] {
            for address in [format!("/{list}"), format!("/{list}.csv")] {
                let text = bert.page(&address).await;
                for theirs in [SHOP, "Example Shop", shop.as_str(), receipt.as_str(), "provider,"] {
                    assert!(!text.contains(theirs), "{address} holds {theirs}: {text}");
                }
            }
        }
        for address in [
            format!("/keys?brand={SHOP}"), format!("/keys.csv?brand={SHOP}"), format!("/receipts?brand={SHOP}"),
            format!("/receipts.csv?brand={SHOP}"), format!("/audit?chain={SHOP}"), format!("/audit.csv?chain={SHOP}"),
            "/audit?chain=provider".to_owned(),
        ] {
            assert_eq!(bert.get(&address).await.status(), 404, "{address}");
        }
        assert!(bert.page("/brands.csv").await.contains(AIRLINE));
        world.stop().await;
    }
}
