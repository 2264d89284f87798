//! The pace of polls (RFC 8628 §3.5): `slow_down` for a code that is polled sooner than its interval.
//!
//! Only pending codes are paced, in memory: polling a pending code writes nothing to the database.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::recent::Recent;
use crate::clock::Clock;
use crate::domain::device::INTERVAL_SECONDS;
use crate::domain::id::DeviceAuthorizationId;

/// What a poll may come too soon by, since networks are not even.
const TOLERANCE: Duration = Duration::from_millis(500);
/// What each `slow_down` adds to the code's interval (RFC 8628 §3.5).
const STEP_SECONDS: u32 = 5;
/// The longest interval.
const LONGEST_SECONDS: u32 = 60;

/// Whether a poll came at the pace it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// It did.
    InTime,
    /// It came too soon; the interval has grown to so many seconds.
    TooSoon {
        /// The new interval.
        interval_seconds: u32,
    },
}

/// The pace of every code that is being polled here.
#[derive(Debug)]
pub struct PollPacing {
    clock: Clock,
    codes: Mutex<Recent<DeviceAuthorizationId, CodePace>>,
}

/// In terms of how long the clock has run: a clock that is set back makes no poll come too soon.
#[derive(Debug)]
struct CodePace {
    interval_seconds: u32,
    polled_at: Duration,
    ends_at: Duration,
}

impl PollPacing {
    /// Nothing was polled yet; at most `remembered` codes are kept.
    pub fn new(remembered: usize, clock: Clock) -> Self {
        Self { clock, codes: Mutex::new(Recent::new(remembered)) }
    }

    /// Takes note of a poll for a pending code that has so much `life` left. The first is never too soon.
    pub fn poll(&self, code: DeviceAuthorizationId, life: Duration) -> Pace {
        let now = self.clock.uptime();
        let mut codes = self.lock();
        let mut is_first = false;
        let pace = codes.entry(code, || {
            is_first = true;
            CodePace { interval_seconds: INTERVAL_SECONDS, polled_at: now, ends_at: now + life }
        });
        if is_first {
            return Pace::InTime;
        }
        let interval = Duration::from_secs(u64::from(pace.interval_seconds));
        let too_soon = now.saturating_sub(pace.polled_at) + TOLERANCE < interval;
        pace.polled_at = now;
        if !too_soon {
            return Pace::InTime;
        }
        pace.interval_seconds = (pace.interval_seconds + STEP_SECONDS).min(LONGEST_SECONDS);
        Pace::TooSoon { interval_seconds: pace.interval_seconds }
    }

    /// Forgets the codes that have expired.
    pub fn sweep(&self) {
        let now = self.clock.uptime();
        self.lock().retain(|pace| now < pace.ends_at);
    }

    fn lock(&self) -> MutexGuard<'_, Recent<DeviceAuthorizationId, CodePace>> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::entropy::Entropy;

    const LIFE: Duration = Duration::from_secs(600);

    fn code() -> DeviceAuthorizationId {
        DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d20").unwrap()
    }

    fn pacing() -> (PollPacing, Clock) {
        let clock = Clock::manual(Timestamp::from_seconds(1_767_225_600));
        (PollPacing::new(1000, clock.clone()), clock)
    }

    /// Polls after so many more milliseconds.
    fn poll((pacing, clock): &(PollPacing, Clock), millis: u64) -> Pace {
        clock.advance(Duration::from_millis(millis));
        pacing.poll(code(), LIFE)
    }

    // case 25: the pace
    #[test]
    fn polling_at_exactly_the_interval_is_never_too_soon() {
        let pacing = pacing();
        assert!((0..45).all(|_| poll(&pacing, 5000) == Pace::InTime));
    }

    // case 25
    #[test]
    fn half_a_second_is_tolerated_and_no_more() {
        let pacing = pacing();
        assert_eq!(poll(&pacing, 0), Pace::InTime);
        assert_eq!(poll(&pacing, 4_500), Pace::InTime);
        assert_eq!(poll(&pacing, 4_499), Pace::TooSoon { interval_seconds: 10 });
    }

    // case 25
    #[test]
    fn each_poll_that_is_too_soon_adds_five_seconds_up_to_a_minute() {
        let pacing = pacing();
        poll(&pacing, 0);
        let grown: Vec<Pace> = (0..13).map(|_| poll(&pacing, 1)).collect();
        assert_eq!(grown.first(), Some(&Pace::TooSoon { interval_seconds: 10 }));
        assert_eq!(grown.last(), Some(&Pace::TooSoon { interval_seconds: 60 }));
        assert_eq!(poll(&pacing, 59_600), Pace::InTime);
    }

    #[test]
    fn expired_codes_are_forgotten_and_so_are_those_of_long_ago_when_there_are_too_many() {
        let (pacing, clock) = pacing();
        pacing.poll(code(), LIFE);
        clock.advance(LIFE);
        pacing.sweep();
        assert_eq!(pacing.lock().len(), 0);
        let entropy = Entropy::seeded(1);
        for _ in 0..10_000 {
            pacing.poll(DeviceAuthorizationId::from_uuid(entropy.uuid()), LIFE);
            assert!(pacing.lock().len() <= 1000);
        }
    }

    // case 87: the pace
    #[test]
    fn a_clock_that_is_set_back_makes_no_poll_come_too_soon() {
        let pacing = pacing();
        poll(&pacing, 0);
        pacing.1.set_back(Duration::from_secs(60));
        assert!((0..20).all(|_| poll(&pacing, 5000) == Pace::InTime));
    }
}
