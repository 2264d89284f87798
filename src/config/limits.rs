//! `[limits]`: how often and how much at once, for callers, addresses and Users.

use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, within};

/// How often and how much at once. Rates are per node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Requests of one personal agent, per second.
    pub personal_agent_per_second: u32,
    /// How many of them may come at once.
    pub personal_agent_burst: u32,
    /// Requests of one personal agent for one `sub`, per second.
    pub sub_per_second: u32,
    /// How many of them may come at once.
    pub sub_burst: u32,
    /// Pages and forms for one address, per second.
    pub page_per_second: u32,
    /// How many of them may come at once.
    pub page_burst: u32,
    /// Everything else for one address, refused personal-agent JWTs included, per second.
    pub address_per_second: u32,
    /// How many of them may come at once.
    pub address_burst: u32,
    /// How many personal agents, `sub`s, addresses, Brand users and codes each of these bounds remembers.
    pub remembered: usize,
    /// Undecided codes of one personal agent for one `sub` at one Brand.
    pub live_codes: u32,
    /// Wrong user codes from one address.
    pub wrong_codes_per_address: usize,
    /// Wrong user codes of one Brand user.
    pub wrong_codes_per_user: usize,
    /// In how many minutes.
    pub wrong_codes_minutes: u32,
    /// Turns that one agent has in flight.
    pub turns_in_flight: usize,
    /// Connections to each listener.
    pub connections: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            personal_agent_per_second: 2000,
            personal_agent_burst: 5000,
            sub_per_second: 50,
            sub_burst: 300,
            page_per_second: 20,
            page_burst: 300,
            address_per_second: 1000,
            address_burst: 3000,
            remembered: 100_000,
            live_codes: 20,
            wrong_codes_per_address: 10,
            wrong_codes_per_user: 5,
            wrong_codes_minutes: 10,
            turns_in_flight: 64,
            connections: 10_000,
        }
    }
}

/// No rate or burst is larger: a request's share of a second stays a whole number of nanoseconds that can be counted.
const MOST: u32 = 1_000_000;

impl LimitsConfig {
    /// The time in which wrong codes are counted.
    pub fn wrong_codes_window(&self) -> Duration {
        Duration::from_secs(u64::from(self.wrong_codes_minutes) * 60)
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("limits.personal_agent_per_second", self.personal_agent_per_second, 1..=MOST)?;
        within("limits.personal_agent_burst", self.personal_agent_burst, 1..=MOST)?;
        within("limits.sub_per_second", self.sub_per_second, 1..=MOST)?;
        within("limits.sub_burst", self.sub_burst, 1..=MOST)?;
        within("limits.page_per_second", self.page_per_second, 1..=MOST)?;
        within("limits.page_burst", self.page_burst, 1..=MOST)?;
        within("limits.address_per_second", self.address_per_second, 1..=MOST)?;
        within("limits.address_burst", self.address_burst, 1..=MOST)?;
        within("limits.remembered", self.remembered, 1000..=10_000_000)?;
        within("limits.live_codes", self.live_codes, 1..=1000)?;
        within("limits.wrong_codes_per_address", self.wrong_codes_per_address, 1..=1000)?;
        within("limits.wrong_codes_per_user", self.wrong_codes_per_user, 1..=1000)?;
        within("limits.wrong_codes_minutes", self.wrong_codes_minutes, 1..=1440)?;
        within("limits.turns_in_flight", self.turns_in_flight, 1..=100_000)?;
        within("limits.connections", self.connections, 1..=1_000_000)
    }
}
