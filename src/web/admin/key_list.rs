//! The list of the Brands' keys, those of removed Brands included.

use crate::app::App;
use crate::domain::id::BrandId;
use crate::domain::page::Direction;
use crate::flow::Fault;
use crate::flow::admin::keys::{self as flow, KeyRecord};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View};
use crate::web::admin::names::{brand_name, brands};
use crate::web::pages::admin::{Cell, Field, Section, Tone, key_dates, key_state, path};

/// The keys of one Brand, or of all.
pub(super) struct Keys(Option<BrandId>);

impl List for Keys {
    type Item = KeyRecord;

    const SECTION: Section = Section::Keys;
    const TITLE: &'static str = "Keys";
    const EMPTY: &'static str = "No key fits.";
    const FILTERS: &'static [&'static str] = &["brand"];
    const COLUMNS: &'static [Column] = &[
        Column::plain("Key (kid)"),
        Column::plain("State"),
        Column::plain("Brand"),
        Column::plain("Algorithm"),
        Column::sorted("Made", "created", Direction::Descending),
        Column::plain("Signs from"),
        Column::plain("Until"),
    ];
    const CSV: &'static [&'static str] =
        &["kid", "state", "brand_id", "brand_name", "alg", "created_at", "signs_from", "until"];

    fn read(view: &View) -> Result<Self, BadView> {
        Ok(Self(view.one("brand", BrandId::parse)?))
    }

    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<KeyRecord>, Fault> {
        let paging = match asked.view.paging(size, cursor) {
            Ok(paging) => paging,
            Err(invalid) => return Ok(invalid.into()),
        };
        Ok(flow::list(asked.app, asked.by, self.0.as_ref(), &paging).await?.into())
    }

    async fn lead(&self, _asked: &Asked<'_>) -> Result<Option<String>, Fault> {
        let says = "A key that is next signs from its time on, and the one before it retires by itself. A new one is made at \
                    its Brand's page.";
        Ok(Some(says.to_owned()))
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        vec![asked.view.choice("brand", "Brand", "Any", brands(asked.app, &asked.by.access))]
    }

    fn cells(&self, asked: &Asked<'_>, key: &KeyRecord) -> Vec<Cell> {
        let (from, until) = key_dates(key);
        let state = key_state(key, asked.app.clock.now());
        let tone = match state {
            "signing" => Tone::Good,
            "compromised" => Tone::Bad,
            _ => Tone::Quiet,
        };
        vec![
            Cell::Id(key.id.to_string(), Some(path(&["keys", key.id.as_str()]))),
            Cell::State(state, tone),
            Cell::Link(brand_name(asked.app, &key.brand), path(&["brands", key.brand.as_str()])),
            Cell::Text(key.alg.name().to_owned()),
            Cell::time(Some(key.created_at)),
            Cell::time(from),
            Cell::time(until),
        ]
    }

    fn record(&self, app: &App, key: &KeyRecord) -> Vec<String> {
        let (from, until) = key_dates(key);
        let instant = |at: Option<crate::clock::Timestamp>| at.map(|at| at.to_rfc3339()).unwrap_or_default();
        vec![
            key.id.to_string(),
            key_state(key, app.clock.now()).to_owned(),
            key.brand.to_string(),
            brand_name(app, &key.brand),
            key.alg.name().to_owned(),
            key.created_at.to_rfc3339(),
            instant(from),
            instant(until),
        ]
    }
}
