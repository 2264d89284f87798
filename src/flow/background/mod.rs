//! What goes on by itself while the server runs.

pub mod events;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use crate::app::App;
use crate::domain::audit::RequestId;

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
    again_and_again(LOOK, || async {
        match app.directory.refresh(&app.store).await {
            Ok(true) => tracing::info!(revision = app.directory.current().revision, "the directory has changed"),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "the directory could not be read; the last one stays in use"),
        }
    })
    .await;
}

/// Removes what nothing can ask for any more, from memory and from the database. Ends with its task.
pub async fn sweep(app: Arc<App>) {
    again_and_again(SWEEP, || async {
        app.limits.sweep();
        if let Err(error) = sweep_once(&app).await {
            tracing::warn!(%error, "expired rows could not be removed");
        }
    })
    .await;
}

/// Tells Brands of their grants. Ends with its task, and every courier with it.
pub async fn tell_brands(app: Arc<App>) {
    let couriers = tokio::sync::Mutex::new(events::Couriers::default());
    again_and_again(LOOK, || async {
        if let Err(error) = couriers.lock().await.look(&app).await {
            tracing::warn!(%error, "it could not be seen which events are due");
        }
    })
    .await;
}

/// Does `step` after each `pause`. One that panics, which the panic hook has logged, does not end the flow.
async fn again_and_again<F: Future<Output = ()>>(pause: Duration, mut step: impl FnMut() -> F) {
    loop {
        tokio::time::sleep(pause).await;
        let _ = AssertUnwindSafe(async { step().await }).catch_unwind().await;
    }
}

async fn sweep_once(app: &App) -> Result<(), crate::store::StoreError> {
    let now = app.clock.now();
    let full = u64::try_from(BATCH).unwrap_or(u64::MAX);
    while app.store.sweep(now.minus(KEPT), BATCH, now).await? >= full {}
    let idle = app.config.conversation_idle();
    while app.store.sweep_contexts(now.minus(idle + idle), BATCH, now).await? >= full {}
    let (before, request) = (now.minus(app.config.events.give_up_after()), RequestId(app.entropy.uuid().to_string()));
    while app.store.give_up_events(before, BATCH, &request, now).await? >= full {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // case 82: what goes on by itself
    #[tokio::test]
    async fn a_step_that_panics_does_not_end_its_flow() {
        let steps = Cell::new(0);
        let flow = again_and_again(Duration::from_millis(1), || async {
            steps.set(steps.get() + 1);
            assert!(steps.get() > 2, "canary");
        });
        let enough = async {
            while steps.get() < 5 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { () = flow => {}, () = enough => {} }
        assert!(steps.get() >= 5);
    }
}
