//! The pages of one Brand as one request sees them: whose look they have, in which language, where the Brand's login is,
//! and what they say when something went wrong.

use std::time::Duration;

use actix_web::cookie::Cookie;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use url::Url;

use super::extract::strict_form::FormProblem;
use super::pages::{BrandLook, ErrorPage, Problem};
use super::{app, error, html};
use crate::clock::Timestamp;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::id::Issuer;
use crate::domain::scope::ScopeId;
use crate::flow::Fault;
use crate::text::Language;

/// The Brand's pages as one request sees them.
pub(super) struct Pages<'a> {
    pub(super) hosted: &'a HostedBrand,
    pub(super) delegation: &'a Delegation,
    pub(super) language: Language,
    https: bool,
    /// Where the Brand's login comes back to.
    back: Back,
}

/// Where the Brand's login comes back to.
#[derive(Clone, Copy)]
enum Back {
    Consent,
    Grants,
}

/// What the browser says of languages.
pub(super) fn accept_language(req: &HttpRequest) -> Option<&str> {
    req.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok())
}

impl<'a> Pages<'a> {
    pub(super) fn new(req: &HttpRequest, hosted: &'a HostedBrand, delegation: &'a Delegation) -> Self {
        let language = Language::choose(None, accept_language(req));
        Self { hosted, delegation, language, https: app(req).config.is_https(), back: Back::Consent }
    }

    /// The same, from which the Brand's login comes back to the User's list of grants.
    pub(super) fn of_grants(req: &HttpRequest, hosted: &'a HostedBrand, delegation: &'a Delegation) -> Self {
        Self { back: Back::Grants, ..Self::new(req, hosted, delegation) }
    }

    pub(super) fn look(&self) -> BrandLook {
        BrandLook { name: self.hosted.brand.name.clone(), color: self.delegation.theme.color }
    }

    /// The Brand's login, which comes back to the consent page, with `user_code`, or to the list of grants.
    pub(super) fn login(&self, user_code: Option<&str>) -> String {
        match self.back {
            Back::Consent => self.hosted.addresses.verification_uri(&self.delegation.login_url, user_code),
            Back::Grants => self.hosted.addresses.grants_login(&self.delegation.login_url),
        }
    }

    /// The Brand's words for a scope, in `language`; its id where the Brand no longer has it.
    pub(super) fn words_of(&self, scope: &ScopeId, language: Language) -> String {
        let offered = self.delegation.scopes.iter().find(|offered| offered.id == *scope);
        offered.map_or_else(|| scope.to_string(), |offered| self.delegation.text(offered, language.tag()).description)
    }

    pub(super) fn look_and_language(&self) -> (BrandLook, Language) {
        (self.look(), self.language)
    }

    pub(super) const fn is_https(&self) -> bool {
        self.https
    }

    /// A day, as `language` writes days.
    pub(super) fn day(&self, language: Language, at: Timestamp) -> String {
        (language.texts().general.day)(at)
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

/// 303: the browser goes on with a GET (RFC 9110 §15.4.4).
pub(super) fn see_other(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, address))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .finish()
}

/// `response` with a session's cookie.
pub(super) fn with_cookie(mut response: HttpResponse, cookie: &Cookie<'_>) -> HttpResponse {
    if let Err(error) = response.add_cookie(cookie) {
        tracing::error!(%error, "a session cookie could not be set");
    }
    response
}

/// The origin of the Brand's authorization server, from whose pages its forms come.
pub(super) fn own_origin(hosted: &HostedBrand) -> String {
    Url::parse(&hosted.addresses.issuer).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
