//! `assent admin`: administrators and API keys from the Provider's machine.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{BRAND, Place, Ran};

const PASSWORD: &str = "correct horse battery staple";

/// Runs the program with `text` as its standard input.
fn fed(place: &Place, arguments: &[&str], text: &str) -> Ran {
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn administrators(place: &Place) -> Vec<Value> {
    lines(&place.run(&["admin", "list", "--json"]).done())
}

// case 77: from the command line
#[test]
fn the_first_owner_is_made_listed_changed_and_kept() {
    let place = Place::migrated();
    assert_eq!(place.run(&["admin", "list"]).done(), "");
    let create = ["admin", "create", "--name", "Anna", "--role", "owner"];
    assert!(fed(&place, &create, "short\n").failed().contains("fewer than 12 characters"));
    assert!(fed(&place, &create, "").failed().contains("expected a password"));
    let made = fed(&place, &create, &format!("{PASSWORD}\n"));
    assert!(!made.err.contains(PASSWORD));
    assert_eq!(made.done(), "created anna\n");
    assert!(fed(&place, &create, PASSWORD).failed().contains("already"));
    let [anna] = &administrators(&place)[..] else { panic!() };
    assert_eq!((&anna["name"], &anna["role"], &anna["brands"]), (&json!("anna"), &json!("owner"), &json!("*")));
    let table = place.run(&["admin", "list"]).done();
    assert!(
        table.starts_with("NAME  ROLE   BRANDS  STATE") && table.contains("\nanna  owner  *       enabled"),
        "{table}"
    );

    for last in [&["remove", "anna", "--yes"][..], &["disable", "anna", "--yes"], &["set", "anna", "--role", "auditor"]]
    {
        let failed = place.run(&[&["admin"], last].concat()).failed();
        assert!(failed.contains("last enabled owner"), "{failed}");
    }
    place.write("password", &format!("{PASSWORD} of bert\n"));
    let other = ["admin", "create", "--name", "bert", "--role", "owner", "--password-file", "password", "--json"];
    assert_eq!(lines(&place.run(&other).done()), [json!({ "what": "created", "name": "bert" })]);
    assert_eq!(place.run(&["admin", "set", "anna", "--role", "auditor"]).done(), "changed anna\n");
    assert_eq!(place.run(&["admin", "set", "anna", "--role", "auditor"]).done(), "unchanged anna\n");
    let nowhere = place.run(&["admin", "set", "anna", "--role", "auditor", "--brand", BRAND]).failed();
    assert!(nowhere.contains(BRAND), "{nowhere}");
}

#[test]
fn what_takes_something_away_asks_or_says_what_it_would_do() {
    let place = Place::migrated();
    for name in ["anna", "bert"] {
        fed(&place, &["admin", "create", "--name", name, "--role", "owner"], PASSWORD).done();
    }
    let before = administrators(&place);
    for command in ["remove", "disable", "totp-off"] {
        // Standard input is no terminal here: nobody can be asked.
        let refused = fed(&place, &["admin", command, "bert"], "yes\n");
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{}", refused.err);
        let dry = place.run(&["admin", command, "bert", "--dry-run"]).done();
        let expected = if command == "totp-off" { "unchanged" } else { "would be" };
        assert!(dry.contains(expected) && dry.contains("bert"), "{dry}");
        assert!(place.run(&["admin", command, "nobody", "--dry-run"]).failed().contains("nobody"));
    }
    assert_eq!(administrators(&place), before);
    assert_eq!(place.run(&["admin", "totp-off", "bert", "--yes"]).done(), "unchanged bert\n");
    assert_eq!(place.run(&["admin", "disable", "bert", "--yes"]).done(), "disabled bert\n");
    assert_eq!(administrators(&place)[1]["enabled"], json!(false));
    assert_eq!(place.run(&["admin", "enable", "bert"]).done(), "enabled bert\n");
    assert_eq!(fed(&place, &["admin", "password", "bert"], "another horse battery staple\n").done(), "changed bert\n");
    assert_eq!(place.run(&["admin", "remove", "bert", "--yes"]).done(), "removed bert\n");
    assert_eq!(administrators(&place).len(), 1);
    // The last owner would not be removed, and a dry run says so.
    for command in ["remove", "disable"] {
        assert!(place.run(&["admin", command, "anna", "--dry-run"]).failed().contains("last enabled owner"));
    }
}

#[test]
fn an_api_key_is_printed_once_listed_without_itself_and_revoked() {
    let place = Place::migrated();
    let create = ["admin", "key", "create", "--name", "deploy", "--role", "operator", "--days", "30"];
    let key = place.run(&create).done();
    assert!(key.starts_with("assent_key_") && key.trim_end().len() == 54, "{key}");
    let listed = place.run(&["admin", "key", "list", "--json"]).done();
    assert!(!listed.contains(key.trim_end()));
    let [row] = &lines(&listed)[..] else { panic!("{listed}") };
    assert_eq!((&row["name"], &row["role"], &row["state"]), (&json!("deploy"), &json!("operator"), &json!("live")));
    assert_eq!(row["createdBy"], json!("command line"));
    let id = row["id"].as_str().unwrap();
    assert_eq!(place.run(&["admin", "key", "revoke", id]).code, 2);
    assert!(place.run(&["admin", "key", "revoke", id, "--dry-run"]).done().contains("would be revoked"));
    assert_eq!(place.run(&["admin", "key", "revoke", id, "--yes"]).done(), format!("revoked {id}\n"));
    assert_eq!(place.run(&["admin", "key", "revoke", id, "--yes"]).done(), format!("already revoked {id}\n"));
    assert!(place.run(&["admin", "key", "list"]).done().contains("revoked"));
    for days in ["0", "367", "-1"] {
        assert_eq!(place.run(&["admin", "key", "create", "--name", "x", "--role", "owner", "--days", days]).code, 2);
    }
    assert!(place.run(&["admin", "key", "revoke", BRAND, "--yes"]).failed().contains(BRAND));
}
