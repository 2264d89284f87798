//! The list of grants, narrowed by what administrators ask about.

use crate::app::App;
use crate::domain::administrator::Role;
use crate::domain::grant::{Grant, GrantState};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::page::{Direction, Page};
use crate::flow::Fault;
use crate::flow::admin::{Verdict, grants as flow};
use crate::protocol::admin::GrantJson;
use crate::store::{GrantFilter, GrantStanding};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View, any_of};
use crate::web::admin::names::{brand_name, brands, personal_agent_name};
use crate::web::admin::personal_agents::address_of;
use crate::web::pages::admin::{Action, Cell, Field, Section, Tone, so_many};

/// The grants that fit a filter.
pub(in crate::web::admin) struct Grants(pub(in crate::web::admin) GrantFilter);

/// The address of a grant's page.
pub(in crate::web::admin) fn address_of_grant(id: &GrantId) -> String {
    format!("/grants/{id}")
}

/// The state of a grant as a cell.
pub(in crate::web::admin) fn state(name: &'static str) -> Cell {
    Cell::State(name, if name == GrantStanding::Live.name() { Tone::Good } else { Tone::Quiet })
}

impl List for Grants {
    type Item = Grant;

    const SECTION: Section = Section::Grants;
    const TITLE: &'static str = "Grants";
    const EMPTY: &'static str = "No grant fits.";
    const FILTERS: &'static [&'static str] = &["brand", "user", "personal_agent", "state", "since", "until"];
    const COLUMNS: &'static [Column] = &[
        Column::plain("Grant"),
        Column::plain("State"),
        Column::plain("Brand"),
        Column::plain("User"),
        Column::plain("Personal agent"),
        Column::sorted("Created", "created", Direction::Descending),
        Column::sorted("Expires", "expires", Direction::Ascending),
        Column::sorted("Last used", "used", Direction::Descending),
    ];
    const CSV: &'static [&'static str] = &[
        "grant_id",
        "state",
        "brand_id",
        "brand_name",
        "user",
        "personal_agent",
        "sub",
        "scopes",
        "created_at",
        "decided_at",
        "expires_at",
        "last_used_at",
        "ended_at",
        "ended_by",
    ];

    fn read(view: &View) -> Result<Self, BadView> {
        Ok(Self(GrantFilter {
            brand: view.one("brand", BrandId::parse)?,
            brand_user: view.one("user", BrandUser::parse)?,
            issuer: view.one("personal_agent", Issuer::parse)?,
            state: view.one("state", any_of(&GrantStanding::ALL, GrantStanding::name))?,
            since: view.instant("since")?,
            until: view.instant("until")?,
        }))
    }

    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<Grant>, Fault> {
        let paging = match asked.view.paging(size, cursor) {
            Ok(paging) => paging,
            Err(invalid) => return Ok(invalid.into()),
        };
        let page: Verdict<Page<Grant>> = flow::list(asked.app, asked.by, &self.0, &paging).await?;
        Ok(page.into())
    }

    async fn lead(&self, asked: &Asked<'_>) -> Result<Option<String>, Fault> {
        match flow::count(asked.app, asked.by, &self.0).await? {
            Verdict::Done(count) if count.grants > 0 => Ok(Some(so_many(count))),
            Verdict::Done(_) | Verdict::Forbidden | Verdict::NotThere => Ok(None),
        }
    }

    fn actions(&self, asked: &Asked<'_>) -> Vec<Action> {
        let may = asked.by.access.at_least(Role::Operator).is_ok();
        let can_be_live = self.0.state.is_none_or(|state| state == GrantStanding::Live);
        let address = asked.view.narrowed("/grants/revoke", &["state"]);
        let revoke = Action { label: "Revoke all of these".to_owned(), address };
        (may && can_be_live).then_some(revoke).into_iter().collect()
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        let view = asked.view;
        let states = GrantStanding::ALL.map(|state| (state.name().to_owned(), state.name().to_owned()));
        vec![
            view.choice("brand", "Brand", "Any", brands(asked.app, &asked.by.access)),
            view.field("user", "User"),
            view.field("personal_agent", "Personal agent (issuer)"),
            view.choice("state", "State", "Any", states),
            view.instant_field("since", "Created from (UTC)"),
            view.instant_field("until", "Created before (UTC)"),
        ]
    }

    fn cells(&self, asked: &Asked<'_>, grant: &Grant) -> Vec<Cell> {
        let issuer = &grant.caller.issuer;
        let agent = personal_agent_name(asked.app, issuer);
        vec![
            Cell::Id(grant.id.to_string(), Some(address_of_grant(&grant.id))),
            state(GrantJson::new(grant.clone(), asked.app.clock.now()).state),
            Cell::Text(brand_name(asked.app, &grant.brand)),
            Cell::Id(grant.brand_user.to_string(), None),
            match asked.by.access.read(None) {
                Ok(()) => Cell::Link(agent, address_of(issuer)),
                Err(_) => Cell::Text(agent),
            },
            Cell::time(Some(grant.created_at)),
            Cell::time(Some(grant.expires_at)),
            Cell::time(grant.last_used_at),
        ]
    }

    fn record(&self, app: &App, grant: &Grant) -> Vec<String> {
        let (ended_at, ended_by) = match grant.state {
            GrantState::Live => (String::new(), String::new()),
            GrantState::Ended { at, by } => (at.to_rfc3339(), by.to_string()),
        };
        vec![
            grant.id.to_string(),
            GrantJson::new(grant.clone(), app.clock.now()).state.to_owned(),
            grant.brand.to_string(),
            brand_name(app, &grant.brand),
            grant.brand_user.to_string(),
            grant.caller.issuer.to_string(),
            grant.caller.sub.to_string(),
            grant.scopes.to_string(),
            grant.created_at.to_rfc3339(),
            grant.decided_at.to_rfc3339(),
            grant.expires_at.to_rfc3339(),
            grant.last_used_at.map(|at| at.to_rfc3339()).unwrap_or_default(),
            ended_at,
            ended_by,
        ]
    }
}
