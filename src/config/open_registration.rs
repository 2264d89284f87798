//! The bounds of `personal_agents = "open"`: how often strangers are asked who they are, and how many may stay.

use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, within};

/// The section `[open_registration]`. Each node counts for itself, but for `max_personal_agents`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpenRegistrationConfig {
    /// How many personal agents there may be, those of an administrator included, before no more register themselves.
    pub max_personal_agents: u32,
    /// How many issuers that nobody registered are looked up in a second.
    pub lookups_per_second: u32,
    /// How long the outcome of a lookup, found or failed, is remembered per issuer, in seconds. With
    /// `lookups_per_second` it bounds how many outcomes there are in memory.
    pub remembered_seconds: u32,
}

impl Default for OpenRegistrationConfig {
    fn default() -> Self {
        Self { max_personal_agents: 10_000, lookups_per_second: 1, remembered_seconds: 300 }
    }
}

impl OpenRegistrationConfig {
    /// From the beginning of one lookup to that of the next.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.lookups_per_second.max(1)
    }

    /// How long an outcome is remembered.
    pub fn remembered(&self) -> Duration {
        Duration::from_secs(u64::from(self.remembered_seconds))
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("open_registration.max_personal_agents", self.max_personal_agents, 0..=1_000_000)?;
        within("open_registration.lookups_per_second", self.lookups_per_second, 1..=20)?;
        within("open_registration.remembered_seconds", self.remembered_seconds, 10..=3600)
    }
}
