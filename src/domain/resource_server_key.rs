//! Resource-server keys: with one, a Brand's own account API may ask whether a delegation token is good, and do nothing
//! else (RFC 7662 §2.1).

use std::time::Duration;

use super::check::{InvalidParameter, ensure, ensure_text};
use super::id::{BrandId, ResourceServerKeyId};
use crate::clock::Timestamp;

/// A key without the key itself, which nobody keeps but its holder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceServerKey {
    /// Names it where it is listed and revoked; no secret.
    pub id: ResourceServerKeyId,
    /// The Brand whose tokens it may be asked about.
    pub brand: BrandId,
    /// For people.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// It opens nothing from then on; `None` for one that is good until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, for good.
    pub revoked_at: Option<Timestamp>,
}

impl ResourceServerKey {
    /// Whether it opens anything at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether a key may be called `name` and live for so many `days`.
    ///
    /// # Errors
    /// [`InvalidParameter`] names the first that may not be.
    pub fn check(name: &str, days: Option<u32>) -> Result<(), InvalidParameter> {
        ensure_text("name", name, 80)?;
        let is_within = days.is_none_or(|days| (1..=3650).contains(&days));
        ensure(is_within, "days", format!("is {}, expected 1 to 3650", days.unwrap_or_default()))
    }

    /// When a key that is made at `now` for so many days ends.
    pub fn expiry(now: Timestamp, days: u32) -> Timestamp {
        now.plus(Duration::from_secs(u64::from(days) * 86_400))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn key() -> ResourceServerKey {
        ResourceServerKey {
            id: ResourceServerKeyId::parse("01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap(),
            brand: BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap(),
            name: "account API".to_owned(),
            created_at: NOW,
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn a_key_is_good_until_it_expires_or_is_revoked() {
        let end = ResourceServerKey::expiry(NOW, 2);
        assert_eq!(end, NOW.plus(Duration::from_secs(172_800)));
        assert!(key().is_live(end));
        let short = ResourceServerKey { expires_at: Some(end), ..key() };
        assert!(short.is_live(end.minus(Duration::from_millis(1))));
        assert!(!short.is_live(end));
        assert!(!ResourceServerKey { revoked_at: Some(NOW), ..key() }.is_live(NOW));
    }

    #[test]
    fn a_name_is_one_line_and_a_life_at_most_ten_years() {
        assert_eq!(ResourceServerKey::check("account API", None), Ok(()));
        assert_eq!(ResourceServerKey::check("account API", Some(3650)), Ok(()));
        for (name, days) in [("", None), (" ", None), ("a\nb", None), ("x", Some(0)), ("x", Some(3651))] {
            assert!(ResourceServerKey::check(name, days).is_err(), "{name:?} {days:?}");
        }
    }
}
