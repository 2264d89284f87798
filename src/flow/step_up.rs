//! Step-up (PACT §5.5): a link with which the User can allow what a turn lacked.
//!
//! Under a delegation token the link belongs to that token's grant, and only its Brand user can decide it.

use std::time::Duration;

use serde_json::{Value, json};

use super::sealed_code::{self, Row};
use super::{ATTEMPTS, Fault, RESTLESS};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::conversation::Authority;
use crate::domain::device::{DeviceAuthorization, DeviceState, LIFE, Origin, STEP_UP_REUSE};
use crate::domain::id::{Caller, ContextId, DeviceAuthorizationId, Digest, MessageId};
use crate::domain::scope::ScopeSet;
use crate::domain::user_code::UserCode;
use crate::store::{NewDeviceAuthorization, RenewStepUp, StepUpCode, StepUpStored};
use crate::text::Language;

/// A link to hand out.
pub(super) struct Link {
    /// Where the User allows what is missing.
    pub(super) url: String,
    code: Code,
}

/// The code that stands in a [`Link`].
enum Code {
    Pending(DeviceAuthorizationId),
    New { device: Box<DeviceAuthorization>, device_code: Option<Digest>, user_code: Digest, most_live: u32 },
}

impl Link {
    /// Hands the link's code to `store`, which makes it, where it is new, in the unit that hands out the link.
    pub(super) async fn store<T>(&self, store: impl AsyncFnOnce(StepUpCode<'_>) -> T) -> T {
        match &self.code {
            Code::Pending(device) => store(StepUpCode::Pending(*device)).await,
            Code::New { device, device_code, user_code, most_live } => {
                let new = NewDeviceAuthorization {
                    device,
                    device_code: *device_code,
                    user_code: *user_code,
                    most_live: *most_live,
                };
                store(StepUpCode::New(&new)).await
            }
        }
    }
}

/// A link for `missing`: the one that is pending for the same scopes of the same grant, while it has
/// [`STEP_UP_REUSE`] left, or a new one, which is there once [`Link::store`] was answered with `Stored`.
pub(super) async fn link(
    app: &App,
    hosted: &HostedBrand,
    caller: &Caller,
    authority: Option<&Authority>,
    missing: &ScopeSet,
    now: Timestamp,
) -> Result<Link, Fault> {
    let (delegation, _) = hosted.delegation().ok_or(Fault::Impossible("a step-up at a Brand without delegation"))?;
    if let Some(authority) = authority
        && let Some(pending) = app.store.pending_step_up(&authority.grant, missing, now.plus(STEP_UP_REUSE)).await?
    {
        let url = url(app, hosted, delegation, Some(authority), &user_code(app, &pending)?, now).await?;
        return Ok(Link { url, code: Code::Pending(pending.id) });
    }
    let id = DeviceAuthorizationId::from_uuid(app.entropy.uuid());
    let code = codes::user_code(&app.entropy);
    let origin = match authority {
        None => Origin::Requested,
        Some(authority) => Origin::StepUp {
            grant: authority.grant.clone(),
            brand_user: authority.brand_user.clone(),
            sealed_user_code: sealed_code::seal(app, &code, Row::DeviceAuthorization(id))?,
        },
    };
    // Without a delegation token there is no grant to extend: the code is an ordinary one whose device code nobody has.
    let device_code = authority.is_none().then(|| codes::digest(codes::device_code(&app.entropy).expose()));
    let device = DeviceAuthorization {
        id,
        brand: hosted.brand.id.clone(),
        caller: caller.clone(),
        requested: missing.clone(),
        origin,
        created_at: now,
        expires_at: now.plus(LIFE),
        state: DeviceState::Pending,
    };
    let user_code = codes::user_code_mac(&app.master, &hosted.brand.id, &code)?;
    let url = url(app, hosted, delegation, authority, &code, now).await?;
    let most_live = app.config.limits.live_codes;
    Ok(Link { url, code: Code::New { device: Box::new(device), device_code, user_code, most_live } })
}

/// The user code of a step-up, which is kept sealed because its link may be handed out again.
fn user_code(app: &App, device: &DeviceAuthorization) -> Result<UserCode, Fault> {
    let Origin::StepUp { sealed_user_code, .. } = &device.origin else {
        return Err(Fault::Impossible("a pending step-up is not a step-up"));
    };
    sealed_code::open(app, sealed_user_code, Row::DeviceAuthorization(device.id))
}

/// The consent page itself while the Brand user has a live session here, the Brand's login otherwise.
async fn url(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    authority: Option<&Authority>,
    code: &UserCode,
    now: Timestamp,
) -> Result<String, Fault> {
    let code = code.to_string();
    if let Some(authority) = authority
        && app.store.has_browser_session(&hosted.brand.id, &authority.brand_user, now).await?
    {
        return Ok(format!("{}?user_code={code}", hosted.addresses.consent_url()));
    }
    Ok(hosted.addresses.verification_uri(&delegation.login_url, Some(&code)))
}

/// A step-up that is asked for again.
pub(super) struct Again<'a> {
    pub(super) context: ContextId,
    pub(super) message: &'a MessageId,
    pub(super) reply: String,
    pub(super) missing: ScopeSet,
    pub(super) device: DeviceAuthorizationId,
}

/// What a step-up that is asked for again gets.
pub(super) enum Repeated {
    /// The response body.
    Reply(String),
    /// A caller without delegation has too many live codes.
    TooMany { retry_after: Duration },
    /// Another request has given the step-up its fresh link, or runs the message by now: look again.
    Changed,
}

/// The stored step-up, with a fresh link when the old one has run out or was decided without giving what is missing.
pub(super) async fn again(
    app: &App,
    hosted: &HostedBrand,
    caller: &Caller,
    authority: Option<&Authority>,
    again: Again<'_>,
    now: Timestamp,
) -> Result<Repeated, Fault> {
    let still_open = app.store.device(again.device).await?.is_some_and(|device| device.is_open(now));
    if still_open {
        return Ok(Repeated::Reply(again.reply));
    }
    let Again { context, message, reply, missing, device: old } = &again;
    for _ in 0..ATTEMPTS {
        let link = link(app, hosted, caller, authority, missing, now).await?;
        let reply = with_link(reply, missing, &link.url)?;
        let renew = async |code: StepUpCode<'_>| {
            let renew = RenewStepUp { context: *context, message, old: *old, code, missing, reply: &reply };
            app.store.renew_step_up(&renew).await
        };
        match link.store(renew).await? {
            StepUpStored::Stored => return Ok(Repeated::Reply(reply)),
            // What was read before has a link that leads nowhere.
            StepUpStored::Superseded => return Ok(Repeated::Changed),
            StepUpStored::TooMany { until } => return Ok(Repeated::TooMany { retry_after: until.since(now) }),
            StepUpStored::UserCodeTaken => {}
        }
    }
    Err(RESTLESS)
}

/// `reply` with another link and other missing scopes in its metadata; its receipt stays, byte for byte, since the order
/// of members is kept.
fn with_link(reply: &str, missing: &ScopeSet, url: &str) -> Result<String, Fault> {
    let mut reply: Value = serde_json::from_str(reply)?;
    let metadata = reply.pointer_mut("/task/metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or(Fault::Impossible("a stored step-up has no metadata"))?;
    let ids: Vec<&str> = missing.iter().map(|id| id.as_str()).collect();
    metadata.insert("pact.missingScopes".to_owned(), json!(ids));
    metadata.insert("pact.verificationUriComplete".to_owned(), json!(url));
    Ok(reply.to_string())
}

/// What a step-up says when the agent has no words of its own: the Brand's words for each scope.
pub(super) fn request_in_words(delegation: &Delegation, missing: &ScopeSet) -> String {
    let wanted = delegation.scopes.iter().filter(|scope| missing.contains(&scope.id));
    let words: Vec<&str> = wanted.map(|scope| scope.description.as_str()).collect();
    (Language::default().texts().general.needs_permission)(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_link_leaves_the_receipt_as_it_was_signed() {
        let receipt = r#"{"jws":"a.b.c","claims":{"grantId":"g","user":"é\u001f","ts":"2026-09-30T12:00:00Z"}}"#;
        let stored = format!(
            r#"{{"task":{{"id":"t","metadata":{{"pact.receipt":{receipt},"pact.missingScopes":["a","b"],"pact.verificationUriComplete":"old"}}}}}}"#
        );
        let renewed = with_link(&stored, &ScopeSet::parse("b").unwrap(), "new").unwrap();
        assert!(renewed.contains(receipt));
        assert!(renewed.contains(r#""pact.missingScopes":["b"],"pact.verificationUriComplete":"new""#));
    }
}
