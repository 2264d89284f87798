//! `[events]`: how long and how many at once Brands are told of their grants.

use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, within};

/// How long and how many at once. Each node counts for itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsConfig {
    /// An event that no receiver has acknowledged is given up so many hours after it happened.
    pub give_up_hours: u32,
    /// How many events are on their way to one Brand at once.
    pub in_flight: u16,
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self { give_up_hours: 72, in_flight: 8 }
    }
}

impl EventsConfig {
    /// How long an event is tried.
    pub fn give_up_after(&self) -> Duration {
        Duration::from_secs(u64::from(self.give_up_hours) * 3600)
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("events.give_up_hours", self.give_up_hours, 1..=24 * 90)?;
        within("events.in_flight", self.in_flight, 1..=256)
    }
}
