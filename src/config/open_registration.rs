//! The bounds of `personal_agents = "open"`: how often strangers are asked who they are, and how many may stay.

use std::time::Duration;

use serde::Deserialize;

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

    /// The key that cannot be served, and why.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let (cap, rate, memory) = (self.max_personal_agents, self.lookups_per_second, self.remembered_seconds);
        if cap > 1_000_000 {
            return Some(("open_registration.max_personal_agents", format!("is {cap}, expected at most 1000000")));
        }
        if !(1..=20).contains(&rate) {
            return Some(("open_registration.lookups_per_second", format!("is {rate}, expected 1 to 20")));
        }
        if !(10..=3600).contains(&memory) {
            return Some(("open_registration.remembered_seconds", format!("is {memory}, expected 10 to 3600")));
        }
        None
    }
}
