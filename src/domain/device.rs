//! Device authorizations (RFC 8628): what a personal agent asked for, and what became of it.
//!
//! The states and their order are here; that a state is left only once is guarded by the store.

use std::time::Duration;

use super::grant::Grant;
use super::id::{BrandId, BrandUser, Caller, DeviceAuthorizationId, GrantId};
use super::scope::ScopeSet;
use crate::clock::Timestamp;

/// Life of a code (RFC 8628 §3.2, `expires_in`).
pub const LIFE: Duration = Duration::from_secs(600);
/// Seconds between polls that a personal agent starts with (RFC 8628 §3.2, `interval`).
pub const INTERVAL_SECONDS: u32 = 5;
/// How long after its expiry an approved code can still be redeemed: the User decided in time, the poll comes late.
pub const REDEEM_GRACE: Duration = Duration::from_secs(60);
/// A pending step-up code with so much life left is handed out again for the same scopes.
pub const STEP_UP_REUSE: Duration = Duration::from_secs(120);

/// A device code with its user code, or a step-up's user code alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceAuthorization {
    /// Its key in storage.
    pub id: DeviceAuthorizationId,
    /// Whose scopes are asked for.
    pub brand: BrandId,
    /// Who asked.
    pub caller: Caller,
    /// Which scopes, in the Brand's order.
    pub requested: ScopeSet,
    /// How it came about.
    pub origin: Origin,
    /// When.
    pub created_at: Timestamp,
    /// From then on it can be neither decided nor, [`REDEEM_GRACE`] later, redeemed.
    pub expires_at: Timestamp,
    /// What became of it.
    pub state: DeviceState,
}

/// How a device authorization came about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The personal agent asked at the device authorization endpoint.
    Requested,
    /// A turn lacked scopes (PACT §5.5). It belongs to one grant, so only that grant's Brand user may decide it, and there
    /// is no device code: the decision extends the grant.
    StepUp {
        /// The grant of the token that lacked them.
        grant: GrantId,
        /// That grant's Brand user.
        brand_user: BrandUser,
        /// The user code under the master key, since its link may be handed out again.
        sealed_user_code: String,
    },
}

/// What became of a device authorization.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceState {
    /// Waits for the User.
    Pending,
    /// The User allowed `granted`; not collected yet.
    Approved {
        /// The grant that the decision made or changed.
        grant: GrantId,
        /// What the User allowed.
        granted: ScopeSet,
        /// When.
        at: Timestamp,
    },
    /// The User did not allow it.
    Denied {
        /// When.
        at: Timestamp,
    },
    /// The tokens were collected.
    Redeemed {
        /// The grant they are of.
        grant: GrantId,
        /// What the User allowed.
        granted: ScopeSet,
        /// When.
        at: Timestamp,
    },
}

/// What a poll finds (RFC 8628 §3.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Poll {
    /// `authorization_pending`, or `slow_down` when the pace is too fast.
    Pending,
    /// Tokens, if the grant is still live.
    Approved {
        /// The grant that the decision made or changed.
        grant: GrantId,
        /// What the User allowed.
        granted: ScopeSet,
    },
    /// `access_denied`.
    Denied,
    /// `expired_token`.
    Expired,
    /// `invalid_grant`: the code is spent.
    Redeemed,
}

impl DeviceAuthorization {
    /// What a poll at `now` finds. Spent and denied codes stay so after their expiry (RFC 8628 §3.5).
    pub fn poll(&self, now: Timestamp) -> Poll {
        match &self.state {
            DeviceState::Redeemed { .. } => Poll::Redeemed,
            DeviceState::Denied { .. } => Poll::Denied,
            DeviceState::Approved { grant, granted, .. } if now < self.expires_at.plus(REDEEM_GRACE) => {
                Poll::Approved { grant: grant.clone(), granted: granted.clone() }
            }
            DeviceState::Approved { .. } => Poll::Expired,
            DeviceState::Pending if now < self.expires_at => Poll::Pending,
            DeviceState::Pending => Poll::Expired,
        }
    }

    /// Whether the User can still decide at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.state == DeviceState::Pending && now < self.expires_at
    }

    /// Whether `brand_user` may decide it: anyone of the Brand for a personal agent's request, one person for a step-up.
    pub fn may_be_decided_by(&self, brand_user: &BrandUser) -> bool {
        match &self.origin {
            Origin::Requested => true,
            Origin::StepUp { brand_user: only, .. } => only == brand_user,
        }
    }

    /// What the consent page shows: the requested scopes, and apart from them those that `grant` already allows and that
    /// are not asked for again.
    pub fn shown(&self, grant: Option<&Grant>) -> Shown {
        let allowed = grant.map_or_else(ScopeSet::empty, |grant| grant.scopes.without(&self.requested));
        Shown { requested: self.requested.clone(), allowed }
    }
}

/// The scopes on a consent page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Asked for now.
    pub requested: ScopeSet,
    /// Allowed before, not asked for now.
    pub allowed: ScopeSet,
}

impl Shown {
    /// Every scope on the page.
    pub fn all(&self) -> ScopeSet {
        self.requested.union(&self.allowed)
    }
}

/// The button the User pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Button {
    /// Allow.
    Allow,
    /// Don't allow.
    Deny,
}

/// What a User's decision means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// These become the grant's whole scope set.
    Approve(ScopeSet),
    /// Nothing is given; a grant that was shown stays as it was.
    Deny,
    /// Allowed with nothing ticked: nothing is given, and the grant that was shown ends.
    Withdraw,
}

/// A scope was ticked that did not stand on the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotShown;

/// Reads a decision off a consent page: `granted ⊆ shown`.
///
/// # Errors
/// [`NotShown`] when a ticked scope was not on the page.
pub fn decide(button: Button, shown: &ScopeSet, ticked: &ScopeSet) -> Result<Decision, NotShown> {
    if !ticked.is_subset_of(shown) {
        return Err(NotShown);
    }
    Ok(match button {
        Button::Deny => Decision::Deny,
        Button::Allow if ticked.is_empty() => Decision::Withdraw,
        Button::Allow => Decision::Approve(shown.intersection(ticked)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::{Issuer, PaSub};
    use crate::domain::samples;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn set(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    fn grant_id() -> GrantId {
        GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap()
    }

    fn device(state: DeviceState) -> DeviceAuthorization {
        DeviceAuthorization {
            id: DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d20").unwrap(),
            brand: samples::brand().id,
            caller: Caller {
                issuer: Issuer::parse("https://pa.example.com").unwrap(),
                sub: PaSub::parse("user-7f3a").unwrap(),
            },
            requested: set("orders:read orders:cancel"),
            origin: Origin::Requested,
            created_at: NOW,
            expires_at: NOW.plus(LIFE),
            state,
        }
    }

    // case 28
    #[test]
    fn a_pending_code_is_pending_until_it_expires() {
        let pending = device(DeviceState::Pending);
        assert_eq!(pending.poll(NOW.plus(LIFE).minus(Duration::from_millis(1))), Poll::Pending);
        assert_eq!(pending.poll(NOW.plus(LIFE)), Poll::Expired);
        assert!(!pending.is_open(NOW.plus(LIFE)));
    }

    // case 28
    #[test]
    fn an_approved_code_can_be_redeemed_until_a_minute_after_its_expiry() {
        let approved = device(DeviceState::Approved { grant: grant_id(), granted: set("orders:read"), at: NOW });
        let expected = Poll::Approved { grant: grant_id(), granted: set("orders:read") };
        assert_eq!(approved.poll(NOW.plus(Duration::from_millis(659_999))), expected);
        assert_eq!(approved.poll(NOW.plus(Duration::from_secs(660))), Poll::Expired);
    }

    // case 29
    #[test]
    fn denied_and_redeemed_codes_stay_so_for_good() {
        let later = NOW.plus(Duration::from_secs(86_400));
        assert_eq!(device(DeviceState::Denied { at: NOW }).poll(later), Poll::Denied);
        assert_eq!(
            device(DeviceState::Redeemed { grant: grant_id(), granted: set("orders:read"), at: NOW }).poll(later),
            Poll::Redeemed
        );
    }

    // case 42
    #[test]
    fn what_was_not_shown_cannot_be_granted() {
        let shown = set("orders:read orders:cancel");
        assert_eq!(decide(Button::Allow, &shown, &set("orders:read refunds:issue")), Err(NotShown));
        assert_eq!(decide(Button::Deny, &shown, &set("refunds:issue")), Err(NotShown));
    }

    // case 42
    #[test]
    fn allowing_keeps_the_order_shown_and_allowing_nothing_withdraws() {
        let shown = set("orders:read orders:cancel refunds:issue");
        let allow = |ticked| decide(Button::Allow, &shown, &set(ticked));
        assert_eq!(allow("refunds:issue orders:read"), Ok(Decision::Approve(set("orders:read refunds:issue"))));
        assert_eq!(allow(""), Ok(Decision::Withdraw));
        assert_eq!(decide(Button::Deny, &shown, &set("orders:read")), Ok(Decision::Deny));
    }

    // case 34
    #[test]
    fn a_step_up_is_decided_by_the_grants_own_user_only() {
        let jane = BrandUser::parse("jane-4471").unwrap();
        let mut step_up = device(DeviceState::Pending);
        step_up.origin =
            Origin::StepUp { grant: grant_id(), brand_user: jane.clone(), sealed_user_code: String::new() };
        assert!(step_up.may_be_decided_by(&jane));
        assert!(!step_up.may_be_decided_by(&BrandUser::parse("joe-1").unwrap()));
    }
}
