//! `/log-in`, `/log-in/code` and `/log-out`.

use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::{fault, local, see_other, with_cookie};
use crate::crypto::codes;
use crate::domain::audit::RequestId;
use crate::flow::admin::log_in::{self as flow, Browser, KNOWN_FOR, LoggedIn};
use crate::flow::admin::log_out as end;
use crate::secret::Secret;
use crate::web::extract::client_address;
use crate::web::extract::cookie::{self, AdminCookie};
use crate::web::extract::csrf::{submitted, submitted_by_stranger};
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{LogInPage, SecondFactorPage, WrongLogIn};
use crate::web::request::request_id;
use crate::web::{app, error, html};

fn read(req: &HttpRequest, cookie: AdminCookie) -> Option<&str> {
    cookie::read(req, cookie.name(app(req).config.is_admin_https()))
}

/// The log-in page; whoever is logged in goes on.
pub async fn show_log_in(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let next = url::form_urlencoded::parse(req.query_string().as_bytes()).find(|(name, _)| name == "next");
    let next = next.map(|(_, next)| next.into_owned());
    let next = next.as_deref().and_then(local).unwrap_or("/");
    if viewer(&req).await.is_ok() {
        return see_other(next);
    }
    let (page_secret, is_new) = match read(&req, AdminCookie::LogInPage) {
        Some(known) => (Secret::new(known.to_owned()), false),
        None => (codes::session_token(&app(&req).entropy), true),
    };
    let page = log_in_page(&req, page_secret.expose(), next, None);
    let response = html::respond(StatusCode::OK, &page);
    if !is_new {
        return response;
    }
    let https = app(&req).config.is_admin_https();
    with_cookie(response, &AdminCookie::LogInPage.with(page_secret.expose(), None, https))
}

fn log_in_page(req: &HttpRequest, secret: &str, next: &str, wrong: Option<WrongLogIn>) -> LogInPage {
    let provider = app(req).config.provider_name.clone();
    LogInPage { provider, form_token: codes::form_token(secret), next: next.to_owned(), wrong }
}

/// Takes a name and a password.
pub async fn log_in(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let form = match submitted_by_stranger(&req, payload, AdminCookie::LogInPage).await {
        Ok(form) => form,
        Err(response) => return response,
    };
    let next = form.one("next").and_then(local).unwrap_or("/");
    let (name, password) = (form.one("name").unwrap_or_default(), form.one("password").unwrap_or_default());
    let password = Secret::new(password.to_owned());
    let request = request_id(&req);
    let outcome = flow::log_in(app(&req), name, &password, &browser(&req, &request)).await;
    let again = |wrong| {
        let secret = read(&req, AdminCookie::LogInPage).unwrap_or_default();
        html::respond(error::log_in_status(wrong), &log_in_page(&req, secret, next, Some(wrong)))
    };
    match outcome {
        Ok(LoggedIn::Done { session, known }) => logged_in(&req, &session, &known, next),
        Ok(LoggedIn::SecondFactor { session }) => {
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            let response = see_other(&format!("/log-in/code?next={next}"));
            with_cookie(response, &session_cookie(&req, &session))
        }
        Ok(LoggedIn::Refused) => again(WrongLogIn::Refused),
        Ok(LoggedIn::StartOver) => see_other("/log-in"),
        Ok(LoggedIn::TooManyTries { retry_after }) => {
            error::with_retry_after(again(WrongLogIn::TooManyTries), retry_after)
        }
        Ok(LoggedIn::Busy { retry_after }) => error::with_retry_after(again(WrongLogIn::Busy), retry_after),
        Err(error) => fault(None, &error),
    }
}

fn browser<'a>(req: &'a HttpRequest, request: &'a RequestId) -> Browser<'a> {
    Browser {
        address: client_address::counted(req),
        known: read(req, AdminCookie::Known),
        session: read(req, AdminCookie::Session),
        request,
    }
}

fn session_cookie(req: &HttpRequest, session: &Secret<String>) -> Cookie<'static> {
    let config = &app(req).config;
    let life = Some(config.administrators.session());
    AdminCookie::Session.with(session.expose(), life, config.is_admin_https())
}

fn logged_in(req: &HttpRequest, session: &Secret<String>, known: &Secret<String>, next: &str) -> HttpResponse {
    with_browser(req, see_other(next), session, known)
}

/// `response` to a browser that gets this session, and what tells later that it has logged in.
pub(super) fn with_browser(
    req: &HttpRequest,
    response: HttpResponse,
    session: &Secret<String>,
    known: &Secret<String>,
) -> HttpResponse {
    let response = with_cookie(response, &session_cookie(req, session));
    let https = app(req).config.is_admin_https();
    with_cookie(response, &AdminCookie::Known.with(known.expose(), Some(KNOWN_FOR), https))
}

/// The page that asks for a code, to a browser in which the password was right.
pub async fn show_second_factor(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let Some(session) = read(&req, AdminCookie::Session) else { return see_other("/log-in") };
    match flow::pending(app(&req), session).await {
        Ok(Some(_)) => {}
        Ok(None) => return see_other("/log-in"),
        Err(error) => return fault(None, &error),
    }
    let next = url::form_urlencoded::parse(req.query_string().as_bytes()).find(|(name, _)| name == "next");
    let next = next.map(|(_, next)| next.into_owned());
    let next = next.as_deref().and_then(local).unwrap_or("/");
    html::respond(StatusCode::OK, &second_factor_page(&req, session, next, None))
}

fn second_factor_page(req: &HttpRequest, session: &str, next: &str, wrong: Option<WrongLogIn>) -> SecondFactorPage {
    let provider = app(req).config.provider_name.clone();
    SecondFactorPage { provider, form_token: codes::form_token(session), next: next.to_owned(), wrong }
}

/// Takes a code.
pub async fn second_factor(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let form = match submitted_by_stranger(&req, payload, AdminCookie::Session).await {
        Ok(form) => form,
        Err(response) => return response,
    };
    let next = form.one("next").and_then(local).unwrap_or("/");
    let request = request_id(&req);
    let outcome = flow::second_factor(app(&req), form.one("code").unwrap_or_default(), &browser(&req, &request)).await;
    let again = |wrong| {
        let session = read(&req, AdminCookie::Session).unwrap_or_default();
        html::respond(error::log_in_status(wrong), &second_factor_page(&req, session, next, Some(wrong)))
    };
    match outcome {
        Ok(LoggedIn::Done { session, known }) => logged_in(&req, &session, &known, next),
        Ok(LoggedIn::Refused) => again(WrongLogIn::Refused),
        Ok(LoggedIn::SecondFactor { .. } | LoggedIn::StartOver) => see_other("/log-in"),
        Ok(LoggedIn::TooManyTries { retry_after }) => {
            error::with_retry_after(again(WrongLogIn::TooManyTries), retry_after)
        }
        Ok(LoggedIn::Busy { retry_after }) => error::with_retry_after(again(WrongLogIn::Busy), retry_after),
        Err(error) => fault(None, &error),
    }
}

/// Ends the session.
pub async fn log_out(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    if let Err(error) = end::log_out(app(&req), submitted.viewer().caller()).await {
        return fault(Some(submitted.viewer()), &error);
    }
    let gone = AdminCookie::Session.with("", Some(std::time::Duration::ZERO), app(&req).config.is_admin_https());
    with_cookie(see_other("/log-in"), &gone)
}
