//! The command line, run as a process: what it prints where, with which exit code, and what it leaves behind.

mod admin;
mod administration;
mod resource_server_keys;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assent::clock::Clock;
use assent::crypto::jwks::KeySet;
use assent::crypto::signer::{Signer, generate_key};
use assent::crypto::{pa_jwt, receipt};
use assent::domain::brand::SigningAlg;
use assent::domain::id::Issuer;
use assent::protocol::claims::ReceiptClaims;
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
public_url = "https://provider.example.com"
audience = "https://provider.example.com/a2a"
"#;
const MASTER_KEY: &str = "Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5LWNhbmE=";
const BRAND: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";
const BRAND_URL: &str = "https://provider.example.com/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA";

/// An operator's directory: `assent.toml` and `master.key`, and what the program makes.
struct Place(TempDir);

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn done(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// What it said on standard error: one line, once.
    #[track_caller]
    fn failed(self) -> String {
        assert_eq!(self.code, 1, "{}{}", self.out, self.err);
        assert_eq!(self.err.matches("assent: ").count(), 1, "{}", self.err);
        self.err
    }
}

impl Place {
    fn bare() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("assent.toml", CONFIG);
        place.write("master.key", MASTER_KEY);
        place
    }

    fn migrated() -> Self {
        let place = Self::bare();
        place.run(&["migrate"]).done();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assent"));
        command.args(arguments).current_dir(self.0.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ASSENT_")) {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Self::ended(&mut self.command(arguments))
    }

    fn ended(command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The apply file of one Brand, with a piece of it replaced.
fn apply_file(name: &str, auth_origin: &str) -> String {
    format!(
        r#"
[[brand]]
name = "{name}"
description = "Orders and changes."
version = "1.0.0"
skills = [{{ id = "orders", name = "Orders", description = "Order status.", tags = ["orders"] }}]
agent = {{ builtin = "demo" }}

[brand.delegation]
auth_origin = "{auth_origin}"
login_url = "https://brand.example/login"
assertion = {{ issuer = "https://brand.example", jwks_uri = "https://brand.example/jwks.json" }}
scopes = [{{ id = "orders:read", description = "Look up your orders" }}]
"#
    )
}

const PERSONAL_AGENT: &str = r#"
[[personal_agent]]
name = "Demo personal agent"
issuer = "https://pa.example.com"
jwks_uri = "https://pa.example.com/jwks.json"
"#;

#[test]
fn a_file_is_applied_once_and_then_changes_nothing() {
    let place = Place::bare();
    let migrations = ["common", "sqlite"].map(|folder| {
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder)).unwrap().count()
    });
    let migrations: usize = migrations.iter().sum();
    assert_eq!(place.run(&["migrate"]).done(), format!("{migrations} migrations done\n"));
    assert_eq!(place.run(&["migrate"]).done(), "0 migrations done\n");

    place.write("brands.toml", &format!("{PERSONAL_AGENT}{}", apply_file("Skyline", "https://auth.brand.example")));
    let first = place.run(&["apply", "brands.toml"]).done();
    let lines: Vec<_> = first.lines().collect();
    assert_eq!(lines[0], "created personal_agent https://pa.example.com Demo personal agent");
    assert!(lines[1].starts_with("created brand 01") && lines[1].ends_with(" Skyline"), "{first}");
    assert_eq!(lines[2], "live grants: 0 narrowed, 0 ended");

    // A table without an id is the Brand of the same name, so nothing is made twice.
    let second = place.run(&["apply", "brands.toml", "--json"]).done();
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["changes"][0]["what"], "unchanged");
    assert_eq!(second["changes"][1]["what"], "unchanged");
    assert_eq!(second["changes"][1]["id"], lines[1].split(' ').nth(2).unwrap());
    assert_eq!(second["grantsEnded"], 0);

    assert_eq!(place.run(&["grant", "list"]).done(), "");
    assert_eq!(place.run(&["grant", "list", "--json", "--live", "--user", "jane-4471"]).done(), "");
    let unknown = "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA";
    for verb in ["show", "revoke"] {
        assert!(place.run(&["grant", verb, unknown]).failed().contains(unknown));
    }
}

#[test]
fn a_check_of_an_open_provider_says_who_may_call_and_how_many_there_are() {
    let place = Place::migrated();
    let check = |most: &str| {
        let open = format!("personal_agents = \"open\"\n[open_registration]\nmax_personal_agents = {most}\n");
        place.write("assent.toml", &format!("{CONFIG}{open}"));
        place.run(&["check"])
    };
    let said = check("2").done();
    assert!(said.starts_with("ok       personal_agents is \"open\": "), "{said}");
    assert!(said.contains("0 of at most 2 personal agents"), "{said}");
    let full = check("0");
    assert!(
        full.out.starts_with("problem  ") && full.out.contains("open_registration.max_personal_agents"),
        "{}",
        full.out
    );
    full.failed();
}

#[test]
fn the_examples_can_be_used_as_they_are() {
    let place = Place::bare();
    for name in ["assent.example.toml", "assent.apply.example.toml"] {
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), place.path(name)).unwrap();
    }
    let example = ["--config", "assent.example.toml"];
    place.run(&[&example[..], &["migrate"]].concat()).done();
    let applied = place.run(&[&example[..], &["apply", "assent.apply.example.toml"]].concat()).done();
    assert!(applied.contains("created brand 01M3R53Q5SZQ6FQSMSDBSSREAA Skyline Airways"), "{applied}");
}

#[test]
fn variables_override_the_file() {
    let place = Place::bare();
    let migrate = |name: &str, value: &str| Place::ended(place.command(&["migrate"]).env(name, value));
    migrate("ASSENT_OUTBOUND__ALLOW_PRIVATE", "true").done();
    migrate("ASSENT_CONVERSATION_IDLE_DAYS", "7").done();
    assert!(migrate("ASSENT_CONVERSATION_IDLE_DAYS", "0").failed().contains("conversation_idle_days"));
    assert!(migrate("ASSENT_PUBLIC_URL", "http://provider.example.com").failed().contains("public_url"));
}

#[test]
fn a_file_is_read_from_standard_input() {
    let place = Place::migrated();
    let mut apply = place.command(&["apply", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    apply.stdin.take().unwrap().write_all(PERSONAL_AGENT.as_bytes()).unwrap();
    let output = apply.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("created personal_agent"));
}

#[test]
fn an_unknown_key_is_named() {
    let place = Place::bare();
    place.write("assent.toml", &format!("{CONFIG}publik_url = 1\n"));
    assert!(place.run(&["migrate"]).failed().contains("publik_url"));
    place.write("assent.toml", CONFIG);
    let error = Place::ended(place.command(&["migrate"]).env("ASSENT_LISTNE", "127.0.0.1:1")).failed();
    assert!(error.contains("listne"), "{error}");
    place.write("assent.toml", &format!("{CONFIG}log = \"=nonsense=\"\n"));
    assert!(place.run(&["migrate"]).failed().contains("log"));
    assert!(place.run(&["--config", "other.toml", "migrate"]).failed().contains("other.toml"));
}

#[test]
fn wrong_usage_ends_with_2_and_says_nothing_on_standard_output() {
    let place = Place::bare();
    for arguments in [
        &["frobnicate"][..],
        &[],
        &["apply"],
        &["grant", "show", "a2agrant_x"],
        &["grant", "list", "--brand", "skyline"],
        &["token", "sign", "--key", "k", "--iss", "i", "--sub", "s", "--aud", "a", "--lifetime", "301"],
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
    }
    assert_eq!(place.run(&["--version"]).code, 0);
}

#[test]
fn a_bad_file_is_refused_by_the_parameters_name_and_nothing_changes() {
    let place = Place::migrated();
    let good = apply_file("Skyline", "https://auth.brand.example");
    for (wrong, named) in [
        (good.replace("https://brand.example/login", "http://brand.example/login"), "brand[0].delegation.login_url"),
        (good.replace("login_url", "log_in_url"), "log_in_url"),
        (
            good.replace("auth_origin = \"https://auth.brand.example\"", "grant_days = 366"),
            "brand[0].delegation.grant_days",
        ),
        (good.replace("\"orders:read\"", "\"orders read\""), "scope id"),
    ] {
        // The personal agent before it is well, and must not be kept either.
        place.write("brands.toml", &format!("{PERSONAL_AGENT}{wrong}"));
        let error = place.run(&["apply", "brands.toml"]).failed();
        assert!(error.contains(named), "{named}: {error}");
    }
    place.write("brands.toml", PERSONAL_AGENT);
    assert!(place.run(&["apply", "brands.toml"]).done().starts_with("created "));
}

#[test]
fn an_origin_serves_one_brand_alone() {
    let place = Place::migrated();
    let shared = "https://auth.brand.example";
    for text in [
        format!("{}{}", apply_file("One", shared), apply_file("Other", shared)),
        apply_file("One", "https://provider.example.com"),
    ] {
        place.write("brands.toml", &text);
        let error = place.run(&["apply", "brands.toml"]).failed();
        assert!(error.contains("auth_origin"), "{error}");
    }
    place.write("brands.toml", &apply_file("One", shared));
    place.run(&["apply", "brands.toml"]).done();
    place.write("brands.toml", &apply_file("Other", shared));
    assert!(place.run(&["apply", "brands.toml"]).failed().contains("already that of One"));
}

#[test]
fn a_database_that_is_behind_says_what_to_do() {
    let place = Place::bare();
    for arguments in [&["check"][..], &["grant", "list"]] {
        assert!(place.run(arguments).failed().contains("`assent migrate`"));
    }
}

#[test]
fn a_check_fails_on_any_problem() {
    let place = Place::migrated();
    let ran = place.run(&["check"]);
    assert!(ran.out.starts_with("problem  personal agents "), "{}", ran.out);
    assert!(ran.failed().contains("there is 1 problem"));
    place.write(
        "brands.toml",
        &apply_file("Skyline", "https://auth.brand.example").replace(
            "jwks_uri = \"https://brand.example/jwks.json\"",
            &format!("jwks = {{ keys = [{}] }}", inline(&generate_key(SigningAlg::Es256, "k").unwrap().public_jwk)),
        ),
    );
    place.run(&["apply", "brands.toml"]).done();
    let ran = place.run(&["check"]);
    assert!(ran.out.contains("\nok       Brand Skyline: signing key\n"), "{}", ran.out);
    assert!(ran.out.contains("\nok       Brand Skyline: keys of its login\n"), "{}", ran.out);
    assert!(ran.failed().contains("there are 2 problems"));
}

/// A flat JSON object as an inline table of TOML.
fn inline(json: &str) -> String {
    let Value::Object(object) = serde_json::from_str(json).unwrap() else { panic!("an object") };
    let members: Vec<_> = object.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", members.join(", "))
}

#[test]
fn a_signed_token_is_one_that_the_provider_takes() {
    let place = Place::bare();
    let jwks = place.run(&["token", "key", "pa.jwk", "--kid", "pa-1"]).done();
    assert_eq!(fs::metadata(place.path("pa.jwk")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!jwks.contains("\"d\""), "{jwks}");
    let keys = KeySet::parse(jwks.as_bytes()).unwrap();

    let issuer = Issuer::parse("https://pa.example.com").unwrap();
    let sign =
        ["token", "sign", "--key", "pa.jwk", "--iss", issuer.as_str(), "--sub", "user-7f3a", "--aud", "audience"];
    let now = Clock::system().now();
    let later = |seconds| now.plus(std::time::Duration::from_secs(seconds));
    let token = place.run(&sign).done();
    let caller = pa_jwt::verify(token.trim(), &keys, &issuer, "audience", now).unwrap();
    assert_eq!(caller.sub.as_str(), "user-7f3a");
    assert!(pa_jwt::verify(token.trim(), &keys, &issuer, "audience", later(240)).is_err());
    let token = place.run(&[&sign[..], &["--lifetime", "300"]].concat()).done();
    assert!(pa_jwt::verify(token.trim(), &keys, &issuer, "audience", later(240)).is_ok());
}

#[test]
fn a_key_file_is_never_overwritten() {
    let place = Place::bare();
    place.write("pa.jwk", "mine");
    let ran = place.run(&["token", "key", "pa.jwk"]);
    assert_eq!(ran.out, "");
    assert!(ran.failed().contains("pa.jwk"));
    assert_eq!(fs::read_to_string(place.path("pa.jwk")).unwrap(), "mine");
}

/// `jwks.json` of a Brand in `place`, and the reply of one of its turns.
fn reply(place: &Place) -> (Value, String) {
    let key = generate_key(SigningAlg::Es256, "k-1").unwrap();
    place.write("jwks.json", &format!("{{\"keys\":[{}]}}", key.public_jwk));
    let claims = json!({
        "grantId": format!("a2agrant_{BRAND}"), "user": "jane-4471", "pa": "https://pa.example.com", "brand": BRAND_URL,
        "scopesUsed": ["orders:read"], "actions": [{ "tool": "lookup_orders" }], "ts": "2026-09-30T12:00:00Z",
    });
    let typed: ReceiptClaims = serde_json::from_value(claims.clone()).unwrap();
    let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
    let jws = signer.sign_claims(receipt::TYP, &typed).unwrap();
    let message = json!({
        "messageId": "r-1", "contextId": "c", "role": "ROLE_AGENT", "parts": [{ "text": "Done." }],
        "metadata": { "pact.receipt": { "jws": jws, "claims": claims } },
    });
    (json!({ "message": message }), jws)
}

#[test]
fn a_receipt_is_verified_offline_in_each_of_its_forms() {
    let place = Place(tempfile::tempdir().unwrap());
    let (reply, jws) = reply(&place);
    place.write("reply.json", &serde_json::to_string_pretty(&reply).unwrap());
    place.write("receipt.jws", &format!("{jws}\n"));
    place.write("task.json", &json!({ "task": reply["message"] }).to_string());
    for form in ["reply.json", "receipt.jws", "task.json", jws.as_str()] {
        let out = place.run(&["receipt", "verify", "--jwks", "jwks.json", "--brand", BRAND_URL, form]).done();
        let claims: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(claims, reply["message"]["metadata"]["pact.receipt"]["claims"], "{form}");
    }
    let mut verify = place.command(&["receipt", "verify", "--jwks", "jwks.json", "-"]);
    let mut verify = verify.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    verify.stdin.take().unwrap().write_all(jws.as_bytes()).unwrap();
    assert!(verify.wait_with_output().unwrap().status.success());
}

// case 71
#[test]
fn an_altered_receipt_and_another_brands_are_refused() {
    let place = Place(tempfile::tempdir().unwrap());
    let (mut reply, jws) = reply(&place);
    let refused = |arguments: &[&str]| {
        let ran = place.run(&[&["receipt", "verify", "--jwks", "jwks.json"], arguments].concat());
        assert_eq!(ran.out, "", "nothing unverified is printed");
        ran.failed()
    };
    assert!(refused(&["--brand", "https://provider.example.com/a2a/other", &jws]).contains("another audience"));
    let (start, signature) = jws.rsplit_once('.').unwrap();
    let altered = format!("{start}.{}", signature.chars().rev().collect::<String>());
    assert!(refused(&[&altered]).contains("not a valid receipt"));
    assert!(refused(&["no-such-file"]).contains("no-such-file"));
    place.write("bare.json", r#"{"message":{"parts":[]}}"#);
    assert!(refused(&["bare.json"]).contains("no receipt"));

    reply["message"]["metadata"]["pact.receipt"]["claims"]["user"] = "john-1".into();
    place.write("reply.json", &reply.to_string());
    assert!(refused(&["reply.json"]).contains("claims beside the jws"));

    // A new key set knows nothing of the old key.
    self::reply(&place);
    place.write("receipt.jws", &jws);
    assert!(refused(&["receipt.jws"]).contains("not a valid receipt"));
}

#[test]
fn secrets_are_never_printed() {
    let place = Place::bare();
    let unreachable = "postgres://assent:canary-password@127.0.0.1:1/assent";
    for (name, value, arguments) in [
        ("ASSENT_DATABASE_URL", unreachable, &["migrate"][..]),
        ("ASSENT_DATABASE_URL", "mysql://assent:canary-password@127.0.0.1/assent", &["migrate"]),
        ("ASSENT_DATABASE_URL", "postgres://assent:canary-password@[::/assent", &["migrate"]),
        ("ASSENT_MASTER_KEY", "canary-key", &["check"]),
        ("ASSENT_MASTER_KEY", MASTER_KEY, &["check"]),
    ] {
        let mut command = place.command(arguments);
        let error = Place::ended(command.env("ASSENT_LOG", "trace").env(name, value)).failed();
        assert!(!error.contains("canary") && !error.contains(MASTER_KEY), "{error}");
    }
}

#[test]
fn pages_are_written_where_they_are_asked_for() {
    let place = Place(tempfile::tempdir().unwrap());
    let out = place.run(&["pages", "--out", "pages"]).done();
    let is_page = |path: &Path| path.extension().is_some_and(|extension| extension == "html");
    let written =
        fs::read_dir(place.path("pages")).unwrap().filter(|entry| is_page(&entry.as_ref().unwrap().path())).count();
    assert_eq!(out, format!("{written} pages written to pages\n"));
    assert!(written > 0);
}

#[test]
fn a_master_key_that_is_not_there_says_how_to_make_one() {
    let place = Place::migrated();
    fs::remove_file(place.path("master.key")).unwrap();
    assert!(place.run(&["grant", "list"]).failed().contains("/dev/urandom"));
    let listed = Place::ended(place.command(&["grant", "list"]).env("ASSENT_MASTER_KEY", MASTER_KEY));
    assert_eq!(listed.done(), "");
}
