//! The walk-through: a Provider with two Brands, a Brand's login, its agent and a personal agent, all on loopback.
//!
//! Every HTTP exchange of PACT Delegated is shown and explained, and every step is checked: a step that does not hold
//! ends the demo with an error that names it. The outside parties use nothing of the server but its HTTP interface.

mod answers;
mod brand_login;
mod form;
mod listener;
mod narration;
mod personal_agent;
mod places;
mod provider;
mod shop_agent;
mod stage;
mod user;
mod walk;
mod wire;

use std::io;

use crate::app::StartError;
use crate::config::InvalidConfig;
use crate::crypto::CryptoFailure;
use crate::outbound::OutboundError;
use narration::Narration;
use stage::Stage;
use user::User;
use wire::Wire;

/// How the demo is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoOptions {
    /// Whether the demo plays the User itself, with plain HTTP requests, and ends after the last step.
    pub headless: bool,
}

/// Why the demo ended before its last step.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A step did not hold.
    #[error("step {number}, {title}: {problem}")]
    Step {
        /// Counted from 1.
        number: usize,
        /// Its heading.
        title: String,
        /// What was expected, and what happened.
        problem: String,
    },
    /// The demo's own configuration was refused.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    /// The server could not be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The Brands and the personal agent could not be registered.
    #[error("apply: {0}")]
    Apply(String),
    /// A key could not be made.
    #[error("a key could not be made: {0}")]
    Key(#[from] CryptoFailure),
    /// The HTTP client could not be made.
    #[error(transparent)]
    Client(#[from] OutboundError),
    /// A directory, a file or a port could not be had.
    #[error("{what}: {error}")]
    Io {
        /// Which.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}

/// What does not hold in a step; the step's number and heading are added where it ends.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(String);

impl From<OutboundError> for Broken {
    fn from(error: OutboundError) -> Self {
        Self(format!("no answer: {error}"))
    }
}

impl From<CryptoFailure> for Broken {
    fn from(error: CryptoFailure) -> Self {
        Self(error.to_string())
    }
}

/// Refuses to go on unless `holds`.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(otherwise())) }
}

/// Sets the stage, walks through the protocol on standard output, and clears the stage again.
///
/// With a User at a browser the parties stay up after the last step until Ctrl-C.
///
/// # Errors
/// [`DemoError`] names the step that did not hold, or what could not be set up.
pub async fn run(options: DemoOptions) -> Result<(), DemoError> {
    let stage = Stage::set().await?;
    let mut wire = Wire::new(stage.outbound.clone(), Narration::new(Box::new(io::stdout())));
    let mut user = if options.headless { User::played(stage.shop.return_url.clone()) } else { User::Present };
    let outcome = tokio::select! {
        outcome = perform(&stage, &mut wire, &mut user) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    stage.clear().await;
    let (number, title) = wire.narration.current();
    outcome.map_err(|Broken(problem)| DemoError::Step { number, title: title.to_owned(), problem })
}

async fn perform(stage: &Stage, wire: &mut Wire, user: &mut User) -> Result<(), Broken> {
    walk::walk(stage, wire, user).await?;
    if matches!(user, User::Present) {
        wire.narration.say(&format!(
            "Everything stays up until you press Ctrl-C. The other commands take the configuration {}: \
             `assent --config … grant list` shows what you allowed, `grant revoke` takes it back.",
            stage.config_file().display(),
        ));
        std::future::pending::<()>().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_step_holds_when_the_demo_plays_the_user() {
        run(DemoOptions { headless: true }).await.unwrap();
    }
}
