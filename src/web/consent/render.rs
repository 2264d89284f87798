//! Outcomes of the consent flows as pages and redirects.

use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use url::Url;

use crate::clock::Timestamp;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::consent::ShownScope;
use crate::domain::id::Issuer;
use crate::domain::scope::ScopeSet;
use crate::flow::{ConsentView, Fault};
use crate::text::Language;
use crate::web::extract::strict_form::FormProblem;
use crate::web::pages::{BrandLook, Closing, ClosingPage, ConsentPage, ErrorPage, Problem, ScopeLine};
use crate::web::{app, error, html};

/// The Brand's pages as one request sees them.
pub(super) struct Pages<'a> {
    hosted: &'a HostedBrand,
    delegation: &'a Delegation,
    language: Language,
    https: bool,
}

/// What the browser says of languages.
pub(super) fn accept_language(req: &HttpRequest) -> Option<&str> {
    req.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok())
}

impl<'a> Pages<'a> {
    pub(super) fn new(req: &HttpRequest, hosted: &'a HostedBrand, delegation: &'a Delegation) -> Self {
        let language = Language::choose(None, accept_language(req));
        Self { hosted, delegation, language, https: app(req).config.is_https() }
    }

    fn look(&self) -> BrandLook {
        BrandLook { name: self.hosted.brand.name.clone(), color: self.delegation.theme.color }
    }

    /// The Brand's login, which comes back to the consent page with `user_code`.
    pub(super) fn login(&self, user_code: Option<&str>) -> String {
        self.hosted.addresses.verification_uri(&self.delegation.login_url, user_code)
    }

    pub(super) fn look_and_language(&self) -> (BrandLook, Language) {
        (self.look(), self.language)
    }

    pub(super) const fn is_https(&self) -> bool {
        self.https
    }

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
            grants_url: None,
        };
        let status = if changed { StatusCode::CONFLICT } else { StatusCode::OK };
        html::respond(status, &page)
    }

    fn day(&self, language: Language, at: Timestamp) -> String {
        (language.texts().general.day)(at)
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
            grants_url: None,
        };
        html::respond(StatusCode::OK, &page)
    }

    /// What went wrong.
    pub(super) fn problem(&self, problem: Problem) -> HttpResponse {
        let page =
            ErrorPage { language: self.language, brand: Some(self.look()), problem, login_url: Some(self.login(None)) };
        html::respond(error::page_status(problem), &page)
    }

    /// A form that could not be read.
    pub(super) fn form_problem(&self, problem: &FormProblem) -> HttpResponse {
        match problem {
            FormProblem::ContentType | FormProblem::Encoded => error::unsupported_media_type(),
            FormProblem::TooLarge => error::too_large(),
            FormProblem::TooSlow => error::too_slow(),
            FormProblem::InQuery | FormProblem::Broken | FormProblem::Repeated(_) => self.problem(Problem::BadRequest),
            FormProblem::Escape(_) | FormProblem::NotUtf8(_) | FormProblem::Nul(_) => self.problem(Problem::BadRequest),
        }
    }

    /// Too many tries, and how long to wait.
    pub(super) fn too_many_tries(&self, wait: Duration) -> HttpResponse {
        error::with_retry_after(self.problem(Problem::TooManyTries), wait)
    }

    /// Too many requests, and how long to wait.
    pub(super) fn too_many_requests(&self, wait: Duration) -> HttpResponse {
        error::with_retry_after(self.problem(Problem::TooManyRequests), wait)
    }

    /// Something nobody asked for went wrong.
    pub(super) fn fault(&self, fault: &Fault) -> HttpResponse {
        error::log_fault(fault);
        if fault.is_passing() {
            return error::with_retry_after(self.problem(Problem::Busy), Duration::from_secs(1));
        }
        self.problem(Problem::Internal)
    }
}

/// What the User knows a personal agent by.
pub(super) fn personal_agent_name(req: &HttpRequest, issuer: &Issuer) -> String {
    let name = app(req).directory.current().personal_agent(issuer).map(|agent| agent.name.clone());
    name.unwrap_or_else(|| issuer.to_string())
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

/// 303: the browser goes on with a GET (RFC 9110 §15.4.4).
pub(super) fn see_other(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, address))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .finish()
}
