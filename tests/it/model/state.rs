//! The model: what there is at one instant, kept as plainly as can be. It knows no database, no concurrency and no retries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assent::clock::Timestamp;
use assent::domain::conversation::Reservation;

use super::act::Text;
use super::operations::Mask;

/// Callers: the first personal agent for two of its users, and a second one for a user of the same name.
pub(crate) const CALLERS: [Caller; 3] =
    [Caller { agent: 0, sub: 0 }, Caller { agent: 0, sub: 1 }, Caller { agent: 1, sub: 0 }];

/// Their issuers.
pub(crate) const AGENTS: [&str; 2] = ["https://pa.example.com", "https://other-pa.example.com"];

/// How long an expired row stays.
pub(crate) const KEPT: Duration = Duration::from_secs(86_400);
/// How long a context may be silent.
pub(crate) const IDLE: Duration = Duration::from_secs(30 * 86_400);
/// How long a code and a page live.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(600);

/// A personal agent's user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    pub(crate) agent: usize,
    pub(crate) sub: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) mac: Text,
    pub(crate) user_code: Text,
    pub(crate) device_code: Option<Text>,
    pub(crate) caller: usize,
    pub(crate) requested: Mask,
    pub(crate) step_up: Option<usize>,
    pub(crate) expires: Timestamp,
    pub(crate) state: DeviceState,
    /// When it was polled, and the interval in seconds.
    pub(crate) pace: Option<(Timestamp, u64)>,
    pub(crate) swept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeviceState {
    Pending,
    Approved { grant: usize, granted: Mask, at: Timestamp },
    Denied { at: Timestamp },
    Redeemed { grant: usize, granted: Mask, at: Timestamp },
}

#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// Unknown until a row, a page or a token names it.
    pub(crate) id: Option<Text>,
    pub(crate) user: usize,
    pub(crate) caller: usize,
    pub(crate) scopes: Mask,
    pub(crate) version: i64,
    pub(crate) decided: Timestamp,
    pub(crate) expires: Timestamp,
    pub(crate) used: Option<Timestamp>,
    pub(crate) ended: Option<(Timestamp, &'static str)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) session: Text,
    pub(crate) digest: Text,
    pub(crate) device: usize,
    pub(crate) user: usize,
    pub(crate) shown: Mask,
    pub(crate) grant: Option<(usize, i64)>,
    pub(crate) expires: Timestamp,
    pub(crate) swept: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) cookie: Text,
    pub(crate) digest: Text,
    pub(crate) device: usize,
    pub(crate) user: usize,
    pub(crate) expires: Timestamp,
    pub(crate) swept: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) grant: usize,
    pub(crate) revoked: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    pub(crate) value: Text,
    pub(crate) digest: Text,
    pub(crate) family: usize,
    pub(crate) created: Timestamp,
    pub(crate) used: Option<Timestamp>,
    pub(crate) scopes: Mask,
}

#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) value: Text,
    pub(crate) grant: usize,
    pub(crate) scopes: Mask,
    pub(crate) expires: Timestamp,
}

#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) id: Text,
    pub(crate) caller: usize,
    pub(crate) user: Option<usize>,
    pub(crate) grant: Option<usize>,
    pub(crate) closed: Option<Timestamp>,
    pub(crate) last_turn: Timestamp,
    pub(crate) swept: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) context: usize,
    pub(crate) message: u8,
    pub(crate) fence: i64,
    pub(crate) step_ups: i64,
    pub(crate) grant: Option<usize>,
    pub(crate) state: TurnState,
}

#[derive(Clone, Debug)]
pub(crate) enum TurnState {
    Running { until: Timestamp },
    Answered { reply: Text },
    StepUp { reply: Text, missing: Mask, device: Option<usize> },
    Released,
}

/// A runner that has taken up a turn and not come back.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    pub(crate) turn: usize,
    pub(crate) fence: i64,
    pub(crate) grant: Option<usize>,
    pub(crate) reservation: Arc<Reservation>,
}

/// A line of evidence or a receipt: what it says, and of which grant. Neither ever changes.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) kind: &'static str,
    pub(crate) key: String,
    pub(crate) grant: Option<usize>,
    pub(crate) rest: String,
}

/// What the parties of one sequence are called.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) users: [String; 2],
    pub(crate) subs: [String; 2],
}

impl Names {
    /// Those of the `n`th sequence on a database.
    pub(crate) fn of(n: usize) -> Self {
        Self { users: [format!("jane-{n}"), format!("joe-{n}")], subs: [format!("a-{n}"), format!("b-{n}")] }
    }

    pub(crate) fn caller(&self, caller: usize) -> String {
        let Caller { agent, sub } = CALLERS[caller];
        format!("{} {}", AGENTS[agent], self.subs[sub])
    }
}

/// What there is.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) names: Arc<Names>,
    pub(crate) now: Timestamp,
    pub(crate) skips_consent: bool,
    /// Whether each personal agent is enabled, in the database and as this node has heard.
    pub(crate) enabled: [bool; 2],
    pub(crate) known_enabled: [bool; 2],
    pub(crate) devices: Vec<Device>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) pages: Vec<Page>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) families: Vec<Family>,
    pub(crate) refreshes: Vec<Refresh>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) contexts: Vec<Context>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) runners: Vec<Runner>,
    /// Spent assertion ids, and when each may be forgotten.
    pub(crate) spent: Vec<(Text, Timestamp)>,
    pub(crate) kept: Vec<Arc<Kept>>,
    pub(crate) audit: BTreeMap<&'static str, i64>,
    /// Wrong codes of each User.
    pub(crate) wrong: [Vec<Timestamp>; 2],
    /// How many guesses each User has under way in this step: each takes a place before it is looked at.
    pub(crate) guesses_at_once: [usize; 2],
}

impl Model {
    pub(crate) fn new(names: Names, now: Timestamp, skips_consent: bool) -> Self {
        Self {
            names: Arc::new(names),
            now,
            skips_consent,
            enabled: [true; 2],
            known_enabled: [true; 2],
            devices: Vec::new(),
            grants: Vec::new(),
            pages: Vec::new(),
            sessions: Vec::new(),
            families: Vec::new(),
            refreshes: Vec::new(),
            accesses: Vec::new(),
            contexts: Vec::new(),
            turns: Vec::new(),
            runners: Vec::new(),
            spent: Vec::new(),
            kept: Vec::new(),
            audit: BTreeMap::new(),
            wrong: [Vec::new(), Vec::new()],
            guesses_at_once: [0; 2],
        }
    }

    pub(crate) fn after(&self, duration: Duration) -> Timestamp {
        self.now.plus(duration)
    }

    pub(crate) fn is_live(&self, grant: usize) -> bool {
        let grant = &self.grants[grant];
        grant.ended.is_none() && self.now < grant.expires
    }

    /// The live grant of a User for a caller.
    pub(crate) fn live_grant(&self, user: usize, caller: usize) -> Option<usize> {
        (0..self.grants.len()).find(|grant| {
            self.grants[*grant].user == user && self.grants[*grant].caller == caller && self.is_live(*grant)
        })
    }

    /// Whether anything may be issued or done under a grant: it is live, and its personal agent is enabled.
    pub(crate) fn may_be_used(&self, grant: usize) -> bool {
        self.is_live(grant) && self.enabled[CALLERS[self.grants[grant].caller].agent]
    }

    pub(crate) fn end(&mut self, grant: usize, by: &'static str) {
        let now = self.now;
        let grant = &mut self.grants[grant];
        grant.ended = Some((now, by));
        grant.version += 1;
    }

    /// Whether a code can be decided: it is there, pending and not expired, and a step-up's grant is live.
    pub(crate) fn is_open(&self, device: usize) -> bool {
        let device = &self.devices[device];
        !device.swept
            && device.state == DeviceState::Pending
            && self.now < device.expires
            && device.step_up.is_none_or(|grant| self.is_live(grant))
    }

    /// Whether `id` may be what this grant is called; from now on it is.
    pub(crate) fn is_called(&mut self, grant: usize, id: &Text) -> bool {
        match &self.grants[grant].id {
            Some(known) => known == id,
            None if self.grants.iter().any(|other| other.id.as_ref() == Some(id)) => false,
            None => {
                self.grants[grant].id = Some(Text::clone(id));
                true
            }
        }
    }

    pub(crate) fn audited(&mut self, action: &'static str) {
        *self.audit.entry(action).or_default() += 1;
    }

    pub(crate) fn keep(&mut self, kind: &'static str, key: String, grant: Option<usize>, rest: String) {
        self.kept.push(Arc::new(Kept { kind, key, grant, rest }));
    }

    /// A context has ended when somebody ended the grant that it ran under; expiry alone ends nothing.
    pub(crate) fn is_closed(&self, context: usize) -> bool {
        let context = &self.contexts[context];
        let ended = context.grant.and_then(|grant| self.grants[grant].ended);
        context.closed.is_some() || ended.is_some_and(|(_, by)| by != "expiry")
    }

    /// What can be swept leaves. Returns whether anything did.
    pub(crate) fn sweep(&mut self) -> bool {
        let before = self.now.minus(KEPT);
        let silent = self.now.minus(IDLE + IDLE);
        let mut swept = self.spent.len();
        self.spent.retain(|(_, forget_at)| *forget_at >= before);
        swept -= self.spent.len();
        let mut leave = |gone: &mut bool, leaves: bool| {
            swept += usize::from(leaves && !*gone);
            *gone |= leaves;
        };
        self.devices.iter_mut().for_each(|device| leave(&mut device.swept, device.expires < before));
        self.pages.iter_mut().for_each(|page| leave(&mut page.swept, page.expires < before));
        self.sessions.iter_mut().for_each(|session| leave(&mut session.swept, session.expires < before));
        self.contexts.iter_mut().for_each(|context| leave(&mut context.swept, context.last_turn < silent));
        swept > 0
    }
}

/// The names of a mask's scopes, in the Brand's order.
pub(crate) const fn names(mask: Mask) -> &'static str {
    const NAMES: [&str; 8] = [
        "",
        "orders:read",
        "orders:cancel",
        "orders:read orders:cancel",
        "refunds:issue",
        "orders:read refunds:issue",
        "orders:cancel refunds:issue",
        "orders:read orders:cancel refunds:issue",
    ];
    NAMES[(mask & 0b111) as usize]
}
