//! Grants. Ending one is a single guarded write; everything under it is judged by its row when it is used.

use serde_json::{Value, json};
use sqlx::{FromRow, query_as, query_scalar};

use super::dialect::{Tx, in_tx, read};
use super::{Consistent, Store, StoreError, audit, event};
use crate::clock::Timestamp;
use crate::domain::audit::Entry;
use crate::domain::brand::Brand;
use crate::domain::grant::{EndedBy, Grant, GrantState, to_audit};
use crate::domain::id::{BrandId, BrandUser, Caller, GrantId, Issuer, PaSub};
use crate::domain::scope::ScopeSet;

/// The columns of a grant, which each query below names in this order.
#[derive(FromRow)]
pub(super) struct GrantRow {
    id: String,
    brand_id: String,
    brand_user: String,
    pa_issuer: String,
    pa_sub: String,
    scopes: String,
    version: i64,
    created_at: i64,
    decided_at: i64,
    expires_at: i64,
    last_used_at: Option<i64>,
    state: String,
    ended_at: Option<i64>,
    ended_by: Option<String>,
}

impl TryFrom<GrantRow> for Grant {
    type Error = StoreError;
    fn try_from(row: GrantRow) -> Result<Self, StoreError> {
        const TABLE: &str = "delegation_grant";
        let key = row.id.clone();
        let state = match (row.state.as_str(), row.ended_at, row.ended_by) {
            ("live", None, None) => Some(GrantState::Live),
            ("ended", Some(at), Some(by)) => {
                by.parse::<EndedBy>().ok().map(|by| GrantState::Ended { at: Timestamp::from_millis(at), by })
            }
            _ => None,
        };
        Ok(Self {
            id: GrantId::parse(row.id).consistent(TABLE, &key)?,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            caller: Caller {
                issuer: Issuer::parse(row.pa_issuer).consistent(TABLE, &key)?,
                sub: PaSub::parse(row.pa_sub).consistent(TABLE, &key)?,
            },
            scopes: ScopeSet::parse(&row.scopes).consistent(TABLE, &key)?,
            version: row.version,
            created_at: Timestamp::from_millis(row.created_at),
            decided_at: Timestamp::from_millis(row.decided_at),
            expires_at: Timestamp::from_millis(row.expires_at),
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
            state: state.consistent(TABLE, &key)?,
        })
    }
}

/// What a change of a Brand meant for one of its grants.
pub(super) struct Followed {
    pub(super) grant: GrantId,
    pub(super) before: ScopeSet,
    pub(super) left: ScopeSet,
}

const BY_ID: &str = "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
    expires_at, last_used_at, state, ended_at, ended_by FROM delegation_grant WHERE id = $1";
const LIVE_BY_OWNER: &str =
    "SELECT id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at, decided_at,
    expires_at, last_used_at, state, ended_at, ended_by FROM delegation_grant
    WHERE brand_id = $1 AND brand_user = $2 AND pa_issuer = $3 AND pa_sub = $4 AND state = 'live' AND expires_at > $5";

impl Store {
    /// The grant with this id, live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn grant(&self, id: &GrantId) -> Result<Option<Grant>, StoreError> {
        let row = read!(self, c => query_as::<_, GrantRow>(BY_ID).bind(id.as_str()).fetch_optional(c))?;
        row.map(Grant::try_from).transpose()
    }

    /// The live grant of this Brand user for this caller, if there is one.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn live_grant(
        &self,
        brand: &BrandId,
        brand_user: &BrandUser,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Option<Grant>, StoreError> {
        let row = read!(self, c => query_as::<_, GrantRow>(LIVE_BY_OWNER)
            .bind(brand.as_str())
            .bind(brand_user.as_str())
            .bind(caller.issuer.as_str())
            .bind(caller.sub.as_str())
            .bind(now.millis())
            .fetch_optional(c))?;
        row.map(Grant::try_from).transpose()
    }

    /// Whether the same personal agent acts for this Brand user under another `sub`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn acts_under_another_sub(
        &self,
        brand: &BrandId,
        brand_user: &BrandUser,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM delegation_grant WHERE brand_id = $1 AND brand_user = $2
            AND pa_issuer = $3 AND pa_sub <> $4 AND state = 'live' AND expires_at > $5";
        let count = read!(self, c => query_scalar::<_, i64>(SQL)
            .bind(brand.as_str())
            .bind(brand_user.as_str())
            .bind(caller.issuer.as_str())
            .bind(caller.sub.as_str())
            .bind(now.millis())
            .fetch_one(c))?;
        Ok(count > 0)
    }

    /// How many grants of a Brand would lose some scopes, and how many all of them, if the Brand became `brand`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn would_follow(&self, brand: &Brand) -> Result<(usize, usize), StoreError> {
        const SQL: &str = "SELECT scopes, COUNT(*) FROM delegation_grant WHERE brand_id = $1 AND state = 'live'
            GROUP BY scopes";
        let rows = read!(self, c => query_as::<_, (String, i64)>(SQL).bind(brand.id.as_str()).fetch_all(c))?;
        let offered = brand.offered();
        let (mut narrowed, mut ended) = (0, 0);
        for (scopes, count) in rows {
            let before = ScopeSet::parse(&scopes).consistent("delegation_grant", &scopes)?;
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            match before.intersection(&offered) {
                left if left == before => {}
                left if left.is_empty() => ended += count,
                _ => narrowed += count,
            }
        }
        Ok((narrowed, ended))
    }

    /// Ends a grant. `false` when it was not live: then nothing changes and nothing is recorded.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn end_grant(&self, id: &GrantId, by: EndedBy, entry: &Entry) -> Result<bool, StoreError> {
        let mut tx = self.0.begin().await?;
        let ended = end(&mut tx, id, by, None, entry.at).await?;
        if let Some(before) = &ended {
            audit::append(&mut tx, &before.entry(entry)).await?;
            tx.commit().await?;
        }
        Ok(ended.is_some())
    }
}

/// What a grant allowed until it ended, as it stands in the audit log: of the very row that was ended.
pub(super) struct Before(Value);

impl Before {
    /// `entry`, the audit row of the grant's end, with what it was before.
    pub(super) fn entry(&self, entry: &Entry) -> Entry {
        let mut payload = json!({ "before": self.0, "after": null });
        if let (Value::Object(whole), Value::Object(more)) = (&mut payload, entry.payload.clone()) {
            whole.extend(more);
        }
        Entry { payload, ..entry.clone() }
    }
}

/// Ends a live grant, of just this version where one is named. `None` when there is none such.
pub(super) async fn end(
    tx: &mut Tx,
    id: &GrantId,
    by: EndedBy,
    version: Option<i64>,
    at: Timestamp,
) -> Result<Option<Before>, StoreError> {
    const SQL: &str = "UPDATE delegation_grant SET state = 'ended', ended_at = $1, ended_by = $2, version = version + 1
        WHERE id = $3 AND state = 'live' AND (CAST($4 AS BIGINT) IS NULL OR version = $4) RETURNING scopes, expires_at";
    let row = in_tx!(&mut *tx, c => query_as::<_, (String, i64)>(SQL)
        .bind(at.millis())
        .bind(by.to_string())
        .bind(id.as_str())
        .bind(version)
        .fetch_optional(c))?;
    let Some((scopes, expires_at)) = row else { return Ok(None) };
    event::put(tx, id, "ended", at).await?;
    Ok(Some(Before(to_audit(&scopes, Timestamp::from_millis(expires_at)))))
}

/// A live grant whose row is held.
pub(super) struct Touched {
    pub(super) version: i64,
    pub(super) scopes: ScopeSet,
}

/// Marks a grant as used and holds its row until the commit, so that it cannot end in between. `None` when the grant, its
/// Brand's delegation or its personal agent is not live; what it is now otherwise.
pub(super) async fn touch(tx: &mut Tx, id: &GrantId, now: Timestamp) -> Result<Option<Touched>, StoreError> {
    const SQL: &str = "UPDATE delegation_grant SET last_used_at = $1
        WHERE id = $2 AND state = 'live' AND expires_at > $1
        AND EXISTS (SELECT 1 FROM brand WHERE brand.id = brand_id AND brand.delegation IS NOT NULL)
        AND EXISTS (SELECT 1 FROM personal_agent WHERE issuer = pa_issuer AND enabled = TRUE)
        RETURNING version, scopes";
    let row = in_tx!(tx, c => query_as::<_, (i64, String)>(SQL)
        .bind(now.millis())
        .bind(id.as_str())
        .fetch_optional(c))?;
    let Some((version, scopes)) = row else { return Ok(None) };
    let scopes = ScopeSet::parse(&scopes).consistent("delegation_grant", id.as_str())?;
    Ok(Some(Touched { version, scopes }))
}

/// The live grant of an owner, read in the transaction that is about to change it.
pub(super) async fn live_of(
    tx: &mut Tx,
    brand: &BrandId,
    brand_user: &BrandUser,
    caller: &Caller,
    now: Timestamp,
) -> Result<Option<Grant>, StoreError> {
    let row = in_tx!(tx, c => query_as::<_, GrantRow>(LIVE_BY_OWNER)
        .bind(brand.as_str())
        .bind(brand_user.as_str())
        .bind(caller.issuer.as_str())
        .bind(caller.sub.as_str())
        .bind(now.millis())
        .fetch_optional(c))?;
    row.map(Grant::try_from).transpose()
}

/// What became of a new grant.
pub(super) enum Created {
    /// It is there, in the place of one that had expired, if there was one.
    Done { expired: Option<(GrantId, Before)> },
    /// The owner has a live one.
    Taken,
}

/// Makes a new grant. One that has expired ends for it: the log says so, and no event, since the last one said when.
pub(super) async fn create(tx: &mut Tx, grant: &Grant) -> Result<Created, StoreError> {
    const EXPIRED: &str = "UPDATE delegation_grant SET state = 'ended', ended_at = $5, ended_by = 'expiry',
        version = version + 1 WHERE brand_id = $1 AND brand_user = $2 AND pa_issuer = $3 AND pa_sub = $4
        AND state = 'live' AND expires_at <= $5 RETURNING id, scopes, expires_at";
    const SQL: &str = "INSERT INTO delegation_grant (id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version,
        created_at, decided_at, expires_at, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'live')
        ON CONFLICT DO NOTHING RETURNING id";
    // One live grant of an owner is all that there can be.
    let expired = in_tx!(&mut *tx, c => query_as::<_, (String, String, i64)>(EXPIRED)
        .bind(grant.brand.as_str())
        .bind(grant.brand_user.as_str())
        .bind(grant.caller.issuer.as_str())
        .bind(grant.caller.sub.as_str())
        .bind(grant.created_at.millis())
        .fetch_optional(c))?;
    let row = in_tx!(&mut *tx, c => query_scalar::<_, String>(SQL)
        .bind(grant.id.as_str())
        .bind(grant.brand.as_str())
        .bind(grant.brand_user.as_str())
        .bind(grant.caller.issuer.as_str())
        .bind(grant.caller.sub.as_str())
        .bind(grant.scopes.to_string())
        .bind(grant.version)
        .bind(grant.created_at.millis())
        .bind(grant.decided_at.millis())
        .bind(grant.expires_at.millis())
        .fetch_optional(c))?;
    if row.is_none() {
        return Ok(Created::Taken);
    }
    event::put(tx, &grant.id, "created", grant.created_at).await?;
    let expired = expired.map(|(id, scopes, expires_at)| {
        let before = Before(to_audit(&scopes, Timestamp::from_millis(expires_at)));
        Ok::<_, StoreError>((GrantId::parse(id.clone()).consistent("delegation_grant", &id)?, before))
    });
    Ok(Created::Done { expired: expired.transpose()? })
}

/// Gives a live grant of just this version a new scope set and a new life. `false` when there is none such.
pub(super) async fn redecide(
    tx: &mut Tx,
    id: &GrantId,
    version: i64,
    scopes: &ScopeSet,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const SQL: &str = "UPDATE delegation_grant SET scopes = $1, expires_at = $2, decided_at = $3, version = version + 1
        WHERE id = $4 AND version = $5 AND state = 'live' AND expires_at > $3 RETURNING id";
    let row = in_tx!(&mut *tx, c => query_scalar::<_, String>(SQL)
        .bind(scopes.to_string())
        .bind(expires_at.millis())
        .bind(now.millis())
        .bind(id.as_str())
        .bind(version)
        .fetch_optional(c))?;
    if row.is_some() {
        event::put(tx, id, "changed", now).await?;
    }
    Ok(row.is_some())
}

/// Takes out of a Brand's live grants, in the order of their ids, what the Brand no longer offers; a grant that is left
/// with nothing ends.
pub(super) async fn follow_brand(tx: &mut Tx, brand: &Brand, now: Timestamp) -> Result<Vec<Followed>, StoreError> {
    const LIVE: &str = "SELECT id, scopes FROM delegation_grant WHERE brand_id = $1 AND state = 'live' ORDER BY id";
    const NARROW: &str = "UPDATE delegation_grant SET scopes = $1, version = version + 1
        WHERE id = $2 AND scopes = $3 AND state = 'live' RETURNING id";
    let offered = brand.offered();
    let rows = in_tx!(&mut *tx, c => query_as::<_, (String, String)>(LIVE).bind(brand.id.as_str()).fetch_all(c))?;
    let mut followed = Vec::new();
    for (id, scopes) in rows {
        let before = ScopeSet::parse(&scopes).consistent("delegation_grant", &id)?;
        let left = before.intersection(&offered);
        if left == before {
            continue;
        }
        let grant = GrantId::parse(id.clone()).consistent("delegation_grant", &id)?;
        let changed = if left.is_empty() {
            end(&mut *tx, &grant, EndedBy::BrandChange, None, now).await?.is_some()
        } else {
            let row = in_tx!(&mut *tx, c => query_scalar::<_, String>(NARROW)
                .bind(left.to_string())
                .bind(&id)
                .bind(&scopes)
                .fetch_optional(c))?;
            if row.is_some() {
                event::put(&mut *tx, &grant, "changed", now).await?;
            }
            row.is_some()
        };
        if changed {
            followed.push(Followed { grant, before, left });
        }
    }
    Ok(followed)
}
