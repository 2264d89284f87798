//! Wrong user codes (RFC 8628 §5.1): counted against the client address and the Brand user, in a sliding window.
//!
//! A guess takes its place in the User's budget before anybody looks whether it is right, so that many at once are no more
//! than one after the other. The same assertion again is the same guess.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::recent::Recent;
use super::{ClientAddress, Spent};
use crate::clock::Clock;
use crate::config::LimitsConfig;
use crate::domain::id::{BrandId, BrandUser, Digest};

/// Whom a wrong code counts against.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Guesser {
    Address(ClientAddress),
    User(BrandId, BrandUser),
}

/// A wrong code, or one that may yet turn out right.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// By how long the clock had run.
    at: Duration,
    guess: Digest,
}

/// The wrong codes of the last minutes.
///
/// Only an assertion that holds can bring a wrong code, so pushing somebody out of this memory takes as many signed-in Users
/// as it has room for.
#[derive(Debug)]
pub struct GuessBudget {
    per_address: usize,
    per_user: usize,
    window: Duration,
    clock: Clock,
    counted: Mutex<Recent<Guesser, VecDeque<Counted>>>,
}

/// A guess that is being looked at. It costs nothing unless it is said to be [`Guess::wrong`].
#[derive(Debug)]
#[must_use]
pub struct Guess<'a> {
    budget: &'a GuessBudget,
    address: Guesser,
    user: Guesser,
    guess: Digest,
    takes_place: bool,
}

impl Guess<'_> {
    /// Lets it count against both.
    pub fn wrong(mut self) {
        self.takes_place = false;
        let now = self.budget.clock.uptime();
        let mut counted = self.budget.lock();
        for guesser in [&self.address, &self.user] {
            self.budget.count(&mut counted, guesser, Counted { at: now, guess: self.guess });
        }
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        if self.takes_place {
            let guess = self.guess;
            self.budget.lock().entry(self.user.clone(), VecDeque::new).retain(|counted| counted.guess != guess);
        }
    }
}

impl GuessBudget {
    /// Budgets of so many wrong codes as `config` says.
    pub fn new(config: &LimitsConfig, clock: Clock) -> Self {
        Self {
            per_address: config.wrong_codes_per_address,
            per_user: config.wrong_codes_per_user,
            window: config.wrong_codes_window(),
            clock,
            counted: Mutex::new(Recent::new(config.remembered)),
        }
    }

    /// Takes a place for the assertion whose digest is `guess`.
    ///
    /// # Errors
    /// [`Spent`] until both the address and the User may guess again.
    pub fn begin(
        &self,
        address: ClientAddress,
        brand: &BrandId,
        user: &BrandUser,
        guess: Digest,
    ) -> Result<Guess<'_>, Spent> {
        let now = self.clock.uptime();
        let (address, user) = (Guesser::Address(address), Guesser::User(brand.clone(), user.clone()));
        let mut counted = self.lock();
        let waits = [&address, &user].map(|guesser| self.wait(&counted, guesser, guess, now));
        if let Some(retry_after) = waits.into_iter().flatten().max() {
            return Err(Spent { retry_after });
        }
        let takes_place = self.count(&mut counted, &user, Counted { at: now, guess });
        Ok(Guess { budget: self, address, user, guess, takes_place })
    }

    /// How long until `guesser` may guess again, if not now.
    fn wait(
        &self,
        counted: &Recent<Guesser, VecDeque<Counted>>,
        guesser: &Guesser,
        guess: Digest,
        now: Duration,
    ) -> Option<Duration> {
        let counts = |counted: &&Counted| now < counted.at + self.window;
        let mut counted = counted.peek(guesser)?.iter().filter(counts).peekable();
        let first = counted.peek()?.at;
        let (mut before, mut is_again) = (0, false);
        for counted in counted {
            before += 1;
            is_again |= counted.guess == guess;
        }
        (!is_again && before >= self.most(guesser)).then(|| (first + self.window).saturating_sub(now))
    }

    /// Notes a guess once. `false` when it was noted before.
    fn count(&self, counted: &mut Recent<Guesser, VecDeque<Counted>>, guesser: &Guesser, one: Counted) -> bool {
        let all = counted.entry(guesser.clone(), VecDeque::new);
        forget(all, self.window, one.at);
        if all.iter().any(|counted| counted.guess == one.guess) {
            return false;
        }
        // Of many at once from one address, more may be wrong than count.
        if all.len() < self.most(guesser) {
            all.push_back(one);
        }
        true
    }

    /// Forgets whose wrong codes count no longer.
    pub fn sweep(&self) {
        let now = self.clock.uptime();
        self.lock().retain(|counted| {
            forget(counted, self.window, now);
            !counted.is_empty()
        });
    }

    const fn most(&self, guesser: &Guesser) -> usize {
        match guesser {
            Guesser::Address(_) => self.per_address,
            Guesser::User(..) => self.per_user,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recent<Guesser, VecDeque<Counted>>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(counted: &mut VecDeque<Counted>, window: Duration, now: Duration) {
    while counted.front().is_some_and(|first| now >= first.at + window) {
        counted.pop_front();
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

    fn at(address: &str) -> ClientAddress {
        address.parse::<IpAddr>().unwrap().into()
    }

    fn begin<'a>(budget: &'a GuessBudget, address: &str, user: &str, number: u32) -> Result<Guess<'a>, Spent> {
        let mut guess = [0; 32];
        guess[..4].copy_from_slice(&number.to_be_bytes());
        let brand = crate::domain::samples::brand().id;
        budget.begin(at(address), &brand, &BrandUser::parse(user).unwrap(), Digest::new(guess))
    }

    fn spent(outcome: Result<Guess<'_>, Spent>) -> Duration {
        outcome.err().unwrap().retry_after
    }

    #[test]
    fn the_eleventh_guess_from_an_address_waits_until_the_first_is_ten_minutes_old() {
        let (budget, clock) = budget();
        for n in 0..10 {
            begin(&budget, "192.0.2.1", &format!("user-{n}"), n).unwrap().wrong();
        }
        clock.advance(Duration::from_secs(10));
        let retry_after = spent(begin(&budget, "192.0.2.1", "jane", 10));
        assert_eq!(retry_after, Duration::from_secs(590));
        clock.advance(retry_after);
        assert!(begin(&budget, "192.0.2.1", "jane", 10).is_ok());
    }

    #[test]
    fn a_brand_user_has_five_guesses_and_is_told_the_longer_wait() {
        let (budget, clock) = budget();
        (0..5).for_each(|n| begin(&budget, "192.0.2.1", &format!("user-{n}"), n).unwrap().wrong());
        clock.advance(Duration::from_secs(60));
        (5..10).for_each(|n| begin(&budget, "192.0.2.1", "jane", n).unwrap().wrong());
        assert_eq!(spent(begin(&budget, "192.0.2.2", "jane", 10)), WINDOW);
        assert_eq!(spent(begin(&budget, "192.0.2.1", "john", 10)), WINDOW - Duration::from_secs(60));
        assert_eq!(spent(begin(&budget, "192.0.2.1", "jane", 10)), WINDOW);
    }

    #[test]
    fn guesses_that_are_being_looked_at_count_and_right_ones_do_not() {
        let (budget, _) = budget();
        let at_once: Vec<_> = (0..5).map(|n| begin(&budget, "192.0.2.1", "jane", n).unwrap()).collect();
        assert_eq!(spent(begin(&budget, "192.0.2.1", "jane", 5)), WINDOW);
        drop(at_once);
        begin(&budget, "192.0.2.1", "jane", 5).unwrap().wrong();
        assert_eq!(budget.lock().entry(Guesser::Address(at("192.0.2.1")), VecDeque::new).len(), 1);
    }

    #[test]
    fn the_same_assertion_again_is_the_same_guess() {
        let (budget, _) = budget();
        for _ in 0..20 {
            begin(&budget, "192.0.2.1", "jane", 0).unwrap().wrong();
        }
        (1..5).for_each(|n| begin(&budget, "192.0.2.1", "jane", n).unwrap().wrong());
        assert!(begin(&budget, "192.0.2.1", "jane", 5).is_err());
        begin(&budget, "192.0.2.1", "jane", 3).unwrap().wrong();
    }

    #[test]
    fn memory_is_bounded_and_leaves_with_the_window() {
        let (budget, clock) = budget();
        for n in 0..10_000_u32 {
            let address = IpAddr::from(n.to_be_bytes()).to_string();
            begin(&budget, &address, "jane", 0).unwrap().wrong();
            assert!(budget.lock().len() <= 1000);
        }
        clock.advance(Duration::from_secs(1));
        begin(&budget, "192.0.2.1", "john", 0).unwrap().wrong();
        clock.advance(WINDOW - Duration::from_secs(1));
        budget.sweep();
        assert_eq!(budget.lock().len(), 2);
    }

    // case 87: wrong codes
    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out_for_longer() {
        let (budget, clock) = budget();
        (0..5).for_each(|n| begin(&budget, "192.0.2.1", "jane", n).unwrap().wrong());
        clock.set_back(Duration::from_secs(60));
        assert_eq!(spent(begin(&budget, "192.0.2.1", "jane", 5)), WINDOW);
        clock.advance(WINDOW);
        assert!(begin(&budget, "192.0.2.1", "jane", 5).is_ok());
    }
}
