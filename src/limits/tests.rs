//! The budgets of callers and addresses together.

use super::*;
use crate::clock::Timestamp;
use crate::domain::id::{Issuer, PaSub};

fn limits() -> (Limits, Clock) {
    let clock = Clock::manual(Timestamp::from_seconds(1_767_225_600));
    let config = LimitsConfig {
        personal_agent_per_second: 10,
        personal_agent_burst: 20,
        sub_per_second: 1,
        sub_burst: 5,
        ..LimitsConfig::default()
    };
    (Limits::new(&config, &AdministratorsConfig::default(), &clock), clock)
}

fn caller(issuer: &str, sub: &str) -> Caller {
    let issuer = Issuer::parse(format!("https://{issuer}.example.com")).unwrap();
    Caller { issuer, sub: PaSub::parse(sub).unwrap() }
}

fn passed(limits: &Limits, caller: &Caller, tries: usize) -> usize {
    (0..tries).filter(|_| limits.caller(caller).is_ok()).count()
}

#[test]
fn one_sub_does_not_spend_what_its_personal_agent_has() {
    let (limits, _) = limits();
    assert_eq!(passed(&limits, &caller("pa", "busy"), 1000), 5);
    let others = (0..10).map(|n| passed(&limits, &caller("pa", &format!("user-{n}")), 2)).sum::<usize>();
    assert_eq!(others, 15, "the personal agent had 20, of which 5 were spent");
    assert_eq!(passed(&limits, &caller("other", "busy"), 1000), 5, "another personal agent is not concerned");
}

#[test]
fn the_longer_wait_is_told_and_is_enough_for_both() {
    let (limits, clock) = limits();
    assert_eq!(passed(&limits, &caller("pa", "a"), 5), 5);
    (0..15).for_each(|n| assert_eq!(limits.caller(&caller("pa", &format!("user-{n}"))), Ok(())));
    let spent = limits.caller(&caller("pa", "a")).unwrap_err();
    assert_eq!(spent.retry_after, Duration::from_secs(1), "the sub waits for longer than its personal agent");
    let spent_elsewhere = limits.caller(&caller("pa", "user-0")).unwrap_err();
    assert_eq!(spent_elsewhere.retry_after, Duration::from_millis(100));
    clock.advance(spent.retry_after);
    assert_eq!(limits.caller(&caller("pa", "a")), Ok(()));
}

#[test]
fn pages_and_the_rest_are_counted_apart() {
    let (limits, _) = limits();
    let from = std::net::IpAddr::from([192, 0, 2, 1]).into();
    assert_eq!((0..1000).filter(|_| limits.page(&from).is_ok()).count(), 300);
    assert_eq!((0..5000).filter(|_| limits.address(&from).is_ok()).count(), 3000);
    assert!(limits.address_left(&from).is_err());
}
