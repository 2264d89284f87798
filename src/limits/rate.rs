//! One rate with its burst, for each of many (the generic cell rate algorithm, ITU-T I.371).
//!
//! A key is remembered as 64 bits of a keyed hash: eight bytes however long a `sub` is, and nobody who does not know the key
//! of the hash can find two that share a budget.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use governor::{Quota, RateLimiter};

use super::Spent;
use super::recent::Recent;
use crate::clock::Clock;

/// A rate with its burst.
pub(super) struct Rate {
    limiter: RateLimiter<Ask, Arrivals, Uptime, NoOpMiddleware<Nanos>>,
    hash: RandomState,
}

impl std::fmt::Debug for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rate")
    }
}

/// A question about one key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Ask {
    key: u64,
    counts: bool,
}

/// For each key, when its next request would come if all kept to the rate: the algorithm's theoretical arrival time.
struct Arrivals(Mutex<Recent<u64, Nanos>>);

impl StateStore for Arrivals {
    type Key = Ask;

    fn measure_and_replace<T, F, E>(&self, ask: &Ask, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut arrivals = self.lock();
        let known = arrivals.peek(&ask.key).copied();
        let decided = decide(known);
        let next = match &decided {
            Ok((_, next)) if ask.counts => Some(*next),
            Ok(_) => None,
            // Whoever keeps coming while nothing is left is remembered for it.
            Err(_) => known,
        };
        if let Some(next) = next {
            *arrivals.entry(ask.key, || next) = next;
        }
        decided.map(|(answer, _)| answer)
    }
}

impl ShrinkableKeyedStateStore<Ask> for Arrivals {
    fn retain_recent(&self, drop_below: Nanos) {
        self.lock().retain(|next| *next > drop_below);
    }

    fn len(&self) -> usize {
        self.lock().len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, Recent<u64, Nanos>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The clock as the algorithm reads it.
struct Uptime(Clock);

impl governor::clock::Clock for Uptime {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(self.0.uptime())
    }
}

impl Rate {
    /// `per_second` requests of each key, `burst` of which may come at once. Both are at least one.
    pub(super) fn new(per_second: u32, burst: u32, remembered: usize, clock: &Clock) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(at_least_one(per_second)).allow_burst(at_least_one(burst));
        let arrivals = Arrivals(Mutex::new(Recent::new(remembered)));
        Self { limiter: RateLimiter::new(quota, arrivals, Uptime(clock.clone())), hash: RandomState::new() }
    }

    /// Takes one from the budget of `key`.
    pub(super) fn spend(&self, key: &impl Hash) -> Result<(), Spent> {
        self.ask(key, true)
    }

    /// Whether the budget of `key` has one left.
    pub(super) fn left(&self, key: &impl Hash) -> Result<(), Spent> {
        self.ask(key, false)
    }

    /// Forgets every key whose budget is whole.
    pub(super) fn sweep(&self) {
        self.limiter.retain_recent();
    }

    fn ask(&self, key: &impl Hash, counts: bool) -> Result<(), Spent> {
        let ask = Ask { key: self.hash.hash_one(key), counts };
        let now = governor::clock::Clock::now(self.limiter.clock());
        self.limiter.check_key(&ask).map_err(|until| Spent { retry_after: until.wait_time_from(now) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Timestamp;

    fn clock() -> Clock {
        Clock::manual(Timestamp::from_seconds(1_767_225_600))
    }

    fn millis(spent: Result<(), Spent>) -> u128 {
        spent.unwrap_err().retry_after.as_millis()
    }

    #[test]
    fn a_burst_passes_at_once_and_then_one_at_a_time() {
        let clock = clock();
        let rate = Rate::new(10, 3, 1000, &clock);
        for _ in 0..3 {
            assert_eq!(rate.spend(&"a"), Ok(()));
        }
        assert_eq!(millis(rate.spend(&"a")), 100);
        clock.advance(Duration::from_millis(99));
        assert_eq!(millis(rate.spend(&"a")), 1);
        clock.advance(Duration::from_millis(1));
        assert_eq!(rate.spend(&"a"), Ok(()));
        assert_eq!(millis(rate.spend(&"a")), 100);
        assert_eq!(rate.spend(&"b"), Ok(()));
    }

    #[test]
    fn looking_takes_nothing_and_so_does_a_refusal() {
        let clock = clock();
        let rate = Rate::new(1, 1, 1000, &clock);
        for _ in 0..10 {
            assert_eq!(rate.left(&"a"), Ok(()));
        }
        assert_eq!(rate.spend(&"a"), Ok(()));
        for _ in 0..10 {
            assert_eq!(millis(rate.left(&"a")), 1000);
            assert_eq!(millis(rate.spend(&"a")), 1000);
        }
        clock.advance(Duration::from_secs(1));
        assert_eq!(rate.spend(&"a"), Ok(()));
    }

    #[test]
    fn waiting_as_long_as_is_told_is_enough_whatever_the_rate() {
        for (per_second, burst) in [(1, 1), (3, 2), (7, 5), (1000, 1), (999_983, 3), (1_000_000, 1_000_000)] {
            let clock = clock();
            let rate = Rate::new(per_second, burst, 1000, &clock);
            for round in 0..20 {
                let wait = (0..=burst).find_map(|_| rate.spend(&"a").err());
                let wait = wait.unwrap_or_else(|| panic!("{per_second}/s never spent in round {round}")).retry_after;
                assert!(wait > Duration::ZERO);
                clock.advance(Duration::from_millis(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap()));
                assert_eq!(rate.spend(&"a"), Ok(()), "{per_second}/s, burst {burst}, after {wait:?}");
            }
        }
    }

    #[test]
    fn an_attacker_with_any_number_of_keys_takes_no_more_memory_and_nobodys_budget() {
        let clock = clock();
        let rate = Rate::new(1, 2, 1000, &clock);
        let blocked = |key: u32| (0..3).any(|_| rate.spend(&("known", key)).is_err());
        for key in 0..100_000_u32 {
            assert_eq!(rate.spend(&key), Ok(()), "a newcomer is not made to pay for the others");
            if key % 100 == 0 {
                assert!(rate.limiter.len() <= 1000);
                // Whoever is over the rate and keeps coming stays over it.
                assert!(blocked(1), "at {key}");
            }
        }
    }

    #[test]
    fn who_has_rested_is_forgotten_and_who_has_not_is_not() {
        let clock = clock();
        let rate = Rate::new(1, 10, 1000, &clock);
        (0..100).for_each(|key| assert_eq!(rate.spend(&key), Ok(())));
        (0..9).for_each(|_| assert_eq!(rate.spend(&0), Ok(())));
        clock.advance(Duration::from_secs(3));
        rate.sweep();
        assert_eq!(rate.limiter.len(), 1);
        assert_eq!((0..4).filter(|_| rate.spend(&0).is_ok()).count(), 3);
        clock.advance(Duration::from_secs(11));
        rate.sweep();
        assert!(rate.limiter.is_empty());
    }

    // case 87: the rates
    #[test]
    fn a_clock_that_is_set_back_stops_no_rate() {
        let clock = clock();
        let rate = Rate::new(1, 1, 1000, &clock);
        assert_eq!(rate.spend(&"a"), Ok(()));
        clock.set_back(Duration::from_secs(60));
        assert_eq!(millis(rate.spend(&"a")), 1000);
        clock.advance(Duration::from_secs(1));
        assert_eq!(rate.spend(&"a"), Ok(()));
    }
}
