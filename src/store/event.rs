//! The outbox: what Brands are still to be told of their grants. A row is written in the transaction that changes the
//! grant, by the functions that write grants, so that no change can forget it.
//!
//! A node takes a row by moving the instant at which it is due to the end of a lease; a node that dies gives it back by
//! doing nothing.

use serde_json::json;
use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::administrator::Reach;
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::event::{GrantEvent, Happened};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::scope::ScopeSet;

/// Nodes that took rows of one grant at the same instant would have to be told apart afterwards.
const CLAIM: &str = "events";

/// What a Brand is still to be told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingEvents {
    /// The Brand.
    pub brand: BrandId,
    /// How many.
    pub events: i64,
    /// When the earliest of them happened.
    pub since: Timestamp,
}

#[derive(FromRow)]
struct EventRow {
    id: String,
    brand_id: String,
    grant_id: String,
    what: String,
    ended_by: Option<String>,
    brand_user: String,
    pa_issuer: String,
    scopes: String,
    expires_at: i64,
    happened_at: i64,
    attempts: i64,
}

impl TryFrom<EventRow> for GrantEvent {
    type Error = StoreError;
    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        const TABLE: &str = "event";
        let key = row.id.clone();
        let happened = match (row.what.as_str(), row.ended_by.as_deref().map(str::parse)) {
            ("created", None) => Some(Happened::Created),
            ("changed", None) => Some(Happened::Changed),
            ("ended", Some(Ok(by))) => Some(Happened::Ended(by)),
            _ => None,
        };
        Ok(Self {
            id: row.id,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            grant: GrantId::parse(row.grant_id).consistent(TABLE, &key)?,
            happened: happened.consistent(TABLE, &key)?,
            brand_user: BrandUser::parse(row.brand_user).consistent(TABLE, &key)?,
            personal_agent: Issuer::parse(row.pa_issuer).consistent(TABLE, &key)?,
            scopes: ScopeSet::parse(&row.scopes).consistent(TABLE, &key)?,
            expires_at: Timestamp::from_millis(row.expires_at),
            at: Timestamp::from_millis(row.happened_at),
            attempts: row.attempts,
        })
    }
}

/// Puts what just happened to a grant in the outbox, if its Brand wants to be told: `created`, `changed` or `ended`.
pub(super) async fn put(tx: &mut Tx, grant: &GrantId, what: &'static str, at: Timestamp) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO event (id, brand_id, grant_id, grant_version, what, ended_by, brand_user, pa_issuer,
        scopes, expires_at, happened_at, attempts, due_at)
        SELECT g.id || '.' || CAST(g.version AS TEXT), g.brand_id, g.id, g.version, $2, g.ended_by, g.brand_user,
        g.pa_issuer, g.scopes, g.expires_at, $3, 0, $3
        FROM delegation_grant g JOIN brand b ON b.id = g.brand_id WHERE g.id = $1 AND b.sends_events = TRUE";
    execute!(tx, query(SQL).bind(grant.as_str()).bind(what).bind(at.millis()))?;
    Ok(())
}

/// Forgets what a Brand is still to be told: it does not want to be told any more.
pub(super) async fn forget_of(tx: &mut Tx, brand: &BrandId) -> Result<(), StoreError> {
    const SQL: &str = "DELETE FROM event WHERE brand_id = $1";
    execute!(tx, query(SQL).bind(brand.as_str()))?;
    Ok(())
}

impl Store {
    /// The Brands for which something is due.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn brands_with_due_events(&self, now: Timestamp) -> Result<Vec<BrandId>, StoreError> {
        const SQL: &str = "SELECT DISTINCT brand_id FROM event WHERE due_at <= $1";
        let rows = read!(self, c => query_scalar::<_, String>(SQL).bind(now.millis()).fetch_all(c))?;
        rows.into_iter().map(|id| BrandId::parse(id.clone()).consistent("event", &id)).collect()
    }

    /// How many events each Brand in `reach` is still to be told of, and since when.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn waiting_events(&self, reach: &Reach) -> Result<Vec<WaitingEvents>, StoreError> {
        const SQL: &str = "SELECT brand_id, COUNT(*), MIN(happened_at) FROM event
            WHERE CAST($1 AS TEXT) = '*' OR CAST($1 AS TEXT) LIKE '%' || brand_id || '%' GROUP BY brand_id ORDER BY brand_id";
        let rows = read!(self, c => query_as::<_, (String, i64, i64)>(SQL).bind(reach.to_text()).fetch_all(c))?;
        let waiting = rows.into_iter().map(|(id, events, since)| {
            let brand = BrandId::parse(id.clone()).consistent("event", &id)?;
            Ok(WaitingEvents { brand, events, since: Timestamp::from_millis(since) })
        });
        waiting.collect()
    }

    /// Takes at most `limit` events of a Brand that are due, and of each grant the earliest alone. They are this node's
    /// until `lease_until`.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done or a row is inconsistent.
    pub async fn claim_events(
        &self,
        brand: &BrandId,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> Result<Vec<GrantEvent>, StoreError> {
        const SQL: &str = "UPDATE event SET due_at = $1, attempts = attempts + 1 WHERE due_at <= $2 AND id IN (
            SELECT e.id FROM event e WHERE e.brand_id = $3 AND e.due_at <= $2 AND NOT EXISTS (
            SELECT 1 FROM event f WHERE f.grant_id = e.grant_id AND f.grant_version < e.grant_version)
            ORDER BY e.due_at, e.id LIMIT $4)
            RETURNING id, brand_id, grant_id, what, ended_by, brand_user, pa_issuer, scopes, expires_at, happened_at,
            attempts";
        let mut tx = self.0.begin().await?;
        tx.lock(CLAIM).await?;
        let rows = in_tx!(&mut tx, c => query_as::<_, EventRow>(SQL)
            .bind(lease_until.millis())
            .bind(now.millis())
            .bind(brand.as_str())
            .bind(limit)
            .fetch_all(c))?;
        let events = rows.into_iter().map(GrantEvent::try_from).collect::<Result<_, _>>()?;
        tx.commit().await?;
        Ok(events)
    }

    /// Removes an event that was acknowledged, whoever has it by now.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; then it is sent again.
    pub async fn event_acknowledged(&self, id: &str) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM event WHERE id = $1";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(SQL).bind(id))?;
        tx.commit().await
    }

    /// Gives back an event that was not acknowledged, to be due at `due_at`. Nothing changes when somebody else has taken
    /// it since.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; then it is due at the end of its lease.
    pub async fn event_failed(&self, event: &GrantEvent, due_at: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE event SET due_at = $1 WHERE id = $2 AND attempts = $3";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(SQL).bind(due_at.millis()).bind(&event.id).bind(event.attempts))?;
        tx.commit().await
    }

    /// Gives up at most `batch` events that happened before `before`, the oldest first, with an audit row for each.
    /// Returns how many.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn give_up_events(
        &self,
        before: Timestamp,
        batch: i64,
        request: &RequestId,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM event WHERE id IN
            (SELECT id FROM event WHERE happened_at < $1 ORDER BY happened_at, grant_version LIMIT $2)
            RETURNING id, brand_id, grant_id, what, ended_by, brand_user, pa_issuer, scopes, expires_at, happened_at,
            attempts";
        let mut tx = self.0.begin().await?;
        tx.lock(CLAIM).await?;
        let rows = in_tx!(&mut tx, c => query_as::<_, EventRow>(SQL)
            .bind(before.millis())
            .bind(batch)
            .fetch_all(c))?;
        let mut given_up = 0;
        for row in rows {
            let event = GrantEvent::try_from(row)?;
            let entry = Entry {
                brand: Some(event.brand),
                at,
                actor: Actor::Assent,
                action: Action::EventGivenUp,
                subject: event.id,
                request: request.clone(),
                payload: json!({ "attempts": event.attempts, "happened_at": event.at.to_rfc3339() }),
            };
            audit::append(&mut tx, &entry).await?;
            given_up += 1;
        }
        tx.commit().await?;
        Ok(given_up)
    }
}
