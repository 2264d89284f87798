//! `message:send` (PACT §4, §5.5, §5.6): reserve the turn, run the Brand's agent with no transaction open, store the reply
//! with its receipt.
//!
//! The agent is not trusted with authority: what it says it used must be within what it was given, or nothing is signed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::json;
use url::form_urlencoded;

use super::issue::delegation_claims;
use super::{ATTEMPTS, Fault, RESTLESS, entry, step_up};
use crate::agent::{AgentCall, AgentError};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::receipt::{self, SignedReceipt};
use crate::crypto::{args_hash, delegation_token, jws, turn_token};
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::brand::{Agent, SigningAlg};
use crate::domain::conversation::{Admission, Authority, LEASE_MARGIN, Reservation};
use crate::domain::id::{Caller, ContextId, MessageId, ReceiptId};
use crate::metrics::AgentTurn;
use crate::protocol::a2a::{
    Metadata, OutboundMessage, ROLE_AGENT, Reason, Receipt, SendMessageResponse, TASK_STATE_AUTH_REQUIRED, Task,
    TaskStatus, TextPart,
};
use crate::protocol::agent::{Turn, TurnAnswer, TurnCaller, TurnDelegation};
use crate::protocol::claims;
use crate::secret::Secret;
use crate::store::{Completed, ContextChoice, Reserve, Reserved, StepUpCode, StepUpDone, StepUpStored, TurnDone};

/// A message that is well formed.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// Its id.
    pub message: MessageId,
    /// The context it names, as it was sent.
    pub context: Option<String>,
    /// Its parts, at least one of them not blank.
    pub texts: Vec<String>,
}

/// What the message gets.
#[derive(Debug)]
pub enum Sent {
    /// A reply or a step-up: the response body.
    Reply(String),
    /// An A2A error.
    Refused(Reason, &'static str),
    /// The delegation's grant has ended since the token was verified.
    InvalidDelegation,
    /// The Brand's agent has too much to do.
    Busy {
        /// For `Retry-After`.
        retry_after: Duration,
    },
}

const UNKNOWN_CONTEXT: Sent = Sent::Refused(Reason::InvalidParams, "Unknown contextId");
const AGENT_FAILED: Sent = Sent::Refused(Reason::Internal, "The agent could not answer; send the same message again");

/// The longest life of a delegation token that is forwarded to a Brand's agent.
const FORWARDED_LIFE: Duration = Duration::from_secs(300);

/// How long a backend that is part of this program may take.
const BUILTIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a message of `caller` to a Brand's agent, under `authority` where there is a delegation token.
///
/// The turn goes on when the caller hangs up: its reply is stored, and a retry gets it.
///
/// # Errors
/// [`Fault`]; the same message can then be sent again.
pub async fn send_message(
    app: &Arc<App>,
    hosted: &Arc<HostedBrand>,
    caller: Caller,
    authority: Option<Authority>,
    incoming: IncomingMessage,
    request: RequestId,
) -> Result<Sent, Fault> {
    let reservation = match take_up(app, hosted, &caller, authority.as_ref(), &incoming).await? {
        TakenUp::Run(reservation) => reservation,
        TakenUp::Answered(sent) => return Ok(sent),
    };
    let authority = authority.map(|authority| Authority { scopes: reservation.scopes.clone(), ..authority });
    let run = Run {
        app: Arc::clone(app),
        hosted: Arc::clone(hosted),
        caller,
        authority,
        texts: incoming.texts,
        reservation,
        request,
    };
    tokio::spawn(run.carry_out()).await.unwrap_or(Err(Fault::Impossible("a turn was cut off")))
}

/// What a message gets before any agent runs.
enum TakenUp {
    Run(Reservation),
    Answered(Sent),
}

/// Reserves the turn, or finds what the message gets instead.
async fn take_up(
    app: &App,
    hosted: &HostedBrand,
    caller: &Caller,
    authority: Option<&Authority>,
    incoming: &IncomingMessage,
) -> Result<TakenUp, Fault> {
    let context = match &incoming.context {
        None => ContextChoice::New(ContextId::from_uuid(app.entropy.uuid())),
        Some(named) => match ContextId::parse(named) {
            Some(id) => ContextChoice::Existing(id),
            None => return Ok(TakenUp::Answered(UNKNOWN_CONTEXT)),
        },
    };
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let reserve = Reserve {
            brand: &hosted.brand.id,
            caller,
            context,
            message: &incoming.message,
            authority,
            lease_until: now.plus(timeout(&hosted.brand.profile.agent)).plus(LEASE_MARGIN),
            idle: app.config.conversation_idle(),
            now,
        };
        return Ok(TakenUp::Answered(match app.store.reserve_turn(&reserve).await? {
            Reserved::Run(reservation) => return Ok(TakenUp::Run(reservation)),
            Reserved::UnknownContext => UNKNOWN_CONTEXT,
            Reserved::GrantGone => Sent::InvalidDelegation,
            Reserved::Other(Admission::Run) => return Err(Fault::Impossible("an admitted turn was not reserved")),
            Reserved::Other(Admission::Replay(reply)) => Sent::Reply(reply),
            Reserved::Other(Admission::StepUpAgain { reply, missing, device }) => {
                let ContextChoice::Existing(context) = context else { return Ok(TakenUp::Answered(UNKNOWN_CONTEXT)) };
                let again = step_up::Again { context, message: &incoming.message, reply, missing, device };
                match step_up::again(app, hosted, caller, authority, again, now).await? {
                    step_up::Repeated::Reply(reply) => Sent::Reply(reply),
                    step_up::Repeated::TooMany { retry_after } => Sent::Busy { retry_after },
                    step_up::Repeated::Changed => continue,
                }
            }
            Reserved::Other(Admission::Repeated) => {
                let text =
                    "messageId: this message is still being answered, or its reply is not available to this caller";
                Sent::Refused(Reason::InvalidParams, text)
            }
            Reserved::Other(Admission::OtherUser) => {
                let text = "contextId: this conversation has run as another User of the Brand";
                Sent::Refused(Reason::InvalidParams, text)
            }
            Reserved::Other(Admission::Closed) => {
                let text = "The conversation is closed; begin a new one by leaving out contextId";
                Sent::Refused(Reason::UnsupportedOperation, text)
            }
        }));
    }
    Err(RESTLESS)
}

fn timeout(agent: &Agent) -> Duration {
    match agent {
        Agent::Http(agent) => Duration::from_secs(u64::from(agent.timeout_seconds)),
        Agent::Builtin(_) => BUILTIN_TIMEOUT,
    }
}

/// One run of the agent, under a reservation.
struct Run {
    app: Arc<App>,
    hosted: Arc<HostedBrand>,
    caller: Caller,
    authority: Option<Authority>,
    texts: Vec<String>,
    reservation: Reservation,
    request: RequestId,
}

impl Run {
    /// Runs the agent and stores what comes of it; gives the reservation back where nothing does.
    async fn carry_out(self) -> Result<Sent, Fault> {
        // A turn that panics is given back like one that fails.
        let once = AssertUnwindSafe(self.once()).catch_unwind().await;
        let outcome = once.unwrap_or(Err(Fault::Impossible("a turn panicked")));
        if !matches!(outcome, Ok(Sent::Reply(_))) {
            self.app.store.release_turn(&self.reservation).await?;
        }
        outcome
    }

    async fn once(&self) -> Result<Sent, Fault> {
        let Some(call) = self.call().await? else { return Ok(Sent::InvalidDelegation) };
        let answer = match self.app.agents.run(&self.hosted.brand.profile.agent, &call).await {
            Ok(answer) => answer,
            Err(AgentError::Busy { retry_after_seconds }) => {
                self.count(AgentTurn::Busy);
                return Ok(Sent::Busy { retry_after: Duration::from_secs(u64::from(retry_after_seconds)) });
            }
            Err(error @ (AgentError::Failed(_) | AgentError::TimedOut)) => {
                self.count(if error == AgentError::TimedOut { AgentTurn::TimedOut } else { AgentTurn::Failed });
                tracing::warn!(brand = %self.hosted.brand.id, %error, "a turn failed");
                return Ok(AGENT_FAILED);
            }
        };
        if !self.is_within_authority(&answer).await? {
            self.count(AgentTurn::Overreached);
            return Ok(AGENT_FAILED);
        }
        let now = self.app.clock.now();
        let signed = self.receipt(&answer, now)?;
        if signed.as_ref().is_some_and(|signed| signed.jws.len() > jws::LONGEST) {
            self.count(AgentTurn::Failed);
            tracing::warn!(brand = %self.hosted.brand.id, "a turn failed: its receipt would be longer than 16 KiB");
            return Ok(AGENT_FAILED);
        }
        self.count(AgentTurn::Answered);
        if answer.is_step_up() {
            self.store_step_up(answer, signed, now).await
        } else {
            self.store_reply(answer, signed, now).await
        }
    }

    fn count(&self, outcome: AgentTurn) {
        self.app.metrics.turn(self.hosted.brand.id.as_str(), outcome);
    }

    fn alg(&self) -> SigningAlg {
        self.hosted.brand.signing_alg()
    }

    /// What the agent is asked; `None` when it would be handed a token of a grant that has ended since.
    async fn call(&self) -> Result<Option<AgentCall>, Fault> {
        let now = self.app.clock.now();
        let delegation = match &self.authority {
            None => None,
            Some(authority) => match self.delegation(authority, now).await? {
                Some(delegation) => Some(delegation),
                None => return Ok(None),
            },
        };
        let Reservation { context, message, step_ups, .. } = &self.reservation;
        let turn = Turn {
            brand_id: self.hosted.brand.id.to_string(),
            context_id: context.to_string(),
            message_id: message.to_string(),
            parts: self.texts.iter().map(crate::protocol::agent::TextPart::new).collect(),
            caller: TurnCaller { personal_agent: self.caller.issuer.to_string(), sub: self.caller.sub.to_string() },
            delegation,
        };
        let body = serde_json::to_vec(&turn)?;
        let turn_token = match &self.hosted.brand.profile.agent {
            Agent::Builtin(_) => String::new(),
            Agent::Http(agent) => {
                let (ring, interface) = (&self.hosted.ring, &self.hosted.addresses.interface_url);
                turn_token::sign(ring, self.alg(), interface, agent.url.as_str(), &body, now, &self.app.entropy)?
            }
        };
        let message: String = form_urlencoded::byte_serialize(message.as_str().as_bytes()).collect();
        let idempotency_key = match step_ups {
            0 => format!("{context}/{message}"),
            n => format!("{context}/{message}/{n}"),
        };
        Ok(Some(AgentCall { body, turn, turn_token: Secret::new(turn_token), idempotency_key }))
    }

    /// What the turn runs under; `None` when a token is to be forwarded and the grant is no longer live.
    async fn delegation(&self, authority: &Authority, now: Timestamp) -> Result<Option<TurnDelegation>, Fault> {
        let forward = matches!(&self.hosted.brand.profile.agent, Agent::Http(agent) if agent.forward_token);
        let token = if forward {
            let grant = self.app.store.grant(&authority.grant).await?;
            let Some(grant) = grant.filter(|grant| grant.is_live(now)) else { return Ok(None) };
            let scopes = authority.scopes.intersection(&grant.scopes);
            let claims = delegation_claims(&self.app, &self.hosted, &grant, scopes, FORWARDED_LIFE, now);
            Some(Secret::new(delegation_token::sign(&self.hosted.ring, self.alg(), &claims, now)?))
        } else {
            None
        };
        Ok(Some(TurnDelegation {
            user: authority.brand_user.to_string(),
            scopes: authority.scopes.clone(),
            grant_id: authority.grant.to_string(),
            token,
        }))
    }

    /// Whether the agent claims no more than it was given; what it overreached by is recorded.
    async fn is_within_authority(&self, answer: &TurnAnswer) -> Result<bool, Fault> {
        let brand = &self.hosted.brand;
        let had = self.authority.as_ref().map(|authority| authority.scopes.clone()).unwrap_or_default();
        if !answer.scopes_used.is_subset_of(&had) {
            let now = self.app.clock.now();
            let payload = json!({
                "claimed": answer.scopes_used.to_string(), "had": had.to_string(),
                "grant": self.authority.as_ref().map(|authority| authority.grant.to_string()),
                "message": self.reservation.message.as_str(),
            });
            let subject = self.reservation.context;
            let action = Action::AgentOverreach;
            let entry = entry(&brand.id, now, Actor::Assent, action, subject, &self.request, payload);
            self.app.store.record(&entry).await?;
            tracing::warn!(brand = %brand.id, "the agent claims scopes that it did not have");
            return Ok(false);
        }
        let offered = brand.delegation.as_ref().map(|delegation| delegation.scope_ids()).unwrap_or_default();
        let known = answer.missing_scopes.is_subset_of(&offered);
        if !known {
            tracing::warn!(brand = %brand.id, "the agent misses scopes that the Brand does not offer");
        }
        let already = !answer.missing_scopes.intersection(&had).is_empty();
        if already {
            tracing::warn!(brand = %brand.id, "the agent misses scopes that it has");
        }
        Ok(known && !already)
    }

    /// Signs the receipt of a turn under delegation (PACT §5.6).
    fn receipt(&self, answer: &TurnAnswer, now: Timestamp) -> Result<Option<SignedReceipt>, Fault> {
        let Some(authority) = &self.authority else { return Ok(None) };
        let mut actions = Vec::with_capacity(answer.actions.len());
        for action in &answer.actions {
            let hash = match (&action.args, &action.args_hash) {
                (Some(args), _) => Some(args_hash::args_hash(args)?),
                (None, hash) => hash.clone(),
            };
            actions.push(claims::Action { tool: action.tool.clone(), args_hash: hash });
        }
        let claims = claims::ReceiptClaims {
            grant_id: authority.grant.clone(),
            user: authority.brand_user.clone(),
            pa: self.caller.issuer.clone(),
            brand: self.hosted.addresses.interface_url.clone(),
            scopes_used: answer.scopes_used.iter().cloned().collect(),
            actions,
            ts: now,
        };
        Ok(Some(receipt::sign(&self.hosted.ring, self.alg(), &claims, now)?))
    }

    fn message(&self, parts: Vec<TextPart>, metadata: Option<Metadata>) -> OutboundMessage {
        OutboundMessage {
            message_id: self.app.entropy.uuid().to_string(),
            context_id: self.reservation.context.to_string(),
            role: ROLE_AGENT,
            parts,
            metadata,
        }
    }

    async fn store_reply(
        &self,
        answer: TurnAnswer,
        signed: Option<SignedReceipt>,
        now: Timestamp,
    ) -> Result<Sent, Fault> {
        let jws = signed.as_ref().map(|signed| signed.jws.clone());
        let metadata = signed.map(|signed| Metadata {
            receipt: Some(Receipt { jws: signed.jws, claims: signed.claims }),
            missing_scopes: Vec::new(),
            verification_uri_complete: None,
        });
        let parts = answer.parts.into_iter().map(|part| TextPart { text: part.text }).collect();
        let reply = serde_json::to_string(&SendMessageResponse::Message(self.message(parts, metadata)))?;
        let done = self.done(&reply, jws.as_deref(), answer.close, now);
        Ok(self.sent(self.app.store.complete_turn(&done).await?, reply))
    }

    async fn store_step_up(
        &self,
        answer: TurnAnswer,
        signed: Option<SignedReceipt>,
        now: Timestamp,
    ) -> Result<Sent, Fault> {
        let authority = self.authority.as_ref();
        let delegation = self.hosted.delegation().map(|(delegation, _)| delegation);
        let delegation = delegation.ok_or(Fault::Impossible("a step-up at a Brand without delegation"))?;
        let missing = delegation.scope_ids().intersection(&answer.missing_scopes);
        let jws = signed.as_ref().map(|signed| signed.jws.clone());
        let said = answer.parts.into_iter().filter(|part| !part.text.trim().is_empty());
        let mut parts: Vec<TextPart> = said.map(|part| TextPart { text: part.text }).collect();
        if parts.is_empty() {
            parts.push(TextPart { text: step_up::request_in_words(delegation, &missing) });
        }
        let mut task = Task {
            id: format!("t-{}", self.app.entropy.ulid(now)),
            context_id: self.reservation.context.to_string(),
            status: TaskStatus { state: TASK_STATE_AUTH_REQUIRED, message: self.message(parts, None) },
            metadata: Metadata {
                receipt: signed.map(|signed| Receipt { jws: signed.jws, claims: signed.claims }),
                missing_scopes: missing.iter().map(ToString::to_string).collect(),
                verification_uri_complete: None,
            },
        };
        for _ in 0..ATTEMPTS {
            let link = step_up::link(&self.app, &self.hosted, &self.caller, authority, &missing, now).await?;
            task.metadata.verification_uri_complete = Some(link.url.clone());
            let reply = serde_json::to_string(&SendMessageResponse::Task(task.clone()))?;
            let complete = async |code: StepUpCode<'_>| {
                let turn = self.done(&reply, jws.as_deref(), false, now);
                self.app.store.complete_step_up(&StepUpDone { turn, missing: &missing, code }).await
            };
            return Ok(match link.store(complete).await? {
                StepUpStored::Stored => self.sent(Completed::Stored, reply),
                StepUpStored::Superseded => self.sent(Completed::Superseded, reply),
                StepUpStored::TooMany { until } => Sent::Busy { retry_after: until.since(now) },
                StepUpStored::UserCodeTaken => continue,
            });
        }
        Err(RESTLESS)
    }

    fn done<'a>(&'a self, reply: &'a str, jws: Option<&'a str>, close: bool, now: Timestamp) -> TurnDone<'a> {
        let id = ReceiptId::from_uuid(self.app.entropy.uuid());
        let grant = self.authority.as_ref().map(|authority| &authority.grant);
        TurnDone {
            reservation: &self.reservation,
            brand: &self.hosted.brand.id,
            reply,
            receipt: grant.zip(jws).map(|(grant, jws)| (grant, id, jws)),
            close,
            request: &self.request,
            now,
        }
    }

    fn sent(&self, completed: Completed, reply: String) -> Sent {
        match completed {
            Completed::Stored => Sent::Reply(reply),
            Completed::Superseded => {
                tracing::warn!(brand = %self.hosted.brand.id, "a turn outlived its lease and was taken over");
                AGENT_FAILED
            }
        }
    }
}
