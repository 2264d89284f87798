//! Grants, as administrators see and revoke them: one, or all that fit a filter, the count first and then the deed.

use serde_json::json;

use super::{By, Verdict};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::administrator::Role;
use crate::domain::audit::Action;
use crate::domain::grant::{EndedBy, Grant};
use crate::domain::id::{BrandId, GrantId};
use crate::domain::page::{ByTime, Direction, Page, Paging};
use crate::flow::Fault;
use crate::store::{
    DecisionRecord, GrantCount, GrantFilter, GrantSort, GrantStanding, ReceiptFilter, ReceiptRecord, TokenRecord,
};

/// How many grants end in one transaction: so few that nobody waits for long, so many that 100 000 take a minute.
const BATCH: u16 = 100;
/// How much of a grant's history is shown beside it, newest first.
const SHOWN: u16 = 100;

/// A grant with what happened under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantDetails {
    /// The grant.
    pub grant: Grant,
    /// What the User decided, oldest first.
    pub decisions: Vec<DecisionRecord>,
    /// The latest tokens, newest first.
    pub tokens: Page<TokenRecord>,
    /// The latest receipts, newest first.
    pub receipts: Page<ReceiptRecord>,
}

/// A page of the grants that fit `filter`, as they are at `now`.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    filter: &GrantFilter,
    paging: &Paging<GrantSort>,
) -> Result<Verdict<Page<Grant>>, Fault> {
    if let Some(Err(denied)) = filter.brand.as_ref().map(|brand| by.access.read(Some(brand))) {
        return Ok(denied.into());
    }
    Ok(Verdict::Done(app.store.grants(filter, &by.access.reach, paging, app.clock.now()).await?))
}

/// How many grants fit `filter`, and of how many Brands.
///
/// # Errors
/// [`Fault`].
pub async fn count(app: &App, by: &By, filter: &GrantFilter) -> Result<Verdict<GrantCount>, Fault> {
    if let Some(Err(denied)) = filter.brand.as_ref().map(|brand| by.access.read(Some(brand))) {
        return Ok(denied.into());
    }
    Ok(Verdict::Done(app.store.count_grants(filter, &by.access.reach, app.clock.now()).await?))
}

/// A grant with what happened under it.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &GrantId) -> Result<Verdict<GrantDetails>, Fault> {
    let grant = match app.store.grant(id).await? {
        Some(grant) if by.access.read(Some(&grant.brand)).is_ok() => grant,
        Some(_) | None => return Ok(Verdict::NotThere),
    };
    let Ok(latest) = Paging::new(ByTime, Direction::Descending, SHOWN, None) else {
        return Err(Fault::Impossible("a page of a hundred rows"));
    };
    let receipts = ReceiptFilter { grant: Some(id.clone()), ..ReceiptFilter::default() };
    Ok(Verdict::Done(GrantDetails {
        decisions: app.store.grant_decisions(id).await?,
        tokens: app.store.grant_tokens(id, &latest).await?,
        receipts: app.store.receipt_records(&receipts, &by.access.reach, &latest).await?,
        grant,
    }))
}

/// A page of the tokens that were issued under a grant.
///
/// # Errors
/// [`Fault`].
pub async fn tokens(
    app: &App,
    by: &By,
    id: &GrantId,
    paging: &Paging<ByTime>,
) -> Result<Verdict<Page<TokenRecord>>, Fault> {
    match app.store.grant(id).await? {
        Some(grant) if by.access.read(Some(&grant.brand)).is_ok() => {}
        Some(_) | None => return Ok(Verdict::NotThere),
    }
    Ok(Verdict::Done(app.store.grant_tokens(id, paging).await?))
}

/// What became of a revocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokedGrant {
    /// It ended just now, on every node.
    Ended,
    /// It had ended before.
    AlreadyEnded,
}

/// Ends a grant: the next message, refresh and uncollected approval under it are refused.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn revoke(app: &App, by: &By, id: &GrantId) -> Result<Verdict<RevokedGrant>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator) {
        return Ok(denied.into());
    }
    let grant = match app.store.grant(id).await? {
        Some(grant) if by.access.change(Some(&grant.brand)).is_ok() => grant,
        Some(_) | None => return Ok(Verdict::NotThere),
    };
    let payload = json!({ "before": grant.to_audit(), "after": null });
    let entry = by.entry(Some(&grant.brand), app.clock.now(), Action::GrantEnded, id, payload);
    let ended = app.store.end_grant(id, EndedBy::Administrator, &entry).await?;
    Ok(Verdict::Done(if ended { RevokedGrant::Ended } else { RevokedGrant::AlreadyEnded }))
}

/// What became of a revocation of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokedAll {
    /// Every grant that was live and fitted when it began has ended.
    Done {
        /// By this revocation.
        ended: i64,
        /// By somebody else while it went on.
        already_ended: i64,
        /// Of so many Brands.
        brands: i64,
    },
    /// More fit now than were counted: nothing was done, so that nobody ends what nobody has seen.
    MoreFit(GrantCount),
}

/// How many live grants a revocation of all that fit `filter` would end now.
///
/// # Errors
/// [`Fault`].
pub async fn count_live(app: &App, by: &By, filter: &GrantFilter) -> Result<Verdict<GrantCount>, Fault> {
    count(app, by, &live(filter)).await
}

/// The same of each Brand that has any, in the order of their ids.
///
/// # Errors
/// [`Fault`].
pub async fn count_live_by_brand(
    app: &App,
    by: &By,
    filter: &GrantFilter,
) -> Result<Verdict<Vec<(BrandId, i64)>>, Fault> {
    if let Some(Err(denied)) = filter.brand.as_ref().map(|brand| by.access.read(Some(brand))) {
        return Ok(denied.into());
    }
    Ok(Verdict::Done(app.store.count_grants_by_brand(&live(filter), &by.access.reach, app.clock.now()).await?))
}

/// Ends every live grant that fits `filter`, whatever state it names, with an audit row for each. `shown` is the count that
/// was confirmed: should more fit by now, nothing is done; fewer are no hindrance.
///
/// It goes batch by batch, each of which is done whole. One that was broken off has ended what it ended, and the same
/// revocation again ends the rest. A grant that is made while it runs stays: it was made knowingly.
///
/// # Errors
/// [`Fault`]; the batches before it are done.
pub async fn revoke_all(
    app: &App,
    by: &By,
    filter: &GrantFilter,
    shown: Option<i64>,
) -> Result<Verdict<RevokedAll>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator) {
        return Ok(denied.into());
    }
    if let Some(Err(denied)) = filter.brand.as_ref().map(|brand| by.access.change(Some(brand))) {
        return Ok(denied.into());
    }
    let now = app.clock.now();
    let mut filter = live(filter);
    let begun = Timestamp::from_millis(now.millis().saturating_add(1));
    filter.until = Some(filter.until.map_or(begun, |until| until.min(begun)));
    let found = app.store.count_grants_by_brand(&filter, &by.access.reach, now).await?;
    let grants = found.iter().map(|(_, grants)| grants).sum();
    let brands = i64::try_from(found.len()).unwrap_or(i64::MAX);
    if shown.is_some_and(|shown| grants > shown) {
        return Ok(Verdict::Done(RevokedAll::MoreFit(GrantCount { grants, brands })));
    }
    let mut ended = 0;
    for (brand, _) in &found {
        ended += end_all_of(app, by, brand, &filter, EndedBy::Administrator).await?;
    }
    Ok(Verdict::Done(RevokedAll::Done { ended, already_ended: (grants - ended).max(0), brands }))
}

/// Ends the live grants of one Brand that fit `filter`, batch by batch. Returns how many.
pub(super) async fn end_all_of(
    app: &App,
    by: &By,
    brand: &BrandId,
    filter: &GrantFilter,
    ended_by: EndedBy,
) -> Result<i64, Fault> {
    let (mut ended, mut after) = (0, None);
    loop {
        let payload = json!({ "by": ended_by.to_string(), "together": true });
        let entry = by.entry(Some(brand), app.clock.now(), Action::GrantEnded, "", payload);
        let batch = app.store.end_grants(brand, filter, after.as_ref(), BATCH, ended_by, &entry).await?;
        ended += i64::try_from(batch.ended).unwrap_or(i64::MAX);
        match batch.last {
            Some(last) => after = Some(last),
            None => return Ok(ended),
        }
    }
}

fn live(filter: &GrantFilter) -> GrantFilter {
    GrantFilter { state: Some(GrantStanding::Live), ..filter.clone() }
}
