//! What a Brand's login says of a User (PACT §5.3): who signed in, for which user code, once.

use super::id::BrandUser;
use super::user_code::UserCode;
use crate::clock::Timestamp;

/// A verified assertion. That its `jti` is spent only once is the store's to see to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assertion {
    /// The Brand's login, exact.
    pub issuer: String,
    /// The User's id at the Brand.
    pub sub: BrandUser,
    /// The device authorization that the User was sent for.
    pub user_code: UserCode,
    /// Accepted once per Brand.
    pub jti: String,
    /// When the User signed in, by the Brand's clock.
    pub issued_at: Timestamp,
    /// Until when the assertion may be used.
    pub expires_at: Timestamp,
    /// For display only.
    pub name: Option<String>,
    /// For display only.
    pub email: Option<String>,
    /// A language tag (BCP 47), for display only.
    pub locale: Option<String>,
}
