//! `/`: how things stand, and what does not work.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{answered, settled, shown};
use super::frame;
use crate::flow::admin::overview::standing;
use crate::web::app;
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{OverviewPage, Section};

/// The first page.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let standing = settled(&viewer, standing(app(&req), &viewer.caller().by).await)?;
        Ok(shown(&OverviewPage::new(frame(&viewer, Section::Overview), &standing)))
    })
    .await
}
