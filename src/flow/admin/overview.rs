//! The numbers an operator asks for first.

use super::{By, Verdict};
use crate::app::App;
use crate::flow::Fault;
use crate::store::Overview;

/// How things stand at the Brands within reach.
///
/// # Errors
/// [`Fault`].
pub async fn overview(app: &App, by: &By) -> Result<Verdict<Overview>, Fault> {
    Ok(Verdict::Done(app.store.overview(&by.access.reach, app.clock.now()).await?))
}
