//! An operation with its targets found, and what was answered to it.

use std::sync::Arc;

use assent::clock::Timestamp;
use assent::domain::conversation::Reservation;

use super::operations::{Finish, Mask, Wish};

/// Text that is shared rather than copied.
pub(crate) type Text = Arc<str>;

/// What is done, by index into the model.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Start { caller: usize, scopes: Mask },
    SignIn { device: usize, user: usize, jti: Text },
    Open { session: usize, device: usize },
    Decide { page: usize, allow: bool, ticked: Mask, elsewhere: bool },
    Poll { device: usize, from: From },
    Refresh { token: usize, scopes: Option<Mask>, from: From },
    RevokeRefresh { token: usize, from: From },
    RevokeAccess { access: usize, from: From },
    EndGrant { grant: usize },
    Send(TurnAct),
    Reserve(TurnAct),
    Finish { runner: usize, how: Finish },
    Sweep,
    Switch { agent: usize, enabled: bool },
}

/// Who asks, and whether at another Brand than the sequence's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From {
    pub(crate) caller: usize,
    pub(crate) elsewhere: bool,
}

/// A message that wants to be run.
#[derive(Clone, Debug)]
pub(crate) struct TurnAct {
    pub(crate) context: Option<usize>,
    pub(crate) message: u8,
    pub(crate) wish: Wish,
    pub(crate) access: Option<usize>,
    pub(crate) from: From,
}

impl Act {
    /// For the tally.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::SignIn { .. } => "sign in",
            Self::Open { .. } => "open",
            Self::Decide { .. } => "decide",
            Self::Poll { .. } => "poll",
            Self::Refresh { .. } => "refresh",
            Self::RevokeRefresh { .. } | Self::RevokeAccess { .. } => "revoke",
            Self::EndGrant { .. } => "end grant",
            Self::Send(_) => "send",
            Self::Reserve(_) => "reserve",
            Self::Finish { .. } => "finish",
            Self::Sweep => "sweep",
            Self::Switch { .. } => "switch",
        }
    }
}

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Refused(&'static str),
    Done(&'static str),
    Started {
        device_code: Text,
        user_code: Text,
        mac: Text,
    },
    Page {
        page: ShownPage,
        cookie: Option<Cookie>,
    },
    Approved {
        granted: Mask,
        cookie: Cookie,
    },
    Decided {
        granted: Mask,
        ended: bool,
    },
    Changed(ShownPage),
    Tokens(Tokens),
    Reserved {
        authority: Option<Acting>,
        reservation: Arc<Reservation>,
    },
    Turn {
        authority: Option<Acting>,
        refused: &'static str,
    },
    Reply {
        authority: Option<Acting>,
        reply: Text,
        step_up: Option<StepUp>,
        context: Text,
    },
    /// Nothing that any operation may ever get.
    Fault(String),
}

/// A consent page.
#[derive(Clone, Debug)]
pub(crate) struct ShownPage {
    pub(crate) session: Text,
    pub(crate) digest: Text,
    pub(crate) shown: Mask,
    pub(crate) grant: Option<(Text, i64)>,
}

/// A session cookie and the digest under which it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Cookie {
    pub(crate) value: Text,
    pub(crate) digest: Text,
}

/// Both tokens and what they say.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) refresh: Text,
    pub(crate) digest: Text,
    pub(crate) access: Text,
    pub(crate) scopes: Mask,
    pub(crate) grant: Text,
    pub(crate) expires: Timestamp,
}

/// What a delegation token gave, when it was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Acting {
    pub(crate) grant: Text,
    pub(crate) scopes: Mask,
}

/// What a reply that asks for more names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StepUp {
    pub(crate) missing: Mask,
    pub(crate) user_code: Text,
    pub(crate) mac: Text,
}

impl Answer {
    /// For the tally: whether it is what was wished for, and in a word what it is.
    pub(crate) const fn outcome(&self) -> (bool, &'static str) {
        match self {
            Self::Refused(label) | Self::Turn { refused: label, .. } => (false, label),
            Self::Done(label) => (true, label),
            Self::Started { .. } => (true, "codes"),
            Self::Page { .. } => (true, "page"),
            Self::Approved { .. } => (true, "approved without a page"),
            Self::Decided { ended: true, .. } => (true, "grant ended"),
            Self::Decided { granted: 0, .. } => (true, "denied"),
            Self::Decided { .. } => (true, "allowed"),
            Self::Changed(_) => (false, "page anew"),
            Self::Tokens(_) => (true, "tokens"),
            Self::Reserved { .. } => (true, "runs"),
            Self::Reply { step_up: Some(_), .. } => (true, "step-up"),
            Self::Reply { .. } => (true, "reply"),
            Self::Fault(_) => (false, "fault"),
        }
    }
}
