//! Polls, refreshes and revocations.

use std::time::Duration;

use super::{Verdict, refused};
use crate::model::act::{Answer, From, Text, Tokens};
use crate::model::operations::Mask;
use crate::model::state::{Access, CALLERS, Device, DeviceState, Family, Model, Refresh};

const REDEEM_GRACE: Duration = Duration::from_secs(60);
const PARALLEL: Duration = Duration::from_secs(10);
const ACCESS_LIFE: Duration = Duration::from_secs(900);

impl Model {
    pub(super) fn poll(&mut self, seen: &Self, device: usize, from: From, answer: &Answer) -> Verdict {
        if !self.known_enabled[CALLERS[from.caller].agent] {
            return refused(answer, "unauthenticated");
        }
        let then = if matches!(answer, Answer::Tokens(_)) {
            self.devices[device].clone()
        } else {
            seen.devices[device].clone()
        };
        if then.swept || from.elsewhere || from.caller != then.caller {
            return refused(answer, "invalid grant");
        }
        let (grant, granted) = match then.state {
            DeviceState::Redeemed { .. } => return refused(answer, "invalid grant"),
            DeviceState::Denied { .. } => return refused(answer, "access denied"),
            DeviceState::Approved { grant, granted, .. } if self.now < then.expires.plus(REDEEM_GRACE) => {
                (grant, granted)
            }
            DeviceState::Pending if self.now < then.expires => return self.pace(device, answer),
            DeviceState::Approved { .. } | DeviceState::Pending => return refused(answer, "expired"),
        };
        let scopes = granted & self.grants[grant].scopes;
        if !self.may_be_used(grant) || scopes == 0 {
            return refused(answer, "invalid grant");
        }
        let Answer::Tokens(tokens) = answer else { return Verdict::No };
        self.devices[device].state = DeviceState::Redeemed { grant, granted, at: self.now };
        self.families.push(Family { grant, revoked: None });
        self.audited("tokens_issued");
        self.issue(grant, self.families.len() - 1, scopes, tokens)
    }

    /// A pending code is polled at its pace or too soon, with half a second of tolerance.
    fn pace(&mut self, device: usize, answer: &Answer) -> Verdict {
        let Device { pace, .. } = self.devices[device];
        let (label, interval) = match pace {
            None => ("pending", 5),
            Some((at, interval)) if self.now.since(at).as_millis() + 500 < u128::from(interval) * 1000 => {
                ("slow down", (interval + 5).min(60))
            }
            Some((_, interval)) => ("pending", interval),
        };
        self.devices[device].pace = Some((self.now, interval));
        match refused(answer, label) {
            Verdict::Same => Verdict::Changed,
            other => other,
        }
    }

    pub(super) fn refresh(
        &mut self,
        seen: &Self,
        token: usize,
        wanted: Option<Mask>,
        from: From,
        answer: &Answer,
    ) -> Verdict {
        if !self.known_enabled[CALLERS[from.caller].agent] {
            return refused(answer, "unauthenticated");
        }
        let family = self.refreshes[token].family;
        let grant = self.families[family].grant;
        if from.elsewhere || from.caller != self.grants[grant].caller {
            return refused(answer, "invalid grant");
        }
        let then = if matches!(answer, Answer::Refused("invalid scope")) { seen } else { &*self };
        if !then.is_live(grant) {
            return refused(answer, "invalid grant");
        }
        match (then.families[family].revoked, then.refreshes[token].used) {
            (Some(_), _) => return refused(answer, "invalid grant"),
            (None, Some(used)) if self.now < used.plus(PARALLEL) => return refused(answer, "invalid grant"),
            (None, Some(_)) if matches!(answer, Answer::Refused("invalid grant")) => {
                self.families[family].revoked = Some(self.now);
                self.audited("refresh_reuse");
                return Verdict::Changed;
            }
            (None, Some(_)) => return Verdict::No,
            (None, None) => {}
        }
        if !self.is_live(grant) {
            return refused(answer, "invalid grant");
        }
        let had = self.grants[grant].scopes;
        let scopes = wanted.unwrap_or(had);
        if scopes & !had != 0 {
            return refused(answer, "invalid scope");
        }
        if !self.may_be_used(grant) {
            return refused(answer, "invalid grant");
        }
        let Answer::Tokens(tokens) = answer else { return Verdict::No };
        self.refreshes[token].used = Some(self.now);
        self.audited("tokens_refreshed");
        self.issue(grant, family, scopes, tokens)
    }

    fn issue(&mut self, grant: usize, family: usize, scopes: Mask, tokens: &Tokens) -> Verdict {
        let expires = self.after(ACCESS_LIFE).min(self.grants[grant].expires);
        if tokens.scopes != scopes || tokens.expires != expires || !self.is_called(grant, &tokens.grant) {
            return Verdict::No;
        }
        self.grants[grant].used = Some(self.now);
        self.refreshes.push(Refresh {
            value: Text::clone(&tokens.refresh),
            digest: Text::clone(&tokens.digest),
            family,
            created: self.now,
            used: None,
            scopes,
        });
        self.accesses.push(Access { value: Text::clone(&tokens.access), grant, scopes, expires });
        Verdict::Changed
    }

    /// The answer never says whether anything was revoked; the rows do.
    pub(super) fn revoke(&mut self, grant: Option<usize>, from: From, answer: &Answer) -> Verdict {
        if !self.known_enabled[CALLERS[from.caller].agent] {
            return refused(answer, "unauthenticated");
        }
        if !matches!(answer, Answer::Done("revoked")) {
            return Verdict::No;
        }
        let own = grant.filter(|grant| !from.elsewhere && self.grants[*grant].caller == from.caller);
        match own.filter(|grant| self.is_live(*grant)) {
            Some(grant) => {
                self.end(grant, "personal_agent");
                self.audited("grant_ended");
                Verdict::Changed
            }
            None => Verdict::Same,
        }
    }

    pub(super) fn end_grant(&mut self, grant: usize, answer: &Answer) -> Verdict {
        if self.grants[grant].ended.is_some() {
            return refused(answer, "ended before");
        }
        if !matches!(answer, Answer::Done("ended")) {
            return Verdict::No;
        }
        self.end(grant, "administrator");
        self.audited("grant_ended");
        Verdict::Changed
    }
}
