//! `assent demo`: the whole of PACT Delegated on loopback, told step by step. Needs no configuration and leaves nothing.

use super::failure::Failure;
use super::{block_on, log};
use crate::demo::{self, DemoOptions};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Play the User too, without a browser; fails when any step does not hold.
    #[arg(long)]
    headless: bool,
    /// What the demo's server logs, in the syntax of `log` in the configuration.
    #[arg(long, default_value = "error", value_name = "FILTER")]
    log: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    log::text(&arguments.log)?;
    let options = DemoOptions { headless: arguments.headless };
    block_on(async { Ok(demo::run(options).await?) })
}
