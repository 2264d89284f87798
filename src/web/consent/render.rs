//! Outcomes of the consent flows as pages and redirects.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use url::Url;

use crate::clock::Timestamp;
use crate::domain::consent::ShownScope;
use crate::domain::id::Issuer;
use crate::domain::scope::ScopeSet;
use crate::flow::ConsentView;
use crate::web::brand_pages::{Pages, see_other};
use crate::web::pages::{Closing, ClosingPage, ConsentPage, Problem, ScopeLine};
use crate::web::{error, html};

impl Pages<'_> {
    /// The consent page; `changed` when it is shown anew because what it showed has changed.
    pub(super) fn consent(&self, view: &ConsentView, changed: bool) -> HttpResponse {
        let code = view.user_code.to_string();
        let consent_url = self.hosted.addresses.consent_url();
        let page = ConsentPage {
            language: view.language,
            brand: self.look(),
            pa_name: view.personal_agent.name.clone(),
            pa_origin: view.personal_agent.origin(),
            signed_in_as: view.page.sign_in.signed_in_as().to_owned(),
            login_url: self.login(Some(&code)),
            user_code: view.shows_code().then(|| code.clone()),
            asked_minutes_ago: view.asked_ago.as_secs() / 60,
            other_sub_warning: view.acts_under_another_sub,
            changed,
            requested: lines(&view.page.shown.requested),
            allowed: lines(&view.page.shown.allowed),
            session: view.session.expose().clone(),
            action: format!("{consent_url}/decision"),
            address: format!("{consent_url}?user_code={code}"),
            return_url: self.delegation.return_url.as_ref().map(ToString::to_string),
            lasts_until: self.day(view.language, view.lasts_until),
            grants_url: Some(self.hosted.addresses.grants_url()),
        };
        let status = if changed { StatusCode::CONFLICT } else { StatusCode::OK };
        html::respond(status, &page)
    }

    /// After a decision on the page with this `session`: back to the Brand, or to a closing page here.
    pub(super) fn decided(&self, decided: &Decided<'_>, session: &str) -> HttpResponse {
        match &self.delegation.return_url {
            Some(url) => see_other(&return_address(url, decided)),
            None => see_other(&format!("{}/decision?session={session}", self.hosted.addresses.consent_url())),
        }
    }

    /// After an approval without a page: back to the Brand, or a closing page.
    pub(super) fn approved_without_page(&self, decided: &Decided<'_>) -> HttpResponse {
        match &self.delegation.return_url {
            Some(url) => see_other(&return_address(url, decided)),
            None => self.closing(decided),
        }
    }

    /// The closing page.
    pub(super) fn closing(&self, decided: &Decided<'_>) -> HttpResponse {
        let allowed = self.delegation.scopes.iter().filter(|scope| decided.granted.contains(&scope.id));
        let words = |scope| self.delegation.text(scope, self.language.tag()).description;
        let closing = if !decided.granted.is_empty() {
            Closing::Approved {
                allowed: allowed.map(words).collect(),
                lasts_until: self.day(self.language, decided.lasts_until),
            }
        } else if decided.ended {
            Closing::Ended
        } else {
            Closing::Denied
        };
        let page = ClosingPage {
            language: self.language,
            brand: self.look(),
            pa_name: decided.personal_agent.to_owned(),
            closing,
            grants_url: Some(self.hosted.addresses.grants_url()),
        };
        html::respond(StatusCode::OK, &page)
    }

    /// Too many tries, and how long to wait.
    pub(super) fn too_many_tries(&self, wait: Duration) -> HttpResponse {
        error::with_retry_after(self.problem(Problem::TooManyTries), wait)
    }
}

/// What was decided.
pub(super) struct Decided<'a> {
    pub(super) client: &'a Issuer,
    pub(super) personal_agent: &'a str,
    pub(super) granted: &'a ScopeSet,
    pub(super) ended: bool,
    pub(super) lasts_until: Timestamp,
}

fn return_address(url: &Url, decided: &Decided<'_>) -> String {
    let mut address = url.clone();
    let is_approved = !decided.granted.is_empty();
    {
        let mut query = address.query_pairs_mut();
        query.append_pair("client", decided.client.as_str());
        query.append_pair("status", if is_approved { "approved" } else { "denied" });
        if is_approved {
            query.append_pair("scope", &decided.granted.to_string());
        }
    }
    address.into()
}

fn lines(shown: &[ShownScope]) -> Vec<ScopeLine> {
    let line = |scope: &ShownScope| ScopeLine {
        id: scope.id.to_string(),
        description: scope.description.clone(),
        detail: scope.detail.clone(),
        writes: scope.writes,
        ticked: true,
    };
    shown.iter().map(line).collect()
}
