//! Forms of the console, taken only from a page of its own: the browser names this origin where it names one, and the form
//! carries what only a page of the same session can.
//!
//! [`Submitted`] is made here alone, so a handler that has the administrator of a form has one that was checked.

use actix_web::{HttpRequest, HttpResponse, web};

use super::cookie::{self, AdminCookie};
use super::session::{Viewer, viewer_of};
use super::strict_form::{Form, FormProblem, MAX_FORM_BYTES, read_form_of};
use crate::crypto::codes;
use crate::domain::administrator::Role;
use crate::web::admin::{self, Trouble};
use crate::web::extract::own_page::is_from_own_page;
use crate::web::site::admin_origin;
use crate::web::{app, error};

/// The hidden field of every form.
pub const FIELD: &str = "form_token";

/// The largest form with a Brand's definition: one with scopes in many languages is long, and its escapes make it longer.
const MAX_DEFINITION_BYTES: usize = 512 * 1024;

/// A form that an administrator sent from a page of their session.
#[derive(Debug)]
pub struct Submitted {
    viewer: Viewer,
    form: Form,
}

impl Submitted {
    /// Who sent it.
    pub const fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    fn at_least(self, role: Role) -> Result<Self, HttpResponse> {
        match self.viewer.caller().by.access.at_least(role) {
            Ok(()) => Ok(self),
            Err(_) => Err(admin::trouble(Some(&self.viewer), Trouble::NotAllowed)),
        }
    }

    /// What it holds.
    pub const fn form(&self) -> &Form {
        &self.form
    }
}

/// Takes a form of an administrator; only the parameters in `repeatable` may come more than once.
///
/// # Errors
/// 403 when it is not from a page of theirs, or they are logged in no longer; 400 when it cannot be read.
pub async fn submitted(
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
) -> Result<Submitted, HttpResponse> {
    submitted_of(req, payload, repeatable, MAX_FORM_BYTES).await
}

/// The same for a form with a Brand's definition.
///
/// # Errors
/// As [`submitted_by`] of operators.
pub async fn submitted_definition(req: &HttpRequest, payload: web::Payload) -> Result<Submitted, HttpResponse> {
    let submitted = submitted_of(req, payload, &[], MAX_DEFINITION_BYTES).await?;
    submitted.at_least(Role::Operator)
}

async fn submitted_of(
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
    most: usize,
) -> Result<Submitted, HttpResponse> {
    let form = own_form(req, payload, repeatable, most).await?;
    let Some(viewer) = viewer_of(req).await? else {
        return Err(admin::trouble(None, Trouble::SessionEnded));
    };
    if !carries(req, &form, AdminCookie::Session) {
        return Err(admin::trouble(None, Trouble::FormNotTaken));
    }
    Ok(Submitted { viewer, form })
}

/// Takes a form of an administrator whose role is `role` or a higher one: whose is not is told so before anything of what they
/// sent is looked at. The flows judge again.
///
/// # Errors
/// As [`submitted`], and 403 for another role.
pub async fn submitted_by(
    role: Role,
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
) -> Result<Submitted, HttpResponse> {
    submitted(req, payload, repeatable).await?.at_least(role)
}

/// Takes a form of somebody who is not logged in yet, from a page that this browser was given with `cookie`.
///
/// # Errors
/// As [`submitted`].
pub async fn submitted_by_stranger(
    req: &HttpRequest,
    payload: web::Payload,
    cookie: AdminCookie,
) -> Result<Form, HttpResponse> {
    let form = own_form(req, payload, &[], MAX_FORM_BYTES).await?;
    if carries(req, &form, cookie) { Ok(form) } else { Err(admin::trouble(None, Trouble::FormNotTaken)) }
}

async fn own_form(
    req: &HttpRequest,
    payload: web::Payload,
    repeatable: &[&str],
    most: usize,
) -> Result<Form, HttpResponse> {
    let is_own = admin_origin(req).is_some_and(|own| is_from_own_page(req, &own));
    if !is_own {
        return Err(admin::trouble(None, Trouble::FormNotTaken));
    }
    let read = read_form_of(req, payload, repeatable, most, app(req).config.http.body_within());
    read.await.map_err(|problem| match problem {
        FormProblem::TooLarge => error::too_large(),
        FormProblem::TooSlow => error::too_slow(),
        // A page of another site can send text of any kind without being asked; a form of ours is never that.
        FormProblem::ContentType | FormProblem::Encoded => admin::trouble(None, Trouble::FormNotTaken),
        FormProblem::InQuery | FormProblem::Broken | FormProblem::Repeated(_) => admin::trouble(None, Trouble::BadForm),
        FormProblem::Escape(_) | FormProblem::NotUtf8(_) | FormProblem::Nul(_) => {
            admin::trouble(None, Trouble::BadForm)
        }
    })
}

fn carries(req: &HttpRequest, form: &Form, cookie: AdminCookie) -> bool {
    let secret = cookie::read(req, cookie.name(app(req).config.is_admin_https()));
    match (secret, form.one(FIELD)) {
        (Some(secret), Some(given)) => codes::is_form_token(given, secret),
        _ => false,
    }
}
