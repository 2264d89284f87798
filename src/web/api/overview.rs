//! The numbers an operator asks for first.

use super::operation::{Answer, Call};
use super::problem::done;
use crate::flow::admin::overview;
use crate::protocol::admin::OverviewJson;

/// How things stand at the Brands within reach.
pub async fn show(call: Call) -> Answer<OverviewJson> {
    Ok(done(overview::overview(&call.app, &call.by).await?, "such thing")?.into())
}
