//! Contexts, turns and receipts: one agent run per stored reply.

use std::time::Duration;

use serde_json::json;
use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit, grant};
use crate::clock::Timestamp;
use crate::domain::audit::recorded::{Bound, ReceiptColumns};
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::conversation::{Admission, Authority, Context, Reservation, Turn, TurnState, admit};
use crate::domain::grant::EndedBy;
use crate::domain::id::{BrandId, BrandUser, Caller, ContextId, DeviceAuthorizationId, GrantId, MessageId, ReceiptId};
use crate::domain::scope::ScopeSet;

#[derive(FromRow)]
struct ContextRow {
    id: String,
    brand_user: Option<String>,
    closed_at: Option<i64>,
    last_turn_at: i64,
    grant_ended_by: Option<String>,
}

impl TryFrom<ContextRow> for Context {
    type Error = StoreError;
    fn try_from(row: ContextRow) -> Result<Self, StoreError> {
        let key = row.id.clone();
        Ok(Self {
            id: ContextId::parse(&row.id).consistent("context", &key)?,
            brand_user: row.brand_user.map(BrandUser::parse).transpose().consistent("context", &key)?,
            // Expiry alone closes nothing: a new decision lets the conversation go on.
            closed: row.closed_at.is_some() || row.grant_ended_by.is_some_and(|by| by != EndedBy::Expiry.to_string()),
            last_turn_at: Timestamp::from_millis(row.last_turn_at),
        })
    }
}

#[derive(FromRow)]
struct TurnRow {
    message_id: String,
    fence: i64,
    step_ups: i64,
    state: String,
    lease_until: Option<i64>,
    reply: Option<String>,
    grant_id: Option<String>,
    missing_scopes: Option<String>,
    device_authorization_id: Option<String>,
}

impl TryFrom<TurnRow> for Turn {
    type Error = StoreError;
    fn try_from(row: TurnRow) -> Result<Self, StoreError> {
        const TABLE: &str = "turn";
        let key = row.message_id;
        let grant = row.grant_id.map(GrantId::parse).transpose().consistent(TABLE, &key)?;
        let missing = row.missing_scopes.as_deref().map(ScopeSet::parse).transpose().consistent(TABLE, &key)?;
        let device = row.device_authorization_id.as_deref().map(DeviceAuthorizationId::parse);
        let state = match (row.state.as_str(), row.lease_until, row.reply, grant, missing, device) {
            ("running", Some(until), None, _, None, None) => {
                Some(TurnState::Running { lease_until: Timestamp::from_millis(until) })
            }
            ("answered", None, Some(reply), grant, None, None) => Some(TurnState::Answered { reply, grant }),
            ("step_up", None, Some(reply), grant, Some(missing), Some(Some(device))) => {
                Some(TurnState::StepUp { reply, grant, missing, device })
            }
            ("released", None, None, _, None, None) => Some(TurnState::Released),
            _ => None,
        };
        Ok(Self { fence: row.fence, step_ups: row.step_ups, state: state.consistent(TABLE, &key)? })
    }
}

/// A message that wants to be run.
#[derive(Debug)]
pub struct Reserve<'a> {
    /// At which Brand.
    pub brand: &'a BrandId,
    /// From whom.
    pub caller: &'a Caller,
    /// In an existing context, or in a new one with this id.
    pub context: ContextChoice,
    /// Under which id.
    pub message: &'a MessageId,
    /// Under what authority.
    pub authority: Option<&'a Authority>,
    /// Until when the run may take.
    pub lease_until: Timestamp,
    /// A context without a turn for so long is closed.
    pub idle: Duration,
    /// The unit's instant.
    pub now: Timestamp,
}

/// Which context a message is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextChoice {
    /// One that the caller names.
    Existing(ContextId),
    /// A new one, under this id.
    New(ContextId),
}

/// What became of a [`Reserve`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// The agent may run; only the holder of the reservation may store.
    Run(Reservation),
    /// No context of this caller at this Brand has that id.
    UnknownContext,
    /// The grant ended since its token was verified.
    GrantGone,
    /// Anything else that a message can get.
    Other(Admission),
}

/// A turn that the agent answered.
#[derive(Debug)]
pub struct TurnDone<'a> {
    /// The right to store.
    pub reservation: &'a Reservation,
    /// At which Brand.
    pub brand: &'a BrandId,
    /// The response body.
    pub reply: &'a str,
    /// The grant it ran under, with the id and the JWS of its receipt. The turn itself keeps the grant it was reserved
    /// under, which decides to whom the reply is replayed.
    pub receipt: Option<(&'a GrantId, ReceiptId, &'a str)>,
    /// Whether the agent closed the context.
    pub close: bool,
    /// During which request.
    pub request: &'a RequestId,
    /// The unit's instant.
    pub now: Timestamp,
}

/// Whether a reply was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completed {
    /// It was; it may be sent.
    Stored,
    /// A later runner has taken the turn over: this reply is nothing.
    Superseded,
}

impl Store {
    /// Reserves `(context, messageId)` for one run of the agent, or says what the message gets instead.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn reserve_turn(&self, reserve: &Reserve<'_>) -> Result<Reserved, StoreError> {
        let mut tx = self.0.begin().await?;
        let mut authority = reserve.authority.cloned();
        if let Some(authority) = &mut authority {
            let Some(touched) = grant::touch(&mut tx, &authority.grant, reserve.now).await? else {
                return Ok(Reserved::GrantGone);
            };
            // A scope may have been taken away since the token was verified: this is the instant that counts.
            authority.scopes = authority.scopes.intersection(&touched.scopes);
        }
        let (context, turn) = match reserve.context {
            ContextChoice::New(id) => {
                put_context(&mut tx, reserve, id).await?;
                (id, None)
            }
            ContextChoice::Existing(id) => {
                let Some(context) = hold_context(&mut tx, reserve, id).await? else {
                    return Ok(Reserved::UnknownContext);
                };
                let turn = find_turn(&mut tx, id, reserve.message).await?;
                match admit(&context, turn.as_ref(), authority.as_ref(), reserve.idle, reserve.now) {
                    Admission::Run => {}
                    other => return Ok(Reserved::Other(other)),
                }
                if !bind_context(&mut tx, reserve, id).await? {
                    return Ok(Reserved::Other(Admission::Closed));
                }
                (id, turn)
            }
        };
        let Some((fence, step_ups)) = take_turn(&mut tx, reserve, context, turn.as_ref()).await? else {
            return Ok(Reserved::Other(Admission::Repeated));
        };
        tx.commit().await?;
        let scopes = authority.map(|authority| authority.scopes).unwrap_or_default();
        Ok(Reserved::Run(Reservation { context, message: reserve.message.clone(), fence, step_ups, scopes }))
    }

    /// Gives a reservation back after a failure, so that the same `messageId` runs again.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; the lease then runs out by itself.
    pub async fn release_turn(&self, reservation: &Reservation) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE turn SET state = 'released', lease_until = NULL
            WHERE context_id = $1 AND message_id = $2 AND fence = $3 AND state = 'running'";
        let mut tx = self.0.begin().await?;
        execute!(
            &mut tx,
            query(SQL).bind(reservation.context.to_string()).bind(reservation.message.as_str()).bind(reservation.fence)
        )?;
        tx.commit().await
    }

    /// Stores a reply with its receipt, if the reservation still holds.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn complete_turn(&self, done: &TurnDone<'_>) -> Result<Completed, StoreError> {
        const SQL: &str = "UPDATE turn SET state = 'answered', lease_until = NULL, reply = $4
            WHERE context_id = $1 AND message_id = $2 AND fence = $3 AND state = 'running' RETURNING fence";
        let mut tx = self.0.begin().await?;
        move_context(&mut tx, done).await?;
        let stored = in_tx!(&mut tx, c => query_scalar::<_, i64>(SQL)
            .bind(done.reservation.context.to_string())
            .bind(done.reservation.message.as_str())
            .bind(done.reservation.fence)
            .bind(done.reply)
            .fetch_optional(c))?;
        if stored.is_none() {
            return Ok(Completed::Superseded);
        }
        put_receipt(&mut tx, done).await?;
        tx.commit().await?;
        Ok(Completed::Stored)
    }

    /// The receipts under a grant, oldest first, as compact JWS.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn receipts(&self, grant: &GrantId) -> Result<Vec<String>, StoreError> {
        const SQL: &str = "SELECT jws FROM receipt WHERE grant_id = $1 ORDER BY created_at, id";
        Ok(read!(self, c => query_scalar::<_, String>(SQL).bind(grant.as_str()).fetch_all(c))?)
    }
}

/// Puts a stored turn's receipt beside it, with its audit row, for which this comes last in a unit.
pub(super) async fn put_receipt(tx: &mut Tx, done: &TurnDone<'_>) -> Result<(), StoreError> {
    const RECEIPT: &str = "INSERT INTO receipt (id, brand_id, grant_id, context_id, message_id, jws, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let Some((grant, id, jws)) = done.receipt else { return Ok(()) };
    let (id, context) = (id.to_string(), done.reservation.context.to_string());
    let receipt = ReceiptColumns {
        id: &id,
        brand: done.brand.as_str(),
        grant: grant.as_str(),
        context: &context,
        message: done.reservation.message.as_str(),
        jws,
        created_at: done.now,
    };
    execute!(
        tx,
        query(RECEIPT)
            .bind(receipt.id)
            .bind(receipt.brand)
            .bind(receipt.grant)
            .bind(receipt.context)
            .bind(receipt.message)
            .bind(receipt.jws)
            .bind(receipt.created_at.millis())
    )?;
    let entry = Entry {
        brand: Some(done.brand.clone()),
        at: done.now,
        actor: Actor::Assent,
        action: Action::ReceiptSigned,
        subject: grant.to_string(),
        request: done.request.clone(),
        payload: json!({ "receipt": id }),
    };
    let bound = Bound { digest: receipt.digest(), id };
    audit::append_bound(tx, &entry, Some(&bound)).await
}

/// Notes the turn in its context. This comes before the turn itself, as in a reservation: two that took the rows in
/// different orders would stop each other.
pub(super) async fn move_context(tx: &mut Tx, done: &TurnDone<'_>) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE context SET last_turn_at = $1,
        closed_at = CASE WHEN $2 AND closed_at IS NULL THEN $1 ELSE closed_at END WHERE id = $3";
    let context = done.reservation.context.to_string();
    execute!(tx, query(SQL).bind(done.now.millis()).bind(done.close).bind(&context))?;
    Ok(())
}

async fn put_context(tx: &mut Tx, reserve: &Reserve<'_>, id: ContextId) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO context (id, brand_id, pa_issuer, pa_sub, brand_user, grant_id, created_at, last_turn_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $7)";
    execute!(
        tx,
        query(SQL)
            .bind(id.to_string())
            .bind(reserve.brand.as_str())
            .bind(reserve.caller.issuer.as_str())
            .bind(reserve.caller.sub.as_str())
            .bind(reserve.authority.map(|authority| authority.brand_user.as_str()))
            .bind(reserve.authority.map(|authority| authority.grant.as_str()))
            .bind(reserve.now.millis())
    )?;
    Ok(())
}

/// The context of a message, whose row is held until the commit: what is then read of its turns stays as it is, since a
/// runner that comes back touches the context first.
async fn hold_context(tx: &mut Tx, reserve: &Reserve<'_>, id: ContextId) -> Result<Option<Context>, StoreError> {
    const SQL: &str = "UPDATE context SET last_turn_at = last_turn_at
        WHERE id = $1 AND brand_id = $2 AND pa_issuer = $3 AND pa_sub = $4
        RETURNING id, brand_user, closed_at, last_turn_at,
            (SELECT g.ended_by FROM delegation_grant g WHERE g.id = context.grant_id) AS grant_ended_by";
    let row = in_tx!(tx, c => query_as::<_, ContextRow>(SQL)
        .bind(id.to_string())
        .bind(reserve.brand.as_str())
        .bind(reserve.caller.issuer.as_str())
        .bind(reserve.caller.sub.as_str())
        .fetch_optional(c))?;
    row.map(Context::try_from).transpose()
}

async fn find_turn(tx: &mut Tx, context: ContextId, message: &MessageId) -> Result<Option<Turn>, StoreError> {
    const SQL: &str = "SELECT message_id, fence, step_ups, state, lease_until, reply, grant_id, missing_scopes,
        device_authorization_id FROM turn WHERE context_id = $1 AND message_id = $2";
    let row = in_tx!(tx, c => query_as::<_, TurnRow>(SQL)
        .bind(context.to_string())
        .bind(message.as_str())
        .fetch_optional(c))?;
    row.map(Turn::try_from).transpose()
}

/// Binds an open context to the turn's authority. `false` when it is closed or has run as another Brand user, which who
/// holds its row has ruled out.
async fn bind_context(tx: &mut Tx, reserve: &Reserve<'_>, id: ContextId) -> Result<bool, StoreError> {
    const SQL: &str = "UPDATE context SET last_turn_at = $1, brand_user = COALESCE($2, brand_user),
        grant_id = COALESCE($3, grant_id) WHERE id = $4 AND closed_at IS NULL
        AND (brand_user IS NULL OR $2 IS NULL OR brand_user = $2) RETURNING id";
    let row = in_tx!(tx, c => query_scalar::<_, String>(SQL)
        .bind(reserve.now.millis())
        .bind(reserve.authority.map(|authority| authority.brand_user.as_str()))
        .bind(reserve.authority.map(|authority| authority.grant.as_str()))
        .bind(id.to_string())
        .fetch_optional(c))?;
    Ok(row.is_some())
}

/// Takes the turn up under a new fence. `None` when somebody else did since it was read.
async fn take_turn(
    tx: &mut Tx,
    reserve: &Reserve<'_>,
    context: ContextId,
    turn: Option<&Turn>,
) -> Result<Option<(i64, i64)>, StoreError> {
    const SQL: &str = "INSERT INTO turn (context_id, message_id, fence, step_ups, state, lease_until, grant_id)
        VALUES ($1, $2, 1, 0, 'running', $3, $4)
        ON CONFLICT (context_id, message_id) DO UPDATE SET fence = turn.fence + 1, state = 'running', lease_until = $3,
            grant_id = $4, reply = NULL, missing_scopes = NULL, device_authorization_id = NULL
        WHERE turn.fence = $5 AND turn.state <> 'answered' RETURNING fence, step_ups";
    Ok(in_tx!(tx, c => query_as::<_, (i64, i64)>(SQL)
        .bind(context.to_string())
        .bind(reserve.message.as_str())
        .bind(reserve.lease_until.millis())
        .bind(reserve.authority.map(|authority| authority.grant.as_str()))
        .bind(turn.map_or(0, |turn| turn.fence))
        .fetch_optional(c))?)
}
