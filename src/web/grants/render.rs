//! A User's list of grants as a page.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};

use crate::clock::Timestamp;
use crate::domain::grant::{EndedBy, GrantState};
use crate::domain::id::Issuer;
use crate::flow::{Deed, GrantsView, ShownGrant};
use crate::text::Language;
use crate::web::brand_pages::{Pages, personal_agent_name};
use crate::web::pages::{self, DeedLine, GrantLine, GrantsPage, MayLine, PastLine};
use crate::web::{app, html};

/// What has just happened.
pub(super) enum Notice {
    /// A grant was taken back.
    Revoked { personal_agent: String, at: Timestamp },
    /// A grant changed since the page was shown, and nothing was done.
    Changed,
}

impl Pages<'_> {
    /// The list; `notice` says what has just happened.
    pub(super) fn grants(&self, req: &HttpRequest, view: &GrantsView, notice: Option<Notice>) -> HttpResponse {
        let language = view.language;
        let status = if matches!(notice, Some(Notice::Changed)) { StatusCode::CONFLICT } else { StatusCode::OK };
        let grants_url = self.hosted.addresses.grants_url();
        let page = GrantsPage {
            language,
            brand: self.look(),
            signed_in_as: view.page.sign_in.signed_in_as().to_owned(),
            login_url: self.login(None),
            notice: notice.map(|notice| match notice {
                Notice::Revoked { personal_agent, at } => {
                    pages::Notice::Revoked { pa_name: personal_agent, at: instant(language, at) }
                }
                Notice::Changed => pages::Notice::Changed,
            }),
            live: view.live.iter().map(|shown| self.live(req, shown, language)).collect(),
            past: view.past.iter().map(|shown| self.past(req, shown, view.is_one, language)).collect(),
            is_one: view.is_one,
            has_more: view.has_more,
            session: view.session.expose().clone(),
            action: format!("{grants_url}/revoke"),
            grants_url,
        };
        html::respond(status, &page)
    }

    fn live(&self, req: &HttpRequest, shown: &ShownGrant, language: Language) -> GrantLine {
        let grant = &shown.grant;
        let offered = self.delegation.scopes.iter().filter(|scope| grant.scopes.contains(&scope.id));
        let may = offered.map(|scope| {
            let words = self.delegation.text(scope, language.tag());
            MayLine { description: words.description, detail: words.detail, writes: scope.writes }
        });
        GrantLine {
            id: grant.id.to_string(),
            pa_name: personal_agent_name(req, &grant.caller.issuer),
            pa_origin: origin(req, &grant.caller.issuer),
            since: self.day(language, grant.created_at),
            until: self.day(language, grant.expires_at),
            may: may.collect(),
            did: self.deeds(&shown.deeds, language),
            older: self.older(shown),
        }
    }

    fn past(&self, req: &HttpRequest, shown: &ShownGrant, is_one: bool, language: Language) -> PastLine {
        let grant = &shown.grant;
        let (at, by) = match grant.state {
            GrantState::Ended { at, by } => (at, by),
            GrantState::Live => (grant.expires_at, EndedBy::Expiry),
        };
        PastLine {
            pa_name: personal_agent_name(req, &grant.caller.issuer),
            pa_origin: origin(req, &grant.caller.issuer),
            ended: (language.texts().grants.ended)(by, &self.day(language, at)),
            address: (!is_one).then(|| format!("{}?grant={}", self.hosted.addresses.grants_url(), grant.id)),
            did: self.deeds(&shown.deeds, language),
            older: self.older(shown),
        }
    }

    fn deeds(&self, deeds: &[Deed], language: Language) -> Vec<DeedLine> {
        let line = |deed: &Deed| DeedLine {
            at: instant(language, deed.at),
            datetime: deed.at.to_rfc3339(),
            tools: deed.tools.iter().map(|tool| tool.replace(['_', '-'], " ")).collect(),
            scopes: deed.scopes.iter().map(|scope| self.words_of(scope, language)).collect(),
        };
        deeds.iter().map(line).collect()
    }

    /// Where the older deeds of a grant are, if there are any.
    fn older(&self, shown: &ShownGrant) -> Option<String> {
        let (at, id) = shown.older?;
        let url = self.hosted.addresses.grants_url();
        Some(format!("{url}?grant={}&before={}-{id}", shown.grant.id, at.millis()))
    }
}

fn instant(language: Language, at: Timestamp) -> String {
    (language.texts().general.instant)(at)
}

/// The origin of a personal agent's issuer; the issuer itself where the personal agent is not there any more.
fn origin(req: &HttpRequest, issuer: &Issuer) -> String {
    let known = app(req).directory.current().personal_agent(issuer).map(|agent| agent.origin());
    known.unwrap_or_else(|| issuer.to_string())
}
