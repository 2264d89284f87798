//! `POST consent/decision`, and the closing page to which it leads.

use actix_web::{HttpRequest, HttpResponse, web};

use super::render::Decided;
use crate::domain::device::Button;
use crate::domain::scope::{ScopeId, ScopeSet};
use crate::flow::decide_consent::{DecisionOutcome, PostedDecision, decide_consent};
use crate::flow::show_decision::{ShownDecision, show_decision};
use crate::web::brand_pages::{Pages, accept_language, own_origin, personal_agent_name};
use crate::web::extract::own_page::is_from_own_page;
use crate::web::extract::strict_form::read_form;
use crate::web::pages::Problem;
use crate::web::request::request_id;
use crate::web::site::{Served, brand_of};
use crate::web::{app, error};

/// Takes the User's decision. The first on a code wins.
pub async fn decide(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::new(&req, &hosted, delegation);
    if !is_from_own_page(&req, &own_origin(&hosted)) {
        return pages.problem(Problem::PageNotUsable);
    }
    let form = match read_form(&req, payload, &["scope"], app(&req).config.http.body_within()).await {
        Ok(form) => form,
        Err(problem) => return pages.form_problem(&problem),
    };
    let Some(session) = form.one("session") else { return pages.problem(Problem::PageNotUsable) };
    let button = match form.one("decision") {
        Some("allow") => Button::Allow,
        Some("deny") => Button::Deny,
        Some(_) | None => return pages.problem(Problem::BadRequest),
    };
    let Ok(ticked) = form.all("scope").map(ScopeId::parse).collect::<Result<ScopeSet, _>>() else {
        return pages.problem(Problem::BadRequest);
    };
    let request = request_id(&req);
    let posted =
        PostedDecision { session, button, ticked: &ticked, accept_language: accept_language(&req), request: &request };
    match decide_consent(app(&req), &hosted, &posted).await {
        Ok(DecisionOutcome::Done { client, granted, ended, lasts_until }) => {
            let personal_agent = personal_agent_name(&req, &client);
            let decided =
                Decided { client: &client, personal_agent: &personal_agent, granted: &granted, ended, lasts_until };
            pages.decided(&decided, session)
        }
        Ok(DecisionOutcome::AlreadyDecided { allowed }) => pages.problem(Problem::AlreadyDecided { allowed }),
        Ok(DecisionOutcome::Expired) => pages.problem(Problem::Expired),
        Ok(DecisionOutcome::PageNotUsable) => pages.problem(Problem::PageNotUsable),
        Ok(DecisionOutcome::NotShown) => pages.problem(Problem::BadRequest),
        Ok(DecisionOutcome::Changed(view)) => pages.consent(&view, true),
        Err(fault) => pages.fault(&fault),
    }
}

/// The end of a flow at a Brand without a `return_url`: what was decided, for who decided it.
pub async fn show_decided(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::new(&req, &hosted, delegation);
    let session = url::form_urlencoded::parse(req.query_string().as_bytes()).find(|(name, _)| name == "session");
    let Some((_, session)) = session else { return pages.problem(Problem::PageNotUsable) };
    let (client, granted, ended, lasts_until) = match show_decision(app(&req), &hosted, &session).await {
        Ok(ShownDecision::Approved { client, granted, lasts_until }) => (client, granted, false, lasts_until),
        Ok(ShownDecision::Denied { client, ended }) => (client, ScopeSet::empty(), ended, app(&req).clock.now()),
        Ok(ShownDecision::NotThere) => return pages.problem(Problem::PageNotUsable),
        Err(fault) => return pages.fault(&fault),
    };
    let personal_agent = personal_agent_name(&req, &client);
    pages.closing(&Decided { client: &client, personal_agent: &personal_agent, granted: &granted, ended, lasts_until })
}
