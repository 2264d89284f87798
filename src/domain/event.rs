//! Events: what a Brand is told of its grants, and when it is told again (RFC 8417, RFC 8935).
//!
//! An event is known by its grant and the version that the change gave the grant. No chance is needed to name it, it has
//! one name however often it is sent, and the events of a grant have an order.

use std::time::Duration;

use super::grant::EndedBy;
use super::id::{BrandId, BrandUser, GrantId, Issuer};
use super::scope::ScopeSet;
use crate::clock::Timestamp;

/// No event waits longer for its next attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(900);

/// What happened to a grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// It was made.
    Created,
    /// Its scopes or its life changed.
    Changed,
    /// It ended.
    Ended(EndedBy),
}

/// One thing that a Brand is to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantEvent {
    /// The `jti`.
    pub id: String,
    /// Whom it is for.
    pub brand: BrandId,
    /// The grant.
    pub grant: GrantId,
    /// What happened to it.
    pub happened: Happened,
    /// Whose grant it is.
    pub brand_user: BrandUser,
    /// For which personal agent.
    pub personal_agent: Issuer,
    /// What the grant had after it.
    pub scopes: ScopeSet,
    /// When the grant would expire after it.
    pub expires_at: Timestamp,
    /// When.
    pub at: Timestamp,
    /// How often it was taken to be sent, this time included.
    pub attempts: i64,
}

/// How long to wait after `failures` in a row: twice as long each time, up to a quarter of an hour, of which `chance` (0 to
/// 255) takes away up to a half, so that what failed together does not come back together.
pub fn pause(failures: i64, chance: u8) -> Duration {
    let doubled = u32::try_from(failures.clamp(0, 20)).map_or(1, |failures| 1_u64 << failures);
    let whole = Duration::from_secs(doubled).min(LONGEST_PAUSE);
    whole - whole.mul_f64(f64::from(chance) / 510.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_quarter_of_an_hour_and_lose_at_most_a_half_by_chance() {
        for (failures, seconds) in [(0, 1), (1, 2), (2, 4), (9, 512), (10, 900), (11, 900), (i64::MAX, 900), (-1, 1)] {
            assert_eq!(pause(failures, 0), Duration::from_secs(seconds), "{failures}");
            assert_eq!(pause(failures, 255), Duration::from_secs(seconds) / 2, "{failures}");
            assert!(pause(failures, 128) > pause(failures, 129), "{failures}");
        }
    }
}
