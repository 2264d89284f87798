//! A consent page in the making: what stands on it, and what its hidden field `session` will stand for.

use std::sync::Arc;
use std::time::Duration;

use super::Fault;
use super::sealed_code::{self, Row};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::consent::{ShownScopes, SignInRecord};
use crate::domain::device::{DeviceAuthorization, Origin};
use crate::domain::grant::{self, Grant};
use crate::domain::id::{BrandUser, Digest, Issuer};
use crate::domain::personal_agent::PersonalAgent;
use crate::domain::user_code::UserCode;
use crate::secret::Secret;
use crate::store::{ConsentPage, Evidence};
use crate::text::Language;

/// How long a page may be decided on.
const PAGE_LIFE: Duration = Duration::from_secs(600);

/// What stands on a consent page.
#[derive(Debug)]
pub struct ConsentView {
    /// The value of the hidden field.
    pub session: Secret<String>,
    /// What it stands for.
    pub page: ConsentPage,
    /// The code that is decided on.
    pub device: DeviceAuthorization,
    /// Its letters.
    pub user_code: UserCode,
    /// Who asks.
    pub personal_agent: Arc<PersonalAgent>,
    /// Whether the same personal agent already acts for this Brand user under another `sub`.
    pub acts_under_another_sub: bool,
    /// How long ago it was asked.
    pub asked_ago: Duration,
    /// When the grant would end.
    pub lasts_until: Timestamp,
    /// The page's language.
    pub language: Language,
}

/// Who looks at a page, for which code.
pub(super) struct Viewer<'a> {
    pub(super) brand_user: &'a BrandUser,
    pub(super) sign_in: &'a SignInRecord,
    pub(super) user_code: &'a UserCode,
    pub(super) accept_language: Option<&'a str>,
}

impl ConsentView {
    /// Whether the code is shown: a step-up's is not, since the personal agent shows none.
    pub fn shows_code(&self) -> bool {
        self.device.origin == Origin::Requested
    }

    /// The digest under which the page is kept.
    pub(super) fn digest(&self) -> Digest {
        codes::digest(self.session.expose())
    }
}

/// Makes a page for `viewer` to decide on `device`, beside what `grant` allows already.
pub(super) async fn view(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    device: DeviceAuthorization,
    grant: Option<&Grant>,
    viewer: &Viewer<'_>,
    now: Timestamp,
) -> Result<ConsentView, Fault> {
    let brand = &hosted.brand.id;
    let language = Language::choose(viewer.sign_in.locale.as_deref(), viewer.accept_language);
    let shown = ShownScopes::new(&device.shown(grant), delegation, language.tag());
    let page = ConsentPage {
        brand: brand.clone(),
        brand_user: viewer.brand_user.clone(),
        device: device.id,
        shown,
        language: language.tag().to_owned(),
        sign_in: viewer.sign_in.clone(),
        sealed_user_code: sealed_code::seal(app, viewer.user_code, Row::ConsentPage(device.id))?,
        grant: grant.map(|grant| (grant.id.clone(), grant.version)),
        created_at: now,
        expires_at: now.plus(PAGE_LIFE),
    };
    let acts_under_another_sub =
        app.store.acts_under_another_sub(brand, viewer.brand_user, &device.caller, now).await?;
    let directory = app.directory.current();
    let personal_agent = directory.personal_agent(&device.caller.issuer).map(Arc::clone);
    let personal_agent = personal_agent.ok_or(Fault::Impossible("a code of a personal agent that is not there"))?;
    Ok(ConsentView {
        session: codes::session_token(&app.entropy),
        page,
        user_code: viewer.user_code.clone(),
        personal_agent,
        acts_under_another_sub,
        asked_ago: now.since(device.created_at),
        lasts_until: grant::expiry(now, delegation.grant_days),
        language,
        device,
    })
}

/// Whether the personal agent may still act: nothing is decided for one that is disabled.
pub(super) fn is_enabled(app: &App, issuer: &Issuer) -> bool {
    app.directory.current().personal_agent(issuer).is_some_and(|agent| agent.enabled)
}

/// The user code of a page that was shown.
pub(super) fn user_code(app: &App, page: &ConsentPage) -> Result<UserCode, Fault> {
    sealed_code::open(app, &page.sealed_user_code, Row::ConsentPage(page.device))
}

/// What is kept of a decision on `page`.
pub(super) fn evidence(page: &ConsentPage, device: &DeviceAuthorization) -> Evidence {
    Evidence {
        device: device.id,
        brand: page.brand.clone(),
        brand_user: page.brand_user.clone(),
        caller: device.caller.clone(),
        shown: page.shown.clone(),
        language: page.language.clone(),
        sign_in: page.sign_in.clone(),
    }
}
