//! `/brands/{brand}`: a Brand, its definition, and its removal.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{allowed, answered, form, not_there, settled, shown};
use super::brand_list::Brands;
use super::{fault, frame, list};
use crate::app::App;
use crate::crypto::codes;
use crate::domain::addresses::Addresses;
use crate::domain::administrator::Role;
use crate::domain::brand::Brand;
use crate::domain::id::BrandId;
use crate::domain::page::{ByTime, Direction, Paging};
use crate::flow::Fault;
use crate::flow::admin::apply::{
    ApplyFile, ApplyOutcome, BrandTable, NAME_TAKEN, NOT_AS_SEEN, apply_at_node, mark, one_brand, written,
};
use crate::flow::admin::brands::{self as flow, Removed};
use crate::flow::admin::{By, Run, keys, resource_server_keys};
use crate::web::app;
use crate::web::extract::csrf::{Submitted, submitted_by, submitted_definition};
use crate::web::extract::session::{Viewer, viewer};
use crate::web::pages::admin::{
    BrandView, Preview, Section, TEMPLATE, Wrong, applied_page, brand_page, definition_form, remove_form, removed_page,
};
use crate::web::site::path_parameter;

/// The Brand of a path.
pub(super) fn brand_of(req: &HttpRequest, viewer: &Viewer) -> Result<BrandId, HttpResponse> {
    BrandId::parse(path_parameter(req, "brand")).map_err(|_| not_there(viewer))
}

/// The Brands, narrowed and ordered by the address.
pub async fn list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::show::<Brands>(&req).await
}

/// All of a view as CSV.
pub async fn export_list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::export::<Brands>(&req).await
}

/// A Brand.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let (app, by, id) = (app(&req), &viewer.caller().by, brand_of(&req, &viewer)?);
        let record = settled(&viewer, flow::show(app, by, &id).await)?;
        let Ok(latest) = Paging::new(ByTime, Direction::Descending, 100, None) else {
            return Err(fault(Some(&viewer), &Fault::Impossible("a page of a hundred rows")));
        };
        let view = BrandView {
            addresses: Addresses::of(&app.config.public_url, &record.brand),
            keys: settled(&viewer, keys::list(app, by, Some(&id), &latest).await)?.items,
            resource_server_keys: settled(&viewer, resource_server_keys::list(app, by, Some(&id)).await)?,
            record,
        };
        Ok(shown(&brand_page(frame(&viewer, Section::Brands), &by.access, &view, app.clock.now())))
    })
    .await
}

/// The form that makes a Brand.
pub async fn show_new(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        allowed(&viewer, viewer.caller().by.access.change(None))?;
        Ok(form(&definition_form(frame(&viewer, Section::Brands), None, TEMPLATE, None)))
    })
    .await
}

/// Looks at a new Brand's definition, or makes it.
pub async fn create(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_definition(&req, payload).await?;
        allowed(submitted.viewer(), submitted.viewer().caller().by.access.change(None))?;
        defined(app(&req), &submitted, None).await
    })
    .await
}

/// The form that changes a Brand.
pub async fn show_change(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let brand = changeable(&req, &viewer).await?;
        let (text, wrong) = match written(&brand) {
            Ok(text) => (text, None),
            Err(problem) => (String::new(), Some(Wrong::conflict(format!("It cannot be written as TOML: {problem}")))),
        };
        let known = Some((brand.name.as_str(), &brand.id));
        let page =
            definition_form(frame(&viewer, Section::Brands), known, &text, None).with_hidden("seen", mark(&brand));
        Ok(form(&page.with_wrong(wrong)))
    })
    .await
}

/// Looks at a Brand's other definition, or puts it in force.
pub async fn change(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_definition(&req, payload).await?;
        let known = changeable(&req, submitted.viewer()).await?;
        defined(app(&req), &submitted, Some(&known)).await
    })
    .await
}

/// The Brand of a path, which is served and which the viewer may change.
async fn changeable(req: &HttpRequest, viewer: &Viewer) -> Result<Brand, HttpResponse> {
    let (id, by) = (brand_of(req, viewer)?, &viewer.caller().by);
    allowed(viewer, by.access.change(Some(&id)))?;
    let record = settled(viewer, flow::show(app(req), by, &id).await)?;
    if record.removed_at.is_some() {
        return Err(not_there(viewer));
    }
    Ok(record.brand)
}

async fn defined(app: &App, submitted: &Submitted, known: Option<&Brand>) -> Result<HttpResponse, HttpResponse> {
    let (viewer, sent) = (submitted.viewer(), submitted.form());
    let (by, text) = (&viewer.caller().by, sent.one("definition").unwrap_or_default());
    let names = known.map(|brand| (brand.name.as_str(), &brand.id));
    let again = |preview: Option<&Preview>, wrong| {
        let page = definition_form(frame(viewer, Section::Brands), names, text, preview).with_wrong(wrong);
        form(&known.map_or(page.clone(), |brand| page.with_hidden("seen", mark(brand))))
    };
    let (mut file, preview) = match previewed(app, viewer, by, text, known.map(|brand| &brand.id)).await? {
        Ok(previewed) => previewed,
        Err(wrong) => return Ok(again(None, Some(wrong))),
    };
    if known.is_some_and(|brand| sent.one("seen") != Some(&mark(brand))) {
        let words = "The Brand has changed since this form was opened. This is what the definition would do now.";
        return Ok(again(Some(&preview), Some(Wrong::conflict(words))));
    }
    if sent.one("step") != Some("do") {
        return Ok(again(Some(&preview), None));
    }
    if sent.one("mark") != Some(&preview.mark) {
        let words = "The definition, or what it would do, is not what was shown. This is what it would do now.";
        return Ok(again(Some(&preview), Some(Wrong::conflict(words))));
    }
    file.brand =
        file.brand.into_iter().map(|table| known.map_or(table.clone(), |brand| table.as_seen(&mark(brand)))).collect();
    match settled(viewer, apply_at_node(app, &file, by, Run::Real).await)? {
        ApplyOutcome::Refused(problem) if problem.ends_with(NOT_AS_SEEN) || problem.ends_with(NAME_TAKEN) => {
            Ok(again(None, Some(Wrong::conflict(problem))))
        }
        ApplyOutcome::Refused(problem) => Ok(again(None, Some(Wrong::input(problem)))),
        ApplyOutcome::Done { changes, narrowed, ended } => match changes.first() {
            Some(change) => {
                let id = BrandId::parse(change.id.as_str()).map_err(|_| not_there(viewer))?;
                Ok(shown(&applied_page(frame(viewer, Section::Brands), change, &id, narrowed, ended)))
            }
            None => Err(fault(Some(viewer), &Fault::Impossible("a Brand was applied without a change"))),
        },
    }
}

/// What a definition would do, of the Brand `own` or of a new one.
async fn previewed(
    app: &App,
    viewer: &Viewer,
    by: &By,
    text: &str,
    own: Option<&BrandId>,
) -> Result<Result<(ApplyFile, Preview), Wrong>, HttpResponse> {
    let file = match one_brand(text, own) {
        Ok(file) => file,
        Err(problem) => return Ok(Err(Wrong::input(problem))),
    };
    let file = match own {
        Some(_) => file,
        None => ApplyFile { brand: file.brand.into_iter().map(BrandTable::of_new).collect(), ..file },
    };
    let outcome = settled(viewer, apply_at_node(app, &file, by, Run::Dry).await)?;
    let (changes, narrowed, ended) = match outcome {
        ApplyOutcome::Refused(problem) if problem.ends_with(NAME_TAKEN) => return Ok(Err(Wrong::conflict(problem))),
        ApplyOutcome::Refused(problem) => return Ok(Err(Wrong::input(problem))),
        ApplyOutcome::Done { changes, narrowed, ended } => (changes, narrowed, ended),
    };
    let Some(change) = changes.into_iter().next() else {
        return Err(fault(Some(viewer), &Fault::Impossible("a Brand was applied without a change")));
    };
    let live = match own {
        Some(id) => settled(viewer, flow::show(app, by, id).await)?.live_grants,
        None => 0,
    };
    let told = format!("{text}\0{}\0{}", change.what, change.fields.join("\0"));
    let mark = codes::digest(&told).to_hex();
    Ok(Ok((file, Preview { change, narrowed, ended, live, mark })))
}

/// The form that removes a Brand.
pub async fn show_remove(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        remove_again(&req, &viewer, None).await
    })
    .await
}

async fn remove_again(req: &HttpRequest, viewer: &Viewer, wrong: Option<Wrong>) -> Result<HttpResponse, HttpResponse> {
    let id = changeable(req, viewer).await?.id;
    let record = settled(viewer, flow::show(app(req), &viewer.caller().by, &id).await)?;
    Ok(form(&remove_form(frame(viewer, Section::Brands), &record).with_wrong(wrong)))
}

/// Removes a Brand whose name was typed.
pub async fn remove(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    answered(async {
        let submitted = submitted_by(Role::Operator, &req, payload, &[]).await?;
        let (viewer, id) = (submitted.viewer(), brand_of(&req, submitted.viewer())?);
        let typed = submitted.form().one("typed").unwrap_or_default();
        match settled(viewer, flow::remove(app(&req), &viewer.caller().by, &id, typed).await)? {
            Removed::OtherName => {
                let wrong = Wrong::input("What was typed is not the Brand's name.");
                remove_again(&req, viewer, Some(wrong)).await
            }
            removed @ (Removed::Done { .. } | Removed::Already) => {
                let record = settled(viewer, flow::show(app(&req), &viewer.caller().by, &id).await)?;
                Ok(shown(&removed_page(frame(viewer, Section::Brands), &record.brand.name, &id, &removed)))
            }
        }
    })
    .await
}
