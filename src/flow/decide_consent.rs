//! The decision (PACT §5.3): what was ticked, of what was shown, becomes the grant's whole scope set.

use serde_json::json;

use super::consent_view::{ConsentView, Viewer, evidence, is_enabled, user_code, view};
use super::{ATTEMPTS, Fault, RESTLESS, entry};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::brand::Delegation;
use crate::domain::device::{Button, Decision, DeviceAuthorization, DeviceState, Origin, decide};
use crate::domain::grant::{self, Grant, GrantState};
use crate::domain::id::{GrantId, Issuer};
use crate::domain::scope::ScopeSet;
use crate::store::{ConsentPage, Decide, Decided};

/// A decision as a browser posts it.
#[derive(Debug)]
pub struct PostedDecision<'a> {
    /// The page's hidden field.
    pub session: &'a str,
    /// The button.
    pub button: Button,
    /// The ticked scopes.
    pub ticked: &'a ScopeSet,
    /// What the browser says of languages.
    pub accept_language: Option<&'a str>,
    /// During which request.
    pub request: &'a RequestId,
}

/// What the browser gets.
#[derive(Debug)]
pub enum DecisionOutcome {
    /// Decided just now.
    Done {
        /// The personal agent that asked.
        client: Issuer,
        /// What it may do now; empty when nothing was allowed.
        granted: ScopeSet,
        /// Whether a grant has ended by it.
        ended: bool,
        /// When the grant ends.
        lasts_until: Timestamp,
    },
    /// Decided before: this changes nothing.
    AlreadyDecided {
        /// Whether it was allowed.
        allowed: bool,
    },
    /// The code has run out.
    Expired,
    /// There is no such page.
    PageNotUsable,
    /// Something was ticked that did not stand on the page.
    NotShown,
    /// What the page showed has changed: here it is anew.
    Changed(Box<ConsentView>),
}

/// Decides. The first decision on a code wins.
///
/// # Errors
/// [`Fault`]; nothing is decided.
pub async fn decide_consent(
    app: &App,
    hosted: &HostedBrand,
    posted: &PostedDecision<'_>,
) -> Result<DecisionOutcome, Fault> {
    let Some((delegation, _)) = hosted.delegation() else { return Ok(DecisionOutcome::PageNotUsable) };
    let digest = codes::digest(posted.session);
    let Some(page) = app.store.consent_page(&hosted.brand.id, digest).await? else {
        return Ok(DecisionOutcome::PageNotUsable);
    };
    let deciding = Deciding { app, hosted, delegation, posted, page: &page };
    for _ in 0..ATTEMPTS {
        if let Some(outcome) = deciding.attempt().await? {
            return Ok(outcome);
        }
    }
    Err(RESTLESS)
}

struct Deciding<'a> {
    app: &'a App,
    hosted: &'a HostedBrand,
    delegation: &'a Delegation,
    posted: &'a PostedDecision<'a>,
    page: &'a ConsentPage,
}

impl Deciding<'_> {
    /// `None` when the code was closed by somebody else in between: then it is looked at again.
    async fn attempt(&self) -> Result<Option<DecisionOutcome>, Fault> {
        let now = self.app.clock.now();
        let page = self.page;
        let Some(device) = self.app.store.device(page.device).await? else {
            return Ok(Some(DecisionOutcome::Expired));
        };
        match device.state {
            DeviceState::Approved { .. } | DeviceState::Redeemed { .. } => {
                return Ok(Some(DecisionOutcome::AlreadyDecided { allowed: true }));
            }
            DeviceState::Denied { .. } => return Ok(Some(DecisionOutcome::AlreadyDecided { allowed: false })),
            DeviceState::Pending if !device.is_open(now) || now >= page.expires_at => {
                return Ok(Some(DecisionOutcome::Expired));
            }
            DeviceState::Pending if !is_enabled(self.app, &device.caller.issuer) => {
                return Ok(Some(DecisionOutcome::PageNotUsable));
            }
            DeviceState::Pending => {}
        }
        if let Origin::StepUp { grant, .. } = &device.origin
            && !self.app.store.grant(grant).await?.is_some_and(|grant| grant.is_live(now))
        {
            return Ok(Some(DecisionOutcome::Expired));
        }
        let shown = page.shown.ids();
        let Ok(decision) = decide(self.posted.button, &shown, self.posted.ticked) else {
            return Ok(Some(DecisionOutcome::NotShown));
        };
        if !shown.is_subset_of(&self.delegation.scope_ids()) {
            return self.anew(device, now).await.map(Some);
        }
        let decision = match decision {
            Decision::Approve(scopes) => Decision::Approve(self.delegation.scope_ids().intersection(&scopes)),
            other => other,
        };
        let grant = self.grant(&device, &decision, now);
        let before = match &page.grant {
            // Decided only if it is still the one that the page showed.
            Some((id, _)) => self.app.store.grant(id).await?,
            None => None,
        };
        let entry = self.entry(&device, before.as_ref(), &grant, &decision, now);
        let evidence = evidence(page, &device);
        let unit = Decide {
            decision: &decision,
            page_grant: page.grant.as_ref(),
            grant: &grant,
            evidence: &evidence,
            entry: &entry,
        };
        Ok(match self.app.store.decide(&unit).await? {
            Decided::Done => Some(DecisionOutcome::Done {
                client: device.caller.issuer,
                ended: decision == Decision::Withdraw && page.grant.is_some(),
                granted: grant.scopes,
                lasts_until: grant.expires_at,
            }),
            Decided::CodeClosed => None,
            Decided::GrantChanged => Some(self.anew(device, now).await?),
        })
    }

    /// The grant as an approval leaves it.
    fn grant(&self, device: &DeviceAuthorization, decision: &Decision, now: Timestamp) -> Grant {
        let id = match &self.page.grant {
            Some((id, _)) => id.clone(),
            None => GrantId::from_ulid(self.app.entropy.ulid(now)),
        };
        let scopes = match decision {
            Decision::Approve(scopes) => scopes.clone(),
            Decision::Deny | Decision::Withdraw => ScopeSet::empty(),
        };
        Grant {
            id,
            brand: self.page.brand.clone(),
            brand_user: self.page.brand_user.clone(),
            caller: device.caller.clone(),
            scopes,
            version: 1,
            created_at: now,
            decided_at: now,
            expires_at: grant::expiry(now, self.delegation.grant_days),
            last_used_at: None,
            state: GrantState::Live,
        }
    }

    fn entry(
        &self,
        device: &DeviceAuthorization,
        before: Option<&Grant>,
        grant: &Grant,
        decision: &Decision,
        now: Timestamp,
    ) -> crate::domain::audit::Entry {
        let action = match (decision, &self.page.grant) {
            (Decision::Approve(_), None) => Action::GrantCreated,
            (Decision::Approve(_), Some(_)) => Action::GrantChanged,
            (Decision::Withdraw, Some(_)) => Action::GrantEnded,
            (Decision::Withdraw, None) | (Decision::Deny, _) => Action::RequestDenied,
        };
        let (subject, before, after) = match action {
            Action::RequestDenied => (device.id.to_string(), json!("pending"), json!("denied")),
            Action::GrantEnded => (grant.id.to_string(), json!(before.map(Grant::to_audit)), json!(null)),
            _ => (grant.id.to_string(), json!(before.map(Grant::to_audit)), grant.to_audit()),
        };
        let payload = json!({
            "device": device.id.to_string(), "requested": device.requested.to_string(), "before": before, "after": after,
        });
        let actor = Actor::User(self.page.brand_user.to_string());
        entry(&self.page.brand, now, actor, action, subject, self.posted.request, payload)
    }

    /// The page as it is now, for the same person and code. A step-up has none any more once its grant ended.
    async fn anew(&self, device: DeviceAuthorization, now: Timestamp) -> Result<DecisionOutcome, Fault> {
        let page = self.page;
        let grant = self.app.store.live_grant(&page.brand, &page.brand_user, &device.caller, now).await?;
        if let Origin::StepUp { grant: own, .. } = &device.origin
            && grant.as_ref().is_none_or(|live| live.id != *own)
        {
            return Ok(DecisionOutcome::Expired);
        }
        let viewer = Viewer {
            brand_user: &page.brand_user,
            sign_in: &page.sign_in,
            user_code: &user_code(self.app, page)?,
            accept_language: self.posted.accept_language,
        };
        let view = view(self.app, self.hosted, self.delegation, device, grant.as_ref(), &viewer, now).await?;
        self.app.store.open_consent_page(view.digest(), &view.page).await?;
        Ok(DecisionOutcome::Changed(Box::new(view)))
    }
}
