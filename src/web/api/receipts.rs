//! Receipts.

use schemars::JsonSchema;
use serde::Deserialize;

use super::input::{Fields, Listing, Time};
use super::operation::{Answer, Call};
use super::problem::done;
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::page::ByTime;
use crate::flow::admin::receipts;
use crate::protocol::admin::{PageJson, ReceiptJson};
use crate::store::ReceiptFilter;

/// Which receipts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Which {
    /// Of this Brand.
    brand: Option<BrandId>,
    /// Under this grant.
    grant: Option<GrantId>,
    /// Of this Brand user.
    user: Option<BrandUser>,
    /// Of this personal agent, by its issuer.
    personal_agent: Option<Issuer>,
    /// Signed at this instant or later.
    since: Option<Time>,
    /// Signed before this instant.
    until: Option<Time>,
}

impl Fields for Which {}

/// A page of those that fit.
pub async fn list(call: Call<(), (Which, Listing<ByTime>)>) -> Answer<PageJson<ReceiptJson>> {
    let (which, Listing(paging)) = call.query;
    let filter = ReceiptFilter {
        brand: which.brand,
        grant: which.grant,
        brand_user: which.user,
        issuer: which.personal_agent,
        since: which.since.map(|Time(at)| at),
        until: which.until.map(|Time(at)| at),
    };
    let page = done(receipts::list(&call.app, &call.by, &filter, &paging).await?, "such Brand or grant")?;
    Ok(page.map(ReceiptJson::from).into())
}
