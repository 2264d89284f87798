//! A User's own list of grants: for who has a live session here, or comes with an assertion of the Brand's login that is
//! good for this page alone.

use serde_json::json;

use super::grants_view::{GrantsView, Viewer, Wanted, view};
use super::sign_in::{JTI_MARGIN, PostedAssertion, SESSION_LIFE};
use super::{Fault, entry};
use crate::app::App;
use crate::crypto::assertion::{self, Expected, GrantsSignIn};
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor};
use crate::domain::consent::SignInRecord;
use crate::metrics::Credential;
use crate::secret::Secret;
use crate::store::{BrowserSession, Opens, SignIn, SignedIn};

/// What a browser without an assertion gets.
#[derive(Debug)]
pub enum ShownGrants {
    /// The page.
    Page(Box<GrantsView>),
    /// The Brand's login: nobody is signed in.
    Login,
}

/// What a browser with an assertion gets.
#[derive(Debug)]
pub enum GrantsOpened {
    /// The page and a new session.
    Page {
        /// What stands on it.
        view: Box<GrantsView>,
        /// The value of the session cookie.
        cookie: Secret<String>,
    },
    /// The assertion is not good, or was spent before.
    NotVerified,
}

/// Shows `wanted` to the session of `cookie`. Changes nothing; a page that nobody looks at, as the answer to a HEAD, is
/// not kept.
///
/// # Errors
/// [`Fault`].
pub async fn show_grants(
    app: &App,
    hosted: &HostedBrand,
    cookie: Option<&str>,
    wanted: &Wanted,
    accept_language: Option<&str>,
    is_looked_at: bool,
) -> Result<ShownGrants, Fault> {
    let now = app.clock.now();
    let Some(cookie) = cookie else { return Ok(ShownGrants::Login) };
    let Some(session) = app.store.browser_session(&hosted.brand.id, codes::digest(cookie), now).await? else {
        return Ok(ShownGrants::Login);
    };
    let viewer = Viewer { brand_user: &session.brand_user, sign_in: &session.sign_in, accept_language };
    let view = view(app, hosted, &viewer, wanted, now).await?;
    if is_looked_at {
        app.store.open_grants_page(view.digest(), &view.page).await?;
    }
    Ok(ShownGrants::Page(Box::new(view)))
}

/// Verifies and spends an assertion for this page, and opens a session. One that fails is not spent.
///
/// # Errors
/// [`Fault`]; the assertion is not spent.
pub async fn open_grants(app: &App, hosted: &HostedBrand, posted: &PostedAssertion<'_>) -> Result<GrantsOpened, Fault> {
    let now = app.clock.now();
    let brand = &hosted.brand.id;
    let Some(who) = verified(app, hosted, posted.assertion).await else { return Ok(GrantsOpened::NotVerified) };
    if app.store.is_assertion_spent(brand, &who.jti).await? {
        return Ok(GrantsOpened::NotVerified);
    }
    let sign_in = SignInRecord::from(&who);
    let viewer = Viewer { brand_user: &who.sub, sign_in: &sign_in, accept_language: posted.accept_language };
    let view = view(app, hosted, &viewer, &Wanted::All, now).await?;
    let cookie = codes::session_token(&app.entropy);
    let session = BrowserSession {
        brand: brand.clone(),
        brand_user: who.sub.clone(),
        device: None,
        sign_in: sign_in.clone(),
        created_at: now,
        expires_at: now.plus(SESSION_LIFE),
    };
    let actor = Actor::User(who.sub.to_string());
    let payload = json!({ "iss": who.issuer, "jti": who.jti });
    let spent = SignIn {
        jti: (&who.jti, who.expires_at.plus(JTI_MARGIN)),
        session: (codes::digest(cookie.expose()), &session),
        opens: Opens::Grants(view.digest(), &view.page),
        entry: &entry(brand, now, actor, Action::SignedIn, "grants", posted.request, payload),
    };
    Ok(match app.store.sign_in(&spent).await? {
        SignedIn::Done => GrantsOpened::Page { view: Box::new(view), cookie },
        // There is no code that could be closed, and no grant that could be gone.
        SignedIn::Replayed | SignedIn::Stale | SignedIn::GrantGone => GrantsOpened::NotVerified,
    })
}

async fn verified(app: &App, hosted: &HostedBrand, token: &str) -> Option<GrantsSignIn> {
    let (delegation, offer) = hosted.delegation()?;
    let now = app.clock.now();
    let audience = hosted.addresses.grants_url();
    let expected = Expected { issuer: &delegation.assertion.issuer, audience: &audience };
    let verify = |keys: &_| assertion::verify_for_grants(token, keys, &expected, now);
    match app.directory.with_assertion_keys(&delegation.assertion, offer, now, verify).await {
        Ok(who) => Some(who),
        Err(refused) => {
            let reason = refused.map_or("no_key_set", |refused| refused.label());
            app.metrics.refused(Credential::Assertion, reason);
            tracing::info!(brand = %hosted.brand.id, reason, "an assertion was refused");
            None
        }
    }
}
