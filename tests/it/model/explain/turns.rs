//! Messages: reserving a turn, what its agent answers, and the runner that comes back late.

use std::sync::Arc;
use std::time::Duration;

use super::{Stage, Verdict};
use crate::model::act::{Acting, Answer, StepUp, Text, TurnAct};
use crate::model::operations::{Finish, Mask, Wish};
use crate::model::state::{CALLERS, CODE_LIFE, Context, Device, DeviceState, IDLE, Model, Runner, Turn, TurnState};

/// The built-in agent's timeout and the margin of a lease.
const LEASE: Duration = Duration::from_secs(35);
/// A pending step-up code with so much life left is handed out again.
const STEP_UP_REUSE: Duration = Duration::from_secs(120);

/// What a message gets at one instant.
enum Admitted {
    Runs { turn: usize, scopes: Mask, grant: Option<usize> },
    Replays(Text),
    StepsUp { turn: usize, reply: Text, missing: Mask, device: Option<usize>, grant: Option<usize> },
    Refused(&'static str),
}

impl Model {
    /// What a delegation token gives its caller now.
    pub(crate) fn acting(&self, act: &TurnAct) -> Option<(usize, Mask)> {
        let access = &self.accesses[act.access?];
        let grant = &self.grants[access.grant];
        let gives = !act.from.elsewhere
            && self.now < access.expires
            && grant.caller == act.from.caller
            && self.is_live(access.grant);
        gives.then_some((access.grant, access.scopes & grant.scopes))
    }

    pub(super) fn send(&mut self, seen: &Self, act: &TurnAct, answer: &Answer, stage: &Stage) -> Verdict {
        match stage {
            Stage::Start => self.take_up(act, answer),
            Stage::Ran { turn, scopes, grant } => {
                let Answer::Reply { reply, step_up, .. } = answer else { return Verdict::No };
                let missing = needs(act.wish, grant.is_some()) & !scopes;
                match step_up {
                    None if missing == 0 => self.store(*turn, reply, act.wish == Wish::Bye, *grant),
                    Some(step_up) if step_up.missing == missing && missing != 0 => {
                        match self.link(seen, *grant, act.from.caller, step_up) {
                            Some(device) => Verdict::Began(Stage::Linked { turn: *turn, grant: *grant, device }),
                            None => Verdict::No,
                        }
                    }
                    _ => Verdict::No,
                }
            }
            Stage::Linked { turn, grant, device } => {
                let Answer::Reply { reply, step_up: Some(step_up), .. } = answer else { return Verdict::No };
                self.store_step_up(*turn, reply, step_up.missing, Some(*device), *grant)
            }
            Stage::Renews { turn, old_device, missing, grant, .. } => {
                let Answer::Reply { step_up: Some(step_up), .. } = answer else { return Verdict::No };
                if step_up.missing != *missing {
                    return Verdict::No;
                }
                match self.link(seen, *grant, act.from.caller, step_up) {
                    Some(device) => Verdict::Began(Stage::Renewed {
                        turn: *turn,
                        old_device: *old_device,
                        missing: *missing,
                        device,
                    }),
                    None => Verdict::No,
                }
            }
            Stage::Renewed { turn, old_device, missing, device } => {
                let Answer::Reply { reply: given, .. } = answer else { return Verdict::No };
                let TurnState::StepUp { reply, missing: lacks, device: linked } = &mut self.turns[*turn].state else {
                    return Verdict::No;
                };
                if linked != old_device {
                    return Verdict::No;
                }
                (*reply, *lacks, *linked) = (Text::clone(given), *missing, Some(*device));
                Verdict::Changed
            }
        }
    }

    /// The first instant of a message that is sent.
    fn take_up(&mut self, act: &TurnAct, answer: &Answer) -> Verdict {
        if !self.known_enabled[CALLERS[act.from.caller].agent] {
            return super::refused(answer, "unauthenticated");
        }
        let authority = match answer {
            Answer::Reply { authority, .. } | Answer::Turn { authority, .. } => authority.as_ref(),
            Answer::Refused("no authority") => return Verdict::Same,
            _ => return Verdict::No,
        };
        let context = match answer {
            Answer::Reply { context, .. } => Some(context),
            _ => None,
        };
        match (self.admit(act, authority, context), answer) {
            (Admitted::Refused(label), Answer::Turn { refused, .. }) if label == *refused => Verdict::Same,
            (Admitted::Replays(stored), Answer::Reply { reply, .. }) if stored == *reply => Verdict::Same,
            (Admitted::Runs { turn, scopes, grant }, Answer::Reply { .. }) => {
                Verdict::Began(Stage::Ran { turn, scopes, grant })
            }
            (Admitted::StepsUp { turn, reply, missing, device, grant }, Answer::Reply { reply: given, .. }) => {
                if device.is_some_and(|device| self.is_pending(device)) {
                    return if reply == *given { Verdict::Same } else { Verdict::No };
                }
                Verdict::Began(Stage::Renews { turn, old_device: device, missing, grant })
            }
            _ => Verdict::No,
        }
    }

    pub(super) fn reserve(&mut self, _seen: &Self, act: &TurnAct, answer: &Answer) -> Verdict {
        if !self.known_enabled[CALLERS[act.from.caller].agent] {
            return super::refused(answer, "unauthenticated");
        }
        match answer {
            Answer::Refused("no authority") => Verdict::Same,
            Answer::Turn { authority, refused } => match self.admit(act, authority.as_ref(), None) {
                Admitted::Refused(label) if label == *refused => Verdict::Same,
                Admitted::Replays(_) if *refused == "replay" => Verdict::Same,
                Admitted::StepsUp { .. } if *refused == "step-up again" => Verdict::Same,
                _ => Verdict::No,
            },
            Answer::Reserved { authority, reservation } => {
                let context: Text = reservation.context.to_string().into();
                match self.admit(act, authority.as_ref(), Some(&context)) {
                    Admitted::Runs { turn, grant, .. }
                        if (reservation.fence, reservation.step_ups)
                            == (self.turns[turn].fence, self.turns[turn].step_ups) =>
                    {
                        let reservation = Arc::clone(reservation);
                        self.runners.push(Runner { turn, fence: reservation.fence, grant, reservation });
                        Verdict::Changed
                    }
                    _ => Verdict::No,
                }
            }
            _ => Verdict::No,
        }
    }

    /// Admits a message under what its token gave when it was verified. `context` is the one that the answer names.
    fn admit(&mut self, act: &TurnAct, authority: Option<&Acting>, context: Option<&Text>) -> Admitted {
        let grant = match (authority, act.access) {
            (Some(authority), Some(access)) => {
                let grant = self.accesses[access].grant;
                if !self.is_called(grant, &authority.grant) {
                    return Admitted::Refused("another grant's authority");
                }
                if !self.may_be_used(grant) {
                    return Admitted::Refused("grant gone");
                }
                Some(grant)
            }
            _ => None,
        };
        let scopes = grant.map_or(0, |grant| self.grants[grant].scopes & authority.map_or(0, |acting| acting.scopes));
        let user = grant.map(|grant| self.grants[grant].user);
        let now = self.now;
        let turn = match act.context {
            None => {
                let Some(id) = context else { return Admitted::Refused("no context") };
                self.contexts.push(Context {
                    id: Text::clone(id),
                    caller: act.from.caller,
                    user,
                    grant,
                    closed: None,
                    last_turn: now,
                    swept: false,
                });
                self.turns.push(Turn {
                    context: self.contexts.len() - 1,
                    message: act.message,
                    fence: 0,
                    step_ups: 0,
                    grant: None,
                    state: TurnState::Released,
                });
                self.turns.len() - 1
            }
            Some(context) => {
                let bound = &self.contexts[context];
                if bound.swept || act.from.elsewhere || bound.caller != act.from.caller {
                    return Admitted::Refused("unknown context");
                }
                if bound.user.is_some() && user.is_some() && bound.user != user {
                    return Admitted::Refused("another user");
                }
                let of = |turn: &Turn| turn.context == context && turn.message == act.message;
                let turn = self.turns.iter().position(of);
                if let Some(other) = self.refuses(turn, context, grant, scopes) {
                    return other;
                }
                let bound = &mut self.contexts[context];
                (bound.last_turn, bound.user, bound.grant) = (now, user.or(bound.user), grant.or(bound.grant));
                turn.unwrap_or_else(|| {
                    let state = TurnState::Released;
                    self.turns.push(Turn { context, message: act.message, fence: 0, step_ups: 0, grant: None, state });
                    self.turns.len() - 1
                })
            }
        };
        grant.into_iter().for_each(|grant| self.grants[grant].used = Some(now));
        let taken = &mut self.turns[turn];
        taken.fence += 1;
        taken.grant = grant;
        taken.state = TurnState::Running { until: now.plus(LEASE) };
        Admitted::Runs { turn, scopes, grant }
    }

    /// What a message gets that does not run.
    fn refuses(&self, turn: Option<usize>, context: usize, grant: Option<usize>, scopes: Mask) -> Option<Admitted> {
        let stored = turn.map(|turn| &self.turns[turn]);
        match stored.map(|stored| (&stored.state, stored.grant)) {
            Some((TurnState::Answered { .. }, Some(made))) if grant != Some(made) => {
                return Some(Admitted::Refused("repeated"));
            }
            Some((TurnState::Answered { reply }, _)) => return Some(Admitted::Replays(Text::clone(reply))),
            Some((TurnState::Running { until }, _)) if self.now < *until => return Some(Admitted::Refused("repeated")),
            _ => {}
        }
        if self.is_closed(context) || self.now >= self.contexts[context].last_turn.plus(IDLE) {
            return Some(Admitted::Refused("closed"));
        }
        let (TurnState::StepUp { reply, missing, device }, made) =
            stored.map(|stored| (&stored.state, stored.grant))?
        else {
            return None;
        };
        match made {
            None if grant.is_some() => return None,
            Some(_) if grant != made => return Some(Admitted::Refused("repeated")),
            _ => {}
        }
        let missing = if grant.is_some() { missing & !scopes } else { *missing };
        let turn = turn?;
        (missing != 0).then(|| Admitted::StepsUp { turn, reply: Text::clone(reply), missing, device: *device, grant })
    }

    fn is_pending(&self, device: usize) -> bool {
        let device = &self.devices[device];
        !device.swept && device.state == DeviceState::Pending && self.now < device.expires
    }

    /// The code of a step-up's link: one that is pending for the same scopes of the same grant, or a new one.
    fn link(&mut self, seen: &Self, grant: Option<usize>, caller: usize, step_up: &StepUp) -> Option<usize> {
        let fits = |model: &Self, device: &Device| {
            device.step_up == grant
                && grant.is_some()
                && device.requested == step_up.missing
                && device.state == DeviceState::Pending
                && device.expires >= model.after(STEP_UP_REUSE)
        };
        if let Some(known) = self.devices.iter().position(|device| device.mac == step_up.mac) {
            let usable = |model: &Self| model.devices.get(known).is_some_and(|device| fits(model, device));
            // Nobody may have seen this code before.
            self.devices[known].user_code = Text::clone(&step_up.user_code);
            return (usable(self) || usable(seen)).then_some(known);
        }
        if seen.devices.iter().any(|device| fits(seen, device)) {
            return None;
        }
        let (mac, user_code) = (Text::clone(&step_up.mac), Text::clone(&step_up.user_code));
        self.devices.push(self.step_up(grant, caller, step_up.missing, mac, user_code));
        Some(self.devices.len() - 1)
    }

    /// A new code for `missing`; without a grant, an ordinary one whose device code nobody has.
    pub(crate) fn step_up(
        &self,
        grant: Option<usize>,
        caller: usize,
        missing: Mask,
        mac: Text,
        user_code: Text,
    ) -> Device {
        Device {
            mac,
            user_code,
            device_code: None,
            caller,
            requested: missing,
            step_up: grant,
            expires: self.after(CODE_LIFE),
            state: DeviceState::Pending,
            pace: None,
            swept: false,
        }
    }

    pub(super) fn finish(&mut self, runner: usize, how: Finish, answer: &Answer) -> Verdict {
        let Runner { turn, fence, grant, .. } = self.runners[runner];
        let stored = &self.turns[turn];
        let holds = stored.fence == fence
            && matches!(stored.state, TurnState::Running { .. })
            && !self.contexts[stored.context].swept;
        match (how, answer) {
            (Finish::Failure, Answer::Done("released")) if holds => {
                self.turns[turn].state = TurnState::Released;
                Verdict::Changed
            }
            // Giving back what one no longer holds is answered alike.
            (Finish::Failure, Answer::Done("released")) => Verdict::Same,
            (_, Answer::Refused("superseded")) if !holds => Verdict::Same,
            (Finish::Reply { close }, Answer::Done("stored")) if holds => {
                self.store(turn, &late_reply(runner), close, grant)
            }
            (Finish::StepUp { missing }, Answer::Done("stored")) if holds => {
                self.store_step_up(turn, &late_reply(runner), missing, None, grant)
            }
            _ => Verdict::No,
        }
    }

    fn store(&mut self, turn: usize, reply: &Text, close: bool, grant: Option<usize>) -> Verdict {
        self.complete(turn, close, grant);
        self.turns[turn].state = TurnState::Answered { reply: Text::clone(reply) };
        Verdict::Changed
    }

    fn store_step_up(
        &mut self,
        turn: usize,
        reply: &Text,
        missing: Mask,
        device: Option<usize>,
        grant: Option<usize>,
    ) -> Verdict {
        self.complete(turn, false, grant);
        self.turns[turn].step_ups += 1;
        self.turns[turn].state = TurnState::StepUp { reply: Text::clone(reply), missing, device };
        Verdict::Changed
    }

    /// Notes a turn in its context, with its receipt where it ran under a grant.
    fn complete(&mut self, turn: usize, close: bool, grant: Option<usize>) {
        let Turn { context, message, .. } = self.turns[turn];
        let now = self.now;
        let context = &mut self.contexts[context];
        context.last_turn = now;
        context.closed = context.closed.or(close.then_some(now));
        let key = format!("{} m-{message}", context.id);
        if grant.is_some() {
            self.keep("receipt", key, grant, now.millis().to_string());
            self.audited("receipt_signed");
        }
    }
}

/// What a runner that comes back says.
pub(crate) fn late_reply(runner: usize) -> Text {
    format!("{{\"task\":{{\"id\":\"late-{runner}\",\"metadata\":{{}}}}}}").into()
}

/// What the demo's agent needs for a wish under delegation; without, it asks for nothing.
const fn needs(wish: Wish, delegated: bool) -> Mask {
    match wish {
        Wish::Orders if delegated => 0b001,
        Wish::Cancel if delegated => 0b011,
        Wish::Refund if delegated => 0b101,
        _ => 0,
    }
}
