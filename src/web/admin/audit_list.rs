//! The audit log, newest row first.

use crate::app::App;
use crate::domain::audit::Chain;
use crate::domain::audit::recorded::Recorded;
use crate::domain::page::Page;
use crate::flow::Fault;
use crate::flow::admin::Verdict;
use crate::flow::admin::audit as flow;
use crate::store::{AuditCursor, AuditFilter};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View};
use crate::web::admin::names::{brand_name, brands};
use crate::web::pages::admin::{Action, Cell, Field, Section, actor, chain_name, row_path};

/// The most characters of a payload in a list.
const MOST_SHOWN: usize = 200;

/// The rows that fit a filter.
pub(super) struct AuditRows(AuditFilter);

/// Whose chain a row is of, as people know it.
fn whose(app: &App, row: &Recorded) -> String {
    match Chain::from_column(&row.brand) {
        Ok(Chain::Brand(brand)) => brand_name(app, &brand),
        Ok(Chain::Provider) | Err(_) => chain_name(&row.brand),
    }
}

impl List for AuditRows {
    type Item = Recorded;

    const SECTION: Section = Section::Audit;
    const TITLE: &'static str = "Audit log";
    const EMPTY: &'static str = "No row fits.";
    const FILTERS: &'static [&'static str] = &["chain", "actor", "action", "subject", "request", "since", "until"];
    const COLUMNS: &'static [Column] = &[
        Column::plain("At"),
        Column::plain("Chain"),
        Column::plain("Row"),
        Column::plain("By"),
        Column::plain("Action"),
        Column::plain("About"),
        Column::plain("What changed"),
    ];
    const CSV: &'static [&'static str] = &[
        "chain",
        "sequence",
        "at",
        "actor_kind",
        "actor",
        "action",
        "subject",
        "request_id",
        "payload",
        "payload_digest",
        "digest",
    ];

    fn read(view: &View) -> Result<Self, BadView> {
        let text = |name| view.text(name).map(str::to_owned);
        Ok(Self(AuditFilter {
            chain: view.one("chain", str::parse)?,
            actor: text("actor"),
            action: text("action"),
            subject: text("subject"),
            request: text("request"),
            since: view.instant("since")?,
            until: view.instant("until")?,
        }))
    }

    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<Recorded>, Fault> {
        let Ok(after) = cursor.map(str::parse::<AuditCursor>).transpose() else { return Ok(Listed::NoCursor) };
        Ok(match flow::list(asked.app, asked.by, &self.0, after.as_ref(), u32::from(size)).await? {
            Verdict::Done(page) => {
                Listed::Page(Page { items: page.rows, next: page.next.map(|cursor| cursor.to_string()) })
            }
            Verdict::Forbidden => Listed::Forbidden,
            Verdict::NotThere => Listed::NotThere,
        })
    }

    fn actions(&self, _asked: &Asked<'_>) -> Vec<Action> {
        vec![Action { label: "Verify the log".to_owned(), address: "/audit/verify".to_owned() }]
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        let view = asked.view;
        let provider = ("provider".to_owned(), "The Provider's own".to_owned());
        let is_of_all = asked.by.access.read(None).is_ok();
        let chains = is_of_all.then_some(provider).into_iter().chain(brands(asked.app, &asked.by.access));
        vec![
            view.choice("chain", "Chain", "Any", chains),
            view.field("actor", "By"),
            view.field("action", "Action, such as grant_ended"),
            view.field("subject", "About (id)"),
            view.field("request", "During the request"),
            view.instant_field("since", "From (UTC)"),
            view.instant_field("until", "Before (UTC)"),
        ]
    }

    fn cells(&self, asked: &Asked<'_>, row: &Recorded) -> Vec<Cell> {
        vec![
            Cell::time(Some(row.at)),
            Cell::Text(whose(asked.app, row)),
            Cell::Link(row.sequence.to_string(), row_path(row)),
            Cell::Text(actor(row)),
            Cell::Text(row.action.clone()),
            if row.subject.is_empty() { Cell::Nothing } else { Cell::Id(row.subject.clone(), None) },
            Cell::Text(row.payload.as_deref().map_or_else(|| "(erased)".to_owned(), beginning)),
        ]
    }

    fn record(&self, _app: &App, row: &Recorded) -> Vec<String> {
        vec![
            chain_name(&row.brand),
            row.sequence.to_string(),
            row.at.to_rfc3339(),
            row.actor_kind.clone(),
            row.actor.clone(),
            row.action.clone(),
            row.subject.clone(),
            row.request.clone(),
            row.payload.clone().unwrap_or_default(),
            row.payload_digest.clone(),
            row.digest.clone(),
        ]
    }
}

/// As much of a payload as a list shows; its row's page shows the whole.
fn beginning(payload: &str) -> String {
    match payload.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", payload.get(..end).unwrap_or_default()),
        None => payload.to_owned(),
    }
}
