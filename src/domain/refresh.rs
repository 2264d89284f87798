//! Refresh tokens: rotated on every use, so that a stolen one shows (RFC 9700 §4.14.2).

use std::time::Duration;

use super::id::{FamilyId, GrantId};
use crate::clock::Timestamp;

/// A used token that comes again within this time of its successor's birth is a parallel refresh, not a theft.
pub const PARALLEL: Duration = Duration::from_secs(10);

/// A refresh token as it is stored, with its family's state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefreshToken {
    /// The tokens that descend from the same device code.
    pub family: FamilyId,
    /// Whose grant it renews.
    pub grant: GrantId,
    /// When it was issued.
    pub created_at: Timestamp,
    /// When it was used and its successor was born; `None` while it is live.
    pub used_at: Option<Timestamp>,
    /// When the family was given up, if it was.
    pub family_revoked_at: Option<Timestamp>,
}

/// What presenting a refresh token means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// Live: it may be rotated.
    Rotate,
    /// Used a moment ago by the same client: refused, and nothing else happens.
    Parallel,
    /// Used before: somebody has a copy, and the family must go.
    Reuse,
    /// Its family is gone.
    Revoked,
}

impl RefreshToken {
    /// What presenting it at `now` means.
    pub fn present(&self, now: Timestamp) -> Presented {
        match (self.family_revoked_at, self.used_at) {
            (Some(_), _) => Presented::Revoked,
            (None, None) => Presented::Rotate,
            (None, Some(used_at)) if now < used_at.plus(PARALLEL) => Presented::Parallel,
            (None, Some(_)) => Presented::Reuse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn token(used_at: Option<Timestamp>, family_revoked_at: Option<Timestamp>) -> RefreshToken {
        RefreshToken {
            family: FamilyId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d20").unwrap(),
            grant: GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap(),
            created_at: NOW,
            used_at,
            family_revoked_at,
        }
    }

    #[test]
    fn a_live_token_is_rotated() {
        assert_eq!(token(None, None).present(NOW), Presented::Rotate);
    }

    // case 52
    #[test]
    fn a_used_token_is_a_parallel_refresh_for_ten_seconds_and_theft_afterwards() {
        let used = token(Some(NOW), None);
        assert_eq!(used.present(NOW.plus(Duration::from_millis(9_999))), Presented::Parallel);
        assert_eq!(used.present(NOW.plus(Duration::from_secs(10))), Presented::Reuse);
    }

    // case 52
    #[test]
    fn a_token_of_a_revoked_family_is_refused_and_raises_no_second_alarm() {
        assert_eq!(token(None, Some(NOW)).present(NOW), Presented::Revoked);
        assert_eq!(token(Some(NOW), Some(NOW)).present(NOW.plus(PARALLEL)), Presented::Revoked);
    }
}
