//! One personal agent: who it is, whether it may call, and what lives under it; and the form that registers one.

use askama::Template;

use super::{Cell, Fact, Frame, Notice, RevokeAll, Section, Tone, When, console_page};
use crate::clock::Timestamp;
use crate::web::pages::Page as _;

/// What is typed into a form about a personal agent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AgentFields {
    /// Its exact `iss`.
    pub issuer: String,
    /// What Users read.
    pub name: String,
    /// Where its public keys are.
    pub jwks_uri: String,
}

impl AgentFields {
    fn sample() -> Self {
        Self {
            issuer: "https://pa.example.com".to_owned(),
            name: "Demo personal agent".to_owned(),
            jwks_uri: "https://pa.example.com/jwks.json".to_owned(),
        }
    }
}

/// A personal agent.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/personal_agent.html")]
pub struct PersonalAgentPage {
    /// What stands around it.
    pub frame: Frame,
    /// What it is called.
    pub name: String,
    /// What was done, or why nothing was.
    pub notice: Option<Notice>,
    /// What is known of it.
    pub facts: Vec<Fact>,
    /// Whether it may call.
    pub is_enabled: bool,
    /// What the forms hold.
    pub fields: AgentFields,
    /// Where its keys are now.
    pub jwks_uri: String,
    /// Whether the reader may change anything.
    pub may_change: bool,
    /// Its live grants.
    pub all: RevokeAll,
    /// The list of its grants.
    pub grants: String,
    /// The rows of the audit log about it.
    pub audit: String,
}

console_page!(PersonalAgentPage, |page| page.name.clone());

impl PersonalAgentPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let at = |minutes: i64| Cell::Time(When::at(Timestamp::from_seconds(1_790_769_600 + minutes * 60)));
        let fields = AgentFields::sample();
        let page = Self {
            frame: Frame::sample_in(Section::PersonalAgents),
            name: fields.name.clone(),
            notice: None,
            facts: vec![
                Fact::new("State", Cell::State("enabled", Tone::Good)),
                Fact::new("Issuer", Cell::Id(fields.issuer.clone(), None)),
                Fact::new("Keys (jwks_uri)", Cell::Id(fields.jwks_uri.clone(), None)),
                Fact::new("Registered", at(-40_000)),
                Fact::new("Latest change", at(-300)),
            ],
            is_enabled: true,
            jwks_uri: fields.jwks_uri.clone(),
            fields,
            may_change: true,
            all: RevokeAll::sample(),
            grants: "/grants?personal_agent=https%3A%2F%2Fpa.example.com".to_owned(),
            audit: "/audit?subject=https%3A%2F%2Fpa.example.com".to_owned(),
        };
        let mut disabled = page.clone();
        disabled.is_enabled = false;
        disabled.notice = Some(Notice::done("It is disabled: its requests get 401, on every node within two seconds."));
        if let Some(state) = disabled.facts.first_mut() {
            state.cell = Cell::State("disabled", Tone::Bad);
        }
        let wrong = Notice::wrong("Nothing was done: jwks_uri: must be https");
        let none = RevokeAll { count: Default::default(), by_brand: Vec::new(), ..RevokeAll::sample() };
        vec![
            ("enabled", page.clone()),
            ("disabled", disabled),
            ("read-only", Self { may_change: false, ..page.clone() }),
            ("wrong", Self { notice: Some(wrong), ..page.clone() }),
            ("no-grants", Self { all: none, ..page }),
        ]
    }
}

/// The form that registers a personal agent.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/register.html")]
pub struct RegisterPage {
    /// What stands around it.
    pub frame: Frame,
    /// Why nothing was done.
    pub notice: Option<Notice>,
    /// What it holds.
    pub fields: AgentFields,
}

console_page!(RegisterPage, |_| "Register a personal agent".to_owned());

impl RegisterPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let first =
            Self { frame: Frame::sample_in(Section::PersonalAgents), notice: None, fields: AgentFields::default() };
        let taken = Notice::wrong("Nothing was done: there is one with this issuer already.");
        vec![("first", first.clone()), ("taken", Self { notice: Some(taken), fields: AgentFields::sample(), ..first })]
    }
}
