//! The GET form of the consent URL: the page for who signed in for this very code, the Brand's login for everybody else.
//!
//! A link alone never reaches a consent page of somebody the personal agent did not already act for.

use super::Fault;
use super::consent_view::{ConsentView, Viewer, is_enabled, view};
use crate::app::App;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::device::DeviceState;
use crate::domain::user_code::UserCode;

/// What the browser gets.
#[derive(Debug)]
pub enum Shown {
    /// The consent page.
    Page(Box<ConsentView>),
    /// The Brand's login, with the code.
    Login,
    /// For who signed in for this very code: it has expired.
    Expired,
    /// For who signed in for this very code: it was decided.
    AlreadyDecided {
        /// Whether it was allowed.
        allowed: bool,
    },
}

/// Shows `user_code` to the session of `cookie`. Nothing is approved by a GET, and a page that nobody looks at, as the
/// answer to a HEAD, is not kept.
///
/// # Errors
/// [`Fault`].
pub async fn show_consent(
    app: &App,
    hosted: &HostedBrand,
    user_code: &UserCode,
    cookie: Option<&str>,
    accept_language: Option<&str>,
    is_looked_at: bool,
) -> Result<Shown, Fault> {
    let now = app.clock.now();
    let brand = &hosted.brand.id;
    let (Some((delegation, _)), Some(cookie)) = (hosted.delegation(), cookie) else { return Ok(Shown::Login) };
    let Some(session) = app.store.browser_session(brand, codes::digest(cookie), now).await? else {
        return Ok(Shown::Login);
    };
    let mac = codes::user_code_mac(&app.master, brand, user_code)?;
    let device = match app.store.device_by_user_code(brand, mac, now).await? {
        Some(device) if device.may_be_decided_by(&session.brand_user) && is_enabled(app, &device.caller.issuer) => {
            device
        }
        Some(_) | None => return Ok(Shown::Login),
    };
    let grant = app.store.live_grant(brand, &session.brand_user, &device.caller, now).await?;
    let is_own = session.device == Some(device.id);
    if !is_own && grant.is_none() {
        return Ok(Shown::Login);
    }
    if !device.is_open(now) {
        return Ok(match device.state {
            _ if !is_own => Shown::Login,
            DeviceState::Pending => Shown::Expired,
            DeviceState::Approved { .. } | DeviceState::Redeemed { .. } => Shown::AlreadyDecided { allowed: true },
            DeviceState::Denied { .. } => Shown::AlreadyDecided { allowed: false },
        });
    }
    let viewer = Viewer { brand_user: &session.brand_user, sign_in: &session.sign_in, user_code, accept_language };
    let view = view(app, hosted, delegation, device, grant.as_ref(), &viewer, now).await?;
    if is_looked_at {
        app.store.open_consent_page(view.digest(), &view.page).await?;
    }
    Ok(Shown::Page(Box::new(view)))
}
