//! The audit log, as administrators read it, verify it and erase personal data from it.

use serde_json::json;

use crate::app::App;
use crate::domain::administrator::Reach;
use crate::domain::audit::chain::{Head, Report};
use crate::domain::audit::recorded::Recorded;
use crate::domain::audit::{Action, Chain, Entry};
use crate::flow::Fault;
use crate::flow::admin::{By, Verdict};
use crate::store::{AuditCursor, AuditFilter, Erased};

/// A page of the log, newest row first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditPage {
    /// The rows.
    pub rows: Vec<Recorded>,
    /// Where the next page begins; `None` when there is none.
    pub next: Option<AuditCursor>,
}

/// At most `limit` rows that fit `filter`, of chains that `by` may read, from behind `after` on. The Provider's own chain is
/// for those of all Brands.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    filter: &AuditFilter,
    after: Option<&AuditCursor>,
    limit: u32,
) -> Result<Verdict<AuditPage>, Fault> {
    if let Some(chain) = &filter.chain
        && let Err(denied) = by.access.read(chain.brand())
    {
        return Ok(denied.into());
    }
    let mut rows = app.store.audit_page(&by.access.reach, filter, after, i64::from(limit) + 1).await?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > wanted;
    rows.truncate(wanted);
    let last = rows.last().filter(|_| more).map(AuditCursor::after).transpose();
    let next = last.map_err(|_| Fault::Impossible("an audit row of a chain that cannot be"))?;
    Ok(Verdict::Done(AuditPage { rows, next }))
}

/// One row of a chain that `by` may read.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, chain: &Chain, sequence: i64) -> Result<Verdict<Recorded>, Fault> {
    if let Err(denied) = by.access.read(chain.brand()) {
        return Ok(denied.into());
    }
    Ok(app.store.audit_row(chain, sequence).await?.map_or(Verdict::NotThere, Verdict::Done))
}

/// Verifies one chain or all that `by` may read. `expected` are heads that were printed earlier; whatever there is to tell is
/// told to `tell`, as it is found.
///
/// # Errors
/// [`Fault`].
pub async fn verify(
    app: &App,
    by: &By,
    only: Option<&Chain>,
    expected: &[Head],
    tell: &mut impl FnMut(Report),
) -> Result<Verdict<()>, Fault> {
    if let Some(chain) = only
        && let Err(denied) = by.access.read(chain.brand())
    {
        return Ok(denied.into());
    }
    match (only, &by.access.reach) {
        (None, Reach::Brands(brands)) => {
            for brand in brands {
                app.store.verify_audit(Some(&Chain::Brand(brand.clone())), expected, tell).await?;
            }
        }
        (only, _) => app.store.verify_audit(only, expected, tell).await?,
    }
    Ok(Verdict::Done(()))
}

/// What [`erase`] would do.
///
/// # Errors
/// [`Fault`].
pub async fn would_erase(app: &App, by: &By, chain: &Chain, sequence: i64) -> Result<Verdict<Erased>, Fault> {
    if let Err(denied) = by.access.erase(chain.brand()) {
        return Ok(denied.into());
    }
    Ok(match app.store.audit_has_payload(chain, sequence).await? {
        None => Verdict::NotThere,
        Some(true) => Verdict::Done(Erased::Done),
        Some(false) => Verdict::Done(Erased::Already),
    })
}

/// Erases the payload of a row. The row stays, and another says who erased it.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn erase(app: &App, by: &By, chain: &Chain, sequence: i64) -> Result<Verdict<Erased>, Fault> {
    if let Err(denied) = by.access.erase(chain.brand()) {
        return Ok(denied.into());
    }
    let entry = Entry {
        brand: chain.brand().cloned(),
        at: app.clock.now(),
        actor: by.actor.clone(),
        action: Action::AuditErased,
        subject: sequence.to_string(),
        request: by.request.clone(),
        payload: json!({ "before": "present", "after": "erased" }),
    };
    Ok(match app.store.erase_payload(chain, sequence, &entry).await? {
        Erased::NotThere => Verdict::NotThere,
        done @ (Erased::Done | Erased::Already) => Verdict::Done(done),
    })
}
