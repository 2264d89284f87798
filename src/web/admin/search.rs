//! `/search?q=`: whoever types one thing is led to it, and where it may mean several, to a page of them.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::grants::address_of_grant;
use super::list::address;
use super::personal_agents::address_of;
use super::{bad_query, fault, frame, see_other};
use crate::flow::admin::search::{self as flow, Hit};
use crate::web::extract::query::read_query;
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{Frame, HitLine, SearchPage, Section, so_many};
use crate::web::{app, html};

/// What was looked for, or a page of what it may be.
pub async fn search(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let query = match read_query(&req, &["q"]) {
        Ok(query) => query,
        Err(problem) => return bad_query(&viewer, Section::Grants, problem),
    };
    let (by, text) = (&viewer.caller().by, query.one("q").unwrap_or_default().trim());
    let hits = match flow::search(app(&req), by, text).await {
        Ok(hits) => hits,
        Err(error) => return fault(Some(&viewer), &error),
    };
    let hits: Vec<HitLine> = hits.into_iter().map(line).collect();
    if let [hit] = hits.as_slice() {
        return see_other(&hit.address);
    }
    let frame = Frame { search: text.to_owned(), ..frame(&viewer, None) };
    html::respond(StatusCode::OK, &SearchPage { frame, sees_agents: by.access.read(None).is_ok(), hits })
}

fn line(hit: Hit) -> HitLine {
    match hit {
        Hit::Grant(id) => {
            HitLine { kind: "Grant", address: address_of_grant(&id), text: id.to_string(), detail: String::new() }
        }
        Hit::PersonalAgent(agent) => HitLine {
            kind: "Personal agent",
            address: address_of(&agent.issuer),
            text: agent.name,
            detail: agent.issuer.to_string(),
        },
        Hit::User(user, count) => HitLine {
            kind: "User",
            address: address("/grants", [("user", user.as_str())]),
            text: user.to_string(),
            detail: so_many(count),
        },
    }
}
