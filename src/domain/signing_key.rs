//! The keys that sign a Brand's delegation tokens, receipts and turns (PACT §5.4, §5.6).

use std::time::Duration;

use super::brand::SigningAlg;
use super::id::{BrandId, KeyId};
use crate::clock::Timestamp;

/// How long a retired key still verifies delegation tokens: the longest life such a token can have.
pub const RETIRED_VERIFIES_FOR: Duration = Duration::from_secs(3600);

/// A key as it is stored: the private half is readable only under the master key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedKey {
    /// Its `kid`.
    pub id: KeyId,
    /// Whose key it is. The seal is bound to this and to `id`.
    pub brand: BrandId,
    /// What it signs with.
    pub alg: SigningAlg,
    /// The public half, a JWK as JSON (RFC 7517 §4).
    pub public_jwk: String,
    /// The private half, a JWE in compact form (RFC 7516 §7.1).
    pub sealed_private: String,
    /// Where in its life it is.
    pub state: KeyState,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Where in its life a key is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyState {
    /// Published; signs from this instant on.
    Live {
        /// At least 24 h after it was published, so that nobody meets a signature by a key not yet fetched.
        signs_from: Timestamp,
    },
    /// Signs no more; still published, so that receipts can be verified.
    Retired {
        /// When it stopped signing.
        at: Timestamp,
    },
    /// Verifies nothing and is not published.
    Compromised {
        /// When it was given up.
        at: Timestamp,
    },
}

impl KeyState {
    /// Whether the key may sign at `now`.
    pub fn signs(self, now: Timestamp) -> bool {
        matches!(self, Self::Live { signs_from } if signs_from <= now)
    }

    /// Whether the key stands in the Brand's JWKS: all but the compromised.
    pub const fn is_published(self) -> bool {
        !matches!(self, Self::Compromised { .. })
    }

    /// Whether a delegation token signed with the key may be accepted at `now`.
    pub fn verifies_tokens(self, now: Timestamp) -> bool {
        match self {
            Self::Live { .. } => true,
            Self::Retired { at } => now < at.plus(RETIRED_VERIFIES_FOR),
            Self::Compromised { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_seconds(1_767_225_600);

    #[test]
    fn a_key_signs_only_once_it_was_published_long_enough() {
        let live = KeyState::Live { signs_from: AT };
        assert!(!live.signs(AT.minus(Duration::from_millis(1))));
        assert!(live.signs(AT));
        assert!(!KeyState::Retired { at: AT }.signs(AT));
        assert!(!KeyState::Compromised { at: AT }.signs(AT));
    }

    #[test]
    fn a_retired_key_verifies_tokens_for_an_hour_and_stays_published() {
        let retired = KeyState::Retired { at: AT };
        assert!(retired.verifies_tokens(AT.plus(Duration::from_secs(3599))));
        assert!(!retired.verifies_tokens(AT.plus(Duration::from_secs(3600))));
        assert!(retired.is_published());
    }

    #[test]
    fn a_compromised_key_verifies_nothing_and_leaves_the_published_set() {
        let compromised = KeyState::Compromised { at: AT };
        assert!(!compromised.verifies_tokens(AT));
        assert!(!compromised.is_published());
    }
}
