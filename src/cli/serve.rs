//! `assent serve`: answers from both listeners until SIGTERM or SIGINT, and logs JSON lines.

use std::path::Path;
use std::sync::Arc;

use super::failure::Failure;
use super::{block_on, log};
use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::entropy::Entropy;
use crate::server;

pub(super) fn run(config: &Path) -> Result<(), Failure> {
    let config = Config::load(config)?;
    log::json(&config.log)?;
    block_on(async {
        let app = Arc::new(App::open(config, Clock::system(), Entropy::operating_system()).await?);
        let ended = server::run(Arc::clone(&app)).await.map_err(Failure::Server);
        app.store.close().await;
        ended
    })
}
