//! Whether an answer is what the model gives at one instant, and what it then changes.
//!
//! A flow reads first and writes under a guard afterwards. What its guard covers is judged by the model as it is when the
//! operation takes its turn; what it only read may also be as it was at an earlier instant of the same step, `seen`.

mod consent;
mod tokens;
mod turns;

pub(crate) use turns::late_reply;

use super::act::{Act, Answer};
use super::operations::Mask;
use super::state::Model;

/// What an answer is, at one instant.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Not what the model gives.
    No,
    /// What the model gives, and nothing has changed.
    Same,
    /// What the model gives, and the model has changed.
    Changed,
    /// The first part of what the model gives; the operation goes on here.
    Began(Stage),
}

/// How far an operation of several transactions has come.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Start,
    /// The agent ran under these scopes.
    Ran {
        turn: usize,
        scopes: Mask,
        grant: Option<usize>,
    },
    /// It lacks some, and there is a link.
    Linked {
        turn: usize,
        grant: Option<usize>,
        device: usize,
    },
    /// A step-up wants a fresh link.
    Renews {
        turn: usize,
        old_device: Option<usize>,
        missing: Mask,
        grant: Option<usize>,
    },
    /// It has one.
    Renewed {
        turn: usize,
        old_device: Option<usize>,
        missing: Mask,
        device: usize,
    },
}

impl Model {
    /// Judges `answer` to `act`, and carries out what it says.
    pub(crate) fn explain(&mut self, seen: &Self, act: &Act, answer: &Answer, stage: &Stage) -> Verdict {
        match act {
            Act::Start { caller, scopes } => self.start(*caller, *scopes, answer),
            Act::SignIn { device, user, jti } => self.sign_in(seen, *device, *user, jti, answer),
            Act::Open { session, device } => self.open(seen, *session, *device, answer),
            Act::Decide { page, allow, ticked, elsewhere } => {
                self.decide(seen, *page, *allow, *ticked, *elsewhere, answer)
            }
            Act::Poll { device, from } => self.poll(seen, *device, *from, answer),
            Act::Refresh { token, scopes, from } => self.refresh(seen, *token, *scopes, *from, answer),
            Act::RevokeRefresh { token, from } => {
                let grant = self.families[self.refreshes[*token].family].grant;
                self.revoke(Some(grant), *from, answer)
            }
            Act::RevokeAccess { access, from } => {
                let access = &self.accesses[*access];
                let grant = (self.now < access.expires).then_some(access.grant);
                self.revoke(grant, *from, answer)
            }
            Act::EndGrant { grant } => self.end_grant(*grant, answer),
            Act::Send(turn) => self.send(seen, turn, answer, stage),
            Act::Reserve(turn) => self.reserve(seen, turn, answer),
            Act::Finish { runner, how } => self.finish(*runner, *how, answer),
            Act::Sweep => {
                let left = self.sweep();
                match answer {
                    Answer::Done("rows left") if left => Verdict::Changed,
                    Answer::Refused("nothing to sweep") if !left => Verdict::Same,
                    // Other sequences' rows leave too.
                    Answer::Done("rows left") => Verdict::Same,
                    _ => Verdict::No,
                }
            }
            Act::Switch { agent, enabled } => {
                let changes = self.enabled[*agent] != *enabled;
                self.enabled[*agent] = *enabled;
                match answer {
                    Answer::Done("switched") if changes => Verdict::Changed,
                    Answer::Refused("as it was") if !changes => Verdict::Same,
                    _ => Verdict::No,
                }
            }
        }
    }
}

/// A refusal with just this label changes nothing.
fn refused(answer: &Answer, label: &str) -> Verdict {
    match answer {
        Answer::Refused(given) if *given == label => Verdict::Same,
        _ => Verdict::No,
    }
}
