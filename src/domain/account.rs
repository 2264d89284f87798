//! Administrators' accounts, their sessions, and API keys: who is let in, and until when.
//!
//! Refuses an account that is disabled, a session that was idle for too long or has lasted for too long, one that still
//! waits for its second factor, and a key that is revoked or has run out.

use std::time::Duration;

use super::administrator::Access;
use super::id::{AdministratorName, ApiKeyId, Digest};
use crate::clock::Timestamp;
use crate::secret::Secret;

/// The fewest characters of a password. Length is what counts (NIST SP 800-63B §5.1.1.2); nothing is asked about its kinds of characters.
pub const SHORTEST_PASSWORD: usize = 12;

/// The most bytes of a password.
pub const LONGEST_PASSWORD: usize = 1024;

/// The longest life of an API key.
pub const LONGEST_KEY_LIFE: Duration = Duration::from_secs(366 * 86_400);

/// An administrator's account.
#[derive(Clone, Debug)]
pub struct Administrator {
    /// Unique.
    pub name: AdministratorName,
    /// What of the password is stored: a PHC string.
    pub password_hash: Secret<String>,
    /// What they may do, and at which Brands.
    pub access: Access,
    /// The secret of their second factor, sealed; none where there is no second factor.
    pub sealed_totp: Option<String>,
    /// The latest time step whose code was accepted.
    pub totp_step: Option<i64>,
    /// Grows with each change but a log-in; a change names the version it saw.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// The latest change but a log-in.
    pub changed_at: Timestamp,
    /// The latest log-in.
    pub logged_in_at: Option<Timestamp>,
    /// Nobody is let in since then.
    pub disabled_at: Option<Timestamp>,
}

impl Administrator {
    /// Whether anybody is let in.
    pub const fn is_enabled(&self) -> bool {
        self.disabled_at.is_none()
    }

    /// Whether a log-in asks for a second factor.
    pub const fn has_second_factor(&self) -> bool {
        self.sealed_totp.is_some()
    }

    /// Whether they can do all there is to do. There is always one of them.
    pub fn is_full_owner(&self) -> bool {
        self.is_enabled() && self.access.is_everything()
    }
}

/// How far a log-in has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The password was right, and a second factor is asked for.
    SecondFactor,
    /// All the way.
    Live,
}

impl Stage {
    /// As it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SecondFactor => "second_factor",
            Self::Live => "live",
        }
    }
}

/// A browser that an administrator logged in with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdministratorSession {
    /// Whose.
    pub administrator: AdministratorName,
    /// How far it has come.
    pub stage: Stage,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was used, to about a thirtieth of the time after which it counts as idle.
    pub last_seen_at: Timestamp,
    /// It is nothing from then on, whatever happens in it.
    pub expires_at: Timestamp,
}

impl AdministratorSession {
    /// Whether it lets its administrator do something.
    pub fn is_live(&self, now: Timestamp, idle: Duration) -> bool {
        self.stage == Stage::Live && now < self.expires_at && now < self.last_seen_at.plus(idle)
    }

    /// Whether a second factor may finish it.
    pub fn is_pending(&self, now: Timestamp) -> bool {
        self.stage == Stage::SecondFactor && now < self.expires_at
    }
}

/// What stands for a program that administers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKey {
    /// No secret: the audit log names the key by it.
    pub id: ApiKeyId,
    /// What it is for.
    pub name: String,
    /// What it may do, and at which Brands.
    pub access: Access,
    /// Who made it, as the audit log names them.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// It is nothing from then on.
    pub expires_at: Timestamp,
    /// When it was used, to a quarter of an hour.
    pub last_used_at: Option<Timestamp>,
    /// Since when it is revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKey {
    /// Whether it lets anybody do something.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }

    /// `live`, `expired` or `revoked`.
    pub fn state(&self, now: Timestamp) -> &'static str {
        match self.revoked_at {
            Some(_) => "revoked",
            None if self.is_live(now) => "live",
            None => "expired",
        }
    }
}

/// A key's digest with the key: what a store finds by what a program sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredApiKey {
    /// SHA-256 of the key.
    pub digest: Digest,
    /// The rest.
    pub key: ApiKey,
}

/// Why a password is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PoorPassword {
    /// Too few characters.
    #[error("has fewer than {SHORTEST_PASSWORD} characters")]
    Short,
    /// Too many bytes.
    #[error("has more than {LONGEST_PASSWORD} bytes")]
    Long,
    /// The name, or one character all along.
    #[error("can be guessed from the name, or is one character over and over")]
    Guessable,
}

/// Whether `password` may be the one of `name`.
///
/// # Errors
/// [`PoorPassword`].
pub fn check_password(name: &AdministratorName, password: &str) -> Result<(), PoorPassword> {
    if password.chars().count() < SHORTEST_PASSWORD {
        return Err(PoorPassword::Short);
    }
    if password.len() > LONGEST_PASSWORD {
        return Err(PoorPassword::Long);
    }
    let without_name = password.to_lowercase().replace(name.as_str(), "");
    let mut left = without_name.chars();
    let first = left.next();
    if left.all(|c| Some(c) == first) {
        return Err(PoorPassword::Guessable);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::administrator::{Reach, Role};

    const IDLE: Duration = Duration::from_secs(900);
    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn name() -> AdministratorName {
        AdministratorName::parse("anna").unwrap()
    }

    fn session(stage: Stage) -> AdministratorSession {
        let expires_at = NOW.plus(Duration::from_secs(8 * 3600));
        AdministratorSession { administrator: name(), stage, created_at: NOW, last_seen_at: NOW, expires_at }
    }

    #[test]
    fn a_session_ends_when_it_is_idle_and_when_it_has_lasted() {
        let live = session(Stage::Live);
        assert!(live.is_live(NOW, IDLE) && live.is_live(NOW.plus(IDLE - Duration::from_millis(1)), IDLE));
        assert!(!live.is_live(NOW.plus(IDLE), IDLE));
        let busy = AdministratorSession { last_seen_at: live.expires_at, ..live.clone() };
        assert!(busy.is_live(live.expires_at.minus(Duration::from_millis(1)), IDLE));
        assert!(!busy.is_live(live.expires_at, IDLE));
        assert!(!live.is_pending(NOW));
        let pending = session(Stage::SecondFactor);
        assert!(pending.is_pending(NOW) && !pending.is_live(NOW, IDLE) && !pending.is_pending(pending.expires_at));
    }

    #[test]
    fn a_key_is_nothing_once_it_has_run_out_or_was_revoked() {
        let key = ApiKey {
            id: ApiKeyId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap(),
            name: "deploy".to_owned(),
            access: Access { role: Role::Auditor, reach: Reach::All },
            created_by: "anna".to_owned(),
            created_at: NOW,
            expires_at: NOW.plus(IDLE),
            last_used_at: None,
            revoked_at: None,
        };
        assert_eq!((key.is_live(NOW), key.state(NOW)), (true, "live"));
        assert_eq!(key.state(NOW.plus(IDLE)), "expired");
        let revoked = ApiKey { revoked_at: Some(NOW), ..key };
        assert_eq!((revoked.is_live(NOW), revoked.state(NOW.plus(IDLE))), (false, "revoked"));
    }

    #[test]
    fn a_password_is_long_and_not_the_name() {
        for (password, expected) in [
            ("correct horse battery", Ok(())),
            ("twelve chars", Ok(())),
            ("ünïcödé wörd", Ok(())),
            ("eleven char", Err(PoorPassword::Short)),
            ("", Err(PoorPassword::Short)),
            ("aaaaaaaaaaaaaaaa", Err(PoorPassword::Guessable)),
            ("annaANNAannaAnna", Err(PoorPassword::Guessable)),
            ("annaannaannaanna1", Err(PoorPassword::Guessable)),
        ] {
            assert_eq!(check_password(&name(), password), expected, "{password}");
        }
        assert_eq!(check_password(&name(), &"ab".repeat(513)), Err(PoorPassword::Long));
    }

    #[test]
    fn a_name_is_plain_and_typed_in_any_case() {
        for fine in ["anna", "a", "anna.b-c_d@example.com", "7of9"] {
            assert!(AdministratorName::parse(fine).is_ok(), "{fine}");
        }
        for wrong in ["", "Anna", "anna ", "command line", ".anna", "änna", "anna/b", "api key x"] {
            assert!(AdministratorName::parse(wrong).is_err(), "{wrong}");
        }
        assert!(AdministratorName::parse("a".repeat(65)).is_err());
        assert_eq!(AdministratorName::typed(" Anna\n").unwrap(), name());
    }
}
