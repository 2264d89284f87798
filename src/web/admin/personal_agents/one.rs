//! `/personal-agents/one?issuer=…`: one personal agent, and its live grants. An issuer is a URL, which stands badly in a path.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::list::state;
use crate::domain::id::Issuer;
use crate::flow::admin::{Verdict, personal_agents as flow};
use crate::store::GrantFilter;
use crate::web::admin::grants::revocable;
use crate::web::admin::list::{BadView, address};
use crate::web::admin::{Trouble, bad_query, bad_view, fault, frame, trouble};
use crate::web::extract::query::read_query;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{AgentFields, Cell, Fact, Notice, PersonalAgentPage, Section, Undone, When};
use crate::web::{app, error, html};

/// What became of a change, as the address of the page after it says; and whether it may call since, where that follows.
const DONE: [(&str, Option<bool>, &str); 5] = [
    ("registered", None, "It is registered, and may call."),
    ("changed", None, "It is changed, on every node within two seconds."),
    ("unchanged", None, "Nothing was done: it was so before."),
    ("disabled", Some(false), "It is disabled: its requests get 401, on every node within two seconds."),
    ("enabled", Some(true), "It is enabled, on every node within two seconds."),
];

/// The page.
pub async fn show_personal_agent(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let query = match read_query(&req, &["issuer", "done"]) {
        Ok(query) => query,
        Err(problem) => return bad_query(&viewer, Section::PersonalAgents, problem),
    };
    let issuer = match query.one("issuer").map(Issuer::parse) {
        Some(Ok(issuer)) => issuer,
        Some(Err(problem)) => return bad_view(&viewer, Section::PersonalAgents, &BadView::new("issuer", problem)),
        None => return bad_view(&viewer, Section::PersonalAgents, &BadView::new("issuer", "is missing")),
    };
    page(&req, &viewer, &issuer, query.one("done"), None).await
}

/// The page of the personal agent `issuer`; after a change that was `done`, or above what was typed and why it is `wrong`.
pub(super) async fn page(
    req: &HttpRequest,
    viewer: &Viewer,
    issuer: &Issuer,
    done: Option<&str>,
    wrong: Option<(String, AgentFields)>,
) -> HttpResponse {
    let (app, by) = (app(req), &viewer.caller().by);
    let record = match flow::show(app, by, issuer).await {
        Ok(Verdict::Done(record)) => record,
        Ok(Verdict::Forbidden) => return trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(viewer), Trouble::NotFound),
        Err(error) => return fault(Some(viewer), &error),
    };
    let filter = GrantFilter { issuer: Some(issuer.clone()), ..GrantFilter::default() };
    let narrowed = vec![("personal_agent", issuer.to_string())];
    let all = match revocable(app, by, &filter, narrowed).await {
        Ok(Verdict::Done(all)) => all,
        Ok(Verdict::Forbidden) => return trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(viewer), Trouble::NotFound),
        Err(error) => return fault(Some(viewer), &error),
    };
    let agent = record.agent;
    let said = DONE
        .iter()
        .find(|(name, enabled, _)| Some(*name) == done && enabled.is_none_or(|enabled| enabled == agent.enabled));
    let (status, notice, fields) = match wrong {
        Some((problem, fields)) => {
            let notice = Notice::wrong(format!("Nothing was done: {problem}"));
            (error::undone_status(Undone::Invalid), Some(notice), fields)
        }
        None => {
            let fields = AgentFields {
                issuer: issuer.to_string(),
                name: agent.name.clone(),
                jwks_uri: agent.jwks_uri.to_string(),
            };
            (StatusCode::OK, said.map(|(_, _, words)| Notice::done(*words)), fields)
        }
    };
    let live = [("personal_agent", issuer.as_str()), ("state", "live")];
    let narrow = if all.count.grants == 0 { live.get(..1).unwrap_or_default() } else { &live };
    let page = PersonalAgentPage {
        frame: frame(viewer, Section::PersonalAgents),
        name: agent.name,
        notice,
        facts: vec![
            Fact::new("State", state(agent.enabled)),
            Fact::new("Issuer", Cell::Id(issuer.to_string(), None)),
            Fact::new("Keys (jwks_uri)", Cell::Id(agent.jwks_uri.to_string(), None)),
            Fact::new("Registered", Cell::Time(When::at(record.created_at))),
            Fact::new("Latest change", Cell::Time(When::at(record.updated_at))),
        ],
        is_enabled: agent.enabled,
        fields,
        jwks_uri: agent.jwks_uri.to_string(),
        may_change: by.access.change(None).is_ok(),
        all,
        grants: address("/grants", narrow.iter().copied()),
        audit: address("/audit", [("subject", issuer.as_str())]),
    };
    html::respond(status, &page)
}
