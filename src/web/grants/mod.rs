//! The User's own list of grants: what each agent may do and did, and the button that takes it back.

mod render;

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};

use super::brand_pages::{Pages, accept_language, own_origin, personal_agent_name, see_other, with_cookie};
use super::extract::client_address;
use super::extract::cookie::{read, session_cookie, session_cookie_name};
use super::extract::own_page::is_from_own_page;
use super::extract::strict_form::read_form;
use super::pages::Problem;
use super::request::request_id;
use super::site::{Served, brand_of};
use super::{app, error};
use crate::clock::Timestamp;
use crate::domain::id::{GrantId, ReceiptId};
use crate::flow::Wanted;
use crate::flow::revoke_as_user::{PostedRevocation, RevokedByUser, revoke_as_user};
use crate::flow::show_grants::{GrantsOpened, ShownGrants, open_grants, show_grants};
use crate::flow::sign_in::PostedAssertion;
use render::Notice;

/// The list for who is signed in; the Brand's login for everybody else.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::of_grants(&req, &hosted, delegation);
    let is_looked_at = req.method() != Method::HEAD;
    let cookie = read(&req, &session_cookie_name(&hosted.brand.id, pages.is_https()));
    let wanted = wanted(req.query_string());
    match show_grants(app(&req), &hosted, cookie, &wanted, accept_language(&req), is_looked_at).await {
        Ok(ShownGrants::Page(view)) => pages.grants(&req, &view, None),
        Ok(ShownGrants::Login) => see_other(&pages.login(None)),
        Err(fault) => pages.fault(&fault),
    }
}

/// What the query asks for: `grant`, and `before` where the older of its deeds are. What cannot be read is passed over.
fn wanted(query: &str) -> Wanted {
    let named = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
    };
    let before = || {
        let text = named("before")?;
        let (at, id) = text.split_once('-')?;
        Some((Timestamp::from_millis(at.parse().ok()?), ReceiptId::parse(id)?))
    };
    match named("grant").and_then(|grant| GrantId::parse(grant).ok()) {
        Some(grant) => Wanted::One(grant, before()),
        None => Wanted::All,
    }
}

/// The Brand's own pages send a User here with an assertion.
pub async fn sign_in(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::of_grants(&req, &hosted, delegation);
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
    match open_grants(app(&req), &hosted, &posted).await {
        Ok(GrantsOpened::Page { view, cookie }) => {
            let cookie = session_cookie(&hosted.brand.id, cookie.expose(), pages.is_https());
            with_cookie(pages.grants(&req, &view, None), &cookie)
        }
        Ok(GrantsOpened::NotVerified) => pages.problem(Problem::SignInNotVerified),
        Err(fault) => pages.fault(&fault),
    }
}

/// Takes back one of the grants on a page.
pub async fn revoke(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let Some(hosted) = brand_of(&req, Served::Issuer) else { return error::not_found() };
    let Some((delegation, _)) = hosted.delegation() else { return error::not_found() };
    let pages = Pages::of_grants(&req, &hosted, delegation);
    if !is_from_own_page(&req, &own_origin(&hosted)) {
        return pages.problem(Problem::PageNotUsable);
    }
    let form = match read_form(&req, payload, &[], app(&req).config.http.body_within()).await {
        Ok(form) => form,
        Err(problem) => return pages.form_problem(&problem),
    };
    let Some(session) = form.one("session") else { return pages.problem(Problem::PageNotUsable) };
    let Some(grant) = form.one("grant").and_then(|grant| GrantId::parse(grant).ok()) else {
        return pages.problem(Problem::BadRequest);
    };
    let request = request_id(&req);
    let posted = PostedRevocation { session, grant: &grant, accept_language: accept_language(&req), request: &request };
    match revoke_as_user(app(&req), &hosted, &posted).await {
        Ok(RevokedByUser::Ended { view, client, at }) => {
            let personal_agent = personal_agent_name(&req, &client);
            pages.grants(&req, &view, Some(Notice::Revoked { personal_agent, at }))
        }
        Ok(RevokedByUser::Changed(view)) => pages.grants(&req, &view, Some(Notice::Changed)),
        Ok(RevokedByUser::PageNotUsable) => pages.problem(Problem::PageNotUsable),
        Ok(RevokedByUser::NotShown) => pages.problem(Problem::BadRequest),
        Err(fault) => pages.fault(&fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_cannot_be_read_asks_for_the_whole_list() {
        let grant = "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB";
        let id = "f0c12e6b-231e-4d92-a610-2518a0f27d20";
        for query in ["", "grant=", "grant=x", "before=1-x", &format!("Grant={grant}")] {
            assert!(matches!(wanted(query), Wanted::All), "{query}");
        }
        for query in [format!("grant={grant}"), format!("grant={grant}&before=x"), format!("grant={grant}&before=9-x")]
        {
            assert!(matches!(wanted(&query), Wanted::One(_, None)), "{query}");
        }
        let Wanted::One(_, Some((at, place))) = wanted(&format!("grant={grant}&before=1767225600000-{id}")) else {
            panic!("a place")
        };
        assert_eq!((at.seconds(), place.to_string().as_str()), (1_767_225_600, id));
    }
}
