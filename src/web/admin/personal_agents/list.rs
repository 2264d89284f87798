//! The list of personal agents, with how many grants of how many Brands live under each.

use super::address_of;
use crate::app::App;
use crate::domain::page::{Direction, Page};
use crate::flow::Fault;
use crate::flow::admin::{Verdict, personal_agents as flow};
use crate::store::{PersonalAgentFilter, PersonalAgentRecord};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View, any_of};
use crate::web::pages::admin::{Action, Cell, Field, Section, Tone};

/// The personal agents that fit a filter.
pub(super) struct PersonalAgents(PersonalAgentFilter);

const fn state_name(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}

/// Whether a personal agent may call, as a cell.
pub(super) const fn state(is_enabled: bool) -> Cell {
    Cell::State(state_name(is_enabled), if is_enabled { Tone::Good } else { Tone::Bad })
}

impl List for PersonalAgents {
    type Item = PersonalAgentRecord;

    const SECTION: Section = Section::PersonalAgents;
    const TITLE: &'static str = "Personal agents";
    const EMPTY: &'static str = "No personal agent fits.";
    const FILTERS: &'static [&'static str] = &["search", "state"];
    const COLUMNS: &'static [Column] = &[
        Column::sorted("Name", "name", Direction::Ascending),
        Column::plain("Issuer"),
        Column::plain("State"),
        Column::number("Live grants"),
        Column::number("Brands"),
        Column::sorted("Registered", "created", Direction::Descending),
    ];
    const CSV: &'static [&'static str] =
        &["issuer", "name", "state", "jwks_uri", "live_grants", "brands", "created_at", "updated_at"];

    fn read(view: &View) -> Result<Self, BadView> {
        let enabled = view.one("state", any_of(&[true, false], state_name))?;
        Ok(Self(PersonalAgentFilter { search: view.text("search").map(str::to_owned), enabled }))
    }

    async fn page(
        &self,
        asked: &Asked<'_>,
        size: u16,
        cursor: Option<&str>,
    ) -> Result<Listed<PersonalAgentRecord>, Fault> {
        let paging = match asked.view.paging(size, cursor) {
            Ok(paging) => paging,
            Err(invalid) => return Ok(invalid.into()),
        };
        let page: Verdict<Page<PersonalAgentRecord>> = flow::list(asked.app, asked.by, &self.0, &paging).await?;
        Ok(page.into())
    }

    fn actions(&self, asked: &Asked<'_>) -> Vec<Action> {
        let register = Action { label: "Register one".to_owned(), address: "/personal-agents/register".to_owned() };
        asked.by.access.change(None).is_ok().then_some(register).into_iter().collect()
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        let states = [true, false].map(|enabled| (state_name(enabled).to_owned(), state_name(enabled).to_owned()));
        vec![
            asked.view.field("search", "Name or issuer begins with"),
            asked.view.choice("state", "State", "Any", states),
        ]
    }

    fn cells(&self, _asked: &Asked<'_>, record: &PersonalAgentRecord) -> Vec<Cell> {
        let agent = &record.agent;
        vec![
            Cell::Link(agent.name.clone(), address_of(&agent.issuer)),
            Cell::Id(agent.issuer.to_string(), None),
            state(agent.enabled),
            Cell::number(record.live_grants),
            Cell::number(record.brands),
            Cell::time(Some(record.created_at)),
        ]
    }

    fn record(&self, _app: &App, record: &PersonalAgentRecord) -> Vec<String> {
        vec![
            record.agent.issuer.to_string(),
            record.agent.name.clone(),
            state_name(record.agent.enabled).to_owned(),
            record.agent.jwks_uri.to_string(),
            record.live_grants.to_string(),
            record.brands.to_string(),
            record.created_at.to_rfc3339(),
            record.updated_at.to_rfc3339(),
        ]
    }
}
