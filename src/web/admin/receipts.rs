//! `/receipts/{receipt}`: what an agent did, signed.

use actix_web::{HttpRequest, HttpResponse, web};

use super::answer::{answered, not_there, settled, shown};
use super::names::brand_name;
use super::receipt_list::Receipts;
use super::{frame, list};
use crate::domain::id::ReceiptId;
use crate::flow::admin::receipts as flow;
use crate::web::app;
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{Section, receipt_page};
use crate::web::site::path_parameter;

/// The receipts, narrowed and ordered by the address.
pub async fn list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::show::<Receipts>(&req).await
}

/// All of a view as CSV.
pub async fn export_list(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    list::export::<Receipts>(&req).await
}

/// A receipt.
pub async fn show(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    answered(async {
        let viewer = viewer(&req).await?;
        let id = ReceiptId::parse(&path_parameter(&req, "receipt")).ok_or_else(|| not_there(&viewer))?;
        let receipt = settled(&viewer, flow::show(app(&req), &viewer.caller().by, &id).await)?;
        let name = brand_name(app(&req), &receipt.brand);
        Ok(shown(&receipt_page(frame(&viewer, Section::Receipts), &receipt, &name)))
    })
    .await
}
