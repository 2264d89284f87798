//! The token endpoint, device code grant (RFC 8628 §3.4–3.5): what a personal agent's poll finds.

use serde_json::json;

use super::issue::{IssuedTokens, mint};
use super::{ATTEMPTS, Fault, RESTLESS, entry};
use crate::app::App;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::brand::Delegation;
use crate::domain::device::Poll;
use crate::domain::id::{Caller, FamilyId};
use crate::limits::Pace;
use crate::store::{Redeem, Redeemed};

/// What the poll gets.
#[derive(Debug)]
pub enum Polled {
    /// Both tokens.
    Tokens(IssuedTokens),
    /// The code is unknown, another's, spent, or its grant has ended.
    InvalidGrant,
    /// The User has not decided yet.
    AuthorizationPending,
    /// The same, and the poll came too soon.
    SlowDown {
        /// Seconds between polls from now on.
        interval: u32,
    },
    /// The User did not allow it.
    AccessDenied,
    /// The code has run out.
    ExpiredToken,
}

/// Answers a poll for `device_code`. Of concurrent polls after the approval exactly one gets tokens.
///
/// # Errors
/// [`Fault`]; the code can then be redeemed again.
pub async fn poll_token(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    caller: &Caller,
    device_code: &str,
    request: &RequestId,
) -> Result<Polled, Fault> {
    let digest = codes::digest(device_code);
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let device = match app.store.device_by_device_code(digest).await? {
            Some(device) if device.brand == hosted.brand.id && device.caller == *caller => device,
            Some(_) | None => return Ok(Polled::InvalidGrant),
        };
        let (grant, granted) = match device.poll(now) {
            Poll::Approved { grant, granted } => (grant, granted),
            Poll::Redeemed => return Ok(Polled::InvalidGrant),
            Poll::Denied => return Ok(Polled::AccessDenied),
            Poll::Expired => return Ok(Polled::ExpiredToken),
            Poll::Pending => {
                return Ok(match app.limits.polls.poll(device.id, device.expires_at.since(now)) {
                    Pace::InTime => Polled::AuthorizationPending,
                    Pace::TooSoon { interval_seconds } => Polled::SlowDown { interval: interval_seconds },
                });
            }
        };
        let grant = match app.store.grant(&grant).await? {
            Some(grant) if grant.is_live(now) => grant,
            Some(_) | None => return Ok(Polled::InvalidGrant),
        };
        let scopes = granted.intersection(&grant.scopes);
        if scopes.is_empty() {
            return Ok(Polled::InvalidGrant);
        }
        let (issued, kept) = mint(app, hosted, delegation, &grant, scopes, now)?;
        let payload = json!({ "token": kept.token.to_string(), "scope": kept.scopes.to_string(), "device": device.id.to_string() });
        let actor = Actor::PersonalAgent(caller.issuer.to_string());
        let entry = entry(&hosted.brand.id, now, actor, Action::TokensIssued, &grant.id, request, payload);
        let family = FamilyId::from_uuid(app.entropy.uuid());
        let redeem = Redeem { device: device.id, family, tokens: &kept, entry: &entry };
        match app.store.redeem(&redeem).await? {
            Redeemed::Done => return Ok(Polled::Tokens(issued)),
            Redeemed::Spent | Redeemed::GrantGone => return Ok(Polled::InvalidGrant),
            Redeemed::Stale => {}
        }
    }
    Err(RESTLESS)
}
