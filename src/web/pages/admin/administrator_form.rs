//! The forms that make, change and remove administrators.

use std::collections::BTreeSet;

use super::administrator::{Names, administrator_link, reach};
use super::form::{Button, Choice, Field, LineKind};
use super::parts::{Link, Value, fact, path};
use super::{DonePage, FormPage, Frame, Section, Wrong, sampled};
use crate::domain::account::{Administrator, SHORTEST_PASSWORD};
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::id::{AdministratorName, BrandId};

/// What was typed of an access, right or wrong.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TypedAccess {
    /// The role.
    pub role: String,
    /// Whether it is at all Brands.
    pub all: bool,
    /// At these.
    pub brands: BTreeSet<String>,
}

impl From<&Access> for TypedAccess {
    fn from(access: &Access) -> Self {
        let brands = match &access.reach {
            Reach::All => BTreeSet::new(),
            Reach::Brands(brands) => brands.iter().map(BrandId::to_string).collect(),
        };
        Self { role: access.role.to_string(), all: access.reach == Reach::All, brands }
    }
}

/// The fields in which a role and Brands are chosen, of those that `giver` can give.
pub(super) fn access_fields(giver: &Access, names: &Names, typed: &TypedAccess) -> Vec<Field> {
    let says = |role: Role| match role {
        Role::Auditor => "auditor: reads",
        Role::Operator => "operator: reads, and changes grants, Brands, personal agents and keys",
        Role::Owner => "owner: all that, and administrators and API keys",
    };
    let roles = Role::ALL.map(|role| Choice::new(role.name(), says(role), typed.role == role.name()));
    let mut fields = vec![Field::Choice { name: "role", legend: "Role", several: false, options: roles.into() }];
    if giver.reach == Reach::All {
        let all = Choice::new("yes", "At all Brands, those to come included", typed.all);
        fields.push(Field::Choice { name: "all", legend: "Reach", several: true, options: vec![all] });
    }
    let mut brands: Vec<(&BrandId, &String)> = names.iter().filter(|(brand, _)| giver.reach.covers(brand)).collect();
    brands.sort_by_key(|(brand, name)| (name.to_lowercase(), brand.as_str()));
    let options = brands.into_iter().map(|(brand, name)| {
        Choice::new(brand.as_str(), format!("{name} ({brand})"), typed.brands.contains(brand.as_str()))
    });
    // Brands that were removed: whoever had them keeps them unless they are taken away.
    let is_removed = |id: &&String| names.keys().all(|brand| brand.as_str() != id.as_str());
    let removed = typed.brands.iter().filter(is_removed);
    let options = options.chain(removed.map(|id| Choice::new(id.as_str(), format!("{id} (removed)"), true)));
    fields.push(Field::Choice {
        name: "brand",
        legend: "At these Brands alone",
        several: true,
        options: options.collect(),
    });
    fields
}

fn password_fields() -> [Field; 2] {
    let hint = format!("At least {SHORTEST_PASSWORD} characters, and not the name. They can change it themselves.");
    [
        Field::line("password", "Password", hint, "", LineKind::NewPassword),
        Field::line("repeated_password", "The password again", "", "", LineKind::NewPassword),
    ]
}

/// The form that makes an administrator.
pub fn new_form(frame: Frame, giver: &Access, names: &Names, name: &str, typed: &TypedAccess) -> FormPage {
    let hint = "1 to 64 of a-z, 0-9 and . _ - @, a letter or digit first. It stands in the audit log.";
    let mut fields = vec![Field::line("name", "Name", hint, name, LineKind::Text)];
    fields.extend(access_fields(giver, names, typed));
    fields.extend(password_fields());
    FormPage {
        frame,
        title: "Make an administrator".to_owned(),
        wrong: None,
        says: vec![
            "Nobody gives away what they have not: no more than your own role and Brands can be chosen.".to_owned(),
        ],
        facts: Vec::new(),
        fields,
        hidden: Vec::new(),
        action: "/new-administrator".to_owned(),
        buttons: vec![Button { step: "", label: "Make the administrator" }],
        cancel: Link::new("Administrators", "/administrators"),
    }
}

/// What an owner does to an administrator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Another role, or other Brands.
    Access,
    /// They are let in no longer.
    Disable,
    /// They are let in again.
    Enable,
    /// Another password.
    Password,
    /// No second factor any more.
    SecondFactor,
    /// They go.
    Remove,
}

impl Deed {
    /// Every one.
    pub const ALL: [Self; 6] =
        [Self::Access, Self::Disable, Self::Enable, Self::Password, Self::SecondFactor, Self::Remove];

    /// The last part of its address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Password => "password",
            Self::SecondFactor => "second-factor",
            Self::Remove => "remove",
        }
    }

    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Access => (
                "Change the role and Brands of",
                "Their sessions end: they log in anew, with what they may do then.",
                "Change role and Brands",
            ),
            Self::Disable => (
                "Disable",
                "They are let in no longer and their sessions end at once, on every node. They can be enabled again.",
                "Disable them",
            ),
            Self::Enable => {
                ("Enable", "They can log in again, with the password and second factor they had.", "Enable them")
            }
            Self::Password => (
                "Set a new password for",
                "For whoever has forgotten theirs. Their sessions end. Tell it to nobody else, and let them change it.",
                "Set the password",
            ),
            Self::SecondFactor => (
                "Take the second factor off from",
                "For whoever has lost theirs. Their sessions end, and the next log-in asks for the password alone, until \
                 they turn it on again.",
                "Take it off",
            ),
            Self::Remove => (
                "Remove",
                "They are let in no longer and their sessions end at once. Their name stays in the audit log. It cannot be \
                 undone.",
                "Remove them",
            ),
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Access => "Role and Brands are changed",
            Self::Disable => "The administrator is disabled",
            Self::Enable => "The administrator is enabled",
            Self::Password => "The password is set",
            Self::SecondFactor => "The second factor is off",
            Self::Remove => "The administrator is removed",
        }
    }
}

/// The form of a deed.
pub fn deed_form(
    frame: Frame,
    giver: &Access,
    names: &Names,
    account: &Administrator,
    deed: Deed,
    typed: Option<&TypedAccess>,
) -> FormPage {
    let name = account.name.as_str();
    let (title, says, button) = deed.words();
    let fields = match deed {
        Deed::Access => {
            let present = TypedAccess::from(&account.access);
            access_fields(giver, names, typed.unwrap_or(&present))
        }
        Deed::Password => password_fields().into(),
        Deed::Remove => vec![Field::typed(format!("Type the name, {name}, to go on"))],
        Deed::Disable | Deed::Enable | Deed::SecondFactor => Vec::new(),
    };
    FormPage {
        frame,
        title: format!("{title} {name}"),
        wrong: None,
        says: vec![says.to_owned()],
        facts: vec![
            fact("Administrator", Value::Link(administrator_link(&account.name))),
            fact("Role", Value::text(account.access.role)),
            fact("Brands", reach(names, &account.access.reach)),
        ],
        fields,
        hidden: Vec::new(),
        action: path(&["administrators", name, deed.name()]),
        buttons: vec![Button { step: "", label: button }],
        cancel: administrator_link(&account.name),
    }
}

/// What was done to an administrator.
pub fn deed_page(frame: Frame, name: &AdministratorName, deed: Deed, as_before: bool) -> DonePage {
    let mut links = vec![Link::new("Administrators", "/administrators")];
    if deed != Deed::Remove {
        links.insert(0, administrator_link(name));
    }
    links.push(Link::new("Audit rows", super::parts::with_query("/audit", &[("subject", name.as_str())])));
    if as_before {
        return DonePage::new(frame, "It was so before", &["Nothing was done."], links);
    }
    DonePage::new(frame, deed.done(), &[&format!("{name}: {}", deed.words().1)], links)
}

/// An administrator who was made.
pub fn made_administrator_page(frame: Frame, name: &AdministratorName) -> DonePage {
    let links = vec![administrator_link(name), Link::new("Administrators", "/administrators")];
    let says = format!("{name} can log in now. Give them the password in person, and let them change it.");
    DonePage::new(frame, "The administrator is made", &[&says], links)
}

/// The forms in each state, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Administrators);
    let names = Names::from([(sampled::brand().brand.id, sampled::brand().brand.name)]);
    let new = |name: &str, wrong| {
        new_form(frame(), &Access::EVERYTHING, &names, name, &TypedAccess::default()).with_wrong(wrong)
    };
    let deed = |deed| deed_form(frame(), &Access::EVERYTHING, &names, &sampled::administrator(), deed, None);
    let last = "There would be nobody left who can do everything: this is the last enabled owner of all Brands.";
    vec![
        ("administrator-new", new("", None)),
        ("administrator-new-wrong", new("anna", Some(Wrong::conflict("name: anna is taken")))),
        ("administrator-access", deed(Deed::Access)),
        ("administrator-disable", deed(Deed::Disable)),
        ("administrator-enable", deed(Deed::Enable)),
        ("administrator-password", deed(Deed::Password)),
        ("administrator-second-factor", deed(Deed::SecondFactor)),
        ("administrator-remove", deed(Deed::Remove)),
        ("administrator-last-owner", deed(Deed::Remove).with_wrong(Some(Wrong::conflict(last)))),
    ]
}

/// What was done, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    let frame = || Frame::sample_in(Section::Administrators);
    let name = sampled::administrator().name;
    vec![
        ("administrator-made", made_administrator_page(frame(), &name)),
        ("administrator-disabled", deed_page(frame(), &name, Deed::Disable, false)),
        ("administrator-as-before", deed_page(frame(), &name, Deed::Enable, true)),
    ]
}
