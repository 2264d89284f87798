//! `/grants/{grant}`: one grant, its evidence, and the button that takes it back.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};

use super::list::{address_of_grant, state};
use crate::app::App;
use crate::domain::audit::Action;
use crate::domain::id::GrantId;
use crate::domain::scope::ScopeId;
use crate::flow::Fault;
use crate::flow::admin::evidence::{Exported, export};
use crate::flow::admin::grants::{self as flow, RevokedGrant};
use crate::flow::admin::{By, Verdict, audit, shown};
use crate::protocol::admin::{GrantDetailsJson, GrantJson};
use crate::protocol::claims::ReceiptClaims;
use crate::store::{AuditFilter, GrantStanding};
use crate::web::admin::list::address;
use crate::web::admin::names::{brand_name, personal_agent_name};
use crate::web::admin::personal_agents::address_of;
use crate::web::admin::{Trouble, bad_query, fault, frame, refusal, see_other, trouble};
use crate::web::extract::csrf::submitted;
use crate::web::extract::query::read_query;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{Allowed, Cell, Fact, GrantPage, Listing, Notice, Section, Tone, Undone, When};
use crate::web::site::path_parameter;
use crate::web::{app, error, html};

/// What became of a revocation, as the address of the page after it says.
const DONE: [(&str, &str); 2] =
    [("revoked", "It has ended, on every node."), ("already", "Nothing was done: it had ended before.")];

fn asked_for(req: &HttpRequest) -> Option<GrantId> {
    GrantId::parse(path_parameter(req, "grant")).ok()
}

/// The page.
pub async fn show_grant(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let said = match read_query(&req, &["done"]) {
        Ok(query) => query.one("done").map(str::to_owned),
        Err(problem) => return bad_query(&viewer, Section::Grants, problem),
    };
    let said = said.and_then(|said| DONE.into_iter().find(|(name, _)| *name == said));
    let Some(id) = asked_for(&req) else { return trouble(Some(&viewer), Trouble::NotFound) };
    page(&req, &viewer, &id, |is_ended| {
        let (_, words) = said.filter(|_| is_ended)?;
        Some((Notice { is_good: words.starts_with("It"), text: words.to_owned() }, Vec::new()))
    })
    .await
}

/// Everything that is kept of it, signed.
pub async fn export_evidence(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let Some(id) = asked_for(&req) else { return trouble(Some(&viewer), Trouble::NotFound) };
    let document = match export(app(&req), &viewer.caller().by, &id).await {
        Ok(Verdict::Done(Exported::Done { document, warnings: _ })) => serde_json::to_string_pretty(&document),
        Ok(Verdict::Done(Exported::Altered(problems))) => {
            let wrong =
                Notice::wrong("Nothing was exported, since the record was altered; assent audit verify says more.");
            return page(&req, &viewer, &id, |_| Some((wrong, problems))).await;
        }
        Ok(Verdict::Done(Exported::NoKey)) => {
            let wrong =
                Notice::wrong("Nothing was exported: every key of the Brand was given up, and nobody can sign for it.");
            return page(&req, &viewer, &id, |_| Some((wrong, Vec::new()))).await;
        }
        Ok(Verdict::Forbidden) => return trouble(Some(&viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(&viewer), Trouble::NotFound),
        Err(error) => return fault(Some(&viewer), &error),
    };
    match document {
        Ok(document) => HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "application/json"))
            .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"evidence-{id}.json\"")))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(document + "\n"),
        Err(error) => fault(Some(&viewer), &Fault::from(error)),
    }
}

/// Takes it back.
pub async fn revoke_grant(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let viewer = submitted.viewer();
    if let Some(refusal) = refusal(viewer) {
        return refusal;
    }
    let Some(id) = asked_for(&req) else { return trouble(Some(viewer), Trouble::NotFound) };
    let done = match flow::revoke(app(&req), &viewer.caller().by, &id).await {
        Ok(Verdict::Done(RevokedGrant::Ended)) => "revoked",
        Ok(Verdict::Done(RevokedGrant::AlreadyEnded)) => "already",
        Ok(Verdict::Forbidden) => return trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(viewer), Trouble::NotFound),
        Err(error) => return fault(Some(viewer), &error),
    };
    see_other(&address(&address_of_grant(&id), [("done", done)]))
}

/// The page of the grant `id`. `said` tells, of one that has ended or not, what stands above it.
async fn page(
    req: &HttpRequest,
    viewer: &Viewer,
    id: &GrantId,
    said: impl FnOnce(bool) -> Option<(Notice, Vec<String>)>,
) -> HttpResponse {
    let (app, by) = (app(req), &viewer.caller().by);
    let details = match flow::show(app, by, id).await {
        Ok(Verdict::Done(details)) => details,
        Ok(Verdict::Forbidden) => return trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(viewer), Trouble::NotFound),
        Err(error) => return fault(Some(viewer), &error),
    };
    let details = shown::grant_details(details, app.clock.now());
    let ended_by = match ended_by(app, by, &details.grant).await {
        Ok(ended_by) => ended_by,
        Err(error) => return fault(Some(viewer), &error),
    };
    let is_live = details.grant.state == GrantStanding::Live.name();
    let (notice, altered) = said(details.grant.ended_at.is_some()).unzip();
    let altered = altered.unwrap_or_default();
    let status = if altered.is_empty() { StatusCode::OK } else { error::undone_status(Undone::Altered) };
    let words = Words { app, details: &details };
    let page = GrantPage {
        frame: frame(viewer, Section::Grants),
        id: id.to_string(),
        notice,
        altered,
        facts: words.facts(by, ended_by),
        allows: words.allows(),
        decisions: words.decisions(),
        receipts: words.receipts(),
        tokens: words.tokens(),
        has_older: (details.more_receipts, details.more_tokens),
        is_revocable: is_live && by.access.change(Some(&details.grant.brand_id)).is_ok(),
        audit: address("/audit", [("subject", id.as_str())]),
    };
    html::respond(status, &page)
}

/// Who ended a grant, in words: an administrator by the name that the audit log has.
async fn ended_by(app: &App, by: &By, grant: &GrantJson) -> Result<Option<String>, Fault> {
    let words = match grant.ended_by.as_deref() {
        None => return Ok(None),
        Some("user") => "the User",
        Some("personal_agent") => "the personal agent",
        Some("administrator") => "an administrator",
        Some("brand_change") => "a change of the Brand",
        Some("expiry") => "a new decision, after it had expired",
        Some(other) => other,
    };
    if words == "an administrator" {
        let filter = AuditFilter {
            subject: Some(grant.grant_id.to_string()),
            action: Some(Action::GrantEnded.name().to_owned()),
            ..AuditFilter::default()
        };
        if let Verdict::Done(page) = audit::list(app, by, &filter, None, 1).await?
            && let Some(row) = page.rows.into_iter().next()
        {
            return Ok(Some(format!("administrator {}", row.actor)));
        }
    }
    Ok(Some(words.to_owned()))
}

/// What happened under a grant, in words.
struct Words<'a> {
    app: &'a App,
    details: &'a GrantDetailsJson,
}

impl Words<'_> {
    fn facts(&self, by: &By, ended_by: Option<String>) -> Vec<Fact> {
        let grant = &self.details.grant;
        let agent = personal_agent_name(self.app, &grant.personal_agent);
        let agent = match by.access.read(None) {
            Ok(()) => Cell::Link(agent, address_of(&grant.personal_agent)),
            Err(_) => Cell::Text(agent),
        };
        let user = address("/grants", [("user", grant.user.as_str())]);
        let mut facts = vec![Fact::new("State", state(grant.state))];
        facts.extend(ended_by.map(|ended_by| Fact::new("Ended by", Cell::Text(ended_by))));
        facts.extend(grant.ended_at.map(|at| Fact::new("Ended", Cell::Time(When::at(at.0)))));
        facts.extend([
            Fact::new("Brand", Cell::Text(brand_name(self.app, &grant.brand_id))),
            Fact::new("Brand id", Cell::Id(grant.brand_id.to_string(), None)),
            Fact::new("User", Cell::Id(grant.user.to_string(), Some(user))),
            Fact::new("Personal agent", agent),
            Fact::new("Issuer", Cell::Id(grant.personal_agent.to_string(), None)),
            Fact::new("Its name for the User (sub)", Cell::Id(grant.sub.to_string(), None)),
            Fact::new("First allowed", Cell::Time(When::at(grant.created_at.0))),
            Fact::new("Latest decision", Cell::Time(When::at(grant.decided_at.0))),
            Fact::new("Expires", Cell::Time(When::at(grant.expires_at.0))),
            Fact::new("Last used", Cell::time(grant.last_used_at.map(|at| at.0))),
        ]);
        facts
    }

    fn allowed(&self, scope: &ScopeId) -> Allowed {
        let directory = self.app.directory.current();
        let delegation =
            directory.brand(&self.details.grant.brand_id).and_then(|hosted| hosted.brand.delegation.as_ref());
        let offered = delegation.and_then(|delegation| delegation.scopes.iter().find(|offered| offered.id == *scope));
        Allowed {
            id: scope.to_string(),
            description: offered.map(|offered| offered.description.clone()),
            writes: offered.is_some_and(|offered| offered.writes),
        }
    }

    fn allows(&self) -> Vec<Allowed> {
        self.details.grant.scopes.iter().map(|scope| self.allowed(scope)).collect()
    }

    fn decisions(&self) -> Listing {
        let rows = self.details.decisions.iter().map(|decision| {
            let words = match decision.decision.as_str() {
                "approved" => "Allowed",
                "approved_without_page" => "Allowed without a page",
                "denied" => "Not allowed",
                "withdrawn" => "Withdrawn",
                other => other,
            };
            vec![
                Cell::Time(When::at(decision.decided_at.0)),
                Cell::Text(words.to_owned()),
                Cell::Text(joined(&decision.scopes)),
                Cell::Text(decision.language.clone()),
                Cell::Id(decision.request_id.clone(), None),
            ]
        });
        let heads = ["When", "Decision", "Scopes", "Language", "Request"];
        GrantPage::table("Decisions", "No decision is kept.", &heads, rows.collect())
    }

    fn receipts(&self) -> Listing {
        let rows = self.details.receipts.iter().map(|receipt| {
            let done = receipt.claims.as_ref().map_or_else(|| "Cannot be read".to_owned(), |claims| self.done(claims));
            vec![
                Cell::Time(When::at(receipt.created_at.0)),
                Cell::Text(done),
                Cell::Id(receipt.receipt_id.clone(), None),
            ]
        });
        let heads = ["When", "What was done", "Receipt"];
        GrantPage::table("Receipts", "Nothing was done under it.", &heads, rows.collect())
    }

    /// `Called cancel order, for: Cancel an order`.
    fn done(&self, claims: &ReceiptClaims) -> String {
        let tools: Vec<String> = claims.actions.iter().map(|action| action.tool.replace(['_', '-'], " ")).collect();
        let scopes = claims.scopes_used.iter().map(|scope| {
            let allowed = self.allowed(scope);
            allowed.description.unwrap_or(allowed.id)
        });
        let scopes = scopes.collect::<Vec<_>>().join("; ");
        match (tools.is_empty(), scopes.is_empty()) {
            (true, true) => "Answered without using anything".to_owned(),
            (true, false) => format!("Answered, for: {scopes}"),
            (false, true) => format!("Called {}", tools.join(", ")),
            (false, false) => format!("Called {}, for: {scopes}", tools.join(", ")),
        }
    }

    fn tokens(&self) -> Listing {
        let rows = self.details.tokens.iter().map(|token| {
            let refreshed = match token.family_revoked_at {
                Some(_) => Cell::State("given up after a theft", Tone::Bad),
                None => Cell::time(token.refreshed_at.map(|at| at.0)),
            };
            vec![
                Cell::Time(When::at(token.issued_at.0)),
                Cell::Time(When::at(token.expires_at.0)),
                Cell::Text(joined(&token.scopes)),
                refreshed,
                Cell::Id(token.jti.clone(), None),
                Cell::Id(token.family.clone(), None),
            ]
        });
        let heads = ["Issued", "Ends", "Scopes", "Refreshed", "Token (jti)", "Family"];
        GrantPage::table("Tokens", "No token was issued.", &heads, rows.collect())
    }
}

fn joined(scopes: &[ScopeId]) -> String {
    scopes.iter().map(ScopeId::as_str).collect::<Vec<_>>().join(" ")
}
