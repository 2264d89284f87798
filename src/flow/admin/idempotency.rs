//! Writes of the JSON API that are sent again: under one `Idempotency-Key` a request is carried out once, and answered
//! again with what was answered then.
//!
//! An answer is kept for a day, sealed under the master key, since it may hold a key that is shown once. A request that was not
//! carried out, since too much was under way, may be sent again. One of which nobody knows whether it was, since the program
//! died or something went wrong, is never carried out again: who sent it looks. Refuses another request under the same key.

use std::time::Duration;

use super::super::Fault;
use crate::app::App;
use crate::crypto::codes;
use crate::domain::id::ApiKeyId;
use crate::store::{Claim, Claimed};

/// So long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(86_400);

/// Whoever carries a request out counts as dead after so long: the largest revocations take a minute.
const HELD: Duration = Duration::from_secs(300);

/// An answer as it is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: String,
}

/// What is to be done with a request.
#[derive(Debug)]
pub enum Begun {
    /// It is to be carried out; then [`keep`] or [`give_up`].
    Run(Box<Claim>),
    /// This is the answer.
    Again(Kept),
    /// Another request came under this key.
    Another,
    /// It was begun, and nobody knows whether it was done.
    Lost,
    /// It is being carried out.
    Running {
        /// At the latest after so long it is not.
        wait: Duration,
    },
}

/// Begins `request` of the API key `api_key` under an idempotency `key`.
///
/// # Errors
/// [`Fault`]; it is not begun.
pub async fn begin(app: &App, api_key: &ApiKeyId, key: &str, request: &str) -> Result<Begun, Fault> {
    let now = app.clock.now();
    let claim = Claim {
        api_key: api_key.clone(),
        key: codes::digest(key),
        request: codes::digest(request),
        run: app.entropy.uuid().to_string(),
        at: now,
        held_until: now.plus(HELD),
        forget_before: now.minus(KEPT),
    };
    Ok(match app.store.claim_request(&claim).await? {
        Claimed::Run => Begun::Run(Box::new(claim)),
        Claimed::Answered { status, sealed } => {
            let body = app.master.open(&sealed, &row(&claim))?;
            let body = String::from_utf8(body.expose().clone()).map_err(|_| Fault::Impossible("a kept answer"))?;
            let status = u16::try_from(status).map_err(|_| Fault::Impossible("the status of a kept answer"))?;
            Begun::Again(Kept { status, body })
        }
        Claimed::Another => Begun::Another,
        Claimed::Lost => Begun::Lost,
        Claimed::Running { until } => Begun::Running { wait: until.since(now) },
    })
}

/// Keeps the answer to a request that was carried out.
///
/// # Errors
/// [`Fault`]; it is not kept.
pub async fn keep(app: &App, claim: &Claim, answer: &Kept) -> Result<(), Fault> {
    let sealed = app.master.seal(answer.body.as_bytes(), &row(claim), &app.entropy)?;
    if !app.store.keep_answer(claim, answer.status, &sealed).await? {
        tracing::warn!("an answer under an idempotency key came too late to be kept");
    }
    Ok(())
}

/// Lets the request be carried out again.
///
/// # Errors
/// [`Fault`]; then it can be after a while.
pub async fn give_up(app: &App, claim: &Claim) -> Result<(), Fault> {
    Ok(app.store.give_up_claim(claim).await?)
}

fn row(claim: &Claim) -> String {
    format!("api_idempotency/{}/{}", claim.api_key, claim.key.to_hex())
}
