//! API keys: the forms that make and revoke one, and what was done.

use super::administrator::{Names, reach};
use super::administrator_form::{TypedAccess, access_fields};
use super::done::Shown;
use super::form::{Button, Field, LineKind};
use super::parts::{Block, Holds, Link, Value, fact, path, with_query};
use super::{DonePage, FormPage, Frame, Section, Wrong, sampled};
use crate::clock::Timestamp;
use crate::domain::account::ApiKey;
use crate::domain::administrator::Access;

/// What was typed of a key, right or wrong.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TypedKey {
    /// What it is for.
    pub name: String,
    /// In how many days it ends.
    pub days: String,
    /// What it may do.
    pub access: TypedAccess,
}

fn back() -> Link {
    Link::new("Administrators and API keys", "/administrators")
}

/// The form that makes a key.
pub fn key_form(frame: Frame, giver: &Access, names: &Names, typed: &TypedKey) -> FormPage {
    let name =
        Field::line("name", "Name", "What it is for, in at most 100 characters.", typed.name.as_str(), LineKind::Text);
    let days = Field::line("days", "Days", "1 to 366: it ends by itself.", typed.days.as_str(), LineKind::Number);
    let mut fields = vec![name, days];
    fields.extend(access_fields(giver, names, &typed.access));
    FormPage {
        frame,
        title: "Make an API key".to_owned(),
        wrong: None,
        says: vec![
            "A program that has it does at the JSON API what its role allows. Give it no more than it needs."
                .to_owned(),
        ],
        facts: Vec::new(),
        fields,
        hidden: Vec::new(),
        action: "/api-keys/new".to_owned(),
        buttons: vec![Button { step: "", label: "Make the key" }],
        cancel: back(),
    }
}

/// The key that was made, the only time that it is shown.
pub fn made_key_page(frame: Frame, names: &Names, key: &ApiKey, secret: &str) -> DonePage {
    let facts = vec![
        fact("Key's id", Value::id(&key.id)),
        fact("Name", Value::text(&key.name)),
        fact("Role", Value::text(key.access.role)),
        fact("Brands", reach(names, &key.access.reach)),
        fact("Ends", Value::instant(key.expires_at)),
    ];
    let mut page =
        DonePage::new(frame, "The API key is made", &["It is good from now on, on every node."], vec![back()]);
    page.shown = Some(Shown { label: "The key", secret: secret.to_owned() });
    page.blocks = vec![Block::new("What it is", Holds::Facts(facts))];
    page
}

/// The form that revokes a key.
pub fn revoke_key_form(frame: Frame, names: &Names, key: &ApiKey, now: Timestamp) -> FormPage {
    let can = key.revoked_at.is_none();
    FormPage {
        frame,
        title: "Revoke an API key".to_owned(),
        wrong: (!can).then(|| Wrong::conflict("The key was revoked before.")),
        says: vec!["Whatever program uses it is refused from now on, on every node. It cannot be undone.".to_owned()],
        facts: vec![
            fact("Key's id", Value::id(&key.id)),
            fact("Name", Value::text(&key.name)),
            fact("State", Value::text(key.state(now))),
            fact("Role", Value::text(key.access.role)),
            fact("Brands", reach(names, &key.access.reach)),
            fact("Last used", Value::at(key.last_used_at)),
        ],
        fields: Vec::new(),
        hidden: Vec::new(),
        action: path(&["api-keys", key.id.as_str(), "revoke"]),
        buttons: if can { vec![Button { step: "", label: "Revoke the key" }] } else { Vec::new() },
        cancel: back(),
    }
}

/// What became of a revocation.
pub fn revoked_key_page(frame: Frame, key: &ApiKey, just_now: bool) -> DonePage {
    let links = vec![back(), Link::new("Audit rows", with_query("/audit", &[("subject", key.id.as_str())]))];
    if just_now {
        DonePage::new(frame, "The API key is revoked", &["It opens nothing any more, on any node."], links)
    } else {
        DonePage::new(frame, "It was revoked before", &["Nothing was done."], links)
    }
}

/// The forms in each state, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Administrators);
    let names = Names::from([(sampled::brand().brand.id, sampled::brand().brand.name)]);
    let typed = TypedKey { name: "deploy".to_owned(), days: "9999".to_owned(), access: TypedAccess::default() };
    let form = |typed: &TypedKey| key_form(frame(), &Access::EVERYTHING, &names, typed);
    let revoked = ApiKey { revoked_at: Some(sampled::NOW), ..sampled::api_key() };
    vec![
        ("api-key-new", form(&TypedKey::default())),
        ("api-key-new-wrong", form(&typed).with_wrong(Some(Wrong::input("days: expected 1 to 366")))),
        ("api-key-revoke", revoke_key_form(frame(), &names, &sampled::api_key(), sampled::NOW)),
        ("api-key-revoked", revoke_key_form(frame(), &names, &revoked, sampled::NOW)),
    ]
}

/// What was done, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    let frame = || Frame::sample_in(Section::Administrators);
    let names = Names::from([(sampled::brand().brand.id, sampled::brand().brand.name)]);
    let key = sampled::api_key();
    vec![
        ("api-key-made", made_key_page(frame(), &names, &key, "assent_key_c2FtcGxlLW9mLWEta2V5LTAxMjM0NTY3")),
        ("api-key-revoked", revoked_key_page(frame(), &key, true)),
    ]
}
