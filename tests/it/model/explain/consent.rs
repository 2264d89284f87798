//! Device authorizations, sign-in, consent pages and decisions.

use std::time::Duration;

use super::{Verdict, refused};
use crate::model::act::{Answer, Cookie, ShownPage, Text};
use crate::model::operations::Mask;
use crate::model::state::{CALLERS, CODE_LIFE, Device, DeviceState, Grant, Model, Page, Session, names};

const SESSION_LIFE: Duration = Duration::from_secs(900);
/// From the assertion's birth until its id may be forgotten: its own life, and five minutes.
const JTI_LIFE: Duration = Duration::from_secs(120 + 300);
const GRANT_LIFE: Duration = Duration::from_secs(30 * 86_400);
const LIVE_CODES: usize = 20;

impl Model {
    pub(super) fn start(&mut self, caller: usize, scopes: Mask, answer: &Answer) -> Verdict {
        if !self.known_enabled[CALLERS[caller].agent] {
            return refused(answer, "unauthenticated");
        }
        let counts = |device: &Device| {
            device.caller == caller && device.step_up.is_none() && device.state == DeviceState::Pending
        };
        let live = self.devices.iter().filter(|device| counts(device) && self.now < device.expires).count();
        if live >= LIVE_CODES {
            return refused(answer, "too many codes");
        }
        let Answer::Started { device_code, user_code, mac } = answer else { return Verdict::No };
        self.devices.push(Device {
            mac: Text::clone(mac),
            user_code: Text::clone(user_code),
            device_code: Some(Text::clone(device_code)),
            caller,
            requested: scopes,
            step_up: None,
            expires: self.after(CODE_LIFE),
            state: DeviceState::Pending,
            pace: None,
            swept: false,
        });
        Verdict::Changed
    }

    pub(super) fn sign_in(&mut self, seen: &Self, device: usize, user: usize, jti: &Text, answer: &Answer) -> Verdict {
        if matches!(answer, Answer::Refused("too many tries")) {
            let lately = self.wrong[user].iter().filter(|at| self.now.since(**at) <= Duration::from_secs(600));
            let others = self.guesses_at_once[user].saturating_sub(1);
            return if lately.count() + others >= 5 { Verdict::Same } else { Verdict::No };
        }
        let is_spent = |model: &Self| model.spent.iter().any(|(spent, _)| spent == jti);
        if is_spent(self) && matches!(answer, Answer::Refused("not verified")) {
            return Verdict::Same;
        }
        if is_spent(seen) {
            return Verdict::No;
        }
        if matches!(answer, Answer::Refused("code not usable")) {
            self.wrong[user].push(self.now);
            let usable = self.can_sign_in(device, user) && seen.can_sign_in(device, user);
            return if usable { Verdict::No } else { Verdict::Changed };
        }
        if is_spent(self) || !self.can_sign_in(device, user) {
            return Verdict::No;
        }
        let Device { caller, requested, .. } = self.devices[device];
        let cookie = match (answer, self.covered(device, user)) {
            (Answer::Approved { granted, cookie }, Some(grant)) if *granted == requested => {
                self.grants[grant].used = Some(self.now);
                self.devices[device].state = DeviceState::Approved { grant, granted: requested, at: self.now };
                self.decided(user, caller, Some(grant), "approved_without_page", requested);
                self.audited("request_approved");
                cookie
            }
            (Answer::Page { page, cookie: Some(cookie) }, None) => {
                if !self.put_page_of_either(seen, device, user, page) {
                    return Verdict::No;
                }
                cookie
            }
            _ => return Verdict::No,
        };
        self.audited("signed_in");
        self.spent.push((Text::clone(jti), self.after(JTI_LIFE)));
        self.put_session(device, user, cookie);
        Verdict::Changed
    }

    /// Whether the Brand's login leads on from a code: to a page, or past it while the grant that covers it may be used.
    fn can_sign_in(&self, device: usize, user: usize) -> bool {
        self.is_open(device)
            && self.may_decide(device, user)
            && self.known_enabled[CALLERS[self.devices[device].caller].agent]
            && self.covered(device, user).is_none_or(|grant| self.may_be_used(grant))
    }

    /// The grant for whose sake consent is skipped.
    fn covered(&self, device: usize, user: usize) -> Option<usize> {
        let Device { caller, requested, step_up, .. } = self.devices[device];
        let covers = |grant: &usize| requested & !self.grants[*grant].scopes == 0;
        self.live_grant(user, caller).filter(covers).filter(|_| self.skips_consent && step_up.is_none())
    }

    pub(super) fn open(&mut self, seen: &Self, session: usize, device: usize, answer: &Answer) -> Verdict {
        let Session { user, device: own, expires, swept, .. } = self.sessions[session];
        let then = &seen.devices[device];
        let ended = then.step_up.is_some_and(|grant| !seen.is_live(grant));
        let is_own = own == device;
        // The code is looked at before the grant.
        let had_grant = seen.live_grant(user, then.caller).or_else(|| self.live_grant(user, then.caller));
        if swept
            || self.now >= expires
            || then.swept
            || ended
            || !self.may_decide(device, user)
            || !self.known_enabled[CALLERS[then.caller].agent]
            || (!is_own && (had_grant.is_none() || !seen.is_open(device)))
        {
            return refused(answer, "login");
        }
        match then.state {
            DeviceState::Pending if self.now >= then.expires => refused(answer, "expired"),
            DeviceState::Approved { .. } | DeviceState::Redeemed { .. } => refused(answer, "was allowed"),
            DeviceState::Denied { .. } => refused(answer, "was denied"),
            DeviceState::Pending => match answer {
                Answer::Page { page, cookie: None } if self.put_page_of_either(seen, device, user, page) => {
                    Verdict::Changed
                }
                _ => Verdict::No,
            },
        }
    }

    pub(super) fn decide(
        &mut self,
        seen: &Self,
        page: usize,
        allow: bool,
        ticked: Mask,
        elsewhere: bool,
        answer: &Answer,
    ) -> Verdict {
        let Page { device, user, shown, grant: page_grant, expires, .. } = self.pages[page];
        if elsewhere || seen.pages[page].swept {
            return refused(answer, "page not usable");
        }
        let decides = matches!(answer, Answer::Decided { .. });
        let then = if decides { &self.devices[device] } else { &seen.devices[device] };
        let caller = then.caller;
        match then.state {
            _ if then.swept => return refused(answer, "expired"),
            DeviceState::Approved { .. } | DeviceState::Redeemed { .. } => return refused(answer, "was allowed"),
            DeviceState::Denied { .. } => return refused(answer, "was denied"),
            DeviceState::Pending if self.now >= then.expires || self.now >= expires => {
                return refused(answer, "expired");
            }
            DeviceState::Pending if !self.known_enabled[CALLERS[caller].agent] => {
                return refused(answer, "page not usable");
            }
            DeviceState::Pending => {}
        }
        if then.step_up.is_some_and(|grant| !self.is_live(grant)) {
            return refused(answer, "expired");
        }
        if ticked & !shown != 0 {
            return refused(answer, "not shown");
        }
        // Whoever is shown the page anew may see it as it was at first, when what had changed has changed back meanwhile.
        let judged = if matches!(answer, Answer::Changed(_)) { seen } else { &*self };
        let live = judged.live_grant(user, caller);
        if live.map(|live| (live, judged.grants[live].version)) != page_grant {
            return match answer {
                Answer::Changed(page) if self.put_page_of_either(seen, device, user, page) => Verdict::Changed,
                _ => Verdict::No,
            };
        }
        let granted = if allow { ticked } else { 0 };
        let ended = allow && ticked == 0 && page_grant.is_some();
        if !matches!(answer, Answer::Decided { granted: g, ended: e } if (*g, *e) == (granted, ended)) {
            return Verdict::No;
        }
        self.carry_out(device, user, granted, page_grant.map(|(grant, _)| grant), ended);
        Verdict::Changed
    }

    fn carry_out(&mut self, device: usize, user: usize, granted: Mask, page_grant: Option<usize>, ended: bool) {
        let (now, caller) = (self.now, self.devices[device].caller);
        let expires = self.after(GRANT_LIFE);
        if granted == 0 {
            self.devices[device].state = DeviceState::Denied { at: now };
            let grant = page_grant.filter(|_| ended);
            grant.into_iter().for_each(|grant| self.end(grant, "user"));
            self.decided(user, caller, grant, if ended { "withdrawn" } else { "denied" }, 0);
            return self.audited(if ended { "grant_ended" } else { "request_denied" });
        }
        let grant = page_grant.unwrap_or_else(|| {
            let is_old = |grant: &Grant| grant.user == user && grant.caller == caller && grant.ended.is_none();
            if let Some(old) = self.grants.iter().position(is_old) {
                self.end(old, "expiry");
                self.audited("grant_ended");
            }
            self.grants.push(Grant {
                id: None,
                user,
                caller,
                scopes: 0,
                version: 0,
                decided: now,
                expires,
                used: None,
                ended: None,
            });
            self.grants.len() - 1
        });
        let changed = &mut self.grants[grant];
        (changed.scopes, changed.decided, changed.expires) = (granted, now, expires);
        changed.version += 1;
        self.devices[device].state = DeviceState::Approved { grant, granted, at: now };
        self.decided(user, caller, Some(grant), "approved", granted);
        self.audited(if page_grant.is_some() { "grant_changed" } else { "grant_created" });
    }

    /// Evidence of a decision.
    fn decided(&mut self, user: usize, caller: usize, grant: Option<usize>, decision: &str, granted: Mask) {
        let key = format!("{} {}", self.names.users[user], self.names.caller(caller));
        let rest = format!("{decision} [{}] {}", names(granted), self.now.millis());
        self.keep("evidence", key, grant, rest);
    }

    /// Anyone may decide a personal agent's request, one person a step-up.
    fn may_decide(&self, device: usize, user: usize) -> bool {
        self.devices[device].step_up.is_none_or(|grant| self.grants[grant].user == user)
    }

    /// Keeps a page if it shows what it must: what is asked for, and what the grant allows that was found at `seen`. That it
    /// is outdated when it is kept does no harm, since a decision names the version that the page showed.
    fn put_page(&mut self, seen: &Self, device: usize, user: usize, page: &ShownPage) -> bool {
        let grant = seen.live_grant(user, self.devices[device].caller);
        let version = grant.map(|grant| seen.grants[grant].version);
        let shown = self.devices[device].requested | grant.map_or(0, |grant| seen.grants[grant].scopes);
        let names_it = match (grant, &page.grant) {
            (None, None) => true,
            (Some(grant), Some((id, shown))) => version == Some(*shown) && self.is_called(grant, id),
            _ => false,
        };
        if page.shown != shown || !names_it {
            return false;
        }
        self.pages.push(Page {
            session: Text::clone(&page.session),
            digest: Text::clone(&page.digest),
            device,
            user,
            shown,
            grant: grant.zip(version),
            expires: self.after(CODE_LIFE),
            swept: false,
        });
        true
    }

    fn put_page_of_either(&mut self, seen: &Self, device: usize, user: usize, page: &ShownPage) -> bool {
        let now = self.clone();
        self.put_page(seen, device, user, page) || self.put_page(&now, device, user, page)
    }

    fn put_session(&mut self, device: usize, user: usize, cookie: &Cookie) {
        self.sessions.push(Session {
            cookie: Text::clone(&cookie.value),
            digest: Text::clone(&cookie.digest),
            device,
            user,
            expires: self.after(SESSION_LIFE),
            swept: false,
        });
    }
}
