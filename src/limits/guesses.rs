//! Wrong user codes (RFC 8628 §5.1): counted against the client address and the Brand user, in a sliding window.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::domain::id::{BrandId, BrandUser};

const WINDOW: Duration = Duration::from_secs(600);
const PER_ADDRESS: usize = 10;
const PER_USER: usize = 5;

/// Whom a wrong code counts against.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Guesser {
    /// A client address; an IPv6 address stands for its /64.
    Address(IpAddr),
    /// A Brand's user.
    User(BrandId, BrandUser),
}

impl Guesser {
    /// The guesser at `address`.
    pub fn address(address: IpAddr) -> Self {
        Self::Address(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => IpAddr::V4(v4),
                None => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
            },
        })
    }

    const fn most(&self) -> usize {
        match self {
            Self::Address(_) => PER_ADDRESS,
            Self::User(..) => PER_USER,
        }
    }
}

/// The wrong codes of the last ten minutes.
#[derive(Debug, Default)]
pub struct GuessBudget(Mutex<HashMap<Guesser, VecDeque<Timestamp>>>);

impl GuessBudget {
    /// How long `guesser` must wait before the next try, if at all.
    pub fn wait(&self, guesser: &Guesser, now: Timestamp) -> Option<Duration> {
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = wrong.get_mut(guesser)?;
        forget(times, now);
        let first = times.front().copied()?;
        (times.len() >= guesser.most()).then(|| first.plus(WINDOW).since(now))
    }

    /// Takes note of a wrong code.
    pub fn wrong(&self, guesser: Guesser, now: Timestamp) {
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() > 10_000 {
            wrong.retain(|_, times| {
                forget(times, now);
                !times.is_empty()
            });
        }
        let most = guesser.most();
        let times = wrong.entry(guesser).or_default();
        forget(times, now);
        if times.len() < most {
            times.push_back(now);
        }
    }
}

fn forget(times: &mut VecDeque<Timestamp>, now: Timestamp) {
    while times.front().is_some_and(|first| now >= first.plus(WINDOW)) {
        times.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

    #[test]
    fn the_eleventh_guess_from_an_address_waits_until_the_first_is_ten_minutes_old() {
        let budget = GuessBudget::default();
        let guesser = Guesser::address("192.0.2.1".parse().unwrap());
        for n in 0..10 {
            assert_eq!(budget.wait(&guesser, NOW), None, "guess {n}");
            budget.wrong(guesser.clone(), NOW);
        }
        assert_eq!(budget.wait(&guesser, NOW.plus(Duration::from_secs(10))), Some(Duration::from_secs(590)));
        assert_eq!(budget.wait(&guesser, NOW.plus(WINDOW)), None);
    }

    #[test]
    fn an_ipv6_network_is_one_guesser_and_a_mapped_address_is_its_ipv4_one() {
        let address = |text: &str| Guesser::address(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1:2:3"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
    }

    #[test]
    fn a_brand_user_has_five_guesses() {
        let budget = GuessBudget::default();
        let brand = crate::domain::samples::brand().id;
        let guesser = Guesser::User(brand, BrandUser::parse("jane").unwrap());
        for _ in 0..5 {
            assert_eq!(budget.wait(&guesser, NOW), None);
            budget.wrong(guesser.clone(), NOW);
        }
        assert!(budget.wait(&guesser, NOW).is_some());
    }
}
