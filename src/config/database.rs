//! `database_url` and `[database]`: where the database is, and how many connections it gets.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, within};

/// A database's address. Its `Debug` form leaves out the credentials.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Wraps `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The whole address, credentials included.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.split(':').next().unwrap_or_default())?;
        f.write_str(":…")
    }
}

/// How many connections the database gets, and how long is waited for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    /// Connections to PostgreSQL.
    pub connections: u32,
    /// Connections that read from SQLite, beside the one that writes.
    pub readers: u32,
    /// For a free connection, and for a lock that somebody else holds, in seconds.
    pub wait_seconds: u32,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self { connections: 16, readers: 4, wait_seconds: 5 }
    }
}

impl DatabaseConfig {
    /// For a free connection, and for a lock that somebody else holds.
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait_seconds.into())
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("database.connections", self.connections, 1..=10_000)?;
        within("database.readers", self.readers, 1..=1000)?;
        within("database.wait_seconds", self.wait_seconds, 1..=60)
    }
}
