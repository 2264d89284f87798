//! The Provider of the demo: the same server that `assent serve` runs, in this process, on a new database.

use std::sync::Arc;

use super::DemoError;
use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::administrator::Access;
use crate::domain::audit::{Actor, RequestId};
use crate::entropy::Entropy;
use crate::flow::admin::apply::{self, ApplyOutcome};
use crate::flow::admin::{By, Run, Verdict};
use crate::server::{self, Running};
use crate::store::Store;

/// The server at work.
pub(super) struct Provider {
    app: Arc<App>,
    running: Running,
}

impl Provider {
    /// Makes the database that `config` names, registers what the `apply` file says, and serves.
    ///
    /// # Errors
    /// [`DemoError`] says what was refused.
    pub(super) async fn start(config: Config, apply: &str, clock: Clock, entropy: Entropy) -> Result<Self, DemoError> {
        let store =
            Store::open(config.database_url.expose(), &config.database).await.map_err(crate::app::StartError::from)?;
        let migrated = store.migrate().await;
        store.close().await;
        migrated.map_err(crate::app::StartError::from)?;
        let app = Arc::new(App::open(config, clock, entropy).await?);
        register(&app, apply).await?;
        let error = |error| DemoError::Io { what: "the server", error };
        Ok(Self { running: server::start(Arc::clone(&app)).await.map_err(error)?, app })
    }

    /// Ends the server and closes its database.
    pub(super) async fn stop(self) {
        if let Err(error) = self.running.stop(false).await {
            tracing::warn!("a listener of the demo ended with an error: {error}");
        }
        self.app.store.close().await;
    }
}

async fn register(app: &App, text: &str) -> Result<(), DemoError> {
    let file = apply::parse(text).map_err(DemoError::Apply)?;
    let actor = Actor::Administrator("demo".to_owned());
    let by = By { actor, access: Access::EVERYTHING, request: RequestId("demo".to_owned()) };
    match apply::apply(app, &file, &by, Run::Real).await {
        Ok(Verdict::Done(ApplyOutcome::Done { .. })) => {}
        Ok(Verdict::Done(ApplyOutcome::Refused(problem))) => return Err(DemoError::Apply(problem)),
        Ok(Verdict::Forbidden | Verdict::NotThere) => return Err(DemoError::Apply("is not allowed".to_owned())),
        Err(fault) => return Err(DemoError::Apply(fault.to_string())),
    }
    app.directory.refresh(&app.store).await.map_err(crate::app::StartError::from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_cannot_be_served_is_refused_by_the_name_of_the_parameter() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!(
            "public_url = \"http://provider.localhost:4000\"\naudience = \"a\"\nlisten = \"127.0.0.1:0\"\n\
             admin_listen = \"127.0.0.1:0\"\ndatabase_url = \"sqlite://{}/assent.db\"\n\
             master_key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"\n[outbound]\nallow_private = true",
            directory.path().display()
        );
        let start = |apply: &'static str| {
            Provider::start(Config::from_toml(&text).unwrap(), apply, Clock::system(), Entropy::operating_system())
        };
        let refused = start("[[personal_agent]]\nname = \"\"").await.err().unwrap();
        assert!(matches!(&refused, DemoError::Apply(problem) if problem.contains("issuer")), "{refused}");
        start("").await.unwrap().stop().await;
    }
}
