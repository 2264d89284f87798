//! Telling Brands of their grants: from the outbox to the receiver (RFC 8935), at least once, and of each grant in order.
//!
//! Each Brand has a courier of its own, so that a receiver that is dead or slow holds up nobody else's. A receiver that
//! fails is left alone for a while that doubles; an event that is objected to waits by itself. What was not acknowledged
//! is sent again under the same `jti`, by whichever node comes first, until it is given up.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::task::JoinSet;
use url::Url;

use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::security_event;
use crate::directory::HostedBrand;
use crate::domain::brand::Delegation;
use crate::domain::event::{GrantEvent, pause};
use crate::domain::id::BrandId;
use crate::flow::Fault;
use crate::outbound::Request;
use crate::protocol::event::{CONTENT_TYPE, Objection, SecurityEventClaims};
use crate::store::StoreError;

/// For so long an event is a node's that took it: longer than any exchange may take.
const LEASE: Duration = Duration::from_secs(30);
/// A node that was stopped for so long between taking an event and sending it does not send it: its lease may run out
/// before the answer, and somebody else send it and what follows.
const LATEST: Duration = Duration::from_secs(10);

/// How a receiver has fared.
#[derive(Clone, Copy, Default, Debug)]
struct Rest {
    /// In a row.
    failures: i64,
    /// Nothing is sent before.
    until: Option<Timestamp>,
}

/// The couriers of one node, one for each Brand that has something to be told.
#[derive(Default, Debug)]
pub struct Couriers {
    at_work: HashSet<BrandId>,
    rests: HashMap<BrandId, Rest>,
    tasks: JoinSet<(BrandId, Rest)>,
}

impl Couriers {
    /// Sends out a courier for each Brand that has something due, whose courier is not on its way and whose receiver is
    /// not left alone.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn look(&mut self, app: &Arc<App>) -> Result<(), StoreError> {
        while let Some(Ok(back)) = self.tasks.try_join_next() {
            self.came_back(back);
        }
        let now = app.clock.now();
        for brand in app.store.brands_with_due_events(now).await? {
            let rest = self.rests.get(&brand).copied().unwrap_or_default();
            if rest.until.is_some_and(|until| now < until) || !self.at_work.insert(brand.clone()) {
                continue;
            }
            let app = Arc::clone(app);
            self.tasks.spawn(async move {
                // A courier that panics, which the panic hook has logged, is sent out again like one that failed.
                let round = AssertUnwindSafe(deliver(&app, &brand, rest)).catch_unwind().await;
                let rest = round.unwrap_or_else(|_| failed(&app, rest));
                (brand, rest)
            });
        }
        Ok(())
    }

    /// Waits until every courier is back.
    pub async fn all_back(&mut self) {
        while let Some(Ok(back)) = self.tasks.join_next().await {
            self.came_back(back);
        }
    }

    fn came_back(&mut self, (brand, rest): (BrandId, Rest)) {
        self.at_work.remove(&brand);
        if rest.failures == 0 {
            self.rests.remove(&brand);
        } else {
            self.rests.insert(brand, rest);
        }
    }
}

/// What became of one attempt.
enum Sent {
    Acknowledged,
    /// The receiver objects to this one.
    Objected(Objection),
    /// The receiver takes none, for now.
    Failed(String),
    /// It was too late to send it.
    Late,
}

/// Tells a Brand all that is due, until there is nothing more or its receiver fails.
async fn deliver(app: &App, brand: &BrandId, mut rest: Rest) -> Rest {
    loop {
        match deliver_some(app, brand, &mut rest).await {
            Ok(true) => {}
            Ok(false) => return rest,
            Err(fault) => {
                tracing::warn!(%brand, error = %fault, "events could not be taken from the outbox or put back");
                return failed(app, rest);
            }
        }
    }
}

/// One go; whether there may be more to do. To a receiver that failed goes one event, to see whether it is back.
async fn deliver_some(app: &App, brand: &BrandId, rest: &mut Rest) -> Result<bool, Fault> {
    let directory = app.directory.current();
    let hosted = directory.brand(brand);
    let told = hosted.and_then(|hosted| {
        let (delegation, _) = hosted.delegation()?;
        Some((hosted, delegation, &delegation.events.as_ref()?.url))
    });
    // Another node knows of a receiver that this one will know of in a moment.
    let Some((hosted, delegation, receiver)) = told else { return Ok(false) };
    let now = app.clock.now();
    let most = if rest.failures > 0 { 1 } else { i64::from(app.config.events.in_flight) };
    let events = app.store.claim_events(brand, now, now.plus(LEASE), most).await?;
    if events.is_empty() {
        return Ok(false);
    }
    let sent = join_all(events.iter().map(|event| send(app, hosted, delegation, receiver, event, now))).await;
    let mut failure = None;
    for (event, sent) in events.iter().zip(sent) {
        let again = || app.clock.now().plus(pause(event.attempts, chance(app)));
        match sent? {
            Sent::Acknowledged => {
                app.store.event_acknowledged(&event.id).await?;
                *rest = Rest::default();
            }
            Sent::Objected(objection) => {
                let why = objection.label();
                tracing::warn!(%brand, event = event.id, why, "a receiver of events objects to one");
                app.store.event_failed(event, again()).await?;
            }
            Sent::Failed(why) => {
                app.store.event_failed(event, app.clock.now()).await?;
                failure = Some(why);
            }
            Sent::Late => app.store.event_failed(event, app.clock.now()).await?,
        }
    }
    let Some(why) = failure else { return Ok(true) };
    *rest = failed(app, *rest);
    tracing::warn!(%brand, why, failures = rest.failures, "a receiver of events failed");
    Ok(false)
}

async fn send(
    app: &App,
    hosted: &HostedBrand,
    delegation: &Delegation,
    receiver: &Url,
    event: &GrantEvent,
    taken_at: Timestamp,
) -> Result<Sent, Fault> {
    let (issuer, login) = (&hosted.addresses.issuer, &delegation.assertion.issuer);
    let claims = SecurityEventClaims::new(event, issuer, login, receiver.as_str());
    let now = app.clock.now();
    let token = security_event::sign(&hosted.ring, hosted.brand.signing_alg(), &claims, now)?;
    if now.since(taken_at) > LATEST {
        return Ok(Sent::Late);
    }
    let request = Request::post(receiver.clone(), CONTENT_TYPE, token).header("accept", "application/json");
    Ok(match app.outbound.exchange(request).await {
        Ok(answer) => match answer.status {
            202 => Sent::Acknowledged,
            400 => match Objection::parse(&answer.body) {
                objection if objection.is_about_one() => Sent::Objected(objection),
                objection => Sent::Failed(objection.label().to_owned()),
            },
            status => Sent::Failed(format!("status {status}")),
        },
        Err(error) => Sent::Failed(error.to_string()),
    })
}

/// A receiver that failed once more.
fn failed(app: &App, rest: Rest) -> Rest {
    let failures = rest.failures.saturating_add(1);
    Rest { failures, until: Some(app.clock.now().plus(pause(failures, chance(app)))) }
}

fn chance(app: &App) -> u8 {
    let [chance] = app.entropy.bytes();
    chance
}
