//! The Brand's login comes back (PACT §5.3): a single-use assertion opens the consent page.

use std::time::Duration;

use serde_json::json;

use super::consent_view::{ConsentView, Viewer, evidence, is_enabled, view};
use super::{ATTEMPTS, Fault, RESTLESS, entry};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::{assertion, codes};
use crate::directory::{HostedBrand, Offer};
use crate::domain::assertion::Assertion;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::brand::Delegation;
use crate::domain::consent::SignInRecord;
use crate::domain::device::{DeviceAuthorization, Origin};
use crate::domain::grant::Grant;
use crate::domain::id::Issuer;
use crate::domain::scope::ScopeSet;
use crate::limits::{ClientAddress, Spent};
use crate::metrics::Credential;
use crate::secret::Secret;
use crate::store::{BrowserSession, Opens, SignIn, SignedIn};

/// How long a browser session lasts, whatever happens in it.
pub const SESSION_LIFE: Duration = Duration::from_secs(900);

/// A spent assertion's id is kept for so long after the assertion has run out.
pub(super) const JTI_MARGIN: Duration = Duration::from_secs(300);

/// An assertion as a browser posts it.
#[derive(Debug)]
pub struct PostedAssertion<'a> {
    /// The JWT.
    pub assertion: &'a str,
    /// From where.
    pub address: ClientAddress,
    /// What the browser says of languages.
    pub accept_language: Option<&'a str>,
    /// During which request.
    pub request: &'a RequestId,
}

/// What the browser gets.
#[derive(Debug)]
pub enum SignInOutcome {
    /// The consent page and a new session.
    Page {
        /// What stands on it.
        view: Box<ConsentView>,
        /// The value of the session cookie.
        cookie: Secret<String>,
    },
    /// Approved without a page, and a new session.
    Approved {
        /// The personal agent that asked.
        client: Issuer,
        /// What was approved.
        granted: ScopeSet,
        /// When the grant ends, as before.
        lasts_until: Timestamp,
        /// The value of the session cookie.
        cookie: Secret<String>,
    },
    /// The assertion is not good, or was spent before.
    NotVerified,
    /// The code is unknown, expired, decided, or another User's step-up.
    CodeNotUsable,
    /// Too many wrong codes.
    TooManyTries {
        /// For `Retry-After`.
        retry_after: Duration,
    },
}

/// Verifies and spends an assertion. One that fails is not spent.
///
/// # Errors
/// [`Fault`]; the assertion is not spent.
pub async fn sign_in(app: &App, hosted: &HostedBrand, posted: &PostedAssertion<'_>) -> Result<SignInOutcome, Fault> {
    let Some((delegation, offer)) = hosted.delegation() else { return Ok(SignInOutcome::NotVerified) };
    let now = app.clock.now();
    let Some(assertion) = verified(app, hosted, delegation, offer, posted.assertion, now).await else {
        return Ok(SignInOutcome::NotVerified);
    };
    let digest = codes::digest(posted.assertion);
    let guess = match app.limits.guesses.begin(posted.address, &hosted.brand.id, &assertion.sub, digest) {
        Ok(guess) => guess,
        Err(Spent { retry_after }) => return Ok(SignInOutcome::TooManyTries { retry_after }),
    };
    let opening = Opening { app, hosted, delegation, posted, assertion: &assertion };
    for _ in 0..ATTEMPTS {
        match opening.attempt().await? {
            Attempt::Answer(outcome) => return Ok(outcome),
            Attempt::WrongCode => {
                guess.wrong();
                return Ok(SignInOutcome::CodeNotUsable);
            }
            Attempt::Again => {}
        }
    }
    Err(RESTLESS)
}

async fn verified(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    offer: &Offer,
    token: &str,
    now: Timestamp,
) -> Option<Assertion> {
    let audience = hosted.addresses.consent_url();
    let expected = assertion::Expected { issuer: &delegation.assertion.issuer, audience: &audience };
    let verify = |keys: &_| assertion::verify(token, keys, &expected, now);
    match app.directory.with_assertion_keys(&delegation.assertion, offer, now, verify).await {
        Ok(assertion) => Some(assertion),
        Err(refused) => {
            let reason = refused.map_or("no_key_set", |refused| refused.label());
            app.metrics.refused(Credential::Assertion, reason);
            tracing::info!(brand = %hosted.brand.id, reason, "an assertion was refused");
            None
        }
    }
}

enum Attempt {
    Answer(SignInOutcome),
    WrongCode,
    Again,
}

/// A verified assertion that looks for its code.
struct Opening<'a> {
    app: &'a App,
    hosted: &'a HostedBrand,
    delegation: &'a Delegation,
    posted: &'a PostedAssertion<'a>,
    assertion: &'a Assertion,
}

impl Opening<'_> {
    async fn attempt(&self) -> Result<Attempt, Fault> {
        let now = self.app.clock.now();
        let brand = &self.hosted.brand.id;
        let user = &self.assertion.sub;
        // A repeated POST is told so before its code is looked at, and is no guess.
        if self.app.store.is_assertion_spent(brand, &self.assertion.jti).await? {
            return Ok(Attempt::Answer(SignInOutcome::NotVerified));
        }
        let mac = codes::user_code_mac(&self.app.master, brand, &self.assertion.user_code)?;
        let device = match self.app.store.device_by_user_code(brand, mac, now).await? {
            Some(device) if device.is_open(now) && device.may_be_decided_by(user) => device,
            Some(_) | None => return Ok(Attempt::WrongCode),
        };
        if !is_enabled(self.app, &device.caller.issuer) {
            return Ok(Attempt::Answer(SignInOutcome::CodeNotUsable));
        }
        let grant = self.app.store.live_grant(brand, user, &device.caller, now).await?;
        match &grant {
            Some(grant) if self.needs_no_consent(&device, grant) => self.approve(&device, grant, now).await,
            Some(_) | None => self.show(device, grant.as_ref(), now).await,
        }
    }

    /// Consent may be skipped when a live grant of the same caller covers the request (PACT §5.3).
    fn needs_no_consent(&self, device: &DeviceAuthorization, grant: &Grant) -> bool {
        self.delegation.skip_consent
            && device.origin == Origin::Requested
            && device.requested.is_subset_of(&grant.scopes)
    }

    async fn show(&self, device: DeviceAuthorization, grant: Option<&Grant>, now: Timestamp) -> Result<Attempt, Fault> {
        let sign_in = SignInRecord::from(self.assertion);
        let view = self.view(device, grant, &sign_in, now).await?;
        let cookie = codes::session_token(&self.app.entropy);
        let digest = view.digest();
        let spent = self.spend(&view.device, &sign_in, &cookie, Opens::Page(digest, &view.page), now).await?;
        Ok(match spent {
            SignedIn::Done => Attempt::Answer(SignInOutcome::Page { view: Box::new(view), cookie }),
            SignedIn::Replayed => Attempt::Answer(SignInOutcome::NotVerified),
            SignedIn::Stale | SignedIn::GrantGone => Attempt::Again,
        })
    }

    async fn approve(&self, device: &DeviceAuthorization, grant: &Grant, now: Timestamp) -> Result<Attempt, Fault> {
        let sign_in = SignInRecord::from(self.assertion);
        let view = self.view(device.clone(), Some(grant), &sign_in, now).await?;
        let evidence = evidence(&view.page, device);
        let cookie = codes::session_token(&self.app.entropy);
        let actor = Actor::User(self.assertion.sub.to_string());
        let payload = json!({
            "device": device.id.to_string(), "scope": device.requested.to_string(), "before": "pending", "after": "approved",
        });
        let brand = &self.hosted.brand.id;
        let entry = entry(brand, now, actor, Action::RequestApproved, &grant.id, self.posted.request, payload);
        let opens = Opens::Approval { grant, granted: &device.requested, evidence: &evidence, entry: &entry };
        let spent = self.spend(device, &sign_in, &cookie, opens, now).await?;
        Ok(match spent {
            SignedIn::Done => Attempt::Answer(SignInOutcome::Approved {
                client: device.caller.issuer.clone(),
                granted: device.requested.clone(),
                lasts_until: grant.expires_at,
                cookie,
            }),
            SignedIn::Replayed => Attempt::Answer(SignInOutcome::NotVerified),
            SignedIn::Stale => Attempt::Again,
            // Disabled on another node, of which this one has not heard yet; or ended just now, and there is a page to show.
            SignedIn::GrantGone => match self.app.store.grant(&grant.id).await? {
                Some(grant) if grant.is_live(now) => Attempt::Answer(SignInOutcome::CodeNotUsable),
                Some(_) | None => Attempt::Again,
            },
        })
    }

    async fn view(
        &self,
        device: DeviceAuthorization,
        grant: Option<&Grant>,
        sign_in: &SignInRecord,
        now: Timestamp,
    ) -> Result<ConsentView, Fault> {
        let viewer = Viewer {
            brand_user: &self.assertion.sub,
            sign_in,
            user_code: &self.assertion.user_code,
            accept_language: self.posted.accept_language,
        };
        view(self.app, self.hosted, self.delegation, device, grant, &viewer, now).await
    }

    async fn spend(
        &self,
        device: &DeviceAuthorization,
        sign_in: &SignInRecord,
        cookie: &Secret<String>,
        opens: Opens<'_>,
        now: Timestamp,
    ) -> Result<SignedIn, Fault> {
        let brand = &self.hosted.brand.id;
        let session = BrowserSession {
            brand: brand.clone(),
            brand_user: self.assertion.sub.clone(),
            device: Some(device.id),
            sign_in: sign_in.clone(),
            created_at: now,
            expires_at: now.plus(SESSION_LIFE),
        };
        let actor = Actor::User(self.assertion.sub.to_string());
        let payload = json!({ "iss": self.assertion.issuer, "jti": self.assertion.jti });
        let spent = SignIn {
            jti: (&self.assertion.jti, self.assertion.expires_at.plus(JTI_MARGIN)),
            session: (codes::digest(cookie.expose()), &session),
            opens,
            entry: &entry(brand, now, actor, Action::SignedIn, device.id, self.posted.request, payload),
        };
        Ok(self.app.store.sign_in(&spent).await?)
    }
}
