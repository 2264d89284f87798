//! Wrong user codes (RFC 8628 §5.1): counted against the client address and the Brand user, in a sliding window.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::recent::Recent;
use super::{ClientAddress, Spent};
use crate::clock::Clock;
use crate::config::LimitsConfig;
use crate::domain::id::{BrandId, BrandUser};

/// Whom a wrong code counts against.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Guesser {
    /// A client address.
    Address(ClientAddress),
    /// A Brand's user.
    User(BrandId, BrandUser),
}

/// The wrong codes of the last minutes, by when the clock had run for how long.
///
/// Only an assertion that holds can bring a wrong code, so pushing somebody out of this memory takes as many signed-in Users
/// as it has room for.
#[derive(Debug)]
pub struct GuessBudget {
    per_address: usize,
    per_user: usize,
    window: Duration,
    clock: Clock,
    wrong: Mutex<Recent<Guesser, VecDeque<Duration>>>,
}

impl GuessBudget {
    /// Budgets of so many wrong codes as `config` says.
    pub fn new(config: &LimitsConfig, clock: Clock) -> Self {
        Self {
            per_address: config.wrong_codes_per_address,
            per_user: config.wrong_codes_per_user,
            window: config.wrong_codes_window(),
            clock,
            wrong: Mutex::new(Recent::new(config.remembered)),
        }
    }

    /// Whether `guesser` may try.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn left(&self, guesser: &Guesser) -> Result<(), Spent> {
        let now = self.clock.uptime();
        let wrong = self.lock();
        let Some(times) = wrong.peek(guesser) else { return Ok(()) };
        let mut counted = times.iter().filter(|at| now < **at + self.window);
        let Some(first) = counted.next() else { return Ok(()) };
        if 1 + counted.count() < self.most(guesser) {
            return Ok(());
        }
        Err(Spent { retry_after: (*first + self.window).saturating_sub(now) })
    }

    /// Takes note of a wrong code.
    pub fn wrong(&self, guesser: Guesser) {
        let now = self.clock.uptime();
        let most = self.most(&guesser);
        let mut wrong = self.lock();
        let times = wrong.entry(guesser, VecDeque::new);
        forget(times, self.window, now);
        if times.len() < most {
            times.push_back(now);
        }
    }

    /// Forgets whose wrong codes count no longer.
    pub fn sweep(&self) {
        let now = self.clock.uptime();
        self.lock().retain(|times| {
            forget(times, self.window, now);
            !times.is_empty()
        });
    }

    const fn most(&self, guesser: &Guesser) -> usize {
        match guesser {
            Guesser::Address(_) => self.per_address,
            Guesser::User(..) => self.per_user,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recent<Guesser, VecDeque<Duration>>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(times: &mut VecDeque<Duration>, window: Duration, now: Duration) {
    while times.front().is_some_and(|first| now >= *first + window) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::clock::Timestamp;

    const WINDOW: Duration = Duration::from_secs(600);

    fn budget() -> (GuessBudget, Clock) {
        let clock = Clock::manual(Timestamp::from_seconds(1_767_225_600));
        let config = LimitsConfig { remembered: 1000, ..LimitsConfig::default() };
        (GuessBudget::new(&config, clock.clone()), clock)
    }

    fn at(address: &str) -> Guesser {
        Guesser::Address(address.parse::<IpAddr>().unwrap().into())
    }

    fn jane() -> Guesser {
        Guesser::User(crate::domain::samples::brand().id, BrandUser::parse("jane").unwrap())
    }

    #[test]
    fn the_eleventh_guess_from_an_address_waits_until_the_first_is_ten_minutes_old() {
        let (budget, clock) = budget();
        let guesser = at("192.0.2.1");
        for n in 0..10 {
            assert_eq!(budget.left(&guesser), Ok(()), "guess {n}");
            budget.wrong(guesser.clone());
        }
        clock.advance(Duration::from_secs(10));
        let spent = budget.left(&guesser).unwrap_err();
        assert_eq!(spent.retry_after, Duration::from_secs(590));
        clock.advance(spent.retry_after);
        assert_eq!(budget.left(&guesser), Ok(()));
    }

    #[test]
    fn a_brand_user_has_five_guesses() {
        let (budget, _) = budget();
        for _ in 0..5 {
            assert_eq!(budget.left(&jane()), Ok(()));
            budget.wrong(jane());
        }
        assert!(budget.left(&jane()).is_err());
    }

    #[test]
    fn memory_is_bounded_and_leaves_with_the_window() {
        let (budget, clock) = budget();
        for n in 0..10_000_u32 {
            budget.wrong(Guesser::Address(IpAddr::from(n.to_be_bytes()).into()));
            assert!(budget.lock().len() <= 1000);
        }
        clock.advance(Duration::from_secs(1));
        budget.wrong(jane());
        clock.advance(WINDOW - Duration::from_secs(1));
        budget.sweep();
        assert_eq!(budget.lock().len(), 1);
    }

    // case 87: wrong codes
    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out_for_longer() {
        let (budget, clock) = budget();
        (0..5).for_each(|_| budget.wrong(jane()));
        clock.set_back(Duration::from_secs(60));
        assert_eq!(budget.left(&jane()), Err(Spent { retry_after: WINDOW }));
        clock.advance(WINDOW);
        assert_eq!(budget.left(&jane()), Ok(()));
    }
}
