//! `/administrators`: who administers, as owners make, change and remove them.

use actix_web::{HttpRequest, HttpResponse, web};

use super::access::{REPEATABLE, chosen_access, typed_access};
use super::answer::{allowed, answered, form, form_for_now, names, not_there, settled, shown};
use super::frame;
use crate::domain::account::Administrator;
use crate::domain::administrator::Role;
use crate::domain::id::AdministratorName;
use crate::flow::admin::Verdict;
use crate::flow::admin::administrators::{self as flow, Change, Changed, Created};
use crate::flow::admin::api_keys;
use crate::limits::Spent;
use crate::secret::Secret;
use crate::web::app;
use crate::web::extract::csrf::submitted_by;
use crate::web::extract::session::{Viewer, viewer};
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{
    Deed, Section, TypedAccess, Wrong, administrator_page, administrators_page, deed_form, deed_page,
    made_administrator_page, new_form,
};
use crate::web::site::path_parameter;

/// Administrators and API keys within reach.
pub async fn list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (app, by) = (app(&req), &viewer.caller().by);
        let people = settled(&viewer, flow::list(app, by).await.map(Verdict::Done))?;
        let keys = settled(&viewer, api_keys::list(app, by).await.map(Verdict::Done))?;
        let around = frame(&viewer, Section::Administrators);
        Ok(shown(&administrators_page(around, &by.access, &people, &keys, &names(app), app.clock.now())))
    })
    .await
}

/// The administrator of a path.
async fn account_of(req: &HttpRequest, viewer: &Viewer) -> Result<Administrator, HttpResponse> {
    let name = AdministratorName::parse(path_parameter(req, "name")).map_err(|_| not_there(viewer))?;
    settled(viewer, flow::show(app(req), &viewer.caller().by, &name).await)
}

/// An administrator.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let account = account_of(&req, &viewer).await?;
        let around = frame(&viewer, Section::Administrators);
        Ok(shown(&administrator_page(around, &viewer.caller().by.access, &account, &names(app(&req)))))
    })
    .await
}

/// The form that makes an administrator.
pub async fn show_create(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let access = &viewer.caller().by.access;
        allowed(&viewer, access.at_least(Role::Owner))?;
        let around = frame(&viewer, Section::Administrators);
        Ok(form(&new_form(around, access, &names(app(&req)), "", &TypedAccess::default())))
    })
    .await
}

/// Makes an administrator.
pub async fn create(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Owner, &req, payload, REPEATABLE).await?;
        let (viewer, sent) = (submitted.viewer(), submitted.form());
        let (app, by) = (app(&req), &viewer.caller().by);
        allowed(viewer, by.access.at_least(Role::Owner))?;
        let (typed_name, typed) = (sent.one("name").unwrap_or_default(), typed_access(sent));
        let again = |wrong| {
            let around = frame(viewer, Section::Administrators);
            new_form(around, &by.access, &names(app), typed_name, &typed).with_wrong(Some(wrong))
        };
        let (name, access, password) = match typed_account(typed_name, &typed, sent) {
            Ok(typed) => typed,
            Err(wrong) => return Ok(form(&again(wrong))),
        };
        let wrong = match settled(viewer, flow::create(app, by, &name, access, &password).await)? {
            Created::Done => {
                return Ok(shown(&made_administrator_page(frame(viewer, Section::Administrators), &name)));
            }
            Created::NameTaken => Wrong::conflict(format!("name: {name} is taken")),
            Created::PoorPassword(poor) => Wrong::input(format!("password: {poor}")),
            Created::NoBrand(brand) => Wrong::input(format!("brand: there is no Brand {brand}")),
            Created::Busy(Spent { retry_after }) => return Ok(form_for_now(&again(Wrong::busy()), retry_after)),
        };
        Ok(form(&again(wrong)))
    })
    .await
}

fn typed_account(
    name: &str,
    typed: &TypedAccess,
    sent: &Form,
) -> Result<(AdministratorName, crate::domain::administrator::Access, Secret<String>), Wrong> {
    let name = AdministratorName::typed(name).map_err(|error| Wrong::input(error.to_string()))?;
    Ok((name, chosen_access(typed)?, typed_password(sent)?))
}

/// A password that was typed alike twice.
fn typed_password(sent: &Form) -> Result<Secret<String>, Wrong> {
    let field = |name| sent.one(name).unwrap_or_default();
    if field("password") != field("repeated_password") {
        return Err(Wrong::input("password: was not the same both times"));
    }
    Ok(Secret::new(field("password").to_owned()))
}

fn deed_of(req: &HttpRequest, viewer: &Viewer) -> Result<Deed, HttpResponse> {
    let name = path_parameter(req, "deed");
    Deed::ALL.into_iter().find(|deed| deed.name() == name).ok_or_else(|| not_there(viewer))
}

/// The form of something that an owner does to an administrator.
pub async fn show_deed(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (deed, access) = (deed_of(&req, &viewer)?, &viewer.caller().by.access);
        allowed(&viewer, access.at_least(Role::Owner))?;
        let account = account_of(&req, &viewer).await?;
        let around = frame(&viewer, Section::Administrators);
        Ok(form(&deed_form(around, access, &names(app(&req)), &account, deed, None)))
    })
    .await
}

/// Does it.
pub async fn deed(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Owner, &req, payload, REPEATABLE).await?;
        let (viewer, sent) = (submitted.viewer(), submitted.form());
        let (app, by, deed) = (app(&req), &viewer.caller().by, deed_of(&req, viewer)?);
        allowed(viewer, by.access.at_least(Role::Owner))?;
        let account = account_of(&req, viewer).await?;
        let typed = typed_access(sent);
        let again = |wrong| {
            let typed = (deed == Deed::Access).then_some(&typed);
            let around = frame(viewer, Section::Administrators);
            deed_form(around, &by.access, &names(app), &account, deed, typed).with_wrong(Some(wrong))
        };
        let change = match change_of(deed, &account, &typed, sent) {
            Ok(change) => change,
            Err(wrong) => return Ok(form(&again(wrong))),
        };
        let as_before = match settled(viewer, flow::change(app, by, &account.name, &change).await)? {
            Changed::Done => false,
            Changed::AsBefore => true,
            Changed::LastOwner => {
                let words = "There would be nobody left who can do everything: this is the last enabled owner of all \
                             Brands. Make another one first.";
                return Ok(form(&again(Wrong::conflict(words))));
            }
            Changed::PoorPassword(poor) => return Ok(form(&again(Wrong::input(format!("password: {poor}"))))),
            Changed::NoBrand(brand) => {
                return Ok(form(&again(Wrong::input(format!("brand: there is no Brand {brand}")))));
            }
            Changed::Busy(Spent { retry_after }) => return Ok(form_for_now(&again(Wrong::busy()), retry_after)),
        };
        Ok(shown(&deed_page(frame(viewer, Section::Administrators), &account.name, deed, as_before)))
    })
    .await
}

fn change_of(deed: Deed, account: &Administrator, typed: &TypedAccess, sent: &Form) -> Result<Change, Wrong> {
    Ok(match deed {
        Deed::Access => Change::Access(chosen_access(typed)?),
        Deed::Disable => Change::Disable,
        Deed::Enable => Change::Enable,
        Deed::Password => Change::Password(typed_password(sent)?),
        Deed::SecondFactor => Change::NoSecondFactor,
        Deed::Remove if sent.one("typed").map(str::trim) == Some(account.name.as_str()) => Change::Remove,
        Deed::Remove => return Err(Wrong::input("What was typed is not the administrator's name.")),
    })
}
