//! Resource-server keys: the forms that make and revoke one, and what was done.

use super::done::Shown;
use super::form::{Button, Field, LineKind};
use super::key::brand_link;
use super::parts::{Block, Holds, Link, Value, fact, path};
use super::{DonePage, FormPage, Frame, Section, Wrong, sampled};
use crate::clock::Timestamp;
use crate::domain::id::BrandId;
use crate::domain::resource_server_key::ResourceServerKey;

/// `live`, `expired` or `revoked`.
pub(super) fn resource_server_key_state(key: &ResourceServerKey, now: Timestamp) -> &'static str {
    match key.revoked_at {
        Some(_) => "revoked",
        None if key.is_live(now) => "live",
        None => "expired",
    }
}

/// The form that makes a key for the account API of a Brand.
pub fn make_form(frame: Frame, brand_name: &str, brand: &BrandId, name: &str, days: &str) -> FormPage {
    let name_hint = "One line, at most 80 characters: what the key is for.";
    FormPage {
        frame,
        title: format!("A resource-server key for {brand_name}"),
        wrong: None,
        says: vec![
            "With this key, the Brand's own account API may ask whether a delegation token is good, and do nothing else."
                .to_owned(),
        ],
        facts: vec![fact("Brand", Value::Link(brand_link(brand_name, brand)))],
        fields: vec![
            Field::line("name", "Name", name_hint, name, LineKind::Text),
            Field::optional("days", "Days", "1 to 3650; left empty, it is good until it is revoked.", days, LineKind::Number),
        ],
        hidden: Vec::new(),
        action: path(&["brands", brand.as_str(), "resource-server-keys"]),
        buttons: vec![Button { step: "", label: "Make the key" }],
        cancel: brand_link(brand_name, brand),
    }
}

/// The key that was made, the only time that it is shown.
pub fn made_page(frame: Frame, brand_name: &str, key: &ResourceServerKey, secret: &str) -> DonePage {
    let facts = vec![
        fact("Key's id", Value::id(&key.id)),
        fact("Name", Value::text(&key.name)),
        fact("Brand", Value::Link(brand_link(brand_name, &key.brand))),
        fact("Ends", Value::at(key.expires_at)),
    ];
    let links = vec![brand_link(brand_name, &key.brand)];
    let mut page = DonePage::new(frame, "The key is made", &["It is good from now on, on every node."], links);
    page.shown = Some(Shown { label: "The key", secret: secret.to_owned() });
    page.blocks = vec![Block::new("What it is", Holds::Facts(facts))];
    page
}

/// The form that revokes a key.
pub fn revoke_form(frame: Frame, brand_name: &str, key: &ResourceServerKey, now: Timestamp) -> FormPage {
    let state = resource_server_key_state(key, now);
    let can = key.revoked_at.is_none();
    FormPage {
        frame,
        title: "Revoke a resource-server key".to_owned(),
        wrong: (!can).then(|| Wrong::conflict("The key was revoked before.")),
        says: vec![
            "Whoever holds it can ask about no token any more, at once and on every node. It cannot be undone: make another \
             key in its place first, if the Brand's account API still needs one."
                .to_owned(),
        ],
        facts: vec![
            fact("Key's id", Value::id(&key.id)),
            fact("Name", Value::text(&key.name)),
            fact("Brand", Value::Link(brand_link(brand_name, &key.brand))),
            fact("State", Value::text(state)),
            fact("Made", Value::instant(key.created_at)),
        ],
        fields: Vec::new(),
        hidden: Vec::new(),
        action: path(&["resource-server-keys", key.id.as_str(), "revoke"]),
        buttons: if can { vec![Button { step: "", label: "Revoke the key" }] } else { Vec::new() },
        cancel: brand_link(brand_name, &key.brand),
    }
}

/// What became of a revocation.
pub fn revoked_page(frame: Frame, brand_name: &str, key: &ResourceServerKey, just_now: bool) -> DonePage {
    let links = vec![
        brand_link(brand_name, &key.brand),
        Link::new("Audit rows", super::parts::with_query("/audit", &[("subject", key.id.as_str())])),
    ];
    if just_now {
        DonePage::new(frame, "The key is revoked", &["It opens nothing any more, on any node."], links)
    } else {
        DonePage::new(frame, "It was revoked before", &["Nothing was done."], links)
    }
}

/// The forms in each state, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Brands);
    let key = sampled::resource_server_key();
    let make = |name, days| make_form(frame(), "Example Shop", &key.brand, name, days);
    let revoked = ResourceServerKey { revoked_at: Some(sampled::NOW), ..key.clone() };
    vec![
        ("resource-server-key", make("", "")),
        ("resource-server-key-wrong", make("x", "0").with_wrong(Some(Wrong::input("days: is 0, expected 1 to 3650")))),
        ("resource-server-key-revoke", revoke_form(frame(), "Example Shop", &key, sampled::NOW)),
        ("resource-server-key-revoked", revoke_form(frame(), "Example Shop", &revoked, sampled::NOW)),
    ]
}

/// What was done, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    let frame = || Frame::sample_in(Section::Brands);
    let key = sampled::resource_server_key();
    vec![
        (
            "resource-server-key-made",
            made_page(frame(), "Example Shop", &key, "assent_rs_c2FtcGxlLW9mLWEta2V5LTAxMjM0NTY3"),
        ),
        ("resource-server-key-revoked", revoked_page(frame(), "Example Shop", &key, true)),
    ]
}
