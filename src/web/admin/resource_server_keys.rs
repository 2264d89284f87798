//! `/brands/{brand}/resource-server-keys` and `/resource-server-keys/{key}/revoke`.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{allowed, answered, form, not_there, settled, shown};
use super::brands::brand_of;
use super::frame;
use super::names::brand_name;
use crate::domain::administrator::Role;
use crate::domain::id::ResourceServerKeyId;
use crate::flow::admin::brands::show as show_brand;
use crate::flow::admin::resource_server_keys::{self as flow, CreatedKey, RevokedKey};
use crate::web::app;
use crate::web::extract::csrf::submitted_by;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{Section, Wrong, made_page, make_form, revoke_form, revoked_page};
use crate::web::site::path_parameter;

/// The form that makes a key.
pub async fn show_create(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (brand, by) = (brand_of(&req, &viewer)?, &viewer.caller().by);
        allowed(&viewer, by.access.change(Some(&brand)))?;
        let record = settled(&viewer, show_brand(app(&req), by, &brand).await)?;
        Ok(form(&make_form(frame(&viewer, Section::Brands), &record.brand.name, &brand, "", "")))
    })
    .await
}

/// Makes a key, and shows it this once.
pub async fn create(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Operator, &req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let (app, by, brand) = (app(&req), &viewer.caller().by, brand_of(&req, viewer)?);
        allowed(viewer, by.access.change(Some(&brand)))?;
        let (around, called) = (frame(viewer, Section::Brands), brand_name(app, &brand));
        let field = |name| submitted.form().one(name).unwrap_or_default();
        let (name, typed_days) = (field("name"), field("days").trim());
        let days = match typed_days {
            "" => Ok(None),
            days => days.parse::<u32>().map(Some),
        };
        let again = |around, words: String| {
            let page = make_form(around, &called, &brand, name, typed_days);
            Ok(form(&page.with_wrong(Some(Wrong::input(words)))))
        };
        let Ok(days) = days else { return again(around, "days: expected a whole number, 1 to 3650".to_owned()) };
        match settled(viewer, flow::create(app, by, &brand, name, days).await)? {
            CreatedKey::Done { key, secret } => Ok(shown(&made_page(around, &called, &key, secret.expose()))),
            CreatedKey::Invalid(invalid) => again(around, invalid.to_string()),
        }
    })
    .await
}

fn key_of(req: &HttpRequest, viewer: &Viewer) -> Result<ResourceServerKeyId, HttpResponse> {
    ResourceServerKeyId::parse(path_parameter(req, "key")).map_err(|_| not_there(viewer))
}

/// The form that revokes a key.
pub async fn show_revoke(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (app, by) = (app(&req), &viewer.caller().by);
        let key = flow::show(app, by, &key_of(&req, &viewer)?).await;
        let key = settled(&viewer, key)?;
        allowed(&viewer, by.access.change(Some(&key.brand)))?;
        let name = brand_name(app, &key.brand);
        Ok(form(&revoke_form(frame(&viewer, Section::Brands), &name, &key, app.clock.now())))
    })
    .await
}

/// Revokes a key.
pub async fn revoke(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Operator, &req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let (app, by, id) = (app(&req), &viewer.caller().by, key_of(&req, viewer)?);
        let revoked = settled(viewer, flow::revoke(app, by, &id).await)?;
        let key = settled(viewer, flow::show(app, by, &id).await)?;
        let just_now = match revoked {
            RevokedKey::Revoked => true,
            RevokedKey::AlreadyRevoked => false,
        };
        Ok(shown(&revoked_page(frame(viewer, Section::Brands), &brand_name(app, &key.brand), &key, just_now)))
    })
    .await
}
