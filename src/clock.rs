//! Time: the only door to the real clock.
//!
//! Every rule takes `now` as a value; what reads the clock is handed a [`Clock`]. Refuses to run backwards: a clock
//! that is set back keeps answering the latest instant it has shown, so that no expired row comes to life again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use time::OffsetDateTime;

/// An instant: milliseconds since the Unix epoch, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From whole seconds since the Unix epoch, as JWT NumericDates are (RFC 7519 §2).
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the Unix epoch: the form that is stored.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down: the form of a JWT NumericDate (RFC 7519 §2).
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The instant `duration` later; saturates.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(as_millis(duration)))
    }

    /// The instant `duration` earlier; saturates.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(as_millis(duration)))
    }

    /// How long from `earlier` until this instant; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The calendar form in UTC, or `None` outside the years the `time` crate knows.
    pub fn to_utc(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000).ok()
    }

    /// Reads RFC 3339 in any offset; what is below a millisecond is cut off.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).ok().map(Self)
    }

    /// `2026-09-30T12:00:00Z` (RFC 3339, whole seconds, UTC), the form of a receipt's `ts` (PACT §5.6).
    pub fn to_rfc3339(self) -> String {
        self.to_utc()
            .and_then(|utc| utc.replace_nanosecond(0).ok())
            .and_then(|utc| utc.format(&time::format_description::well_known::Rfc3339).ok())
            .unwrap_or_else(|| self.0.to_string())
    }
}

fn as_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Where `now` comes from.
#[derive(Clone, Debug)]
pub struct Clock {
    machine: Machine,
    /// The latest instant shown.
    latest: Arc<AtomicI64>,
}

#[derive(Clone, Debug)]
enum Machine {
    Real { started: Instant },
    Manual(Arc<Manual>),
}

/// What a test has set.
#[derive(Debug)]
struct Manual {
    now: AtomicI64,
    ran: AtomicI64,
}

impl Clock {
    /// The machine's clock, made monotonic.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the machine's clock")]
    pub fn system() -> Self {
        Self { machine: Machine::Real { started: Instant::now() }, latest: Arc::new(AtomicI64::new(i64::MIN)) }
    }

    /// A clock that stands at `now` until [`Clock::advance`] moves it, for tests.
    pub fn manual(now: Timestamp) -> Self {
        let manual = Manual { now: AtomicI64::new(now.millis()), ran: AtomicI64::new(0) };
        Self { machine: Machine::Manual(Arc::new(manual)), latest: Arc::new(AtomicI64::new(i64::MIN)) }
    }

    /// The present instant; never earlier than one this clock has shown before.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the machine's clock")]
    pub fn now(&self) -> Timestamp {
        let machine = match &self.machine {
            Machine::Real { .. } => {
                i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
            }
            Machine::Manual(manual) => manual.now.load(Ordering::Acquire),
        };
        Timestamp(self.latest.fetch_max(machine, Ordering::AcqRel).max(machine))
    }

    /// How long this clock has been running: for paces and rates, which go on while a clock that was set back stands
    /// still.
    pub fn uptime(&self) -> Duration {
        match &self.machine {
            Machine::Real { started } => started.elapsed(),
            Machine::Manual(manual) => {
                Duration::from_millis(u64::try_from(manual.ran.load(Ordering::Acquire)).unwrap_or(0))
            }
        }
    }

    /// Moves a manual clock forward; a system clock cannot be moved and stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Machine::Manual(manual) = &self.machine {
            manual.now.fetch_add(as_millis(by), Ordering::AcqRel);
            manual.ran.fetch_add(as_millis(by), Ordering::AcqRel);
        }
    }

    /// Sets a manual clock back, as somebody may do to a machine's: it runs on, and shows the latest instant until it has
    /// caught up.
    pub fn set_back(&self, by: Duration) {
        if let Machine::Manual(manual) = &self.machine {
            manual.now.fetch_sub(as_millis(by), Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_written_in_utc_with_whole_seconds() {
        assert_eq!(Timestamp::from_millis(1_767_225_600_999).to_rfc3339(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn a_timestamp_is_read_in_any_offset() {
        let at = Timestamp::from_millis(1_767_225_600_999);
        assert_eq!(Timestamp::parse_rfc3339("2026-01-01T01:00:00.9999+01:00"), Some(at));
        assert_eq!(Timestamp::parse_rfc3339(&at.to_rfc3339()), Some(Timestamp::from_millis(1_767_225_600_000)));
        for wrong in ["", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse_rfc3339(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn seconds_are_rounded_down_on_both_sides_of_the_epoch() {
        assert_eq!(Timestamp::from_millis(1_999).seconds(), 1);
        assert_eq!(Timestamp::from_millis(-1).seconds(), -1);
    }

    // case 87
    #[test]
    fn a_clock_that_is_set_back_does_not_run_backwards() {
        let clock = Clock::system();
        let future = Timestamp::from_millis(clock.now().millis() + 60_000);
        clock.latest.store(future.millis(), Ordering::Release);
        assert_eq!(clock.now(), future);
    }

    // case 87
    #[test]
    fn a_clock_that_is_set_back_stands_still_until_it_has_caught_up_and_keeps_running() {
        let start = Timestamp::from_seconds(1_767_225_600);
        let clock = Clock::manual(start);
        assert_eq!(clock.now(), start);
        clock.set_back(Duration::from_secs(60));
        clock.advance(Duration::from_secs(60));
        assert_eq!((clock.now(), clock.uptime()), (start, Duration::from_secs(60)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), start.plus(Duration::from_secs(1)));
    }
}
