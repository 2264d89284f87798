//! `/grants/revoke`: all live grants that fit a filter, taken back once somebody has typed how many there are.
//!
//! Refuses another number than the one that the page showed, and does nothing when more fit than that by now.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::list::Grants;
use crate::app::App;
use crate::clock::Timestamp;
use crate::flow::Fault;
use crate::flow::admin::grants::{self as flow, RevokedAll};
use crate::flow::admin::{By, Verdict};
use crate::store::{GrantCount, GrantFilter};
use crate::web::admin::list::{BadView, List as _, View, address};
use crate::web::admin::names::{brand_name, personal_agent_name};
use crate::web::admin::{Trouble, bad_query, bad_view, fault, frame, refusal, trouble};
use crate::web::extract::csrf::submitted;
use crate::web::extract::query::read_query;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{Cell, Fact, Notice, RevokeAll, RevokePage, RevokedPage, Section, Undone, When};
use crate::web::{app, error, html};

/// The parameters that say which grants; their state is not asked for, since only live ones can end.
const NARROWED: [&str; 5] = ["brand", "user", "personal_agent", "since", "until"];

/// Which grants a query or a form means.
struct Meant {
    view: View,
    filter: GrantFilter,
}

impl Meant {
    fn read(form: &Form) -> Result<Self, BadView> {
        let view = View::of::<Grants>(form)?;
        let Grants(filter) = Grants::read(&view)?;
        Ok(Self { view, filter })
    }
}

/// The live grants that fit `filter`, and what the form that ends them sends along.
pub(in crate::web::admin) async fn revocable(
    app: &App,
    by: &By,
    filter: &GrantFilter,
    narrowed: Vec<(&'static str, String)>,
) -> Result<Verdict<RevokeAll>, Fault> {
    let found = match flow::count_live_by_brand(app, by, filter).await? {
        Verdict::Done(found) => found,
        Verdict::Forbidden => return Ok(Verdict::Forbidden),
        Verdict::NotThere => return Ok(Verdict::NotThere),
    };
    let brands = i64::try_from(found.len()).unwrap_or(i64::MAX);
    let count = GrantCount { grants: found.iter().map(|(_, grants)| grants).sum(), brands };
    let mut by_brand: Vec<_> = found.into_iter().map(|(brand, grants)| (brand_name(app, &brand), grants)).collect();
    by_brand.sort();
    Ok(Verdict::Done(RevokeAll { count, by_brand, counted_at: app.clock.now().millis(), narrowed }))
}

/// How many there are, and the question.
pub async fn show_revoke_grants(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    let viewer = match viewer(&req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    if let Some(refusal) = refusal(&viewer) {
        return refusal;
    }
    let query = match read_query(&req, &NARROWED) {
        Ok(query) => query,
        Err(problem) => return bad_query(&viewer, Section::Grants, problem),
    };
    match Meant::read(&query) {
        Ok(meant) => question(&req, &viewer, &meant, None).await,
        Err(problem) => bad_view(&viewer, Section::Grants, &problem),
    }
}

/// Takes them back.
pub async fn revoke_grants(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (viewer, form) = (submitted.viewer(), submitted.form());
    if let Some(refusal) = refusal(viewer) {
        return refusal;
    }
    let meant = match Meant::read(form) {
        Ok(meant) => meant,
        Err(problem) => return bad_view(viewer, Section::Grants, &problem),
    };
    let Some(count) = form.one("count").and_then(typed) else { return trouble(Some(viewer), Trouble::BadForm) };
    if form.one("confirmation").and_then(typed) != Some(count) {
        let wrong = Notice::wrong("Nothing was done: what was typed is not the number that was asked for.");
        return question(&req, viewer, &meant, Some((Undone::Invalid, wrong))).await;
    }
    let by = &viewer.caller().by;
    // Grants of later are none that anybody has seen counted: they stay, and hold nobody up.
    let counted_at = form.one("counted_at").and_then(typed).map(|at| Timestamp::from_millis(at.saturating_add(1)));
    let until = [meant.filter.until, counted_at].into_iter().flatten().min();
    let filter = GrantFilter { until, ..meant.filter.clone() };
    match flow::revoke_all(app(&req), by, &filter, Some(count)).await {
        Ok(Verdict::Done(RevokedAll::Done { ended, already_ended, brands })) => {
            let live = meant.view.with("/grants", &NARROWED, ("state", "live"));
            let page = RevokedPage {
                frame: frame(viewer, Section::Grants),
                ended,
                already_ended,
                brands,
                audit: address("/audit", [("request", by.request.0.as_str())]),
                list: live,
            };
            html::respond(StatusCode::OK, &page)
        }
        Ok(Verdict::Done(RevokedAll::MoreFit(_))) => {
            let more = Notice::wrong("Nothing was done: more fit by now than were counted. Look at the new number.");
            question(&req, viewer, &meant, Some((Undone::MoreFit, more))).await
        }
        Ok(Verdict::Forbidden) => trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => trouble(Some(viewer), Trouble::NotFound),
        Err(error) => fault(Some(viewer), &error),
    }
}

/// The page with what is true now.
async fn question(req: &HttpRequest, viewer: &Viewer, meant: &Meant, wrong: Option<(Undone, Notice)>) -> HttpResponse {
    let (app, by) = (app(req), &viewer.caller().by);
    let all = match revocable(app, by, &meant.filter, meant.view.values(&NARROWED)).await {
        Ok(Verdict::Done(all)) => all,
        Ok(Verdict::Forbidden) => return trouble(Some(viewer), Trouble::NotAllowed),
        Ok(Verdict::NotThere) => return trouble(Some(viewer), Trouble::NotFound),
        Err(error) => return fault(Some(viewer), &error),
    };
    let (undone, notice) = wrong.unzip();
    let page = RevokePage {
        frame: frame(viewer, Section::Grants),
        notice,
        facts: facts(app, &meant.filter),
        all,
        list: meant.view.with("/grants", &NARROWED, ("state", "live")),
    };
    html::respond(undone.map_or(StatusCode::OK, error::undone_status), &page)
}

/// What narrows them, in words.
fn facts(app: &App, filter: &GrantFilter) -> Vec<Fact> {
    let brand = filter.brand.as_ref().map(|id| Fact::new("Brand", Cell::Text(brand_name(app, id))));
    let user = filter.brand_user.as_ref().map(|id| Fact::new("User", Cell::Id(id.to_string(), None)));
    let name = |issuer| Fact::new("Personal agent", Cell::Text(personal_agent_name(app, issuer)));
    let issuer = filter.issuer.as_ref().map(|id| Fact::new("Issuer", Cell::Id(id.to_string(), None)));
    let since = filter.since.map(|at| Fact::new("Created from", Cell::Time(When::at(at))));
    let until = filter.until.map(|at| Fact::new("Created before", Cell::Time(When::at(at))));
    [brand, user, filter.issuer.as_ref().map(name), issuer, since, until].into_iter().flatten().collect()
}

/// A number as somebody types it, or copies it from the page: with or without what stands between its digits.
fn typed(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '.' | ',' | '\'' | '’')).collect();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_however_its_digits_are_grouped() {
        for text in ["1214", " 1 214 ", "1\u{202f}214", "1,214", "1.214", "1'214", "01214"] {
            assert_eq!(typed(text), Some(1_214), "{text}");
        }
        for wrong in ["", " ", "-1", "+1", "1e3", "0x10", "١", "99999999999999999999", "one"] {
            assert_eq!(typed(wrong), None, "{wrong}");
        }
    }
}
