//! Bounds on how often something may be tried, kept in memory per node: rates of requests, the pace of polls, wrong codes,
//! wrong passwords, and how many of those are checked at once.
//!
//! They count by how long the clock has run, so that one that is set back locks nobody out. What they remember is bounded
//! too: at `limits.remembered`, whoever was not heard of for longest is forgotten and begins anew.

mod address;
mod guesses;
mod log_ins;
mod permits;
mod polls;
mod rate;
mod recent;

use std::time::Duration;

pub use address::ClientAddress;
pub use guesses::{Guess, GuessBudget};
pub use log_ins::{LogIn, LogInBudget, LogInTry};
pub use permits::{Permit, Permits};
pub use polls::{Pace, PollPacing};
use rate::Rate;

use crate::clock::Clock;
use crate::config::{AdministratorsConfig, LimitsConfig};
use crate::domain::id::Caller;

/// Passwords of those who are known that are checked at once. Beside those of everybody, so that nobody can fill both.
const KNOWN_PERMITS: usize = 1;
/// How many more of them wait.
const KNOWN_WAITING: usize = 16;

/// Nothing is left of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many requests; wait {retry_after:?}")]
pub struct Spent {
    /// After so long there is.
    pub retry_after: Duration,
}

/// All of a node's bounds.
#[derive(Debug)]
pub struct Limits {
    /// The pace of polls for pending codes.
    pub polls: PollPacing,
    /// Wrong user codes.
    pub guesses: GuessBudget,
    /// Wrong log-ins of administrators.
    pub log_ins: LogInBudget,
    /// Passwords that are checked at once.
    pub passwords: Permits,
    /// The same for those who are logged in, or whose browser was before.
    pub known_passwords: Permits,
    personal_agents: Rate,
    subs: Rate,
    pages: Rate,
    addresses: Rate,
}

impl Limits {
    /// The bounds of `config`, with nothing counted yet.
    pub fn new(config: &LimitsConfig, administrators: &AdministratorsConfig, clock: &Clock) -> Self {
        let rate = |per_second, burst| Rate::new(per_second, burst, config.remembered, clock);
        Self {
            polls: PollPacing::new(config.remembered, clock.clone()),
            guesses: GuessBudget::new(config, clock.clone()),
            log_ins: LogInBudget::new(administrators, config.remembered, clock.clone()),
            passwords: Permits::new(administrators.password_permits, administrators.password_waiting),
            known_passwords: Permits::new(KNOWN_PERMITS, KNOWN_WAITING),
            personal_agents: rate(config.personal_agent_per_second, config.personal_agent_burst),
            subs: rate(config.sub_per_second, config.sub_burst),
            pages: rate(config.page_per_second, config.page_burst),
            addresses: rate(config.address_per_second, config.address_burst),
        }
    }

    /// Counts a request of `caller`, whose JWT was verified: against its personal agent and against its `sub` there. One
    /// that is over either is counted against neither, so that waiting is all it takes.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn caller(&self, caller: &Caller) -> Result<(), Spent> {
        let waits = [self.personal_agents.left(&caller.issuer), self.subs.left(caller)];
        if let Some(longest) = waits.into_iter().filter_map(Result::err).max_by_key(|spent| spent.retry_after) {
            return Err(longest);
        }
        self.subs.spend(caller)?;
        self.personal_agents.spend(&caller.issuer)
    }

    /// Counts a page or a form.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn page(&self, from: &ClientAddress) -> Result<(), Spent> {
        self.pages.spend(from)
    }

    /// Counts a request that is neither a caller's nor for a page; also a refused personal-agent JWT.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn address(&self, from: &ClientAddress) -> Result<(), Spent> {
        self.addresses.spend(from)
    }

    /// Whether [`Limits::address`] has anything left, without counting.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn address_left(&self, from: &ClientAddress) -> Result<(), Spent> {
        self.addresses.left(from)
    }

    /// Forgets whom there is nothing to remember of.
    pub fn sweep(&self) {
        for rate in [&self.personal_agents, &self.subs, &self.pages, &self.addresses] {
            rate.sweep();
        }
        self.polls.sweep();
        self.guesses.sweep();
        self.log_ins.sweep();
    }
}

#[cfg(test)]
mod tests;
