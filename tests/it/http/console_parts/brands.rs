//! Brands: made, changed and removed from a definition that was looked at first; and their resource-server keys.

use assent::domain::administrator::Access;
use assent::flow::admin::apply::written;

use super::{brand, contents, resource_server_key_of, who_did};
use crate::support::console::hidden;
use crate::support::database::on_both_databases;
use crate::support::world::{PLAIN, SHOP, World};

fn definition(world: &World, id: &str) -> String {
    written(&world.hosted(id).brand).unwrap()
}

/// A definition of a Brand that is not there yet.
fn new_definition(world: &World) -> String {
    let text = definition(world, PLAIN);
    let lines = text.lines().filter(|line| !line.starts_with("id = \"01M3"));
    lines.collect::<Vec<_>>().join("\n").replace("Plain Store", "Garden Centre")
}

on_both_databases! {
    async fn a_brand_is_shown_with_where_it_is_served_what_it_offers_and_signs_with(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let html = anna.page(&format!("/brands/{SHOP}")).await;
        let key = super::key_of(&world, SHOP).await;
        let interface = format!("https://provider.example.com/a2a/{SHOP}");
        for shown in [
            SHOP, "Example Shop", "A Brand of the tests.", &interface, &format!("{interface}/oauth/jwks.json"), &key, "signing",
            "https://login.example/login?lang=en", "orders:cancel", "Cancel an order", "changes things", "30 days",
            "/change\"", "/remove\"", "/rotate\"", "/resource-server-keys\"",
        ] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        assert!(html.contains(&format!("<a href=\"/grants?brand={SHOP}&#38;state=live\"><bdi>1</bdi></a>")), "{html}");
        world.stop().await;
    }

    async fn a_definition_is_looked_at_first_and_then_done_as_it_was_seen(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:cancel"]).await;
        world.tokens(SHOP, "user-2", "joe", &["orders:read", "orders:cancel"]).await;
        let path = format!("/brands/{SHOP}/change");
        let text = definition(&world, SHOP);
        let page = anna.page(&path).await;
        assert!(page.contains("name = &#34;Example Shop&#34;") && page.contains("orders:cancel"), "{page}");
        let opened = hidden(&page, "seen");
        let opened = opened.as_str();
        let before = contents(&db).await;

        let same = anna.sent(&path, &[("step", "look"), ("seen", opened), ("definition", &text)]).await;
        assert!(same.status() == 200 && same.text().contains("there is nothing to do"), "{}", same.text());
        assert!(!same.text().contains("value=\"do\""));

        let changed = text.replace("orders:cancel", "orders:undo").replace("grant_days = 30", "grant_days = 31");
        assert_ne!(changed, text);
        let seen = anna.sent(&path, &[("step", "look"), ("seen", opened), ("definition", &changed)]).await;
        let html = seen.text();
        assert_eq!(seen.status(), 200, "{html}");
        for said in ["delegation.scopes", "delegation.grant_days", "Nothing has been done yet", "value=\"do\""] {
            assert!(html.contains(said), "{said}: {html}");
        }
        let facts = html.split("<dl").nth(1).unwrap().split("</dl>").next().unwrap().to_owned();
        assert!(facts.contains("2 grants") && facts.matches("1 live grant<").count() == 2, "{facts}");
        let mark = hidden(&html, "mark");

        // Nothing is done that was not seen: without a mark, with another text, or when it would do something else.
        let other = changed.replace("grant_days = 31", "grant_days = 32");
        for pairs in [
            vec![("step", "do"), ("seen", opened), ("definition", changed.as_str())],
            vec![("step", "do"), ("seen", opened), ("definition", changed.as_str()), ("mark", "x")],
            vec![("step", "do"), ("seen", opened), ("definition", other.as_str()), ("mark", mark.as_str())],
        ] {
            let answer = anna.sent(&path, &pairs).await;
            assert_eq!(answer.status(), 409, "{}", answer.text());
            assert!(answer.text().contains("Nothing was done") && answer.text().contains("is not what was shown"));
        }
        // Nor to a Brand that is not what it was when the form was opened.
        for seen in ["x", ""] {
            let pairs = [("step", "do"), ("seen", seen), ("definition", &changed), ("mark", &mark)];
            let answer = anna.sent(&path, &pairs).await;
            assert_eq!(answer.status(), 409, "{}", answer.text());
            assert!(answer.text().contains("has changed since this form was opened"));
        }
        assert_eq!(contents(&db).await, before);

        let did = anna.sent(&path, &[("step", "do"), ("seen", opened), ("definition", &changed), ("mark", &mark)]).await;
        assert_eq!(did.status(), 200, "{}", did.text());
        assert!(did.text().contains("The Brand is changed") && did.text().matches("1 live grant<").count() == 2);
        assert_eq!(who_did(&world, "brand_applied").await, ("anna".to_owned(), SHOP.to_owned()));
        assert_eq!(world.hosted(SHOP).brand.delegation.as_ref().unwrap().grant_days, 31, "this node sees it at once");
        assert_eq!(db.count("SELECT id FROM delegation_grant WHERE state = 'live'").await, 1);
        world.stop().await;
    }

    async fn a_definition_that_cannot_be_served_is_named_and_what_was_typed_is_kept(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let (path, text) = (format!("/brands/{SHOP}/change"), definition(&world, SHOP));
        let before = contents(&db).await;
        for (wrong, named) in [
            (text.replace("grant_days = 30", "grant_days = 0"), "brand[0].delegation.grant_days"),
            (text.replace(SHOP, PLAIN), "brand[0].id"),
            (text.replace("name = \"Example Shop\"", "nam = \"Example Shop\""), "unknown field"),
            (format!("{text}\n{text}"), "brand: expected one"),
            ("<script>".to_owned(), "TOML parse error"),
            (String::new(), "brand: expected one"),
        ] {
            for step in ["look", "do"] {
                let answer = anna.sent(&path, &[("step", step), ("definition", &wrong)]).await;
                let html = answer.text();
                assert_eq!(answer.status(), 422, "{named}: {html}");
                assert!(html.contains("role=\"alert\"") && html.contains(named), "{named}: {html}");
                let first = wrong.lines().next().unwrap_or_default().replace('<', "&#60;").replace('>', "&#62;");
                assert!(html.contains(&first) && !html.contains("<script>"), "{html}");
            }
        }
        assert_eq!(contents(&db).await, before);
        world.stop().await;
    }

    async fn a_brand_is_made_with_an_id_of_its_own_and_another_ones_name_makes_none(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        assert!(anna.page("/brands/new").await.contains("[[brand]]"));
        let text = new_definition(&world);
        let before = contents(&db).await;
        let taken = anna.sent("/brands/new", &[("step", "look"), ("definition", &text.replace("Garden Centre", "Plain Store"))]).await;
        assert_eq!(taken.status(), 409, "{}", taken.text());
        assert!(taken.text().contains("brand[0].name"));
        let with_id = format!("{}id = \"01M3R53Q5SZQ6FQSMSDBSSREAZ\"\n", text.replace("[[brand]]", "[[brand]]\nid = \"01M3R53Q5SZQ6FQSMSDBSSREAZ\""));
        let refused = anna.sent("/brands/new", &[("step", "look"), ("definition", &with_id)]).await;
        assert_eq!(refused.status(), 422);
        let seen = anna.sent("/brands/new", &[("step", "look"), ("definition", &text)]).await;
        assert!(seen.status() == 200 && seen.text().contains("created"), "{}", seen.text());
        assert_eq!(contents(&db).await, before);
        let mark = hidden(&seen.text(), "mark");
        let made = anna.sent("/brands/new", &[("step", "do"), ("definition", &text), ("mark", &mark)]).await;
        assert!(made.status() == 200 && made.text().contains("The Brand is made"), "{}", made.text());
        let (actor, id) = who_did(&world, "brand_applied").await;
        assert_eq!(actor, "anna");
        assert!(anna.page(&format!("/brands/{id}")).await.contains("Garden Centre"));
        let again = anna.sent("/brands/new", &[("step", "do"), ("definition", &text), ("mark", &mark)]).await;
        assert_eq!(again.status(), 409, "sent twice it makes one");
        world.stop().await;
    }

    async fn a_definition_may_be_long(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let long = format!("{}\n# {}\n", definition(&world, SHOP), "é".repeat(30_000));
        let seen = hidden(&anna.page(&format!("/brands/{SHOP}/change")).await, "seen");
        let form = [("step", "look"), ("seen", seen.as_str()), ("definition", &long)];
        let answer = anna.sent(&format!("/brands/{SHOP}/change"), &form).await;
        assert_eq!(answer.status(), 200);
        let longer = "é".repeat(100_000);
        let answer = anna.sent(&format!("/brands/{SHOP}/change"), &[("step", "look"), ("definition", &longer)]).await;
        assert_eq!(answer.status(), 413);
        let short = anna.sent(&format!("/brands/{SHOP}/remove"), &[("typed", &"x".repeat(20_000))]).await;
        assert_eq!(short.status(), 413, "other forms are short");
        world.stop().await;
    }

    async fn a_brand_is_removed_when_its_name_is_typed(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let path = format!("/brands/{SHOP}/remove");
        assert!(anna.page(&path).await.contains("1 live grant ends with it"));
        let before = contents(&db).await;
        for wrong in ["", "example shop", "Example Shop "] {
            let answer = anna.sent(&path, &[("typed", wrong)]).await;
            assert_eq!(answer.status(), 422, "{wrong}: {}", answer.text());
        }
        assert_eq!(contents(&db).await, before);
        let removed = anna.sent(&path, &[("typed", "Example Shop")]).await;
        assert!(removed.status() == 200 && removed.text().contains("Ended: 1 live grant"), "{}", removed.text());
        assert_eq!(who_did(&world, "brand_removed").await, ("anna".to_owned(), SHOP.to_owned()));
        assert!(world.app.directory.current().brand(&brand(SHOP)).is_none());
        // What is left can be looked at, and nothing can be done with it.
        let html = anna.page(&format!("/brands/{SHOP}")).await;
        assert!(html.contains("removed") && !html.contains("/change\"") && !html.contains("/remove\""), "{html}");
        assert_eq!(anna.get(&path).await.status(), 404);
        let again = anna.sent(&path, &[("typed", "Example Shop")]).await;
        assert!(again.status() == 200 && again.text().contains("It was removed before"));
        world.stop().await;
    }

    // case 33
    async fn a_resource_server_key_is_shown_once_and_revoked_for_good(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let path = format!("/brands/{SHOP}/resource-server-keys");
        let before = contents(&db).await;
        for (pairs, named) in [
            ([("name", ""), ("days", "")], "name"),
            ([("name", "account API"), ("days", "0")], "days"),
            ([("name", "account API"), ("days", "3651")], "days"),
            ([("name", "account API"), ("days", "soon")], "days"),
        ] {
            let answer = anna.sent(&path, &pairs).await;
            assert_eq!(answer.status(), 422, "{pairs:?}");
            assert!(answer.text().contains(&format!("{named}:")) || answer.text().contains(&format!("{named} ")), "{}", answer.text());
        }
        assert_eq!(contents(&db).await, before);
        let made = anna.sent(&path, &[("name", "account API"), ("days", "30")]).await;
        let html = made.text();
        assert_eq!(made.status(), 200, "{html}");
        assert_eq!(made.header("cache-control"), Some("no-store"));
        assert_eq!(made.header("location"), None, "no address holds it");
        let secret = html.split("<pre class=\"secret\"").nth(1).unwrap().split('>').nth(1).unwrap().split('<').next().unwrap();
        assert!(secret.len() > 30, "{secret}");
        let (actor, id) = who_did(&world, "resource_server_key_created").await;
        assert_eq!(actor, "anna");
        assert!(!contents(&db).await.concat().contains(secret));
        let shown = anna.page(&format!("/brands/{SHOP}")).await;
        assert!(shown.contains(&id) && !shown.contains(secret));
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let introspect = async || {
            let ask = world.at_issuer(assent::outbound::Method::POST, SHOP, "/introspect").bearer(secret);
            ask.form(&[("token", &tokens.access)]).send().await.status()
        };
        assert_eq!(introspect().await, 200);

        let revoke = format!("/resource-server-keys/{id}/revoke");
        assert!(anna.page(&revoke).await.contains("cannot be undone"));
        let revoked = anna.sent(&revoke, &[]).await;
        assert!(revoked.status() == 200 && revoked.text().contains("The key is revoked"));
        assert_eq!(introspect().await, 401);
        assert_eq!(who_did(&world, "resource_server_key_revoked").await, ("anna".to_owned(), id));
        let again = anna.sent(&revoke, &[]).await;
        assert!(again.text().contains("It was revoked before"));
        assert_eq!(anna.get(&revoke).await.status(), 409);
        let other = resource_server_key_of(&world, SHOP).await;
        assert!(anna.page(&format!("/brands/{SHOP}")).await.contains(other.as_str()));
        world.stop().await;
    }
}
