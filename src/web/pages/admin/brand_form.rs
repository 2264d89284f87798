//! The forms that make, change and remove a Brand. A definition is looked at before it is done: what differs, and what that
//! means for live grants.

use super::form::{Button, Field};
use super::key::brand_link;
use super::parts::{Block, Fact, Holds, Link, Value, counted, fact, path};
use super::{DonePage, FormPage, Frame, Section, Wrong, sampled};
use crate::domain::id::BrandId;
use crate::flow::admin::apply::Change;
use crate::flow::admin::brands::Removed;
use crate::store::BrandRecord;

/// What a definition would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preview {
    /// What differs.
    pub change: Change,
    /// Live grants that would lose some scopes.
    pub narrowed: usize,
    /// Live grants that would lose all of them.
    pub ended: usize,
    /// Live grants that there are; none of a Brand that is new.
    pub live: i64,
    /// What stands for all that: it is done only while this is so.
    pub mark: String,
}

impl Preview {
    fn is_unchanged(&self) -> bool {
        self.change.what == "unchanged"
    }

    fn facts(&self) -> Vec<Fact> {
        let fields =
            if self.change.fields.is_empty() { Value::Nothing } else { Value::Lines(self.change.fields.clone()) };
        vec![
            fact("Would be", Value::text(self.change.what)),
            fact("What differs", fields),
            fact("Live grants now", Value::Text(counted(self.live, "grant"))),
            fact("Would lose some scopes", Value::Text(counted(grants(self.narrowed), "live grant"))),
            fact("Would end", Value::Text(counted(grants(self.ended), "live grant"))),
        ]
    }
}

fn grants(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A new Brand's definition, to begin with.
pub const TEMPLATE: &str = r#"[[brand]]
name = ""
description = ""
version = "1.0.0"
skills = [{ id = "", name = "", description = "", tags = [""] }]
agent = { url = "https://agent.example/turns", timeout_seconds = 30 }

[brand.delegation]                # left out: the Identity profile alone
login_url = "https://brand.example/login"
return_url = "https://brand.example/connected"
assertion = { issuer = "https://brand.example", jwks_uri = "https://brand.example/jwks.json" }
scopes = [
  { id = "orders:read", description = "View your orders" },
  { id = "orders:cancel", description = "Cancel an order", writes = true },
]
"#;

/// The form that makes a Brand, or changes the one that is `known`.
pub fn definition_form(
    frame: Frame,
    known: Option<(&str, &BrandId)>,
    text: &str,
    preview: Option<&Preview>,
) -> FormPage {
    let (title, action, cancel) = match known {
        Some((name, brand)) => {
            (format!("Change {name}"), path(&["brands", brand.as_str(), "change"]), brand_link(name, brand))
        }
        None => ("Make a Brand".to_owned(), "/brands/new".to_owned(), Link::new("Brands", "/brands")),
    };
    let mut buttons = Vec::new();
    let mut hidden = Vec::new();
    let mut says = vec![
        "The definition is the Brand's part of an apply file. First see what it would do; then do it. It is in force at once \
         here, and on every other node within two seconds."
            .to_owned(),
    ];
    if let Some(preview) = preview {
        if preview.is_unchanged() {
            says.push("This is what the Brand is already: there is nothing to do.".to_owned());
        } else {
            says.push("This is what it would do. Nothing has been done yet.".to_owned());
            hidden.push(("mark", preview.mark.clone()));
            buttons.push(Button {
                step: "do",
                label: if known.is_some() { "Change the Brand" } else { "Make the Brand" },
            });
        }
    }
    // The first button is the one of the Enter key: that must not do what was not seen.
    buttons.insert(0, Button { step: "look", label: "See what it would do" });
    FormPage {
        frame,
        title,
        wrong: None,
        says,
        facts: preview.map_or_else(Vec::new, Preview::facts),
        fields: vec![Field::Area {
            name: "definition",
            label: "Definition",
            hint: "TOML, one [[brand]]: every parameter is in assent.apply.example.toml. The id stays as it is; a new Brand gets one.",
            value: text.to_owned(),
        }],
        hidden,
        action,
        buttons,
        cancel,
    }
}

/// What became of a definition.
pub fn applied_page(frame: Frame, change: &Change, brand: &BrandId, narrowed: usize, ended: usize) -> DonePage {
    let title = match change.what {
        "created" => "The Brand is made",
        "changed" => "The Brand is changed",
        _ => "The Brand is as it was",
    };
    let fields = if change.fields.is_empty() { Value::Nothing } else { Value::Lines(change.fields.clone()) };
    let facts = vec![
        fact("Brand", Value::Link(brand_link(&change.name, brand))),
        fact("What differs", fields),
        fact("Lost some scopes", Value::Text(counted(grants(narrowed), "live grant"))),
        fact("Ended", Value::Text(counted(grants(ended), "live grant"))),
    ];
    let links = vec![brand_link(&change.name, brand), Link::new("Brands", "/brands")];
    let mut page = DonePage::new(frame, title, &["Every node serves it so within two seconds."], links);
    page.blocks = vec![Block::new("What was done", Holds::Facts(facts))];
    page
}

/// The form that removes a Brand.
pub fn remove_form(frame: Frame, record: &BrandRecord) -> FormPage {
    let (name, brand) = (record.brand.name.as_str(), &record.brand.id);
    FormPage {
        frame,
        title: format!("Remove {name}"),
        wrong: None,
        says: vec![
            format!(
                "The Brand is served no more: its card, its interface and its authorization server answer 404. {} with it.",
                if record.live_grants == 1 { "1 live grant ends".to_owned() } else {
                    format!("{} end", counted(record.live_grants, "live grant"))
                }
            ),
            "Its grants, receipts, keys and audit rows stay for auditors, and its receipts stay verifiable. It cannot be \
             undone: a Brand made later gets another id."
                .to_owned(),
        ],
        facts: vec![
            fact("Brand", Value::Link(brand_link(name, brand))),
            fact("Brand id", Value::id(brand)),
            fact("Live grants", Value::Text(counted(record.live_grants, "grant"))),
        ],
        fields: vec![Field::typed(format!("Type the Brand's name, {name}, to go on"))],
        hidden: Vec::new(),
        action: path(&["brands", brand.as_str(), "remove"]),
        buttons: vec![Button { step: "", label: "Remove the Brand" }],
        cancel: brand_link(name, brand),
    }
}

/// What became of a removal that was not refused.
pub fn removed_page(frame: Frame, name: &str, brand: &BrandId, removed: &Removed) -> DonePage {
    let links = vec![brand_link(name, brand), Link::new("Brands", "/brands")];
    match removed {
        Removed::Done { ended } => {
            let ended = counted(*ended, "live grant");
            let says = format!(
                "It is served no more, here at once and on every other node within two seconds. Ended: {ended}."
            );
            DonePage::new(frame, "The Brand is removed", &[&says], links)
        }
        Removed::Already | Removed::OtherName => {
            DonePage::new(frame, "It was removed before", &["Nothing was done."], links)
        }
    }
}

fn change(what: &'static str, fields: &[&str]) -> Change {
    let record = sampled::brand();
    let fields = fields.iter().map(|field| (*field).to_owned()).collect();
    Change { kind: "brand", id: record.brand.id.to_string(), name: record.brand.name, what, fields }
}

/// The forms in each state, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Brands);
    let record = sampled::brand();
    let known = Some((record.brand.name.as_str(), &record.brand.id));
    let text = crate::flow::admin::apply::written(&record.brand).unwrap_or_else(|error| error);
    let preview = |what, fields: &[&str]| Preview {
        change: change(what, fields),
        narrowed: 1210,
        ended: 4,
        live: record.live_grants,
        mark: "0123".to_owned(),
    };
    let differs = preview("changed", &["delegation.scopes", "delegation.grant_days"]);
    let wrong = "brand[0].delegation.grant_days: is 0, expected 1 to 365";
    vec![
        ("brand-new", definition_form(frame(), None, TEMPLATE, None)),
        ("brand-change", definition_form(frame(), known, &text, None)),
        ("brand-preview", definition_form(frame(), known, &text, Some(&differs))),
        ("brand-unchanged", definition_form(frame(), known, &text, Some(&preview("unchanged", &[])))),
        ("brand-wrong", definition_form(frame(), known, &text, None).with_wrong(Some(Wrong::input(wrong)))),
        ("brand-remove", remove_form(frame(), &record)),
        (
            "brand-remove-wrong",
            remove_form(frame(), &record).with_wrong(Some(Wrong::input("This is not the Brand's name."))),
        ),
    ]
}

/// What was done, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    let frame = || Frame::sample_in(Section::Brands);
    let brand = sampled::brand().brand.id;
    vec![
        ("brand-changed", applied_page(frame(), &change("changed", &["delegation.scopes"]), &brand, 1210, 4)),
        ("brand-removed", removed_page(frame(), "Example Shop", &brand, &Removed::Done { ended: 1214 })),
    ]
}
