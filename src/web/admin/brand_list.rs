//! The list of Brands, those that were removed included.

use crate::app::App;
use crate::domain::page::Direction;
use crate::flow::Fault;
use crate::flow::admin::brands as flow;
use crate::store::{BrandFilter, BrandRecord};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View};
use crate::web::pages::admin::{Action, Cell, Field, Section, Tone, path};

/// The Brands that fit a filter.
pub(super) struct Brands(BrandFilter);

const fn state(brand: &BrandRecord) -> (&'static str, Tone) {
    if brand.removed_at.is_some() { ("removed", Tone::Quiet) } else { ("served", Tone::Good) }
}

impl List for Brands {
    type Item = BrandRecord;

    const SECTION: Section = Section::Brands;
    const TITLE: &'static str = "Brands";
    const EMPTY: &'static str = "No Brand fits.";
    const FILTERS: &'static [&'static str] = &["search", "state"];
    const COLUMNS: &'static [Column] = &[
        Column::sorted("Name", "name", Direction::Ascending),
        Column::plain("Brand id"),
        Column::plain("State"),
        Column::number("Live grants"),
        Column::sorted("Made", "created", Direction::Descending),
        Column::plain("Changed"),
    ];
    const CSV: &'static [&'static str] =
        &["brand_id", "name", "state", "live_grants", "profiles", "created_at", "updated_at", "removed_at"];

    fn read(view: &View) -> Result<Self, BadView> {
        let removed = view.one("state", |text| match text {
            "served" => Ok(false),
            "removed" => Ok(true),
            _ => Err("is none of served, removed"),
        })?;
        Ok(Self(BrandFilter { id: None, search: view.text("search").map(str::to_owned), removed }))
    }

    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<BrandRecord>, Fault> {
        let paging = match asked.view.paging(size, cursor) {
            Ok(paging) => paging,
            Err(invalid) => return Ok(invalid.into()),
        };
        Ok(flow::list(asked.app, asked.by, &self.0, &paging).await?.into())
    }

    fn actions(&self, asked: &Asked<'_>) -> Vec<Action> {
        let make = Action { label: "Make a Brand".to_owned(), address: "/brands/new".to_owned() };
        asked.by.access.change(None).is_ok().then_some(make).into_iter().collect()
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        let states = ["served", "removed"].map(|state| (state.to_owned(), state.to_owned()));
        vec![asked.view.field("search", "Name or id begins with"), asked.view.choice("state", "State", "Any", states)]
    }

    fn cells(&self, _asked: &Asked<'_>, record: &BrandRecord) -> Vec<Cell> {
        let id = record.brand.id.as_str();
        let (state, tone) = state(record);
        vec![
            Cell::Link(record.brand.name.clone(), path(&["brands", id])),
            Cell::Id(id.to_owned(), None),
            Cell::State(state, tone),
            Cell::number(record.live_grants),
            Cell::time(Some(record.created_at)),
            Cell::time(Some(record.updated_at)),
        ]
    }

    fn record(&self, _app: &App, record: &BrandRecord) -> Vec<String> {
        let profiles = if record.brand.delegation.is_some() { "identity delegated" } else { "identity" };
        vec![
            record.brand.id.to_string(),
            record.brand.name.clone(),
            state(record).0.to_owned(),
            record.live_grants.to_string(),
            profiles.to_owned(),
            record.created_at.to_rfc3339(),
            record.updated_at.to_rfc3339(),
            record.removed_at.map(|at| at.to_rfc3339()).unwrap_or_default(),
        ]
    }
}
