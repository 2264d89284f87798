//! Device authorization (RFC 8628 §3.1–3.2, PACT §5.3): a personal agent asks for scopes and gets a link for the User.

use std::time::Duration;

use super::{ATTEMPTS, Fault, RESTLESS};
use crate::app::App;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::device::{DeviceAuthorization, DeviceState, INTERVAL_SECONDS, LIFE, Origin};
use crate::domain::id::{Caller, DeviceAuthorizationId};
use crate::domain::scope::ScopeSet;
use crate::domain::user_code::UserCode;
use crate::secret::Secret;
use crate::store::{Created, NewDeviceAuthorization};

/// What became of the request.
#[derive(Debug)]
pub enum Started {
    /// Codes and links.
    Done(StartedDevice),
    /// `scope` is missing, or has an id that the Brand does not offer.
    InvalidScope,
    /// The caller has too many live codes at this Brand.
    TooMany {
        /// When one of them no longer counts.
        retry_after: Duration,
    },
}

/// The answer to a device authorization request (RFC 8628 §3.2).
#[derive(Debug)]
pub struct StartedDevice {
    /// For polling.
    pub device_code: Secret<String>,
    /// For the User.
    pub user_code: UserCode,
    /// The Brand's login.
    pub verification_uri: String,
    /// The same with the user code inside.
    pub verification_uri_complete: String,
    /// Life of both codes.
    pub expires_in: Duration,
    /// Seconds between polls.
    pub interval: u32,
}

/// Starts a device authorization of `caller` at a Brand for the scopes that `scope` names.
///
/// # Errors
/// [`Fault`].
pub async fn start_device(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    caller: &Caller,
    scope: Option<&str>,
) -> Result<Started, Fault> {
    let wanted = scope.and_then(|scope| ScopeSet::parse(scope).ok()).filter(|wanted| !wanted.is_empty());
    let Some(requested) = wanted.and_then(|wanted| delegation.select(&wanted)) else {
        return Ok(Started::InvalidScope);
    };
    let now = app.clock.now();
    for _ in 0..ATTEMPTS {
        let device_code = codes::device_code(&app.entropy);
        let user_code = codes::user_code(&app.entropy);
        let device = DeviceAuthorization {
            id: DeviceAuthorizationId::from_uuid(app.entropy.uuid()),
            brand: hosted.brand.id.clone(),
            caller: caller.clone(),
            requested: requested.clone(),
            origin: Origin::Requested,
            created_at: now,
            expires_at: now.plus(LIFE),
            state: DeviceState::Pending,
        };
        let new = NewDeviceAuthorization {
            device: &device,
            most_live: app.config.limits.live_codes,
            device_code: Some(codes::digest(device_code.expose())),
            user_code: codes::user_code_mac(&app.master, &hosted.brand.id, &user_code)?,
        };
        match app.store.create_device_authorization(&new).await? {
            Created::Created => {
                let text = user_code.to_string();
                return Ok(Started::Done(StartedDevice {
                    device_code,
                    verification_uri: hosted.addresses.verification_uri(&delegation.login_url, None),
                    verification_uri_complete: hosted.addresses.verification_uri(&delegation.login_url, Some(&text)),
                    user_code,
                    expires_in: LIFE,
                    interval: INTERVAL_SECONDS,
                }));
            }
            Created::TooMany { until } => return Ok(Started::TooMany { retry_after: until.since(now) }),
            Created::UserCodeTaken => {}
        }
    }
    Err(RESTLESS)
}
