//! `/keys/{key}` and `/brands/{brand}/rotate`: what Brands sign with.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{allowed, answered, form, not_there, settled, shown};
use super::brands::brand_of;
use super::key_list::Keys;
use super::names::brand_name;
use super::{frame, list};
use crate::domain::administrator::Role;
use crate::domain::id::KeyId;
use crate::flow::admin::Run;
use crate::flow::admin::brands::show as show_brand;
use crate::flow::admin::keys::{self as flow, Leaves, Left};
use crate::web::app;
use crate::web::extract::csrf::submitted_by;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{Section, Wrong, key_page, leave_form, left_page, rotate_form, rotated_page};
use crate::web::site::path_parameter;

fn key_of(req: &HttpRequest, viewer: &Viewer) -> Result<KeyId, HttpResponse> {
    KeyId::parse(path_parameter(req, "key")).map_err(|_| not_there(viewer))
}

/// The keys, narrowed and ordered by the address.
pub async fn list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::show::<Keys>(&req).await
}

/// All of a view as CSV.
pub async fn export_list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::export::<Keys>(&req).await
}

/// A key.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (app, by) = (app(&req), &viewer.caller().by);
        let key = settled(&viewer, flow::show(app, by, &key_of(&req, &viewer)?).await)?;
        let name = brand_name(app, &key.brand);
        Ok(shown(&key_page(frame(&viewer, Section::Keys), &by.access, &key, &name, app.clock.now())))
    })
    .await
}

/// The form that gives a Brand a new key.
pub async fn show_rotate(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (brand, by) = (brand_of(&req, &viewer)?, &viewer.caller().by);
        allowed(&viewer, by.access.change(Some(&brand)))?;
        let record = settled(&viewer, show_brand(app(&req), by, &brand).await)?;
        Ok(form(&rotate_form(frame(&viewer, Section::Keys), &record.brand.name, &brand, false)))
    })
    .await
}

/// Gives a Brand a new key.
pub async fn rotate(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Operator, &req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let (app, by) = (app(&req), &viewer.caller().by);
        let brand = brand_of(&req, viewer)?;
        let name = brand_name(app, &brand);
        let around = frame(viewer, Section::Keys);
        let at_once = match submitted.form().one("when") {
            Some("later") => false,
            Some("now") => true,
            Some(_) | None => {
                allowed(viewer, by.access.change(Some(&brand)))?;
                let wrong = Wrong::input("when: expected later or now");
                return Ok(form(&rotate_form(around, &name, &brand, false).with_wrong(Some(wrong))));
            }
        };
        let rotated = settled(viewer, flow::rotate(app, by, &brand, at_once).await)?;
        Ok(shown(&rotated_page(around, &name, &brand, &rotated)))
    })
    .await
}

/// The form that retires a key.
pub async fn show_retire(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    show_leave(&req, Leaves::Retired).await
}

/// Retires a key.
pub async fn retire(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    leave(&req, payload, Leaves::Retired).await
}

/// The form that gives a key up.
pub async fn show_compromise(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    show_leave(&req, Leaves::Compromised).await
}

/// Gives a key up.
pub async fn compromise(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    leave(&req, payload, Leaves::Compromised).await
}

async fn show_leave(req: &HttpRequest, leaves: Leaves) -> HttpResponse {
    answered(async {
        let viewer = viewer(req).await?;
        leave_again(req, &viewer, leaves, false, None).await
    })
    .await
}

/// The form as things stand now, with why nothing was done.
async fn leave_again(
    req: &HttpRequest,
    viewer: &Viewer,
    leaves: Leaves,
    replace: bool,
    wrong: Option<Wrong>,
) -> Result<HttpResponse, HttpResponse> {
    let (app, by, id) = (app(req), &viewer.caller().by, key_of(req, viewer)?);
    let planned = settled(viewer, flow::take_out(app, by, &id, leaves, false, Run::Dry).await)?;
    let key = settled(viewer, flow::show(app, by, &id).await)?;
    let page = leave_form(frame(viewer, Section::Keys), &key, &brand_name(app, &key.brand), leaves, &planned, replace);
    let wrong = wrong.or_else(|| page.wrong.clone());
    Ok(form(&page.with_wrong(wrong)))
}

async fn leave(req: &HttpRequest, payload: web::Payload, leaves: Leaves) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Operator, req, payload, &[]).await?;
        let (viewer, id) = (submitted.viewer(), key_of(req, submitted.viewer())?);
        let replace = submitted.form().one("replace").is_some();
        let typed = submitted.form().one("typed").unwrap_or_default();
        if leaves == Leaves::Compromised && typed.trim() != id.as_str() {
            let wrong = Wrong::input("What was typed is not the key's id.");
            return leave_again(req, viewer, leaves, replace, Some(wrong)).await;
        }
        let left = flow::take_out(app(req), &viewer.caller().by, &id, leaves, replace, Run::Real).await;
        match settled(viewer, left)? {
            Left::Done { replaced_by } => {
                Ok(shown(&left_page(frame(viewer, Section::Keys), &id, leaves, replaced_by.as_ref())))
            }
            Left::Already => leave_again(req, viewer, leaves, replace, None).await,
            Left::WouldLeaveNone => {
                let words =
                    "The Brand would have no key that signs. Let another take its place, or make a new key first.";
                leave_again(req, viewer, leaves, replace, Some(Wrong::conflict(words))).await
            }
        }
    })
    .await
}
