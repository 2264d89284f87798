//! The list of receipts.

use crate::app::App;
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::page::Direction;
use crate::flow::Fault;
use crate::flow::admin::receipts as flow;
use crate::flow::admin::shown::claims;
use crate::store::{ReceiptFilter, ReceiptRecord};
use crate::web::admin::list::{Asked, BadView, Column, List, Listed, View};
use crate::web::admin::names::{brand_name, brands, personal_agent_name};
use crate::web::pages::admin::{Cell, Field, Section, path};

/// The receipts that fit a filter.
pub(super) struct Receipts(ReceiptFilter);

/// What an agent did, in short: the tools, in order.
fn tools(receipt: &ReceiptRecord) -> String {
    let claims = claims(&receipt.jws);
    let tools = claims.into_iter().flat_map(|claims| claims.actions).map(|action| action.tool);
    tools.collect::<Vec<_>>().join(", ")
}

fn scopes(receipt: &ReceiptRecord) -> String {
    let scopes = claims(&receipt.jws).into_iter().flat_map(|claims| claims.scopes_used);
    scopes.map(|scope| scope.to_string()).collect::<Vec<_>>().join(" ")
}

impl List for Receipts {
    type Item = ReceiptRecord;

    const SECTION: Section = Section::Receipts;
    const TITLE: &'static str = "Receipts";
    const EMPTY: &'static str = "No receipt fits.";
    const FILTERS: &'static [&'static str] = &["brand", "grant", "user", "personal_agent", "since", "until"];
    const COLUMNS: &'static [Column] = &[
        Column::plain("Receipt"),
        Column::sorted("Signed", "created", Direction::Descending),
        Column::plain("Brand"),
        Column::plain("User"),
        Column::plain("Personal agent"),
        Column::plain("What was done"),
        Column::plain("Grant"),
    ];
    const CSV: &'static [&'static str] = &[
        "receipt_id",
        "created_at",
        "brand_id",
        "brand_name",
        "grant_id",
        "user",
        "personal_agent",
        "message_id",
        "scopes_used",
        "actions",
        "jws",
    ];

    fn read(view: &View) -> Result<Self, BadView> {
        Ok(Self(ReceiptFilter {
            brand: view.one("brand", BrandId::parse)?,
            grant: view.one("grant", GrantId::parse)?,
            brand_user: view.one("user", BrandUser::parse)?,
            issuer: view.one("personal_agent", Issuer::parse)?,
            since: view.instant("since")?,
            until: view.instant("until")?,
        }))
    }

    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<ReceiptRecord>, Fault> {
        let paging = match asked.view.paging(size, cursor) {
            Ok(paging) => paging,
            Err(invalid) => return Ok(invalid.into()),
        };
        Ok(flow::list(asked.app, asked.by, &self.0, &paging).await?.into())
    }

    fn fields(&self, asked: &Asked<'_>) -> Vec<Field> {
        let view = asked.view;
        vec![
            view.choice("brand", "Brand", "Any", brands(asked.app, &asked.by.access)),
            view.field("grant", "Grant"),
            view.field("user", "User"),
            view.field("personal_agent", "Personal agent (issuer)"),
            view.instant_field("since", "Signed from (UTC)"),
            view.instant_field("until", "Signed before (UTC)"),
        ]
    }

    fn cells(&self, asked: &Asked<'_>, receipt: &ReceiptRecord) -> Vec<Cell> {
        vec![
            Cell::Id(receipt.id.to_string(), Some(path(&["receipts", &receipt.id.to_string()]))),
            Cell::time(Some(receipt.created_at)),
            Cell::Text(brand_name(asked.app, &receipt.brand)),
            Cell::Id(receipt.brand_user.to_string(), None),
            Cell::Text(personal_agent_name(asked.app, &receipt.issuer)),
            Cell::Text(tools(receipt)),
            Cell::Id(receipt.grant.to_string(), Some(path(&["grants", receipt.grant.as_str()]))),
        ]
    }

    fn record(&self, app: &App, receipt: &ReceiptRecord) -> Vec<String> {
        vec![
            receipt.id.to_string(),
            receipt.created_at.to_rfc3339(),
            receipt.brand.to_string(),
            brand_name(app, &receipt.brand),
            receipt.grant.to_string(),
            receipt.brand_user.to_string(),
            receipt.issuer.to_string(),
            receipt.message.clone(),
            scopes(receipt),
            tools(receipt),
            receipt.jws.clone(),
        ]
    }
}
