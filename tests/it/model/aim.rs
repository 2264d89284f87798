//! Finds what an operation is done to: the newest thing that fits, as far as the model knows before the step.

use super::act::{Act, From, Text, TurnAct};
use super::operations::{Assertion, By, Message, Operation, Pick};
use super::state::{DeviceState, Model};

/// One of `count` things, counted from the newest of those that fit.
fn choose(pick: Pick, count: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let found: Vec<usize> = (0..count).rev().filter(|index| pick.wild || fits(*index)).collect();
    let nth = usize::from(pick.nth).checked_rem(found.len())?;
    found.get(nth).copied()
}

/// Who asks for what is `owner`'s.
const fn from(owner: usize, by: By) -> From {
    let caller = match by {
        By::Owner | By::Elsewhere => owner,
        By::OtherSub => [1, 0, 1][owner],
        By::OtherAgent => [2, 2, 0][owner],
    };
    From { caller, elsewhere: matches!(by, By::Elsewhere) }
}

impl Model {
    /// The operation with its targets. Where there is nothing that it could be done to, the story goes on instead, so that
    /// soon there is. `jti` is one that was never used.
    pub(crate) fn aim(&self, operation: &Operation, jti: Text) -> Act {
        self.targets(operation, &jti).unwrap_or_else(|| self.story(jti))
    }

    /// What the parties would do next if all went well.
    fn story(&self, jti: Text) -> Act {
        const NEWEST: Pick = Pick { nth: 0, wild: false };
        if !self.enabled[0] {
            return Act::Switch { agent: 0, enabled: true };
        }
        if let Some(device) = choose(NEWEST, self.devices.len(), |device| self.is_redeemable(device)) {
            return Act::Poll { device, from: from(self.devices[device].caller, By::Owner) };
        }
        if let Some(page) = choose(NEWEST, self.pages.len(), |page| self.is_decidable(page)) {
            return Act::Decide { page, allow: true, ticked: self.pages[page].shown, elsewhere: false };
        }
        match choose(NEWEST, self.devices.len(), |device| self.is_open(device) && self.is_seen(device)) {
            Some(device) => Act::SignIn { device, user: self.user_of(device).unwrap_or(0), jti },
            None => Act::Start { caller: 0, scopes: 0b011 },
        }
    }

    fn is_redeemable(&self, device: usize) -> bool {
        let device = &self.devices[device];
        matches!(device.state, DeviceState::Approved { grant, .. } if self.is_live(grant))
            && device.device_code.is_some()
            && self.now < device.expires
    }

    fn is_decidable(&self, page: usize) -> bool {
        self.is_open(self.pages[page].device) && self.now < self.pages[page].expires
    }

    /// Whether anybody was ever told the code.
    fn is_seen(&self, device: usize) -> bool {
        !self.devices[device].user_code.is_empty()
    }

    /// The only User who can decide a step-up.
    fn user_of(&self, device: usize) -> Option<usize> {
        self.devices[device].step_up.map(|grant| self.grants[grant].user)
    }

    fn targets(&self, operation: &Operation, jti: &Text) -> Option<Act> {
        Some(match operation {
            Operation::Start { caller, scopes } => Act::Start { caller: usize::from(*caller), scopes: *scopes },
            Operation::SignIn { code, user, assertion } => {
                let jti = match assertion {
                    Assertion::Fresh => Text::clone(jti),
                    Assertion::Shared => format!("{}-shared", self.now.millis()).into(),
                    Assertion::Spent(spent) => Text::clone(&self.spent[choose(*spent, self.spent.len(), |_| true)?].0),
                };
                let device = choose(*code, self.devices.len(), |device| self.is_open(device))?;
                self.is_seen(device).then_some(())?;
                let user = self.user_of(device).filter(|_| !code.wild).unwrap_or_else(|| usize::from(*user));
                Act::SignIn { device, user, jti }
            }
            Operation::Open { session, code } => Act::Open {
                session: choose(*session, self.sessions.len(), |session| self.now < self.sessions[session].expires)?,
                device: choose(*code, self.devices.len(), |device| self.is_open(device))
                    .filter(|device| self.is_seen(*device))?,
            },
            Operation::Decide { page, allow, ticked, elsewhere } => {
                let page = choose(*page, self.pages.len(), |page| self.is_decidable(page))?;
                // What is not shown is ticked rarely, and then on purpose.
                let ticked = if *ticked & 0b1000 == 0 { ticked & self.pages[page].shown } else { *ticked };
                Act::Decide { page, allow: *allow, ticked, elsewhere: *elsewhere }
            }
            Operation::Poll { code, by } => {
                let device = choose(*code, self.devices.len(), |device| self.is_redeemable(device))
                    .or_else(|| choose(*code, self.devices.len(), |device| self.is_open(device)));
                let device = device.filter(|device| self.devices[*device].device_code.is_some())?;
                Act::Poll { device, from: from(self.devices[device].caller, *by) }
            }
            Operation::Refresh { family, used, scopes, by } => {
                let token = self.refresh_of(*family, *used)?;
                let grant = self.families[self.refreshes[token].family].grant;
                Act::Refresh { token, scopes: *scopes, from: from(self.grants[grant].caller, *by) }
            }
            Operation::Revoke { token, refresh: true, by } => {
                let token = self.refresh_of(*token, token.wild)?;
                let grant = self.families[self.refreshes[token].family].grant;
                Act::RevokeRefresh { token, from: from(self.grants[grant].caller, *by) }
            }
            Operation::Revoke { token, refresh: false, by } => {
                let access = self.access(*token)?;
                Act::RevokeAccess { access, from: from(self.grants[self.accesses[access].grant].caller, *by) }
            }
            Operation::EndGrant { grant } => {
                Act::EndGrant { grant: choose(*grant, self.grants.len(), |grant| self.is_live(grant))? }
            }
            Operation::Send { message } => Act::Send(self.turn(message)?),
            Operation::Reserve { message } => Act::Reserve(self.turn(message)?),
            Operation::Finish { runner, how } => {
                Act::Finish { runner: choose(*runner, self.runners.len(), |_| true)?, how: *how }
            }
            Operation::Sweep => Act::Sweep,
            Operation::Switch { agent, enabled } => Act::Switch { agent: usize::from(*agent), enabled: *enabled },
        })
    }

    /// A refresh token of a family that is not revoked: its live one, or one that was used.
    fn refresh_of(&self, pick: Pick, used: bool) -> Option<usize> {
        choose(pick, self.refreshes.len(), |token| {
            let family = &self.families[self.refreshes[token].family];
            family.revoked.is_none() && self.is_live(family.grant) && self.refreshes[token].used.is_some() == used
        })
    }

    fn access(&self, pick: Pick) -> Option<usize> {
        let fits =
            |access: usize| self.now < self.accesses[access].expires && self.is_live(self.accesses[access].grant);
        choose(pick, self.accesses.len(), fits)
    }

    fn turn(&self, message: &Message) -> Option<TurnAct> {
        let access = match message.token {
            Some(token) => Some(self.access(token)?),
            None => None,
        };
        let caller = access.map_or(0, |access| self.grants[self.accesses[access].grant].caller);
        let context = message.context.and_then(|context| {
            choose(context, self.contexts.len(), |context| {
                self.contexts[context].caller == caller && !self.is_closed(context)
            })
        });
        // A new context at another Brand would be no part of the sequence.
        let by = if context.is_none() && message.by == By::Elsewhere { By::Owner } else { message.by };
        let (from, wish) = (from(caller, by), message.wish);
        Some(TurnAct { context, message: message.id, wish, access, from })
    }
}
