//! Administration by the command line, while servers run on the same database.

use assent::clock::Clock;
use serde_json::Value;

use super::{Place, Ran, apply_file};
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::Tokens;
use crate::support::world::{CLUB, SHOP, World, configuration};

const PA: &str = "https://pa.example.com";

/// An operator's directory for the database of a World.
fn beside(db: &Database) -> Place {
    let place = Place::bare();
    place.write("assent.toml", &configuration(db));
    place
}

impl Ran {
    /// What it said on standard error of how it must be typed.
    #[track_caller]
    fn misused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.starts_with("assent: "), "{}", self.err);
        self.err
    }
}

async fn start(db: &Database) -> (World, World, Place) {
    // The program's clock is the machine's, so this one's is too.
    let world = World::start_at(db, Clock::system().now()).await;
    let other = world.another_node(db).await;
    (world, other, beside(db))
}

/// That no node takes anything of this grant.
async fn assert_ended(nodes: &[&World], brand: &str, sub: &str, tokens: &Tokens) {
    for node in nodes {
        assert_eq!(node.refresh(brand, sub, &tokens.refresh).await.oauth_error(), "invalid_grant");
        node.send(brand, sub, Some(&tokens.access), "m-9", None, "Hello").await.assert_invalid_token();
    }
}

fn objects(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

on_both_databases! {
    // case 56
    async fn a_grant_that_the_command_line_revokes_ends_at_once_on_every_node(db: Database) {
        let (world, other, place) = start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let grant = tokens.grant();

        let before = db.contents().await;
        assert_eq!(place.run(&["grant", "revoke", &grant, "--dry-run"]).done(), format!("would end {grant}\n"));
        let refused = place.run(&["grant", "revoke", &grant]).misused();
        assert!(refused.contains("--yes") && refused.contains("1 grant"), "{refused}");
        let unknown = "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA";
        assert!(place.run(&["grant", "revoke", &grant, unknown, "--yes"]).failed().contains(unknown));
        assert_eq!(db.contents().await, before);
        assert_eq!(place.run(&["grant", "revoke", &grant, "--yes"]).done(), format!("ended {grant}\n"));
        assert_ended(&[&other, &world], SHOP, "user-1", &tokens).await;
        assert_eq!(other.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "invalid_grant");
        let again = objects(&place.run(&["grant", "revoke", &grant, "--yes", "--json"]).done());
        assert_eq!((&again[0]["what"], &again[0]["grantId"]), (&"already ended".into(), &grant.as_str().into()));
        let rows = db.rows("SELECT actor_kind, actor, subject FROM audit WHERE action = 'grant_ended'").await;
        assert_eq!(rows, [format!("actor_kind=administrator actor=command line subject={grant}")]);
        other.stop().await;
        world.stop().await;
    }

    // case 78
    async fn all_that_fit_a_filter_are_counted_first_and_then_revoked_in_one_line(db: Database) {
        let (world, other, place) = start(&db).await;
        let janes = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let joes = world.tokens(CLUB, "user-2", "joe", &["orders:read"]).await;
        let all = ["grant", "revoke", "--personal-agent", PA];
        let with = |more: &[&str]| place.run(&[&all[..], more].concat());
        assert_eq!(with(&["--dry-run"]).done(), "would end 2 live grants of 2 Brands\n");
        assert_eq!(with(&["--brand", SHOP, "--dry-run"]).done(), "would end 1 live grant of 1 Brand\n");
        assert_eq!(with(&["--user", "nobody", "--dry-run"]).done(), "would end 0 live grants of 0 Brands\n");
        assert_eq!(with(&["--until", "2026-01-01", "--dry-run", "--json"]).done(), "{\"grants\":0,\"brands\":0,\"dryRun\":true}\n");
        assert!(with(&[]).misused().contains("2 live grants of 2 Brands"));
        assert!(place.run(&["grant", "revoke", "--yes"]).misused().contains("filter"));
        assert!(with(&[&janes.grant(), "--yes"]).misused().contains("not both"));
        assert_eq!(db.count("SELECT subject FROM audit WHERE action = 'grant_ended'").await, 0);
        let done = objects(&with(&["--user", "jane", "--yes", "--json"]).done());
        assert_eq!((&done[0]["ended"], &done[0]["alreadyEnded"], &done[0]["brands"]), (&1.into(), &0.into(), &1.into()));
        assert_ended(&[&other, &world], SHOP, "user-1", &janes).await;
        assert_eq!(with(&["--yes"]).done(), "ended 1 live grant of 1 Brand\n");
        assert_ended(&[&other, &world], CLUB, "user-2", &joes).await;
        assert_eq!(with(&["--yes"]).done(), "ended 0 live grants of 0 Brands\n");
        assert_eq!(db.count("SELECT subject FROM audit WHERE action = 'grant_ended'").await, 2);
        other.stop().await;
        world.stop().await;
    }

    async fn grants_are_listed_as_a_table_and_as_lines_of_json_page_by_page(db: Database) {
        let (world, other, place) = start(&db).await;
        let mut grants = Vec::new();
        for n in 0..3 {
            let sub = format!("user-{n}");
            grants.push(world.tokens(SHOP, &sub, &sub, &["orders:read"]).await.grant());
            world.advance(1);
        }
        grants.reverse();
        let list = |more: &[&str]| place.run(&[&["grant", "list"], more].concat());
        let table = list(&[]).done();
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[0].starts_with("GRANT                                STATE  BRAND "), "{table}");
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with(&format!("{}  live   {SHOP}  user-2  {PA}", grants[0])), "{table}");
        assert!(lines.iter().all(|line| line.trim_end() == *line));
        let listed = objects(&list(&["--json"]).done());
        let found = |objects: &[Value]| objects.iter().map(|grant| grant["grantId"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(found(&listed), grants);
        assert_eq!((&listed[0]["state"], &listed[0]["user"]), (&"live".into(), &"user-2".into()));
        let first = list(&["--json", "--limit", "2"]);
        assert_eq!((first.code, found(&objects(&first.out))), (0, grants[..2].to_vec()));
        let cursor = first.err.trim().rsplit(' ').next().unwrap().to_owned();
        assert_eq!(found(&objects(&list(&["--json", "--after", &cursor]).done())), grants[2..]);
        assert!(list(&["--after", &cursor, "--reverse"]).misused().contains("cursor"));
        let mut oldest = grants.clone();
        oldest.reverse();
        assert_eq!(found(&objects(&list(&["--json", "--reverse", "--sort", "expires"]).done())), oldest);
        assert_eq!(list(&["--state", "ended"]).done(), "");
        assert_eq!(list(&["--state", "gone"]).code, 2);
        assert_eq!(list(&["--since", "yesterday"]).code, 2);

        world.send(SHOP, "user-0", Some(&world.tokens(SHOP, "user-0", "user-0", &["orders:read"]).await.access), "m-1", None, "Where is my order?").await;
        let shown = place.run(&["grant", "show", &oldest[0]]).done();
        for expected in ["state           live", "user            user-0", "DECISION", "approved", "TOKEN", "RECEIPT", "lookup_orders"] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
        let shown = objects(&place.run(&["grant", "show", &oldest[0], "--json"]).done()).remove(0);
        assert_eq!((&shown["grantId"], shown["tokens"].as_array().unwrap().len()), (&oldest[0].as_str().into(), 2));
        assert_eq!((&shown["receipts"][0]["claims"]["user"], &shown["moreTokens"]), (&"user-0".into(), &false.into()));
        other.stop().await;
        world.stop().await;
    }

    // case 17
    async fn a_personal_agent_is_cut_off_in_one_line_while_the_servers_run(db: Database) {
        let (world, other, place) = start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let run = |arguments: &[&str]| place.run(&[&["personal-agent"], arguments].concat());
        let table = run(&["list", "--search", "first"]).done();
        let row = table.lines().nth(1).unwrap();
        assert!(row.starts_with(&format!("{PA}  enabled  1            1 ")) && row.ends_with("  First agent"), "{table}");
        assert_eq!(table.lines().count(), 2);
        let off = ["disable", PA, "--revoke-grants"];
        let before = db.contents().await;
        let dry = run(&[&off[..], &["--dry-run"]].concat()).done();
        assert_eq!(dry, format!("{PA} would be disabled\nwould end 1 live grant of 1 Brand\n"));
        assert!(run(&off).misused().contains("1 live grant of 1 Brand"));
        assert_eq!(db.contents().await, before);
        let done = run(&[&off[..], &["--yes"]].concat()).done();
        assert_eq!(done, format!("disabled {PA}\nended 1 live grant of 1 Brand\n"));
        for node in [&world, &other] {
            while node.refresh(SHOP, "user-1", &tokens.refresh).await.status() != 401 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        let shown = objects(&run(&["show", PA, "--json"]).done()).remove(0);
        assert_eq!((&shown["enabled"], &shown["liveGrants"], &shown["brands"]), (&false.into(), &0.into(), &0.into()));
        assert_eq!(run(&["disable", PA]).done(), format!("unchanged {PA}\n"));
        assert_eq!(run(&["enable", PA]).done(), format!("enabled {PA}\n"));
        let new = "https://new.example";
        let register = ["register", new, "--name", "New agent", "--jwks-uri", "https://new.example/jwks.json"];
        assert_eq!(run(&register).done(), format!("registered {new}\n"));
        assert!(run(&register).failed().contains("already"));
        assert_eq!(run(&["change", new, "--name", "Newer agent"]).done(), format!("changed {new}\n"));
        assert!(run(&["show", new]).done().contains("Newer agent"));
        assert!(run(&["change", new, "--jwks-uri", "https://u:p@new.example/j"]).failed().contains("jwks_uri"));
        assert!(run(&["enable", "https://nobody.example"]).failed().contains("no personal agent https://nobody.example"));
        other.stop().await;
        world.stop().await;
    }

    async fn brands_are_listed_shown_and_removed_by_their_name(db: Database) {
        let (world, other, place) = start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let run = |arguments: &[&str]| place.run(&[&["brand"], arguments].concat());
        let listed = objects(&run(&["list", "--json"]).done());
        assert_eq!(listed.len(), 4);
        assert!(run(&["list", "--search", "ex"]).done().lines().nth(1).unwrap().starts_with(&format!("{SHOP}  served  1            3 scopes")));
        assert!(run(&["show", SHOP]).done().contains("scope           orders:cancel  Cancel an order"));
        let remove = |name: &str, more: &[&str]| run(&[&["remove", SHOP, "--name", name], more].concat());
        let before = db.contents().await;
        assert!(remove("Shop", &["--yes"]).failed().contains("is not called"));
        assert!(remove("Example Shop", &[]).misused().contains("1 live grant"));
        assert_eq!(remove("Example Shop", &["--dry-run"]).done(), format!("would remove {SHOP} Example Shop and end 1 live grant\n"));
        assert_eq!(db.contents().await, before);
        assert_eq!(remove("Example Shop", &["--yes"]).done(), format!("removed {SHOP}\nended 1 live grant\n"));
        world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        while world.send(SHOP, "user-1", None, "m-1", None, "Hello").await.status() != 404 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(remove("Example Shop", &["--yes"]).done(), format!("already removed {SHOP}\n"));
        assert_eq!(objects(&run(&["list", "--removed", "--json"]).done())[0]["brandId"], SHOP);
        assert_eq!(objects(&run(&["list", "--json"]).done()).len(), 3);
        let set: Value = serde_json::from_str(&place.run(&["keys", "jwks", SHOP]).done()).unwrap();
        assert_eq!(set["keys"].as_array().unwrap().len(), 1);
        other.stop().await;
        world.stop().await;
    }

    // case 73
    async fn keys_are_rotated_retired_and_given_up_and_nothing_private_is_shown(db: Database) {
        let (world, other, place) = start(&db).await;
        let run = |arguments: &[&str]| place.run(&[&["keys"], arguments].concat());
        let keys = || objects(&run(&["list", "--brand", SHOP, "--json"]).done());
        let old = keys().remove(0);
        let kid = old["kid"].as_str().unwrap();
        assert_eq!((&old["state"], old["jwk"]["d"].is_null()), (&"signing".into(), true));
        for verb in ["retire", "compromise"] {
            assert!(run(&[verb, kid, "--yes"]).failed().contains("--now"));
        }
        let made = run(&["rotate", SHOP]).done();
        assert!(made.starts_with("made ") && made.contains(", which signs from "), "{made}");
        assert!(run(&["rotate", SHOP]).done().starts_with("already under way: "));
        let states = |keys: &[Value]| keys.iter().map(|key| key["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(states(&keys()), ["next", "signing"]);
        assert_eq!(keys()[1]["retiresAt"], keys()[0]["signsFrom"]);
        let before = db.contents().await;
        assert!(run(&["compromise", kid, "--now"]).misused().contains("--yes"));
        let dry = run(&["compromise", kid, "--now", "--dry-run"]).done();
        assert!(dry.contains("signs in its place"), "{dry}");
        assert_eq!(db.contents().await, before);
        let next = keys()[0]["kid"].as_str().unwrap().to_owned();
        let given_up = run(&["compromise", kid, "--now", "--yes"]).done();
        assert!(given_up.starts_with(&format!("given up {kid}\n{next} signs in its place from ")), "{given_up}");
        assert_eq!(states(&keys()), ["signing", "compromised"]);
        assert_eq!(run(&["compromise", kid, "--yes"]).done(), format!("already given up {kid}\n"));
        let table = run(&["list", "--brand", SHOP]).done();
        assert!(table.starts_with("KEY ") && table.lines().nth(1).unwrap().contains("  signing  "), "{table}");
        let set: Value = serde_json::from_str(&run(&["jwks", SHOP]).done()).unwrap();
        assert_eq!((set["keys"].as_array().unwrap().len(), set["keys"][0]["kid"].as_str().unwrap()), (1, next.as_str()));
        assert!(run(&["retire", "nothing", "--yes"]).failed().contains("no key nothing"));
        assert!(run(&["rotate", "01M3R53Q5SZQ6FQSMSDBSSREAZ"]).failed().contains("no Brand"));
        // What the nodes have seen of it within two seconds.
        while world.hosted(SHOP).ring.keys().any(|key| key.id().as_str() == kid) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        // Its clock stood still meanwhile.
        world.advance(600);
        world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        other.stop().await;
        world.stop().await;
    }
}

#[test]
fn a_dry_run_of_an_apply_file_creates_nothing() {
    let place = Place::migrated();
    place.write("brands.toml", &apply_file("Skyline", "https://auth.brand.example"));
    let dry = place.run(&["apply", "brands.toml", "--dry-run"]).done();
    assert!(dry.starts_with("would be created brand (new) Skyline\n"), "{dry}");
    assert!(dry.ends_with("live grants would be: 0 narrowed, 0 ended\n"), "{dry}");
    assert_eq!(place.run(&["brand", "list"]).done(), "");
    place.run(&["apply", "brands.toml"]).done();
    place.write("brands.toml", &apply_file("Skyline", "https://auth.brand.example").replace("Orders and", "Some"));
    let dry: Value = serde_json::from_str(&place.run(&["apply", "brands.toml", "--dry-run", "--json"]).done()).unwrap();
    assert_eq!((&dry["dryRun"], &dry["changes"][0]["what"]), (&true.into(), &"changed".into()));
    assert_eq!(dry["changes"][0]["fields"], serde_json::json!(["profile.description"]));
    let again = place.run(&["apply", "brands.toml"]).done();
    assert!(again.contains(" Skyline: profile.description\n"), "{again}");
}

#[test]
fn every_command_that_destroys_can_be_rehearsed_and_must_be_confirmed() {
    let place = Place::bare();
    for command in [
        &["grant", "revoke"][..],
        &["brand", "remove"],
        &["keys", "retire"],
        &["keys", "compromise"],
        &["personal-agent", "disable"],
    ] {
        let help = place.run(&[command, &["--help"]].concat()).done();
        assert!(help.contains("--yes") && help.contains("--dry-run"), "{help}");
    }
}
