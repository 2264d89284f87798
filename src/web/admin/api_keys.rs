//! `/api-keys`: what programs administer with.

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};

use super::access::{REPEATABLE, chosen_access, typed_access};
use super::answer::{allowed, answered, form, names, not_there, settled, shown};
use super::frame;
use crate::domain::administrator::Role;
use crate::domain::id::ApiKeyId;
use crate::flow::admin::api_keys::{self as flow, MadeApiKey};
use crate::web::app;
use crate::web::extract::csrf::submitted_by;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{Section, TypedKey, Wrong, key_form, made_key_page, revoke_key_form, revoked_key_page};
use crate::web::site::path_parameter;

const DAY: u64 = 86_400;

/// The form that makes a key.
pub async fn show_create(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let access = &viewer.caller().by.access;
        allowed(&viewer, access.at_least(Role::Owner))?;
        let typed = TypedKey { days: "90".to_owned(), ..TypedKey::default() };
        Ok(form(&key_form(frame(&viewer, Section::Administrators), access, &names(app(&req)), &typed)))
    })
    .await
}

/// Makes a key, and shows it this once.
pub async fn create(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Owner, &req, payload, REPEATABLE).await?;
        let (viewer, sent) = (submitted.viewer(), submitted.form());
        let (app, by) = (app(&req), &viewer.caller().by);
        allowed(viewer, by.access.at_least(Role::Owner))?;
        let field = |name| sent.one(name).unwrap_or_default().trim().to_owned();
        let typed = TypedKey { name: field("name"), days: field("days"), access: typed_access(sent) };
        let again = |wrong| {
            let around = frame(viewer, Section::Administrators);
            Ok(form(&key_form(around, &by.access, &names(app), &typed).with_wrong(Some(wrong))))
        };
        let access = match chosen_access(&typed.access) {
            Ok(access) => access,
            Err(wrong) => return again(wrong),
        };
        let Ok(days) = typed.days.parse::<u32>() else { return again(Wrong::input("days: expected 1 to 366")) };
        let life = Duration::from_secs(u64::from(days) * DAY);
        match settled(viewer, flow::create(app, by, &typed.name, access, life).await)? {
            MadeApiKey::Made(made) => {
                let around = frame(viewer, Section::Administrators);
                Ok(shown(&made_key_page(around, &names(app), &made.key, made.secret.expose())))
            }
            MadeApiKey::Invalid(words) => again(Wrong::input(words)),
            MadeApiKey::NoBrand(brand) => again(Wrong::input(format!("brand: there is no Brand {brand}"))),
        }
    })
    .await
}

fn key_of(req: &HttpRequest, viewer: &Viewer) -> Result<ApiKeyId, HttpResponse> {
    ApiKeyId::parse(path_parameter(req, "key")).map_err(|_| not_there(viewer))
}

/// The form that revokes a key.
pub async fn show_revoke(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (app, by) = (app(&req), &viewer.caller().by);
        allowed(&viewer, by.access.at_least(Role::Owner))?;
        let key = settled(&viewer, flow::show(app, by, &key_of(&req, &viewer)?).await)?;
        let around = frame(&viewer, Section::Administrators);
        Ok(form(&revoke_key_form(around, &names(app), &key, app.clock.now())))
    })
    .await
}

/// Revokes a key.
pub async fn revoke(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Owner, &req, payload, &[]).await?;
        let viewer = submitted.viewer();
        let (app, by, id) = (app(&req), &viewer.caller().by, key_of(&req, viewer)?);
        let just_now = settled(viewer, flow::revoke(app, by, &id).await)?;
        let key = settled(viewer, flow::show(app, by, &id).await)?;
        Ok(shown(&revoked_key_page(frame(viewer, Section::Administrators), &key, just_now)))
    })
    .await
}
