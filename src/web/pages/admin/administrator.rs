//! Administrators and API keys: who there is, and one of them.

use std::collections::HashMap;

use super::parts::{Block, Holds, Link, Table, Value, fact, path, with_query};
use super::{Frame, Section, ThingPage, sampled};
use crate::clock::Timestamp;
use crate::domain::account::{Administrator, ApiKey};
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::id::{AdministratorName, BrandId};

/// What Brands are called, by id.
pub type Names = HashMap<BrandId, String>;

/// A Brand by its name, or by its id where it is served no more.
fn called(names: &Names, brand: &BrandId) -> String {
    names.get(brand).cloned().unwrap_or_else(|| brand.to_string())
}

/// At which Brands something holds.
pub(super) fn reach(names: &Names, reach: &Reach) -> Value {
    match reach {
        Reach::All => Value::text("all Brands, those to come included"),
        Reach::Brands(brands) if brands.is_empty() => Value::Nothing,
        Reach::Brands(brands) => Value::Lines(brands.iter().map(|brand| called(names, brand)).collect()),
    }
}

fn is_owner(access: &Access) -> bool {
    access.at_least(Role::Owner).is_ok()
}

/// An administrator by their page.
pub(super) fn administrator_link(name: &AdministratorName) -> Link {
    Link::new(name.as_str(), path(&["administrators", name.as_str()]))
}

/// The page of all administrators and API keys within reach.
pub fn administrators_page(
    frame: Frame,
    access: &Access,
    administrators: &[Administrator],
    keys: &[ApiKey],
    names: &Names,
    now: Timestamp,
) -> ThingPage {
    let rows = administrators.iter().map(|account| {
        vec![
            Value::Link(administrator_link(&account.name)),
            Value::text(account.access.role),
            reach(names, &account.access.reach),
            Value::text(if account.is_enabled() { "enabled" } else { "disabled" }),
            Value::text(if account.has_second_factor() { "on" } else { "off" }),
            Value::at(account.logged_in_at),
        ]
    });
    let table = Table {
        columns: vec!["Name", "Role", "Brands", "State", "Second factor", "Last log-in"],
        rows: rows.collect(),
        empty: "There is none within your reach.",
    };
    let mut people = Block::new("Administrators", Holds::Table(table));
    let mut columns = vec!["Name", "Key's id", "Role", "Brands", "State", "Made by", "Ends", "Last used"];
    if is_owner(access) {
        columns.push("Revoke");
    }
    let rows = keys.iter().map(|key| {
        let mut row = vec![
            Value::text(&key.name),
            Value::id(&key.id),
            Value::text(key.access.role),
            reach(names, &key.access.reach),
            Value::text(key.state(now)),
            Value::text(&key.created_by),
            Value::instant(key.revoked_at.unwrap_or(key.expires_at)),
            Value::at(key.last_used_at),
        ];
        if is_owner(access) {
            let revoke = path(&["api-keys", key.id.as_str(), "revoke"]);
            let link = Link::new(format!("Revoke {}", key.name), revoke);
            row.push(if key.revoked_at.is_none() { Value::Link(link) } else { Value::Nothing });
        }
        row
    });
    let table = Table { columns, rows: rows.collect(), empty: "There is none within your reach." };
    let mut programs = Block::new("API keys", Holds::Table(table));
    programs.hint = "What programs use at the JSON API. A key is shown once, when it is made.";
    if is_owner(access) {
        people.deeds.push(Link::new("Make an administrator", "/new-administrator"));
        programs.deeds.push(Link::new("Make an API key", "/api-keys/new"));
    }
    let title = "Administrators and API keys".to_owned();
    ThingPage { frame, title, back: None, blocks: vec![people, programs], deeds: Vec::new() }
}

/// The page of an administrator.
pub fn administrator_page(frame: Frame, access: &Access, account: &Administrator, names: &Names) -> ThingPage {
    let facts = vec![
        fact("Name", Value::text(&account.name)),
        fact("Role", Value::text(account.access.role)),
        fact("Brands", reach(names, &account.access.reach)),
        fact("State", Value::text(if account.is_enabled() { "enabled" } else { "disabled" })),
        fact("Second factor", Value::text(if account.has_second_factor() { "on" } else { "off" })),
        fact("Last log-in", Value::at(account.logged_in_at)),
        fact("Made", Value::instant(account.created_at)),
        fact("Changed", Value::instant(account.changed_at)),
        fact("Disabled", Value::at(account.disabled_at)),
    ];
    let name = account.name.as_str();
    let mut deeds = Vec::new();
    if access.administer(&account.access).is_ok() {
        let mut deed = |label: &str, at: &str| deeds.push(Link::new(label, path(&["administrators", name, at])));
        deed("Change role and Brands", "access");
        if account.is_enabled() {
            deed("Disable", "disable");
        } else {
            deed("Enable", "enable");
        }
        deed("Set a new password", "password");
        if account.has_second_factor() {
            deed("Take the second factor off", "second-factor");
        }
        deed("Remove", "remove");
    }
    deeds.push(Link::new("What they did", with_query("/audit", &[("actor", name)])));
    ThingPage {
        frame,
        title: format!("Administrator {name}"),
        back: Some(Link::new("Administrators", "/administrators")),
        blocks: vec![Block::new("Who it is", Holds::Facts(facts))],
        deeds,
    }
}

/// The pages in each state, by name.
pub(super) fn samples() -> Vec<(&'static str, ThingPage)> {
    let frame = || Frame::sample_in(Section::Administrators);
    let names = Names::from([(sampled::brand().brand.id, sampled::brand().brand.name)]);
    let account = sampled::administrator();
    let disabled =
        Administrator { disabled_at: Some(sampled::NOW), sealed_totp: None, logged_in_at: None, ..account.clone() };
    let revoked = ApiKey { revoked_at: Some(sampled::NOW), last_used_at: None, ..sampled::api_key() };
    let keys = [sampled::api_key(), revoked];
    let all = [account.clone(), disabled.clone()];
    let list = |access: &Access| administrators_page(frame(), access, &all, &keys, &names, sampled::NOW);
    vec![
        ("administrators", list(&Access::EVERYTHING)),
        ("administrators-to-an-auditor", list(&sampled::auditor())),
        ("administrators-none", administrators_page(frame(), &Access::EVERYTHING, &[], &[], &names, sampled::NOW)),
        ("administrator", administrator_page(frame(), &Access::EVERYTHING, &account, &names)),
        ("administrator-disabled", administrator_page(frame(), &Access::EVERYTHING, &disabled, &names)),
        ("administrator-to-an-auditor", administrator_page(frame(), &sampled::auditor(), &account, &names)),
    ]
}
