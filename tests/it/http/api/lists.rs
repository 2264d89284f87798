//! Lists: pages, orders and filters, and what of them is refused.

use std::collections::BTreeSet;

use assent::domain::administrator::Access;
use serde_json::json;

use super::{Api, assert_problem, method, operations, text};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

on_both_databases! {
    async fn page_after_page_has_every_row_once_in_either_order(db: Database) {
        let world = World::start(&db).await;
        for n in 0..5 {
            let sub = format!("user-{n}");
            world.tokens(SHOP, &sub, &sub, &["orders:read"]).await;
            world.advance(1);
        }
        let api = Api::with(&world, Access::EVERYTHING).await;
        let mut orders = Vec::new();
        for order in ["asc", "desc"] {
            let (mut all, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = api.get(&format!("/grants?limit=2&sort=expires&order={order}{cursor}")).await.json();
                let items = page["items"].as_array().unwrap();
                assert!(items.len() <= 2);
                all.extend(items.iter().map(|grant| text(&grant["grantId"])));
                match page.get("nextCursor") {
                    Some(next) => cursor = format!("&cursor={}", next.as_str().unwrap()),
                    None => break,
                }
            }
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 5);
            orders.push(all);
        }
        orders[1].reverse();
        assert_eq!(orders[0], orders[1]);
        let (mut rows, mut cursor) = (0, String::new());
        loop {
            let page = api.get(&format!("/audit?limit=7{cursor}")).await.json();
            rows += page["items"].as_array().unwrap().len();
            match page.get("nextCursor") {
                Some(next) => cursor = format!("&cursor={}", next.as_str().unwrap()),
                None => break,
            }
        }
        assert_eq!(rows, db.count("SELECT sequence FROM audit").await);
        world.stop().await;
    }

    async fn filters_narrow_a_list(db: Database) {
        let world = World::start(&db).await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.tokens(AIRLINE, "user-2", "joe", &["orders:read"]).await;
        let api = Api::with(&world, Access::EVERYTHING).await;
        let count = async |query: &str| {
            let answer = api.get(&format!("/grants{query}")).await;
            assert_eq!(answer.status(), 200, "{query}: {}", answer.text());
            answer.json()["items"].as_array().unwrap().len()
        };
        for (query, expected) in [
            ("", 2),
            ("?", 2),
            ("?user=jane", 1),
            ("?user=%6aane", 1),
            ("?user=j+ane", 0),
            ("?state=live", 2),
            ("?state=ended", 0),
            ("?brand=01M3R53Q5SZQ6FQSMSDBSSREAA&state=live", 1),
            ("?personalAgent=https%3A%2F%2Fpa.example.com", 2),
            ("?personalAgent=https://pa.example.com", 2),
            ("?since=2026-01-01T00:00:00Z", 2),
            ("?since=2026-01-01T01:00:00%2B01:00", 2),
            ("?until=2026-01-01T00:00:00Z", 0),
        ] {
            assert_eq!(count(query).await, expected, "{query}");
        }
        let named = |path: &'static str| async { api.get(path).await.json()["items"].as_array().unwrap().len() };
        assert_eq!(named("/brands?search=book").await, 1);
        assert_eq!(named("/brands?removed=true").await, 0);
        assert_eq!(named("/personal-agents?search=first&enabled=true").await, 1);
        assert_eq!(named("/audit?action=grant_created&actor=jane").await, 1);
        world.stop().await;
    }

    async fn a_wrong_unknown_or_repeated_parameter_is_named(db: Database) {
        let world = World::start(&db).await;
        for user in ["a", "b"] {
            world.tokens(SHOP, user, user, &["orders:read"]).await;
        }
        let api = Api::with(&world, Access::EVERYTHING).await;
        let cursor = text(&api.get("/grants?limit=1").await.json()["nextCursor"]);
        let before = db.contents().await;
        for (query, parameter) in [
            ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("limit=", "limit"), ("limit=01", "limit"),
            ("limit=%2B1", "limit"), ("limit=-1", "limit"), ("limit=1.0", "limit"), ("limit=99999999999999999999", "limit"),
            ("sort=name", "sort"), ("sort=", "sort"), ("order=up", "order"), ("order=", "order"),
            ("cursor=", "cursor"), ("cursor=x", "cursor"), ("state=", "state"), ("state=Live", "state"), ("brand=", "brand"),
            ("brand=x", "brand"), ("user=", "user"), ("user=a%0Ab", "user"), ("personalAgent=", "personalAgent"),
            ("since=yesterday", "since"), ("since=2026-01-01", "since"), ("since=", "since"),
            ("unknown=1", "unknown"), ("Limit=1", "Limit"), ("limit=1&limit=1", "limit"), ("user=a&%75ser=b", "user"),
            ("a%20b=1", "query"),
        ] {
            assert_problem(&api.get(&format!("/grants?{query}")).await, 422, "invalid", Some(parameter));
        }
        for (query, parameter) in [("user=%ff", Some("user")), ("user=%00", Some("user")), ("user=%4", Some("user")), ("%zz=1", None)] {
            assert_problem(&api.get(&format!("/grants?{query}")).await, 400, "malformed", parameter);
        }
        // A cursor is that of one list in one order.
        for foreign in ["sort=used", "order=asc", "sort=expires&order=asc"] {
            let answer = api.get(&format!("/grants?{foreign}&cursor={cursor}")).await;
            assert_problem(&answer, 422, "invalid", Some("cursor"));
        }
        for path in ["/brands", "/audit", "/personal-agents"] {
            assert_problem(&api.get(&format!("{path}?cursor={cursor}")).await, 422, "invalid", Some("cursor"));
        }
        // None takes what it has not, writes included.
        for operation in operations() {
            let path = operation.path.replace(['{', '}'], "");
            let answer = api.ask(method(&operation), &format!("{path}?nothing=1")).send().await;
            assert_problem(&answer, 422, "invalid", Some("nothing"));
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(api.get(&format!("/grants?cursor={cursor}")).await.json()["items"].as_array().unwrap().len(), 1);
        assert_ne!(json!(cursor), json!(""));
        world.stop().await;
    }
}
