//! Step-ups: a turn that lacks scopes is stored together with the code whose link it hands out, so that no code is ever
//! left that nobody was told.

use sqlx::query_scalar;

use super::conversation::{TurnDone, move_context, put_receipt};
use super::device::{self, Created, NewDeviceAuthorization};
use super::dialect::{Tx, in_tx};
use super::{Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::id::{ContextId, DeviceAuthorizationId, MessageId};
use crate::domain::scope::ScopeSet;

/// The code whose link a step-up hands out.
#[derive(Clone, Copy, Debug)]
pub enum StepUpCode<'a> {
    /// One that is pending already.
    Pending(DeviceAuthorizationId),
    /// One that is made together with the step-up.
    New(&'a NewDeviceAuthorization<'a>),
}

impl StepUpCode<'_> {
    /// Its device authorization.
    pub const fn device(&self) -> DeviceAuthorizationId {
        match self {
            Self::Pending(id) => *id,
            Self::New(new) => new.device.id,
        }
    }

    /// `None` once there is such a code.
    async fn make(&self, tx: &mut Tx) -> Result<Option<StepUpStored>, StoreError> {
        let Self::New(new) = self else { return Ok(None) };
        Ok(match device::create(tx, new).await? {
            Created::Created => None,
            Created::TooMany { until } => Some(StepUpStored::TooMany { until }),
            Created::UserCodeTaken => Some(StepUpStored::UserCodeTaken),
        })
    }
}

/// A turn that needs more scopes.
#[derive(Debug)]
pub struct StepUpDone<'a> {
    /// The answer and its receipt.
    pub turn: TurnDone<'a>,
    /// Which scopes.
    pub missing: &'a ScopeSet,
    /// The code whose link it hands out.
    pub code: StepUpCode<'a>,
}

/// A stored step-up whose link has run out.
#[derive(Debug)]
pub struct RenewStepUp<'a> {
    /// The context.
    pub context: ContextId,
    /// The message in it.
    pub message: &'a MessageId,
    /// The code that has run out.
    pub old: DeviceAuthorizationId,
    /// The code in its place.
    pub code: StepUpCode<'a>,
    /// Which scopes.
    pub missing: &'a ScopeSet,
    /// The response body with the new link.
    pub reply: &'a str,
}

/// Whether a step-up was stored. Where it was not, no code was made either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepUpStored {
    /// It was; it may be sent.
    Stored,
    /// The turn belongs to a later runner, or is no longer that step-up.
    Superseded,
    /// The caller has as many live codes as it may at this Brand.
    TooMany {
        /// When one of them no longer counts.
        until: Timestamp,
    },
    /// Another code of the Brand has the new one's letters: draw again.
    UserCodeTaken,
}

impl Store {
    /// Stores a step-up with its receipt and its code, if the reservation still holds.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn complete_step_up(&self, done: &StepUpDone<'_>) -> Result<StepUpStored, StoreError> {
        const SQL: &str = "UPDATE turn SET state = 'step_up', lease_until = NULL, step_ups = step_ups + 1, reply = $4,
            missing_scopes = $5, device_authorization_id = $6
            WHERE context_id = $1 AND message_id = $2 AND fence = $3 AND state = 'running' RETURNING fence";
        let turn = &done.turn;
        let mut tx = self.0.begin().await?;
        move_context(&mut tx, turn).await?;
        let stored = in_tx!(&mut tx, c => query_scalar::<_, i64>(SQL)
            .bind(turn.reservation.context.to_string())
            .bind(turn.reservation.message.as_str())
            .bind(turn.reservation.fence)
            .bind(turn.reply)
            .bind(done.missing.to_string())
            .bind(done.code.device().to_string())
            .fetch_optional(c))?;
        if stored.is_none() {
            return Ok(StepUpStored::Superseded);
        }
        if let Some(not_made) = done.code.make(&mut tx).await? {
            return Ok(not_made);
        }
        put_receipt(&mut tx, turn).await?;
        tx.commit().await?;
        Ok(StepUpStored::Stored)
    }

    /// Puts a step-up with a fresh link in the place of the one that was stored.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn renew_step_up(&self, renew: &RenewStepUp<'_>) -> Result<StepUpStored, StoreError> {
        const SQL: &str = "UPDATE turn SET reply = $4, device_authorization_id = $5, missing_scopes = $6
            WHERE context_id = $1 AND message_id = $2 AND device_authorization_id = $3 AND state = 'step_up'
            RETURNING fence";
        let mut tx = self.0.begin().await?;
        let row = in_tx!(&mut tx, c => query_scalar::<_, i64>(SQL)
            .bind(renew.context.to_string())
            .bind(renew.message.as_str())
            .bind(renew.old.to_string())
            .bind(renew.reply)
            .bind(renew.code.device().to_string())
            .bind(renew.missing.to_string())
            .fetch_optional(c))?;
        if row.is_none() {
            return Ok(StepUpStored::Superseded);
        }
        if let Some(not_made) = renew.code.make(&mut tx).await? {
            return Ok(not_made);
        }
        tx.commit().await?;
        Ok(StepUpStored::Stored)
    }
}
