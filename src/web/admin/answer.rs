//! What the pages of the console share in answering: a refusal ends a page wherever it is met.

use std::collections::HashMap;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;

use super::{Trouble, fault, trouble};
use crate::app::App;
use crate::domain::administrator::Denied;
use crate::flow::Fault;
use crate::flow::admin::Verdict;
use crate::web::extract::session::Viewer;
use crate::web::pages::Page;
use crate::web::pages::admin::{FormPage, Names};
use crate::web::{error, html};

/// The answer of a page that may end early with a refusal.
pub(super) async fn answered(page: impl Future<Output = Result<HttpResponse, HttpResponse>>) -> HttpResponse {
    page.await.unwrap_or_else(|refusal| refusal)
}

/// What a flow came to, or the page that says why it came to nothing.
pub(super) fn settled<T>(viewer: &Viewer, verdict: Result<Verdict<T>, Fault>) -> Result<T, HttpResponse> {
    match verdict {
        Ok(Verdict::Done(done)) => Ok(done),
        Ok(Verdict::Forbidden) => Err(trouble(Some(viewer), Trouble::NotAllowed)),
        Ok(Verdict::NotThere) => Err(not_there(viewer)),
        Err(error) => Err(fault(Some(viewer), &error)),
    }
}

/// Whether a form is shown at all: nobody fills in what would be refused.
pub(super) fn allowed(viewer: &Viewer, judged: Result<(), Denied>) -> Result<(), HttpResponse> {
    judged.map_err(|denied| match denied {
        Denied::Role => trouble(Some(viewer), Trouble::NotAllowed),
        Denied::Reach => not_there(viewer),
    })
}

/// There is no such thing, or none within reach.
pub(super) fn not_there(viewer: &Viewer) -> HttpResponse {
    trouble(Some(viewer), Trouble::NotFound)
}

/// A page.
pub(super) fn shown<P: Page>(page: &P) -> HttpResponse {
    html::respond(StatusCode::OK, page)
}

/// A form, with the status of what is wrong.
pub(super) fn form(page: &FormPage) -> HttpResponse {
    html::respond(page.wrong.as_ref().map_or(StatusCode::OK, |wrong| error::form_status(wrong.kind)), page)
}

/// A form that can be sent again after a while.
pub(super) fn form_for_now(page: &FormPage, wait: Duration) -> HttpResponse {
    error::with_retry_after(form(page), wait)
}

/// What the Brands that are served are called.
pub(super) fn names(app: &App) -> Names {
    let snapshot = app.directory.current();
    snapshot.brands().map(|hosted| (hosted.brand.id.clone(), hosted.brand.name.clone())).collect::<HashMap<_, _>>()
}
