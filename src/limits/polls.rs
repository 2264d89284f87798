//! The pace of polls (RFC 8628 §3.5): `slow_down` for a code that is polled sooner than its interval.
//!
//! Only pending codes are paced, in memory: polling a pending code writes nothing to the database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
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
#[derive(Debug, Default)]
pub struct PollPacing(Mutex<Codes>);

#[derive(Debug, Default)]
struct Codes {
    paces: HashMap<DeviceAuthorizationId, CodePace>,
    swept_at: Option<Timestamp>,
}

#[derive(Debug)]
struct CodePace {
    interval_seconds: u32,
    polled_at: Timestamp,
    expires_at: Timestamp,
}

impl PollPacing {
    /// Takes note of a poll at `now` for a pending code that lives until `expires_at`. The first is never too soon.
    pub fn poll(&self, code: DeviceAuthorizationId, expires_at: Timestamp, now: Timestamp) -> Pace {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.forget_expired(now);
        let Some(pace) = codes.paces.get_mut(&code) else {
            codes.paces.insert(code, CodePace { interval_seconds: INTERVAL_SECONDS, polled_at: now, expires_at });
            return Pace::InTime;
        };
        let interval = Duration::from_secs(u64::from(pace.interval_seconds));
        let too_soon = now.since(pace.polled_at) + TOLERANCE < interval;
        pace.polled_at = now;
        if !too_soon {
            return Pace::InTime;
        }
        pace.interval_seconds = (pace.interval_seconds + STEP_SECONDS).min(LONGEST_SECONDS);
        Pace::TooSoon { interval_seconds: pace.interval_seconds }
    }
}

impl Codes {
    fn forget_expired(&mut self, now: Timestamp) {
        if self.swept_at.is_none_or(|at| now.since(at) > Duration::from_secs(30)) {
            self.paces.retain(|_, pace| now < pace.expires_at);
            self.swept_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn code() -> DeviceAuthorizationId {
        DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d20").unwrap()
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(START.millis() + millis)
    }

    fn poll(pacing: &PollPacing, millis: i64) -> Pace {
        pacing.poll(code(), at(600_000), at(millis))
    }

    #[test]
    fn polling_at_exactly_the_interval_is_never_too_soon() {
        let pacing = PollPacing::default();
        assert!((0..45).all(|n| poll(&pacing, n * 5000) == Pace::InTime));
    }

    #[test]
    fn half_a_second_is_tolerated_and_no_more() {
        let pacing = PollPacing::default();
        assert_eq!(poll(&pacing, 0), Pace::InTime);
        assert_eq!(poll(&pacing, 4_500), Pace::InTime);
        assert_eq!(poll(&pacing, 8_999), Pace::TooSoon { interval_seconds: 10 });
    }

    #[test]
    fn each_poll_that_is_too_soon_adds_five_seconds_up_to_a_minute() {
        let pacing = PollPacing::default();
        poll(&pacing, 0);
        let grown: Vec<Pace> = (1..=13).map(|n| poll(&pacing, n)).collect();
        assert_eq!(grown.first(), Some(&Pace::TooSoon { interval_seconds: 10 }));
        assert_eq!(grown.last(), Some(&Pace::TooSoon { interval_seconds: 60 }));
        assert_eq!(poll(&pacing, 59_600), Pace::InTime);
    }

    #[test]
    fn expired_codes_are_forgotten() {
        let pacing = PollPacing::default();
        poll(&pacing, 0);
        let other = DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d21").unwrap();
        pacing.poll(other, at(1_300_000), at(700_000));
        assert_eq!(pacing.0.lock().unwrap().paces.len(), 1);
    }
}
