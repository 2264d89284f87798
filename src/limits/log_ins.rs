//! Wrong log-ins of administrators: each one after the first few makes the next wait, twice as long as the one before.
//!
//! They are counted in three ways: for one name from one address; for one name from wherever it may be; and from one
//! address for whatever names. A browser that has logged in under a name before is counted by itself alone: whoever
//! guesses that name from all over the world slows everybody down but its owner. Nobody is ever locked out, and a name
//! that nobody has is counted like any other. A try takes its place before anybody looks whether it is right, so that many
//! at once are no more than one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::recent::Recent;
use super::{ClientAddress, Spent};
use crate::clock::Clock;
use crate::config::AdministratorsConfig;
use crate::domain::id::Digest;

/// The first wait.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// The longest wait of one name from one address, or of a browser that logged in before.
const LONGEST_WAIT: Duration = Duration::from_secs(900);
/// The longest wait of a name from wherever, and of an address: others share them, who did nothing wrong.
const LONGEST_SHARED_WAIT: Duration = Duration::from_secs(60);
/// Wrong tries are forgotten when there was none for so long.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// Whom a wrong try counts against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Guesser {
    /// A browser or a session that logged in under a name before.
    Known {
        name: Digest,
        known: Digest,
    },
    Pair {
        name: Digest,
        address: ClientAddress,
    },
    Name(Digest),
    Address(ClientAddress),
}

/// Wrong tries, and those that are being looked at. Times are by how long the clock had run.
#[derive(Clone, Copy, Debug)]
struct Tried {
    /// Of both kinds.
    count: u32,
    /// The latest wrong one.
    wrong_at: Duration,
    /// How many are being looked at.
    open: u32,
    /// The latest of those that began.
    begun_at: Duration,
}

impl Tried {
    /// From when on the next one waits. One that was right, or that nobody looked at, makes nobody wait.
    fn latest(&self) -> Duration {
        if self.open > 0 { self.begun_at.max(self.wrong_at) } else { self.wrong_at }
    }

    /// A try has begun.
    fn begin(&mut self, now: Duration) {
        let before = if now >= self.latest() + FORGOTTEN_AFTER { 0 } else { self.count };
        let (count, open) = (before.saturating_add(1), self.open.saturating_add(1));
        *self = Self { count, open, begun_at: now, ..*self };
    }

    /// A try is over.
    fn end(&mut self, outcome: Outcome, begun_at: Duration) {
        self.open = self.open.saturating_sub(1);
        match outcome {
            Outcome::Wrong => self.wrong_at = self.wrong_at.max(begun_at),
            Outcome::NotCounted => self.count = self.count.saturating_sub(1),
            Outcome::Forgotten => self.count = self.open,
        }
    }
}

/// How a try counts in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Wrong,
    NotCounted,
    /// Nor do the wrong ones before it.
    Forgotten,
}

/// Who tries to log in, and from where.
#[derive(Clone, Copy, Debug)]
pub struct LogIn {
    /// What was typed as a name, digested.
    pub name: Digest,
    /// From where.
    pub address: ClientAddress,
    /// What proves that the browser has logged in under this name before, digested.
    pub known: Option<Digest>,
}

impl LogIn {
    fn guessers(&self) -> Vec<Guesser> {
        let Self { name, address, known } = *self;
        match known {
            Some(known) => vec![Guesser::Known { name, known }],
            None => vec![Guesser::Pair { name, address }, Guesser::Name(name), Guesser::Address(address)],
        }
    }
}

/// The wrong log-ins of the last hour.
#[derive(Debug)]
pub struct LogInBudget {
    config: AdministratorsConfig,
    clock: Clock,
    tried: Mutex<Recent<Guesser, Tried>>,
}

/// A try that is being looked at. It costs nothing unless it is said to be [`LogInTry::wrong`].
#[derive(Debug)]
#[must_use]
pub struct LogInTry<'a> {
    budget: &'a LogInBudget,
    guessers: Vec<Guesser>,
    begun_at: Duration,
    /// For this browser, or this name from this address.
    outcome: Outcome,
}

impl LogInTry<'_> {
    /// Lets it count.
    pub fn wrong(mut self) {
        self.outcome = Outcome::Wrong;
    }

    /// Forgets the wrong tries of this browser, and of this name from this address.
    pub fn right(mut self) {
        self.outcome = Outcome::Forgotten;
    }
}

const NOTHING: Tried = Tried { count: 0, wrong_at: Duration::ZERO, open: 0, begun_at: Duration::ZERO };

impl Drop for LogInTry<'_> {
    fn drop(&mut self) {
        let mut tried = self.budget.lock();
        for guesser in &self.guessers {
            let is_own = matches!(guesser, Guesser::Known { .. } | Guesser::Pair { .. });
            let outcome =
                if self.outcome == Outcome::Forgotten && !is_own { Outcome::NotCounted } else { self.outcome };
            tried.entry(*guesser, || NOTHING).end(outcome, self.begun_at);
        }
    }
}

impl LogInBudget {
    /// Budgets of so many wrong log-ins as `config` says, for at most `remembered` names, addresses and browsers.
    pub fn new(config: &AdministratorsConfig, remembered: usize, clock: Clock) -> Self {
        Self { config: config.clone(), clock, tried: Mutex::new(Recent::new(remembered)) }
    }

    /// Takes a place for a try.
    ///
    /// # Errors
    /// [`Spent`] until it may be made.
    pub fn begin(&self, log_in: &LogIn) -> Result<LogInTry<'_>, Spent> {
        let now = self.clock.uptime();
        let guessers = log_in.guessers();
        let mut tried = self.lock();
        let waits = guessers.iter().filter_map(|guesser| self.wait(&tried, guesser, now));
        if let Some(retry_after) = waits.max() {
            return Err(Spent { retry_after });
        }
        for guesser in &guessers {
            tried.entry(*guesser, || NOTHING).begin(now);
        }
        Ok(LogInTry { budget: self, guessers, begun_at: now, outcome: Outcome::NotCounted })
    }

    /// How long `guesser` has to wait, if at all.
    fn wait(&self, tried: &Recent<Guesser, Tried>, guesser: &Guesser, now: Duration) -> Option<Duration> {
        let (free, longest) = match guesser {
            Guesser::Known { .. } | Guesser::Pair { .. } => (self.config.wrong_log_ins, LONGEST_WAIT),
            Guesser::Name(_) => (self.config.wrong_log_ins_per_name, LONGEST_SHARED_WAIT),
            Guesser::Address(_) => (self.config.wrong_log_ins_per_address, LONGEST_SHARED_WAIT),
        };
        let tried = tried.peek(guesser)?;
        let beyond = tried.count.checked_sub(free)?;
        let wait = FIRST_WAIT.saturating_mul(1_u32.checked_shl(beyond).unwrap_or(u32::MAX)).min(longest);
        let left = (tried.latest() + wait).saturating_sub(now);
        (left > Duration::ZERO).then_some(left)
    }

    /// Forgets whom there is nothing to remember of.
    pub fn sweep(&self) {
        let now = self.clock.uptime();
        self.lock().retain(|tried| tried.count > 0 && now < tried.latest() + FORGOTTEN_AFTER);
    }

    fn lock(&self) -> MutexGuard<'_, Recent<Guesser, Tried>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::clock::Timestamp;

    fn budget() -> (LogInBudget, Clock) {
        let clock = Clock::manual(Timestamp::from_seconds(1_767_225_600));
        (LogInBudget::new(&AdministratorsConfig::default(), 1000, clock.clone()), clock)
    }

    fn digest(byte: u8) -> Digest {
        Digest::new([byte; 32])
    }

    fn from(name: u8, address: u32) -> LogIn {
        LogIn { name: digest(name), address: IpAddr::from(address.to_be_bytes()).into(), known: None }
    }

    /// How long the next try waits, in seconds.
    fn wait(budget: &LogInBudget, log_in: &LogIn) -> u64 {
        budget.begin(log_in).err().map_or(0, |spent| spent.retry_after.as_secs())
    }

    fn wrong(budget: &LogInBudget, log_in: &LogIn, times: u32) {
        (0..times).for_each(|_| budget.begin(log_in).unwrap().wrong());
    }

    // case 75
    #[test]
    fn each_wrong_password_after_the_fifth_waits_twice_as_long_as_the_one_before_up_to_a_quarter_of_an_hour() {
        let (budget, clock) = budget();
        let anna = from(1, 1);
        wrong(&budget, &anna, 5);
        for expected in [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
            assert_eq!(wait(&budget, &anna), expected);
            clock.advance(Duration::from_secs(expected));
            wrong(&budget, &anna, 1);
        }
        clock.advance(FORGOTTEN_AFTER);
        wrong(&budget, &anna, 5);
        assert_eq!(wait(&budget, &anna), 2);
    }

    // case 75
    #[test]
    fn whoever_guesses_from_everywhere_slows_all_but_the_browser_that_logged_in_before() {
        let (budget, clock) = budget();
        (0..20).for_each(|address| wrong(&budget, &from(1, address), 1));
        assert_eq!(wait(&budget, &from(1, 100)), 2);
        for address in 20..40 {
            clock.advance(LONGEST_SHARED_WAIT);
            wrong(&budget, &from(1, address), 1);
        }
        // A minute at the most, also for whoever has never been here.
        assert_eq!(wait(&budget, &from(1, 100)), 60);
        let owner = LogIn { known: Some(digest(9)), ..from(1, 100) };
        assert_eq!(wait(&budget, &owner), 0);
        // What proves it is worth only so many guesses itself.
        wrong(&budget, &owner, 5);
        assert_eq!(wait(&budget, &owner), 2);
        assert_eq!(wait(&budget, &LogIn { known: Some(digest(8)), ..owner }), 0);
        assert_eq!(wait(&budget, &from(2, 100)), 0, "another name is not concerned");
    }

    #[test]
    fn one_address_that_tries_many_names_waits() {
        let (budget, _) = budget();
        (0..30).for_each(|name| wrong(&budget, &from(name, 1), 1));
        assert_eq!((wait(&budget, &from(99, 1)), wait(&budget, &from(99, 2))), (2, 0));
    }

    #[test]
    fn tries_that_are_being_looked_at_count_and_right_ones_do_not() {
        let (budget, _) = budget();
        let anna = from(1, 1);
        let at_once: Vec<_> = (0..5).map(|_| budget.begin(&anna).unwrap()).collect();
        assert_eq!(wait(&budget, &anna), 2);
        drop(at_once);
        wrong(&budget, &anna, 4);
        budget.begin(&anna).unwrap().right();
        wrong(&budget, &anna, 5);
        assert_eq!(wait(&budget, &anna), 2);
        // For the name and the address they stay: nine wrong ones.
        let count = |guesser| budget.lock().peek(&guesser).unwrap().count;
        assert_eq!((count(Guesser::Name(anna.name)), count(Guesser::Address(anna.address))), (9, 9));
    }

    // case 75
    #[test]
    fn a_right_password_does_not_make_its_own_code_wait_nor_keep_wrong_ones_from_being_forgotten() {
        let (budget, clock) = budget();
        let anna = from(1, 1);
        for waited in [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 64, 128, 256] {
            clock.advance(Duration::from_secs(waited));
            wrong(&budget, &anna, 1);
        }
        assert_eq!(wait(&budget, &anna), 512);
        clock.advance(Duration::from_secs(512));
        drop(budget.begin(&anna).unwrap());
        // The password was right, or nobody had the time to look: the next try is as free as this one was.
        drop(budget.begin(&anna).unwrap());
        clock.advance(FORGOTTEN_AFTER - Duration::from_secs(600));
        drop(budget.begin(&anna).unwrap());
        clock.advance(Duration::from_secs(600));
        wrong(&budget, &anna, 5);
        assert_eq!(wait(&budget, &anna), 2);
    }

    #[test]
    fn memory_is_bounded_and_leaves_with_the_hour() {
        let (budget, clock) = budget();
        for address in 0..10_000 {
            if let Ok(tried) = budget.begin(&from(u8::try_from(address % 200).unwrap(), address)) {
                tried.wrong();
            }
            assert!(budget.lock().len() <= 1000);
        }
        clock.advance(FORGOTTEN_AFTER);
        budget.sweep();
        assert_eq!(budget.lock().len(), 0);
    }

    // case 87: wrong passwords
    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out_for_longer() {
        let (budget, clock) = budget();
        wrong(&budget, &from(1, 1), 5);
        clock.set_back(Duration::from_secs(60));
        assert_eq!(wait(&budget, &from(1, 1)), 2);
    }
}
