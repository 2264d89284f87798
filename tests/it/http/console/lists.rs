//! Lists: their addresses are read strictly, pages follow each other, and the CSV is whole.

use std::collections::BTreeSet;

use assent::domain::administrator::Access;

use super::{assert_shows, link};
use crate::support::console::Browser;
use crate::support::database::{Database, on_both_databases};
use crate::support::world::{SHOP, World};

/// Beside the grant that there is, 1 100 like it, some of one instant.
async fn more_grants(db: &Database) {
    const SQL: &str =
        "INSERT INTO delegation_grant (id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
            expires_at, last_used_at, state, ended_at, ended_by)
        WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
        SELECT 'a2agrant_01M3R53Q5SZQ6FQSMSDBSS' || CAST(i AS TEXT), g.brand_id, 'user-' || CAST(i AS TEXT), g.pa_issuer,
            g.pa_sub, g.scopes, g.version, g.created_at + i / 7, g.decided_at, g.expires_at, NULL, 'live', NULL, NULL
        FROM n CROSS JOIN (SELECT * FROM delegation_grant LIMIT 1) g";
    assert_eq!(db.statement(SQL).await, Ok(1_100));
}

/// The ids in the rows of a page.
fn ids(html: &str) -> Vec<String> {
    let links = html.split("<td>").filter(|cell| cell.contains("href=\"/grants/a2agrant_"));
    links.map(|cell| cell.split("/grants/").nth(1).unwrap().split('"').next().unwrap().to_owned()).collect()
}

/// The first column of a CSV without its head.
fn first_column(csv: &str) -> Vec<String> {
    csv.split_terminator("\r\n").skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect()
}

async fn all_pages(browser: &Browser<'_>, first: &str) -> Vec<String> {
    let (mut found, mut address) = (Vec::new(), first.to_owned());
    loop {
        let page = browser.get(&address).await;
        assert_eq!(page.status(), 200, "{}", page.text());
        let on_page = ids(&page.text());
        assert!(on_page.len() <= 50);
        found.extend(on_page);
        if !page.text().contains(">Next page</a>") {
            return found;
        }
        address = link(&page, "Next page");
    }
}

on_both_databases! {
    async fn what_is_wrong_with_an_address_is_said_by_its_name_with_the_navigation_beside_it(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        for path in ["/grants", "/grants.csv", "/personal-agents", "/personal-agents.csv"] {
            for (query, problem) in [
                ("?x=1", "the parameter x is not known here"),
                ("?state=live&state=live", "the parameter state is given more than once"),
                ("?state=Live", "state: is none of "),
                ("?state=%ff", "the parameter state is not UTF-8"),
                ("?sort=sub", "sort: is none of "),
                ("?order=up", "order: is none of asc, desc"),
            ] {
                let answer = anna.get(&format!("{path}{query}")).await;
                assert_eq!(answer.status(), 400, "{path}{query}");
                assert_shows(&answer, &[problem, "<nav aria-label=\"Console\">", "Log out"]);
            }
        }
        for (address, problem) in [
            ("/grants?brand=x", "brand: brand id is not a ULID"),
            ("/grants?since=yesterday", "since: is no instant such as"),
            ("/grants?until=2026-13-01", "until: is no instant such as"),
            ("/grants?cursor=x", "cursor: is not that of a page of this view"),
            ("/grants.csv?cursor=x", "the parameter cursor is not known here"),
            ("/grants/revoke?state=live", "the parameter state is not known here"),
            ("/grants/revoke?brand=x", "brand: brand id is not a ULID"),
            ("/personal-agents/one", "issuer: is missing"),
            ("/personal-agents/one?issuer=", "issuer: is missing"),
            ("/search?query=x", "the parameter query is not known here"),
        ] {
            let answer = anna.get(address).await;
            assert_eq!(answer.status(), 400, "{address}");
            assert_shows(&answer, &[problem, "<nav aria-label=\"Console\">"]);
        }
        // What a form sends that nobody filled in.
        let empty = anna.get("/grants?brand=&user=&personal_agent=&state=&since=&until=&sort=&order=&cursor=").await;
        assert_eq!(empty.status(), 200);
        assert_shows(&empty, &["No grant fits."]);
        for fine in ["2026-01-01", "2026-01-01T00:00", "2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00%2B01:00"] {
            let page = anna.get(&format!("/grants?since={fine}")).await;
            assert_eq!(page.status(), 200, "{fine}");
            assert_shows(&page, &["name=\"since\" id=\"filter-since\" value=\"2026-01-01T00:00:00\""]);
        }
        world.stop().await;
    }

    async fn pages_follow_each_other_in_every_order_and_the_csv_is_whole(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        more_grants(&db).await;
        let first = anna.get("/grants").await;
        assert_shows(&first, &["1\u{202f}101 grants of 1 Brand", "aria-sort=\"descending\""]);
        world.advance(60);
        let found = all_pages(&anna, "/grants").await;
        assert_eq!((found.len(), found.iter().collect::<BTreeSet<_>>().len()), (1_101, 1_101));
        world.advance(60);
        let other_way = all_pages(&anna, "/grants?sort=created&order=asc").await;
        assert_eq!(found.iter().rev().collect::<Vec<_>>(), other_way.iter().collect::<Vec<_>>());

        let csv = anna.get("/grants.csv").await;
        assert_eq!(csv.status(), 200);
        for (name, value) in [
            ("content-type", "text/csv; charset=utf-8; header=present"),
            ("content-disposition", "attachment; filename=\"grants.csv\""),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(csv.header(name), Some(value), "{name}");
        }
        let text = csv.text();
        assert!(text.starts_with("grant_id,state,brand_id,brand_name,user,personal_agent,sub,scopes,created_at,"), "{text:.200}");
        assert_eq!(first_column(&text), found, "in the order of the view, across batches");
        assert!(text.contains(",2026-01-01T00:00:00Z,") && text.ends_with("\r\n"));
        let one = anna.get("/grants.csv?user=user-1500&order=asc").await.text();
        assert_eq!(first_column(&one), ["a2agrant_01M3R53Q5SZQ6FQSMSDBSS1500"]);
        world.stop().await;
    }

    async fn a_cursor_is_good_for_its_own_view_alone(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        more_grants(&db).await;
        let next = link(&anna.get("/grants?state=live").await, "Next page");
        let cursor = next.split("cursor=").nth(1).unwrap();
        assert_eq!(anna.get(&format!("/grants?state=live&cursor={cursor}")).await.status(), 200);
        let inner = cursor.split_once('.').unwrap().1;
        for other in [
            format!("/grants?cursor={cursor}"),
            format!("/grants?state=live&order=asc&cursor={cursor}"),
            format!("/grants?state=live&sort=expires&cursor={cursor}"),
            format!("/grants?state=live&user=user-1&cursor={cursor}"),
            format!("/personal-agents?cursor={cursor}"),
            format!("/grants?state=live&cursor={inner}"),
            format!("/grants?state=live&cursor={cursor}A"),
        ] {
            let answer = anna.get(&other).await;
            assert_eq!(answer.status(), 400, "{other}");
            assert_shows(&answer, &["cursor: is not that of a page of this view"]);
        }
        world.stop().await;
    }

    async fn what_others_chose_is_neither_a_formula_in_the_csv_nor_markup_on_the_page(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        for (n, user) in ["=1+1", "@x", "a\",b", "<b>bold</b>"].into_iter().enumerate() {
            world.tokens(SHOP, &format!("+{n}"), user, &["orders:read"]).await;
        }
        let csv = anna.get("/grants.csv").await.text();
        for cell in [",'=1+1,", ",'@x,", ",\"a\"\",b\",", ",'+0,", ",<b>bold</b>,"] {
            assert!(csv.contains(cell), "{cell} in {csv}");
        }
        let page = anna.get("/grants").await;
        assert_shows(&page, &["&#60;b&#62;bold&#60;/b&#62;"]);
        world.stop().await;
    }
}
