//! `assent resource-server-key`.

use serde_json::Value;

use super::{BRAND, Place, apply_file};

fn place() -> Place {
    let place = Place::migrated();
    place.write(
        "shop.toml",
        &apply_file("Shop", "https://auth.brand.example").replace("[[brand]]", &format!("[[brand]]\nid = \"{BRAND}\"")),
    );
    place.run(&["apply", "shop.toml"]).done();
    place
}

#[test]
fn a_key_is_shown_once_listed_without_itself_and_revoked_for_good() {
    let place = place();
    let create = ["resource-server-key", "create", "--brand", BRAND, "--name", "account API"];
    let made = place.run(&create).done();
    let (line, key) = made.trim_end().split_once('\n').unwrap();
    let id = line.split_once(' ').unwrap().0;
    assert!(key.starts_with("assent_rsk_") && key.len() == 54, "{key}");
    assert!(line.ends_with(&format!("live    {BRAND} account API")), "{line}");
    let made: Value =
        serde_json::from_str(&place.run(&[&create[..], &["--days", "7", "--json"]].concat()).done()).unwrap();
    assert!(made["key"].as_str().unwrap().starts_with("assent_rsk_"));
    assert!(made["expiresAt"].is_string());

    let listed = place.run(&["resource-server-key", "list", "--brand", BRAND]).done();
    assert_eq!(listed.lines().count(), 2);
    assert!(!listed.contains("assent_rsk_"), "{listed}");
    for line in place.run(&["resource-server-key", "list", "--json"]).done().lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["state"], "live");
    }

    let asked = place.run(&["resource-server-key", "revoke", id]);
    assert!(asked.code == 2 && asked.err.contains("--yes"), "{}", asked.err);
    let would = place.run(&["resource-server-key", "revoke", id, "--dry-run"]).done();
    assert!(would.starts_with(&format!("would be revoked {id} live")), "{would}");
    let revoked = place.run(&["resource-server-key", "revoke", id, "--yes"]).done();
    assert!(revoked.starts_with(&format!("revoked {id} revoked")), "{revoked}");
    let again = place.run(&["resource-server-key", "revoke", id, "--yes", "--json"]).done();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["what"], "revoked before");
}

#[test]
fn what_cannot_be_made_or_revoked_is_named_and_nothing_changes() {
    let place = place();
    let before = place.run(&["resource-server-key", "list"]).done();
    let create = |more: &[&str]| place.run(&[&["resource-server-key", "create"], more].concat());
    let other = "01M3R53Q5SZQ6FQSMSDBSSREAZ";
    assert!(create(&["--brand", other, "--name", "x"]).failed().contains(&format!("no Brand {other}")));
    assert!(create(&["--brand", BRAND, "--name", " "]).failed().contains("--name: must not be empty"));
    assert!(create(&["--brand", BRAND, "--name", "x", "--days", "3651"]).failed().contains("--days: is 3651"));
    assert!(place.run(&["resource-server-key", "revoke", other, "--yes"]).failed().contains(other));
    assert_eq!(create(&["--brand", "x", "--name", "x"]).code, 2);
    assert!(place.run(&["resource-server-key", "revoke", other, "--dry-run"]).failed().contains(other));
    assert_eq!(place.run(&["resource-server-key", "list"]).done(), before);
}
