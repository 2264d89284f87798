//! Administrators log out: the session ends, on every node.

use serde_json::json;

use super::super::Fault;
use super::session::SessionCaller;
use crate::app::App;
use crate::domain::audit::Action;

/// Ends the session of `caller`.
///
/// # Errors
/// [`Fault`]; it goes on.
pub async fn log_out(app: &App, caller: &SessionCaller) -> Result<(), Fault> {
    let entry = caller.by.entry(None, app.clock.now(), Action::LoggedOut, &caller.name, json!({}));
    // Ended at the same instant by another tab: that is what was asked for.
    app.store.end_session(caller.digest, &entry).await?;
    Ok(())
}
