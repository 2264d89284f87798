//! What goes on by itself while the server runs.

use std::sync::Arc;
use std::time::Duration;

use crate::app::App;

/// How often a node looks whether the directory has changed: half of the two seconds within which it must know.
const LOOK: Duration = Duration::from_secs(1);
/// How often expired rows are removed.
const SWEEP: Duration = Duration::from_secs(60);
/// How many rows of a kind leave at a time, so that no transaction is long.
const BATCH: i64 = 500;
/// How long an expired row stays: a code that has run out is still answered as expired, not as unknown.
const KEPT: Duration = Duration::from_secs(86_400);

/// Keeps the directory no more than two seconds old. Ends with its task.
pub async fn follow_directory(app: Arc<App>) {
    loop {
        tokio::time::sleep(LOOK).await;
        match app.directory.refresh(&app.store).await {
            Ok(true) => tracing::info!(revision = app.directory.current().revision, "the directory has changed"),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "the directory could not be read; the last one stays in use"),
        }
    }
}

/// Removes what nothing can ask for any more. Ends with its task.
pub async fn sweep(app: Arc<App>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        app.limits.sweep();
        if let Err(error) = sweep_once(&app).await {
            tracing::warn!(%error, "expired rows could not be removed");
        }
    }
}

async fn sweep_once(app: &App) -> Result<(), crate::store::StoreError> {
    let now = app.clock.now();
    let full = u64::try_from(BATCH).unwrap_or(u64::MAX);
    while app.store.sweep(now.minus(KEPT), BATCH).await? >= full {}
    let idle = app.config.conversation_idle();
    while app.store.sweep_contexts(now.minus(idle + idle), BATCH).await? >= full {}
    Ok(())
}
