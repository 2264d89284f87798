//! The console on the administrators' listener: pages for people, who come with a session.
//!
//! A page is asked for by [`viewer`](super::extract::session::viewer), a form by
//! [`submitted`](super::extract::csrf::submitted): there is no other way to an administrator.

mod access;
mod account;
pub mod administrators;
mod answer;
pub mod api_keys;
pub mod audit;
mod audit_list;
mod brand_list;
pub mod brands;
mod grants;
mod key_list;
pub mod keys;
mod list;
mod log_in;
mod names;
pub mod overview;
mod personal_agents;
mod receipt_list;
pub mod receipts;
pub mod resource_server_keys;
mod search;

use std::time::Duration;

use actix_web::cookie::Cookie;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};

use super::extract::query::QueryProblem;
use super::extract::session::Viewer;
pub use super::pages::admin::Trouble;
use super::pages::admin::{BadViewPage, Frame, Section, TroublePage, Undone};
use super::{error, html};
use crate::domain::administrator::Role;
use crate::flow::Fault;

use list::BadView;

pub use account::{change_password, disable_second_factor, enable_second_factor, show_account};
pub use grants::{
    export_evidence, export_grants, revoke_grant, revoke_grants, show_grant, show_grants, show_revoke_grants,
};
pub use log_in::{log_in, log_out, second_factor, show_log_in, show_second_factor};
pub use personal_agents::{
    change_personal_agent, disable_personal_agent, enable_personal_agent, export_personal_agents,
    register_personal_agent, show_personal_agent, show_personal_agents, show_register_personal_agent,
};
pub use search::search;

/// The answer to somebody whose role changes nothing, before anything of what they sent is looked at. The flows judge again.
fn refusal(viewer: &Viewer) -> Option<HttpResponse> {
    viewer.caller().by.access.at_least(Role::Operator).err().map(|_| trouble(Some(viewer), Trouble::NotAllowed))
}

/// What stands around a page that `viewer` looks at.
fn frame(viewer: &Viewer, section: impl Into<Option<Section>>) -> Frame {
    Frame::new(viewer.caller().name.as_str(), &viewer.caller().by.access, viewer.form_token(), section.into())
}

/// The page that says what is wrong with an address, to whoever asked for it.
fn bad_view(viewer: &Viewer, section: Section, problem: &BadView) -> HttpResponse {
    let page = BadViewPage { frame: frame(viewer, section), problem: problem.to_string(), path: section.path() };
    html::respond(error::undone_status(Undone::BadAddress), &page)
}

/// The same of a query that could not be read.
fn bad_query(viewer: &Viewer, section: Section, problem: QueryProblem) -> HttpResponse {
    bad_view(viewer, section, &problem.into())
}

/// The page that says what went wrong, to whoever looks.
pub fn trouble(viewer: Option<&Viewer>, trouble: Trouble) -> HttpResponse {
    let frame = viewer.map(|viewer| frame(viewer, None));
    html::respond(error::console_status(trouble), &TroublePage { frame, trouble })
}

/// The same with how long to wait.
pub fn trouble_for_now(viewer: Option<&Viewer>, kind: Trouble, wait: Duration) -> HttpResponse {
    error::with_retry_after(trouble(viewer, kind), wait)
}

/// Something that nobody asked for went wrong.
pub fn fault(viewer: Option<&Viewer>, fault: &Fault) -> HttpResponse {
    error::log_fault(fault);
    if fault.is_passing() {
        return trouble_for_now(viewer, Trouble::Busy, Duration::from_secs(1));
    }
    trouble(viewer, Trouble::Internal)
}

/// The answer to more pages than an address is shown.
pub(super) fn too_many_requests(wait: Duration) -> HttpResponse {
    trouble_for_now(None, Trouble::TooManyTries, wait)
}

/// To the log-in, which comes back to what was asked for.
pub fn to_log_in(req: &HttpRequest) -> HttpResponse {
    let asked = req.uri().path_and_query().map_or("/", |asked| asked.as_str());
    let next: String = url::form_urlencoded::byte_serialize(asked.as_bytes()).collect();
    if asked == "/" { see_other("/log-in") } else { see_other(&format!("/log-in?next={next}")) }
}

/// A place of this listener, to which a log-in may lead; none for an address elsewhere.
fn local(next: &str) -> Option<&str> {
    let is_path = next.starts_with('/') && !next.starts_with("//");
    (is_path && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')).then_some(next)
}

/// 303: the browser goes on with a GET (RFC 9110 §15.4.4).
fn see_other(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, address))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .finish()
}

fn with_cookie(mut response: HttpResponse, cookie: &Cookie<'_>) -> HttpResponse {
    if let Err(error) = response.add_cookie(cookie) {
        tracing::error!(%error, "a cookie could not be set");
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_leads_nowhere_else() {
        for fine in ["/", "/grants?state=live&user=a%2Fb", "/log-in", "/a//b"] {
            assert_eq!(local(fine), Some(fine));
        }
        for wrong in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "grants",
            "/a b",
            "/a\r\nx",
            "/ä",
            "/\t/x",
        ] {
            assert_eq!(local(wrong), None, "{wrong:?}");
        }
    }
}
