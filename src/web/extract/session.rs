//! The administrator of a browser's session, for what only looks. Whoever changes something comes by
//! [`super::csrf::submitted`], which is the only other way to an administrator, and has checked where the form was.

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse};

use super::cookie::{self, AdminCookie};
use crate::crypto::codes;
use crate::flow::admin::session::{SessionCaller, authenticate_session};
use crate::secret::Secret;
use crate::web::request::request_id;
use crate::web::{admin, app};

/// An administrator who looks at a page.
#[derive(Clone, Debug)]
pub struct Viewer {
    caller: SessionCaller,
    form_token: String,
}

impl Viewer {
    /// Who asks.
    pub const fn caller(&self) -> &SessionCaller {
        &self.caller
    }

    /// The same one, whose session has another value from now on.
    pub fn renewed(&self, session: &Secret<String>) -> Self {
        let caller = SessionCaller { digest: codes::digest(session.expose()), ..self.caller.clone() };
        Self { caller, form_token: codes::form_token(session.expose()) }
    }

    /// What each form of the page carries.
    pub fn form_token(&self) -> &str {
        &self.form_token
    }
}

/// The administrator who looks at this page.
///
/// # Errors
/// To the log-in, which comes back here; 403 for a method that changes something.
pub async fn viewer(req: &HttpRequest) -> Result<Viewer, HttpResponse> {
    if *req.method() != Method::GET && *req.method() != Method::HEAD {
        return Err(admin::trouble(None, admin::Trouble::FormNotTaken));
    }
    match viewer_of(req).await? {
        Some(viewer) => Ok(viewer),
        None => Err(admin::to_log_in(req)),
    }
}

/// The administrator of the request's session, whatever it asks for.
pub(super) async fn viewer_of(req: &HttpRequest) -> Result<Option<Viewer>, HttpResponse> {
    let app = app(req);
    let Some(session) = cookie::read(req, AdminCookie::Session.name(app.config.is_admin_https())) else {
        return Ok(None);
    };
    match authenticate_session(app, session, &request_id(req)).await {
        Ok(caller) => Ok(caller.map(|caller| Viewer { caller, form_token: codes::form_token(session) })),
        Err(fault) => Err(admin::fault(None, &fault)),
    }
}
