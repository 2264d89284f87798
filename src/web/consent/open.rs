//! `POST` and `GET` of the consent URL.

use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};

use super::render::Decided;
use crate::domain::user_code::UserCode;
use crate::flow::show_consent::{Shown, show_consent};
use crate::flow::sign_in::{PostedAssertion, SignInOutcome, sign_in as verify_and_spend};
use crate::web::brand_pages::{Pages, accept_language, personal_agent_name, see_other, with_cookie};
use crate::web::extract::client_address;
use crate::web::extract::cookie::{read, session_cookie, session_cookie_name};
use crate::web::extract::strict_form::read_form;
use crate::web::pages::{CodePage, Problem};
use crate::web::request::request_id;
use crate::web::site::{Served, brand_of};
use crate::web::{app, error, html};

/// The Brand's login posts its assertion.
pub async fn sign_in(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::new(&req, &hosted, delegation);
    let form = match read_form(&req, payload, &[], app(&req).config.http.body_within()).await {
        Ok(form) => form,
        Err(problem) => return pages.form_problem(&problem),
    };
    let Some(assertion) = form.one("assertion") else { return pages.problem(Problem::BadRequest) };
    let request = request_id(&req);
    let posted = PostedAssertion {
        assertion,
        address: client_address::counted(&req),
        accept_language: accept_language(&req),
        request: &request,
    };
    match verify_and_spend(app(&req), &hosted, &posted).await {
        Ok(SignInOutcome::Page { view, cookie }) => {
            let cookie = session_cookie(&hosted.brand.id, cookie.expose(), pages.is_https());
            with_cookie(pages.consent(&view, false), &cookie)
        }
        Ok(SignInOutcome::Approved { client, granted, lasts_until, cookie }) => {
            let cookie = session_cookie(&hosted.brand.id, cookie.expose(), pages.is_https());
            let personal_agent = personal_agent_name(&req, &client);
            let decided = Decided {
                client: &client,
                personal_agent: &personal_agent,
                granted: &granted,
                ended: false,
                lasts_until,
            };
            with_cookie(pages.approved_without_page(&decided), &cookie)
        }
        Ok(SignInOutcome::NotVerified) => pages.problem(Problem::SignInNotVerified),
        Ok(SignInOutcome::CodeNotUsable) => pages.problem(Problem::CodeNotUsable),
        Ok(SignInOutcome::TooManyTries { retry_after }) => pages.too_many_tries(retry_after),
        Err(fault) => pages.fault(&fault),
    }
}

/// Whether it is of the length and the characters of something that a person typed from a screen.
fn is_like_a_code(typed: &str) -> bool {
    typed.chars().count() <= 16 && typed.chars().all(|c| c.is_alphanumeric() || c.is_whitespace() || c == '-')
}

/// The page for a code, to who may see it; otherwise the Brand's login. Without a code, a page that asks for it.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::new(&req, &hosted, delegation);
    let typed = url::form_urlencoded::parse(req.query_string().as_bytes()).find(|(name, _)| name == "user_code");
    let typed = typed.map(|(_, code)| code.into_owned()).filter(|code| !code.is_empty());
    let Some(code) = typed.as_deref().and_then(UserCode::parse) else {
        let (brand, language) = pages.look_and_language();
        let action = hosted.addresses.consent_url();
        // Whatever else was put here is not given back: it may be a token that was taken for a code.
        let invalid = typed.map(|typed| if is_like_a_code(&typed) { typed } else { String::new() });
        let page = CodePage { language, brand, action, login_url: pages.login(None), invalid };
        let status = if page.invalid.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
        return html::respond(status, &page);
    };
    let is_looked_at = req.method() != Method::HEAD;
    let cookie = read(&req, &session_cookie_name(&hosted.brand.id, pages.is_https()));
    match show_consent(app(&req), &hosted, &code, cookie, accept_language(&req), is_looked_at).await {
        Ok(Shown::Page(view)) => pages.consent(&view, false),
        Ok(Shown::Login) => see_other(&pages.login(Some(&code.to_string()))),
        Ok(Shown::Expired) => pages.problem(Problem::Expired),
        Ok(Shown::AlreadyDecided { allowed }) => pages.problem(Problem::AlreadyDecided { allowed }),
        Err(fault) => pages.fault(&fault),
    }
}
