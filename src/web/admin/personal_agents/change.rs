//! What becomes of a personal agent: registered, changed, disabled, enabled.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use url::Url;

use super::address_of;
use super::one::page;
use crate::domain::administrator::Denied;
use crate::domain::id::Issuer;
use crate::flow::admin::Verdict;
use crate::flow::admin::personal_agents::{self as flow, Put, Wanted};
use crate::web::admin::{Trouble, fault, frame, see_other, trouble};
use crate::web::extract::csrf::{Submitted, submitted};
use crate::web::extract::session::{Viewer, viewer};
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{AgentFields, Notice, RegisterPage, Section, Undone};
use crate::web::{app, error, html};

/// The answer to whoever may not change what is the Provider's as a whole, before anything of what they sent is looked at.
fn refusal(viewer: &Viewer) -> Option<HttpResponse> {
    let denied = viewer.caller().by.access.change(None).err()?;
    let kind = match denied {
        Denied::Role => Trouble::NotAllowed,
        Denied::Reach => Trouble::NotFound,
    };
    Some(trouble(Some(viewer), kind))
}

fn typed(form: &Form) -> AgentFields {
    let field = |name| form.one(name).unwrap_or_default().trim().to_owned();
    AgentFields { issuer: field("issuer"), name: field("name"), jwks_uri: field("jwks_uri") }
}

/// The form that registers one.
pub async fn show_register_personal_agent(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    refusal(&viewer).unwrap_or_else(|| register_page(&viewer, None, AgentFields::default()))
}

fn register_page(viewer: &Viewer, wrong: Option<(Undone, String)>, fields: AgentFields) -> HttpResponse {
    let (undone, problem) = wrong.unzip();
    let status = undone.map_or(StatusCode::OK, error::undone_status);
    let notice = problem.map(|problem| Notice::wrong(format!("Nothing was done: {problem}")));
    html::respond(status, &RegisterPage { frame: frame(viewer, Section::PersonalAgents), notice, fields })
}

/// Registers one.
pub async fn register_personal_agent(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match allowed(&req, payload).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (viewer, fields) = (submitted.viewer(), typed(submitted.form()));
    let invalid = Undone::Invalid;
    let issuer = match Issuer::parse(fields.issuer.as_str()) {
        Ok(issuer) => issuer,
        Err(problem) => return register_page(viewer, Some((invalid, format!("{problem}."))), fields),
    };
    let Ok(jwks_uri) = Url::parse(&fields.jwks_uri) else {
        return register_page(viewer, Some((invalid, "jwks_uri: is no URL.".to_owned())), fields);
    };
    let wanted = Wanted::Registered { name: fields.name.clone(), jwks_uri };
    match flow::put(app(&req), &viewer.caller().by, &issuer, &wanted).await {
        Ok(Verdict::Done(Put::Done(_))) => to_page(&issuer, "registered"),
        Ok(Verdict::Done(Put::Unchanged(_))) => to_page(&issuer, "unchanged"),
        Ok(Verdict::Done(Put::Taken)) => {
            let taken = "there is one with this issuer already.".to_owned();
            register_page(viewer, Some((Undone::Taken, taken)), fields)
        }
        Ok(Verdict::Done(Put::Invalid(problem))) => {
            register_page(viewer, Some((invalid, format!("{problem}."))), fields)
        }
        Ok(Verdict::Forbidden) => trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => trouble(Some(viewer), Trouble::NotFound),
        Err(error) => fault(Some(viewer), &error),
    }
}

/// Gives one another name, or other keys.
pub async fn change_personal_agent(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match allowed(&req, payload).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (viewer, fields) = (submitted.viewer(), typed(submitted.form()));
    let Ok(issuer) = Issuer::parse(fields.issuer.as_str()) else { return trouble(Some(viewer), Trouble::NotFound) };
    let Ok(jwks_uri) = Url::parse(&fields.jwks_uri) else {
        return page(&req, viewer, &issuer, None, Some(("jwks_uri: is no URL.".to_owned(), fields))).await;
    };
    // What stays as it was shown is not written, and so does not undo what somebody else changed meanwhile.
    let form = submitted.form();
    let name = Some(fields.name.clone()).filter(|name| form.one("shown_name") != Some(name));
    let jwks_uri = Some(jwks_uri).filter(|_| form.one("shown_jwks_uri") != Some(&fields.jwks_uri));
    let wanted = Wanted::Changed { name, jwks_uri };
    put(&req, viewer, &issuer, &wanted, "changed", fields).await
}

/// Its requests get 401.
pub async fn disable_personal_agent(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    enable(&req, payload, false).await
}

/// It may call again.
pub async fn enable_personal_agent(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    enable(&req, payload, true).await
}

async fn enable(req: &HttpRequest, payload: web::Payload, enabled: bool) -> HttpResponse {
    let submitted = match allowed(req, payload).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (viewer, fields) = (submitted.viewer(), typed(submitted.form()));
    let Ok(issuer) = Issuer::parse(fields.issuer.as_str()) else { return trouble(Some(viewer), Trouble::NotFound) };
    let done = if enabled { "enabled" } else { "disabled" };
    put(req, viewer, &issuer, &Wanted::Enabled(enabled), done, fields).await
}

/// The form of somebody who may send it.
async fn allowed(req: &HttpRequest, payload: web::Payload) -> Result<Submitted, HttpResponse> {
    let submitted = submitted(req, payload, &[]).await?;
    match refusal(submitted.viewer()) {
        Some(refusal) => Err(refusal),
        None => Ok(submitted),
    }
}

async fn put(
    req: &HttpRequest,
    viewer: &Viewer,
    issuer: &Issuer,
    wanted: &Wanted,
    done: &str,
    fields: AgentFields,
) -> HttpResponse {
    match flow::put(app(req), &viewer.caller().by, issuer, wanted).await {
        Ok(Verdict::Done(Put::Done(_))) => to_page(issuer, done),
        Ok(Verdict::Done(Put::Unchanged(_))) => to_page(issuer, "unchanged"),
        Ok(Verdict::Done(Put::Invalid(problem))) => {
            page(req, viewer, issuer, None, Some((format!("{problem}."), fields))).await
        }
        Ok(Verdict::Done(Put::Taken)) => trouble(Some(viewer), Trouble::Changed),
        Ok(Verdict::Forbidden) => trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => trouble(Some(viewer), Trouble::NotFound),
        Err(error) => fault(Some(viewer), &error),
    }
}

fn to_page(issuer: &Issuer, done: &str) -> HttpResponse {
    see_other(&format!("{}&done={done}", address_of(issuer)))
}
