//! Messages as the real node runs them, and runners that say nothing for a while.

use std::sync::Arc;

use assent::domain::conversation::{Admission, Authority};
use assent::domain::id::{ContextId, DeviceAuthorizationId, MessageId, ReceiptId};
use assent::domain::scope::ScopeSet;
use assent::flow::Fault;
use assent::flow::send_message::{IncomingMessage, Sent, send_message};
use assent::flow::verify_delegation::verify_delegation;
use assent::store::{Completed, ContextChoice, Reserve, Reserved, StepUpCode, StepUpDone, StepUpStored, TurnDone};
use serde_json::Value;

use super::{Node, mask};
use crate::model::act::{Acting, Answer, StepUp, Text, TurnAct};
use crate::model::explain::late_reply;
use crate::model::operations::{Finish, Wish};
use crate::model::state::{IDLE, Model, names};
use crate::support::build::LEASE;
use crate::support::flow::code_in;

impl Node {
    /// The authority of a message's token, where it has one; `None` when it gives none.
    async fn authority(&self, model: &Model, turn: &TurnAct) -> Result<Option<Option<Authority>>, Fault> {
        let Some(access) = turn.access else { return Ok(Some(None)) };
        let (hosted, caller) = (self.hosted(model, turn.from.elsewhere), self.caller(model, turn.from.caller));
        let verified = verify_delegation(&self.app, &hosted, &caller, &model.accesses[access].value).await?;
        Ok(verified.map(Some))
    }

    pub(super) async fn send(&self, model: &Model, turn: &TurnAct) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, turn.from.elsewhere), self.caller(model, turn.from.caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        let Some(authority) = self.authority(model, turn).await? else { return Ok(Answer::Refused("no authority")) };
        let acting = authority.as_ref().map(acting);
        let incoming = IncomingMessage {
            message: message(turn.message),
            context: turn.context.map(|context| model.contexts[context].id.to_string()),
            texts: vec![words(turn.wish).to_owned()],
        };
        let sent = send_message(&self.app, &hosted, caller, authority, incoming, self.request.clone()).await?;
        let refused = match sent {
            Sent::Reply(reply) => {
                let json: Value = serde_json::from_str(&reply).unwrap();
                let body = json.get("message").or_else(|| json.get("task")).unwrap();
                let context = match turn.context {
                    Some(context) => Text::clone(&model.contexts[context].id),
                    None => body["contextId"].as_str().unwrap().into(),
                };
                let link = body["metadata"]["pact.verificationUriComplete"].as_str();
                let step_up = link.map(|link| {
                    let user_code = code_in(link);
                    let missing = body["metadata"]["pact.missingScopes"].as_array().unwrap();
                    let missing: Vec<&str> = missing.iter().map(|id| id.as_str().unwrap()).collect();
                    StepUp {
                        missing: mask(&ScopeSet::parse(&missing.join(" ")).unwrap()),
                        mac: self.mac(&hosted, &user_code),
                        user_code: user_code.into(),
                    }
                });
                return Ok(Answer::Reply { authority: acting, reply: reply.into(), step_up, context });
            }
            Sent::Refused(_, "Unknown contextId") => "unknown context",
            Sent::Refused(_, text) if text.starts_with("messageId:") => "repeated",
            Sent::Refused(_, text) if text.starts_with("contextId:") => "another user",
            Sent::Refused(_, text) if text.starts_with("The conversation is closed") => "closed",
            Sent::Refused(..) => "agent failed",
            Sent::InvalidDelegation => "grant gone",
            Sent::Busy { .. } => "busy",
        };
        Ok(Answer::Turn { authority: acting, refused })
    }

    pub(super) async fn reserve(&self, model: &Model, turn: &TurnAct) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, turn.from.elsewhere), self.caller(model, turn.from.caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        let Some(authority) = self.authority(model, turn).await? else { return Ok(Answer::Refused("no authority")) };
        let acting = authority.as_ref().map(acting);
        let context = match turn.context {
            Some(context) => ContextChoice::Existing(ContextId::parse(&model.contexts[context].id).unwrap()),
            None => ContextChoice::New(ContextId::from_uuid(self.app.entropy.uuid())),
        };
        let reserve = Reserve {
            brand: &hosted.brand.id,
            caller: &caller,
            context,
            message: &message(turn.message),
            authority: authority.as_ref(),
            lease_until: model.now.plus(LEASE),
            idle: IDLE,
            now: model.now,
        };
        let refused = match self.app.store.reserve_turn(&reserve).await? {
            Reserved::Run(reservation) => {
                return Ok(Answer::Reserved { authority: acting, reservation: Arc::new(reservation) });
            }
            Reserved::UnknownContext => "unknown context",
            Reserved::GrantGone => "grant gone",
            Reserved::Other(Admission::Run) => "ran and did not",
            Reserved::Other(Admission::Replay(_)) => "replay",
            Reserved::Other(Admission::StepUpAgain { .. }) => "step-up again",
            Reserved::Other(Admission::Repeated) => "repeated",
            Reserved::Other(Admission::OtherUser) => "another user",
            Reserved::Other(Admission::Closed) => "closed",
        };
        Ok(Answer::Turn { authority: acting, refused })
    }

    pub(super) async fn finish(&self, model: &Model, runner: usize, how: Finish) -> Result<Answer, Fault> {
        let (brand, store, reply) = (self.hosted(model, false), &self.app.store, late_reply(runner));
        let runner = &model.runners[runner];
        let grant = runner.grant.map(|grant| model.grants[grant].id.as_deref().unwrap());
        let grant = grant.map(|grant| assent::domain::id::GrantId::parse(grant).unwrap());
        let receipt = ReceiptId::from_uuid(self.app.entropy.uuid());
        let turn = |close| TurnDone {
            reservation: &runner.reservation,
            brand: &brand.brand.id,
            reply: &reply,
            receipt: grant.as_ref().map(|grant| (grant, receipt, "a receipt")),
            close,
            request: &self.request,
            now: model.now,
        };
        let completed = match how {
            Finish::Failure => {
                store.release_turn(&runner.reservation).await?;
                return Ok(Answer::Done("released"));
            }
            Finish::Reply { close } => store.complete_turn(&turn(close)).await?,
            Finish::StepUp { missing } => {
                let missing = ScopeSet::parse(names(missing)).unwrap();
                // Its code was swept before anybody asked for it again.
                let code = StepUpCode::Pending(DeviceAuthorizationId::from_uuid(self.app.entropy.uuid()));
                match store.complete_step_up(&StepUpDone { turn: turn(false), missing: &missing, code }).await? {
                    StepUpStored::Stored => Completed::Stored,
                    StepUpStored::Superseded => Completed::Superseded,
                    other => panic!("{other:?}"),
                }
            }
        };
        Ok(match completed {
            Completed::Stored => Answer::Done("stored"),
            Completed::Superseded => Answer::Refused("superseded"),
        })
    }
}

fn acting(authority: &Authority) -> Acting {
    Acting { grant: authority.grant.as_str().into(), scopes: mask(&authority.scopes) }
}

fn message(id: u8) -> MessageId {
    MessageId::parse(format!("m-{id}")).unwrap()
}

const fn words(wish: Wish) -> &'static str {
    match wish {
        Wish::Hello => "Hello",
        Wish::Orders => "Where is my order?",
        Wish::Cancel => "Cancel my order",
        Wish::Refund => "Refund my order",
        Wish::Bye => "Bye",
    }
}
