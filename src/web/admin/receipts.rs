//! `/receipts/{receipt}`: what an agent did, signed.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{answered, name_of, not_there, settled, shown};
use super::frame;
use crate::domain::id::ReceiptId;
use crate::flow::admin::receipts as flow;
use crate::web::app;
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{Section, receipt_page};
use crate::web::site::path_parameter;

/// A receipt.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let id = ReceiptId::parse(&path_parameter(&req, "receipt")).ok_or_else(|| not_there(&viewer))?;
        let receipt = settled(&viewer, flow::show(app(&req), &viewer.caller().by, &id).await)?;
        let name = name_of(app(&req), &receipt.brand);
        Ok(shown(&receipt_page(frame(&viewer, Section::Receipts), &receipt, &name)))
    })
    .await
}
