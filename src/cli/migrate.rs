//! `assent migrate`: the database's schema, brought up to date. Needs no master key.

use std::io::Write;
use std::path::Path;

use super::failure::Failure;
use super::{block_on, log};
use crate::config::Config;
use crate::store::Store;

pub(super) fn run(config: &Path, out: &mut impl Write) -> Result<(), Failure> {
    let config = Config::load(config)?;
    log::text(&config.log)?;
    let done = block_on(async {
        let store = Store::open(config.database_url.expose()).await?;
        let pending = store.pending_migrations().await?;
        store.migrate().await?;
        store.close().await;
        Ok(pending)
    })?;
    writeln!(out, "{done} migrations done")?;
    Ok(())
}
