//! Contexts and turns (PACT §4.2, §4.3): who may go on with a conversation, and what a repeated message gets.

use std::time::Duration;

use super::id::{BrandUser, ContextId, DeviceAuthorizationId, GrantId, MessageId};
use super::scope::ScopeSet;
use crate::clock::Timestamp;

/// What a reservation outlives the agent's timeout by, so that a runner that is merely slow is not taken for a dead one.
pub const LEASE_MARGIN: Duration = Duration::from_secs(5);

/// Under what authority a request comes: a delegation token that was verified, and its grant as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authority {
    /// The grant of the token.
    pub grant: GrantId,
    /// The Brand user the agent acts as.
    pub brand_user: BrandUser,
    /// What it may do: the token's scopes that the grant still has.
    pub scopes: ScopeSet,
}

/// A context as a turn finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    /// Its id.
    pub id: ContextId,
    /// The Brand user it has run as, once it has.
    pub brand_user: Option<BrandUser>,
    /// Whether the agent closed it, or somebody ended the grant it ran under.
    pub closed: bool,
    /// Its latest turn.
    pub last_turn_at: Timestamp,
}

/// What is stored of a turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Grows each time the turn is taken up; only the latest runner may store.
    pub fence: i64,
    /// How often the turn ended in a step-up.
    pub step_ups: i64,
    /// Where it stands.
    pub state: TurnState,
}

/// Where a turn stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TurnState {
    /// The agent runs, until `lease_until` at the latest.
    Running {
        /// From then on another request may take the turn over.
        lease_until: Timestamp,
    },
    /// The agent answered.
    Answered {
        /// The response body, as it was sent.
        reply: String,
        /// The grant it was made under.
        grant: Option<GrantId>,
    },
    /// The agent needs more scopes (PACT §5.5).
    StepUp {
        /// The response body, as it was sent.
        reply: String,
        /// The grant that lacks them; `None` for a turn that came without delegation.
        grant: Option<GrantId>,
        /// Which.
        missing: ScopeSet,
        /// The code whose link was handed out.
        device: DeviceAuthorizationId,
    },
    /// Released after a failure: the next request runs it.
    Released,
}

/// What a message gets in its context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The agent runs.
    Run,
    /// The stored body goes out again, byte for byte.
    Replay(String),
    /// The stored step-up goes out again, with a fresh link when its code has run out.
    StepUpAgain {
        /// The response body, as it was sent.
        reply: String,
        /// Which scopes are still missing.
        missing: ScopeSet,
        /// The code whose link was handed out.
        device: DeviceAuthorizationId,
    },
    /// `INVALID_PARAMS`: the first still runs, or the stored reply is not for this caller.
    Repeated,
    /// `INVALID_PARAMS`: the context has run as another Brand user.
    OtherUser,
    /// `UNSUPPORTED_OPERATION`.
    Closed,
}

/// Decides what a message gets. `turn` is what is stored under its `messageId`, if anything.
///
/// Another Brand user's token gets nothing of the context (PACT §5.5). A stored reply is found before a closed context is: a retry whose first answer was lost must not learn less than the
/// first did (PACT §4.3).
pub fn admit(
    context: &Context,
    turn: Option<&Turn>,
    authority: Option<&Authority>,
    idle: Duration,
    now: Timestamp,
) -> Admission {
    if let (Some(bound), Some(authority)) = (&context.brand_user, authority)
        && *bound != authority.brand_user
    {
        return Admission::OtherUser;
    }
    let presented = authority.map(|authority| &authority.grant);
    match turn.map(|turn| &turn.state) {
        Some(TurnState::Answered { reply, grant }) => {
            return match grant {
                Some(grant) if presented != Some(grant) => Admission::Repeated,
                _ => Admission::Replay(reply.clone()),
            };
        }
        Some(TurnState::Running { lease_until }) if now < *lease_until => return Admission::Repeated,
        Some(TurnState::Running { .. } | TurnState::StepUp { .. } | TurnState::Released) | None => {}
    }
    if context.closed || now >= context.last_turn_at.plus(idle) {
        return Admission::Closed;
    }
    if let Some(TurnState::StepUp { reply, grant, missing, device }) = turn.map(|turn| &turn.state) {
        match (grant, presented) {
            // What was asked without delegation is no answer under it: that one has a receipt and a link of its own.
            (None, Some(_)) => return Admission::Run,
            (Some(grant), presented) if presented != Some(grant) => return Admission::Repeated,
            (Some(_) | None, _) => {}
        }
        let missing = authority.map_or_else(|| missing.clone(), |authority| missing.without(&authority.scopes));
        if !missing.is_empty() {
            return Admission::StepUpAgain { reply: reply.clone(), missing, device: *device };
        }
    }
    Admission::Run
}

/// A message that is about to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// In which context.
    pub context: ContextId,
    /// Under which id.
    pub message: MessageId,
    /// The right to store: a later runner has a higher one.
    pub fence: i64,
    /// How often the turn ended in a step-up before.
    pub step_ups: i64,
    /// What the turn may do, as of now; none without delegation.
    pub scopes: ScopeSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
    const IDLE: Duration = Duration::from_secs(30 * 86_400);

    fn context() -> Context {
        Context {
            id: ContextId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d20").unwrap(),
            brand_user: None,
            closed: false,
            last_turn_at: NOW,
        }
    }

    fn authority(grant: u8, user: &str, scopes: &str) -> Authority {
        Authority {
            grant: GrantId::parse(format!("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREA{grant}")).unwrap(),
            brand_user: BrandUser::parse(user).unwrap(),
            scopes: ScopeSet::parse(scopes).unwrap(),
        }
    }

    fn turn(state: TurnState) -> Turn {
        Turn { fence: 1, step_ups: 0, state }
    }

    #[test]
    fn a_new_message_runs_in_an_open_context_and_not_in_a_closed_or_idle_one() {
        assert_eq!(admit(&context(), None, None, IDLE, NOW), Admission::Run);
        let closed = Context { closed: true, ..context() };
        assert_eq!(admit(&closed, None, None, IDLE, NOW), Admission::Closed);
        assert_eq!(admit(&context(), None, None, IDLE, NOW.plus(IDLE)), Admission::Closed);
    }

    // cases 68, 70
    #[test]
    fn a_running_message_is_refused_until_its_lease_is_over() {
        let running = turn(TurnState::Running { lease_until: NOW });
        assert_eq!(
            admit(&context(), Some(&running), None, IDLE, NOW.minus(Duration::from_millis(1))),
            Admission::Repeated
        );
        assert_eq!(admit(&context(), Some(&running), None, IDLE, NOW), Admission::Run);
    }

    // case 68
    #[test]
    fn a_stored_reply_is_given_again_also_when_the_context_has_closed() {
        let answered = turn(TurnState::Answered { reply: "{}".to_owned(), grant: None });
        let closed = Context { closed: true, ..context() };
        assert_eq!(admit(&closed, Some(&answered), None, IDLE, NOW), Admission::Replay("{}".to_owned()));
    }

    #[test]
    fn a_reply_made_under_delegation_is_given_only_to_the_same_grant() {
        let jane = authority(1, "jane", "a");
        let answered = turn(TurnState::Answered { reply: "{}".to_owned(), grant: Some(jane.grant.clone()) });
        let admit = |authority: Option<Authority>| admit(&context(), Some(&answered), authority.as_ref(), IDLE, NOW);
        assert_eq!(admit(Some(jane.clone())), Admission::Replay("{}".to_owned()));
        assert_eq!(admit(None), Admission::Repeated);
        assert_eq!(admit(Some(authority(2, "jane", "a"))), Admission::Repeated);
    }

    // case 61
    #[test]
    fn a_context_that_ran_as_one_user_refuses_another_and_goes_on_without_delegation() {
        let bound = Context { brand_user: Some(BrandUser::parse("jane").unwrap()), ..context() };
        assert_eq!(admit(&bound, None, Some(&authority(1, "joe", "a")), IDLE, NOW), Admission::OtherUser);
        assert_eq!(admit(&bound, None, Some(&authority(1, "jane", "a")), IDLE, NOW), Admission::Run);
        assert_eq!(admit(&bound, None, None, IDLE, NOW), Admission::Run);
    }

    // case 61
    #[test]
    fn another_users_token_gets_no_stored_reply_either() {
        let bound = Context { brand_user: Some(BrandUser::parse("jane").unwrap()), ..context() };
        let answered = turn(TurnState::Answered { reply: "{}".to_owned(), grant: None });
        let joe = authority(1, "joe", "a");
        assert_eq!(admit(&bound, Some(&answered), Some(&joe), IDLE, NOW), Admission::OtherUser);
        assert_eq!(admit(&bound, Some(&answered), None, IDLE, NOW), Admission::Replay("{}".to_owned()));
    }

    // case 62
    #[test]
    fn a_step_up_without_delegation_is_given_again_without_it_and_runs_anew_under_it() {
        let device = DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d21").unwrap();
        let missing = ScopeSet::parse("b").unwrap();
        let step_up = turn(TurnState::StepUp { reply: "{}".to_owned(), grant: None, missing: missing.clone(), device });
        let again = Admission::StepUpAgain { reply: "{}".to_owned(), missing, device };
        assert_eq!(admit(&context(), Some(&step_up), None, IDLE, NOW), again);
        assert_eq!(admit(&context(), Some(&step_up), Some(&authority(1, "jane", "a")), IDLE, NOW), Admission::Run);
    }

    // case 62
    #[test]
    fn a_step_up_is_given_again_while_its_scopes_are_missing_and_runs_once_they_are_there() {
        let jane = authority(1, "jane", "a");
        let device = DeviceAuthorizationId::parse("f0c12e6b-231e-4d92-a610-2518a0f27d21").unwrap();
        let missing = ScopeSet::parse("b c").unwrap();
        let step_up = turn(TurnState::StepUp {
            reply: "{}".to_owned(),
            grant: Some(jane.grant.clone()),
            missing: missing.clone(),
            device,
        });
        let admit = |authority: Option<Authority>| admit(&context(), Some(&step_up), authority.as_ref(), IDLE, NOW);
        assert_eq!(admit(Some(jane.clone())), Admission::StepUpAgain { reply: "{}".to_owned(), missing, device });
        assert_eq!(admit(Some(authority(1, "jane", "a b c"))), Admission::Run);
        assert_eq!(admit(None), Admission::Repeated);
        assert_eq!(admit(Some(authority(2, "jane", "a b c"))), Admission::Repeated);
    }
}
