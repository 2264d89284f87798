//! Receipts, as administrators list and read them.

use super::{By, Verdict};
use crate::app::App;
use crate::domain::id::ReceiptId;
use crate::domain::page::{ByTime, Page, Paging};
use crate::flow::Fault;
use crate::store::{ReceiptFilter, ReceiptRecord};

/// One receipt.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &ReceiptId) -> Result<Verdict<ReceiptRecord>, Fault> {
    Ok(match app.store.receipt_record(id).await? {
        Some(receipt) if by.access.read(Some(&receipt.brand)).is_ok() => Verdict::Done(receipt),
        Some(_) | None => Verdict::NotThere,
    })
}

/// A page of the receipts that fit `filter`.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    filter: &ReceiptFilter,
    paging: &Paging<ByTime>,
) -> Result<Verdict<Page<ReceiptRecord>>, Fault> {
    if let Some(Err(denied)) = filter.brand.as_ref().map(|brand| by.access.read(Some(brand))) {
        return Ok(denied.into());
    }
    if let Some(id) = &filter.grant {
        match app.store.grant(id).await? {
            Some(grant) if by.access.read(Some(&grant.brand)).is_ok() => {}
            Some(_) | None => return Ok(Verdict::NotThere),
        }
    }
    Ok(Verdict::Done(app.store.receipt_records(filter, &by.access.reach, paging).await?))
}
