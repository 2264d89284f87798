//! Brands, as administrators see and remove them. [`super::apply`] makes and changes them.
//!
//! A Brand that was removed is served no more and has no live grant. Its row, its grants, receipts, keys and audit rows stay:
//! they are what an auditor asks for, and its public keys go on verifying its receipts. Its id is not given to another.

use serde_json::json;

use super::apply::recorded;
use super::grants::end_all_of;
use super::keys::retire_all;
use super::{By, Verdict, see_change};
use crate::app::App;
use crate::domain::administrator::Role;
use crate::domain::audit::Action;
use crate::domain::brand::Brand;
use crate::domain::grant::EndedBy;
use crate::domain::id::BrandId;
use crate::domain::page::{Direction, Page, Paging};
use crate::flow::{ATTEMPTS, Fault, RESTLESS};
use crate::store::{Applied, Apply, BrandFilter, BrandRecord, BrandSort, GrantFilter, GrantStanding};

/// A page of the Brands that fit `filter`.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    filter: &BrandFilter,
    paging: &Paging<BrandSort>,
) -> Result<Verdict<Page<BrandRecord>>, Fault> {
    Ok(Verdict::Done(app.store.brands(filter, &by.access.reach, paging, app.clock.now()).await?))
}

/// One Brand, removed or not.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &BrandId) -> Result<Verdict<BrandRecord>, Fault> {
    if let Err(denied) = by.access.read(Some(id)) {
        return Ok(denied.into());
    }
    let Ok(one) = Paging::new(BrandSort::Name, Direction::Ascending, 1, None) else {
        return Err(Fault::Impossible("a page of one row"));
    };
    let filter = BrandFilter { id: Some(id.clone()), ..BrandFilter::default() };
    let page = app.store.brands(&filter, &by.access.reach, &one, app.clock.now()).await?;
    Ok(page.items.into_iter().next().map_or(Verdict::NotThere, Verdict::Done))
}

/// What became of a removal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Removed {
    /// The Brand is served no more: not by this node from now on, nor by the others after two seconds.
    Done {
        /// So many live grants ended.
        ended: i64,
    },
    /// It was removed before: nothing was done.
    Already,
    /// It is called otherwise than whoever wants to remove it thinks: nothing was done.
    OtherName,
}

/// Removes a Brand that is called `name`, which is the confirmation: its live grants end, batch by batch, and then the Brand
/// itself goes with whatever was allowed meanwhile, in one transaction. Broken off before that, it is still there.
///
/// # Errors
/// [`Fault`]; the Brand is still there, and some of its grants may have ended.
pub async fn remove(app: &App, by: &By, id: &BrandId, name: &str) -> Result<Verdict<Removed>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator).and_then(|()| by.access.change(Some(id))) {
        return Ok(denied.into());
    }
    let mut ended = 0;
    for _ in 0..ATTEMPTS {
        let directory = app.store.directory().await?;
        if directory.removed.contains(id) {
            return Ok(Verdict::Done(Removed::Already));
        }
        let Some(brand) = directory.brands.iter().find(|brand| brand.id == *id) else { return Ok(Verdict::NotThere) };
        if brand.name != name {
            return Ok(Verdict::Done(Removed::OtherName));
        }
        let live = GrantFilter { state: Some(GrantStanding::Live), ..GrantFilter::default() };
        ended += end_all_of(app, by, id, &live, EndedBy::BrandChange).await?;
        let now = app.clock.now();
        let (key_states, mut audit) = retire_all(by, &directory.keys, id, now);
        audit.push(by.entry(Some(id), now, Action::BrandRemoved, id, json!({ "before": recorded(brand) })));
        let last = Brand { delegation: None, ..brand.clone() };
        let unit = Apply {
            brands: vec![last],
            key_states,
            removed: vec![id.clone()],
            audit,
            ..by.change(directory.revision, now)
        };
        match app.store.apply(&unit).await? {
            Applied::Done { ended: rest, .. } => {
                see_change(app).await;
                ended += i64::try_from(rest).unwrap_or(i64::MAX);
                return Ok(Verdict::Done(Removed::Done { ended }));
            }
            Applied::Stale => {}
        }
    }
    Err(RESTLESS)
}
