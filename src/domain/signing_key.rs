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

/// A new key of a Brand that has others is published for so long before it signs.
pub const PUBLISHED_BEFORE_SIGNING: Duration = Duration::from_secs(86_400);

/// A key that is wanted at once signs after so long: every node has seen it by then, and none refuses what another signed.
pub const SEEN_EVERYWHERE_WITHIN: Duration = Duration::from_secs(3);

impl SealedKey {
    /// When a live key gives way to its successor: as soon as a newer live one of its algorithm, of those in `all` that are
    /// the same Brand's, starts to sign. Nobody has to be there at that instant: it is read off the rows.
    pub fn gives_way_at(&self, all: &[Self]) -> Option<Timestamp> {
        let is_newer = |other: &&Self| {
            other.brand == self.brand
                && other.alg == self.alg
                && (other.created_at, other.id.as_str()) > (self.created_at, self.id.as_str())
        };
        let starts = |other: &Self| match other.state {
            KeyState::Live { signs_from } => Some(signs_from),
            KeyState::Retired { .. } | KeyState::Compromised { .. } => None,
        };
        match self.state {
            KeyState::Live { .. } => all.iter().filter(is_newer).filter_map(starts).min(),
            KeyState::Retired { .. } | KeyState::Compromised { .. } => None,
        }
    }
}

impl KeyState {
    /// What it is at `now`, when it gives way to a successor at that instant.
    pub fn settled(self, gives_way_at: Option<Timestamp>, now: Timestamp) -> Self {
        match (self, gives_way_at) {
            (Self::Live { .. }, Some(at)) if at <= now => Self::Retired { at },
            (state, _) => state,
        }
    }

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
    fn a_key_gives_way_to_the_first_newer_one_of_its_algorithm_that_starts() {
        let later = |seconds| AT.plus(Duration::from_secs(seconds));
        let key = |kid: &str, alg, created, state| SealedKey {
            id: KeyId::parse(kid).unwrap(),
            brand: crate::domain::samples::brand().id,
            alg,
            public_jwk: String::new(),
            sealed_private: String::new(),
            state,
            created_at: later(created),
        };
        let live = |seconds| KeyState::Live { signs_from: later(seconds) };
        let all = [
            key("old", SigningAlg::Es256, 0, live(0)),
            key("next", SigningAlg::Es256, 10, live(100)),
            key("urgent", SigningAlg::Es256, 20, live(23)),
            key("rsa", SigningAlg::Rs256, 30, live(30)),
            key("gone", SigningAlg::Es256, 40, KeyState::Compromised { at: later(41) }),
        ];
        let ways: Vec<_> = all.iter().map(|key| key.gives_way_at(&all)).collect();
        assert_eq!(ways, [Some(later(23)), Some(later(23)), None, None, None]);
        assert_eq!(live(0).settled(ways[0], later(22)), live(0));
        assert_eq!(live(0).settled(ways[0], later(23)), KeyState::Retired { at: later(23) });
        assert_eq!(live(0).settled(None, later(99)), live(0));
    }

    #[test]
    fn a_compromised_key_verifies_nothing_and_leaves_the_published_set() {
        let compromised = KeyState::Compromised { at: AT };
        assert!(!compromised.verifies_tokens(AT));
        assert!(!compromised.is_published());
    }
}
