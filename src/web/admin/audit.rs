//! `/audit/{chain}/{sequence}`: one row, the erasure of its personal data; and `/audit/verify`.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{allowed, answered, form, not_there, settled, shown};
use super::audit_list::AuditRows;
use super::{frame, list};
use crate::domain::administrator::Role;
use crate::domain::audit::Chain;
use crate::flow::admin::audit as flow;
use crate::store::Erased;
use crate::web::app;
use crate::web::extract::csrf::{submitted, submitted_by};
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{Section, Wrong, erase_form, erased_page, row_page, verified_page, verify_form};
use crate::web::site::path_parameter;

fn row_of(req: &HttpRequest, viewer: &Viewer) -> Result<(Chain, i64), HttpResponse> {
    let chain = path_parameter(req, "chain").parse().map_err(|_| not_there(viewer))?;
    let sequence = path_parameter(req, "sequence").parse().map_err(|_| not_there(viewer))?;
    Ok((chain, sequence))
}

/// The audit log, narrowed and ordered by the address.
pub async fn list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::show::<AuditRows>(&req).await
}

/// All of a view as CSV.
pub async fn export_list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::export::<AuditRows>(&req).await
}

/// A row.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (by, (chain, sequence)) = (&viewer.caller().by, row_of(&req, &viewer)?);
        let row = settled(&viewer, flow::show(app(&req), by, &chain, sequence).await)?;
        Ok(shown(&row_page(frame(&viewer, Section::Audit), &by.access, &row)))
    })
    .await
}

/// The form that erases a row's personal data.
pub async fn show_erase(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        erase_again(&req, &viewer, None).await
    })
    .await
}

async fn erase_again(req: &HttpRequest, viewer: &Viewer, wrong: Option<Wrong>) -> Result<HttpResponse, HttpResponse> {
    let (by, (chain, sequence)) = (&viewer.caller().by, row_of(req, viewer)?);
    allowed(viewer, by.access.erase(chain.brand()))?;
    let row = settled(viewer, flow::show(app(req), by, &chain, sequence).await)?;
    let around = frame(viewer, Section::Audit);
    if row.payload.is_none() {
        return Ok(shown(&erased_page(around, &chain, sequence, false)));
    }
    Ok(form(&erase_form(around, &row).with_wrong(wrong)))
}

/// Erases the personal data of a row whose number was typed.
pub async fn erase(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Owner, &req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let (by, (chain, sequence)) = (&viewer.caller().by, row_of(&req, viewer)?);
        allowed(viewer, by.access.erase(chain.brand()))?;
        let typed = submitted.form().one("typed").unwrap_or_default();
        if typed.trim() != sequence.to_string() {
            let wrong = Wrong::input("What was typed is not the row's number.");
            return erase_again(&req, viewer, Some(wrong)).await;
        }
        let just_now = match settled(viewer, flow::erase(app(&req), by, &chain, sequence).await)? {
            Erased::Done => true,
            Erased::Already => false,
            Erased::NotThere => return Err(not_there(viewer)),
        };
        Ok(shown(&erased_page(frame(viewer, Section::Audit), &chain, sequence, just_now)))
    })
    .await
}

/// The form that verifies the log.
pub async fn show_verify(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        Ok(form(&verify_form(frame(&viewer, Section::Audit))))
    })
    .await
}

/// Holds every row within reach against its seals. It changes nothing, so every role may.
pub async fn verify(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted(&req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let mut reports = Vec::new();
        let mut tell = |report| reports.push(report);
        settled(viewer, flow::verify(app(&req), &viewer.caller().by, None, &[], &mut tell).await)?;
        Ok(shown(&verified_page(frame(viewer, Section::Audit), &reports)))
    })
    .await
}
