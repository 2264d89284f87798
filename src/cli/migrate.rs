//! `assent migrate`: the database's schema, brought up to date. Needs no master key.

use std::io::Write;
use std::path::Path;

use super::failure::Failure;
use super::{block_on, log};
use crate::config::Config;
use crate::store::{Schema, Store};

pub(super) fn run(config: &Path, out: &mut impl Write) -> Result<(), Failure> {
    let config = Config::load(config)?;
    log::text(&config.log)?;
    let done = block_on(async {
        let store = Store::open(config.database_url.expose(), &config.database).await?;
        let pending = match store.schema().await? {
            Schema::Behind(pending) => pending,
            // One that is ahead is refused by migrating.
            Schema::Current | Schema::Ahead => 0,
        };
        store.migrate().await?;
        store.close().await;
        Ok(pending)
    })?;
    writeln!(out, "{done} migrations done")?;
    Ok(())
}
