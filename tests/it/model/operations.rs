//! What can be done, by symbolic reference, so that a sequence means something whatever was left out of it before.

use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use serde::{Deserialize, Serialize};

/// How many steps a sequence has.
pub(crate) const STEPS: usize = 30;

/// A sequence: a Brand, and what happens there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Sequence {
    /// Whether the Brand skips consent where a grant covers the request.
    pub(crate) skips_consent: bool,
    pub(crate) steps: Vec<Step>,
}

/// Time passes, and then two to eight operations begin at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) pause: Pause,
    pub(crate) operations: Vec<Operation>,
}

/// How long nothing happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Pause {
    None,
    Second,
    /// The polling interval.
    Interval,
    /// A used refresh token is no longer a parallel refresh.
    Parallel,
    /// A turn's lease is over.
    Lease,
    /// Codes have expired; an approved one can still be redeemed.
    Expiry,
    /// Delegation tokens have expired, and approved codes can no longer be redeemed.
    Tokens,
    /// Expired rows may be swept.
    Day,
    /// Grants have expired, and contexts are idle.
    Month,
}

impl Pause {
    pub(crate) const fn seconds(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Second => 1,
            Self::Interval => 5,
            Self::Parallel => 11,
            Self::Lease => 36,
            Self::Expiry => 605,
            Self::Tokens => 1000,
            Self::Day => 90_000,
            Self::Month => 31 * 86_400,
        }
    }
}

/// One of the things that there are, counted from the newest of those that fit, or, when `wild`, of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Pick {
    pub(crate) nth: u8,
    pub(crate) wild: bool,
}

/// On whose behalf something is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum By {
    Owner,
    OtherSub,
    OtherAgent,
    /// The owner, at another Brand.
    Elsewhere,
}

/// A set of scopes: one bit for each that the Brand offers, in its order, and one for an id that it does not offer.
pub(crate) type Mask = u8;

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Operation {
    /// A personal agent starts a device authorization.
    Start { caller: u8, scopes: Mask },
    /// A User comes back from the Brand's login.
    SignIn { code: Pick, user: u8, assertion: Assertion },
    /// A browser with a session opens the link of a code.
    Open { session: Pick, code: Pick },
    /// A page's form is posted.
    Decide { page: Pick, allow: bool, ticked: Mask, elsewhere: bool },
    /// A device code is polled.
    Poll { code: Pick, by: By },
    /// A refresh token is presented, the live one of its family or a used one.
    Refresh { family: Pick, used: bool, scopes: Option<Mask>, by: By },
    /// A personal agent revokes a token: a delegation token, or a refresh token.
    Revoke { token: Pick, refresh: bool, by: By },
    /// An administrator ends a grant.
    EndGrant { grant: Pick },
    /// A message is sent, in a new context or an old one, with a delegation token or without.
    Send { message: Message },
    /// A message is taken up by a runner that then says nothing for a while.
    Reserve { message: Message },
    /// Such a runner comes back.
    Finish { runner: Pick, how: Finish },
    /// Expired rows are removed.
    Sweep,
    /// An administrator disables a personal agent, or enables it again; this node hears of it a second later.
    Switch { agent: u8, enabled: bool },
}

/// Which `jti` an assertion has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Assertion {
    Fresh,
    /// That of every other assertion of this instant that shares one, as after a double click.
    Shared,
    /// That of an earlier one.
    Spent(Pick),
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) context: Option<Pick>,
    pub(crate) id: u8,
    pub(crate) wish: Wish,
    pub(crate) token: Option<Pick>,
    pub(crate) by: By,
}

/// What a message asks of the demo's agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Wish {
    Hello,
    Orders,
    Cancel,
    Refund,
    Bye,
}

/// What a runner comes back with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Finish {
    Reply { close: bool },
    StepUp { missing: Mask },
    Failure,
}

impl Operation {
    /// For the tally.
    pub(crate) const KINDS: [&str; 13] = [
        "start",
        "sign in",
        "open",
        "decide",
        "poll",
        "refresh",
        "revoke",
        "end grant",
        "send",
        "reserve",
        "finish",
        "sweep",
        "switch",
    ];
}

fn pick() -> impl Strategy<Value = Pick> {
    let nth = prop_oneof![12 => Just(0), 5 => Just(1), 3 => 2_u8..6];
    (nth, prop_oneof![9 => Just(false), 1 => Just(true)]).prop_map(|(nth, wild)| Pick { nth, wild })
}

fn by() -> impl Strategy<Value = By> {
    prop_oneof![17 => Just(By::Owner), 1 => Just(By::OtherSub), 1 => Just(By::OtherAgent), 1 => Just(By::Elsewhere)]
}

/// Some of what the Brand offers.
fn offered() -> impl Strategy<Value = Mask> {
    prop_oneof![2 => Just(0b001), 2 => Just(0b011), 1 => Just(0b111), 1 => 1_u8..8]
}

fn message() -> impl Strategy<Value = Message> {
    let context = prop_oneof![1 => Just(None), 4 => pick().prop_map(Some)];
    let token = prop_oneof![1 => Just(None), 4 => pick().prop_map(Some)];
    let wish = prop_oneof![
        2 => Just(Wish::Hello),
        2 => Just(Wish::Orders),
        3 => Just(Wish::Cancel),
        3 => Just(Wish::Refund),
        1 => Just(Wish::Bye),
    ];
    (context, 0_u8..3, wish, token, by()).prop_map(|(context, id, wish, token, by)| Message {
        context,
        id,
        wish,
        token,
        by,
    })
}

fn finish() -> impl Strategy<Value = Finish> {
    prop_oneof![
        4 => any::<bool>().prop_map(|close| Finish::Reply { close }),
        2 => offered().prop_map(|missing| Finish::StepUp { missing }),
        1 => Just(Finish::Failure),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let assertion = prop_oneof![
        16 => Just(Assertion::Fresh),
        4 => Just(Assertion::Shared),
        1 => pick().prop_map(Assertion::Spent),
    ];
    let ticked = prop_oneof![6 => Just(0b111), 4 => offered(), 1 => Just(0), 1 => 8_u8..16];
    let narrowed = prop_oneof![3 => Just(None), 1 => offered().prop_map(Some)];
    prop_oneof![
        8 => (0_u8..3, offered()).prop_map(|(caller, scopes)| Operation::Start { caller: caller / 2, scopes }),
        1 => (0_u8..3, offered()).prop_map(|(caller, scopes)| Operation::Start { caller, scopes }),
        14 => (pick(), 0_u8..4, assertion)
            .prop_map(|(code, user, assertion)| Operation::SignIn { code, user: user / 3, assertion }),
        4 => (pick(), pick()).prop_map(|(session, code)| Operation::Open { session, code }),
        20 => (pick(), prop_oneof![4 => Just(true), 1 => Just(false)], ticked, prop_oneof![19 => Just(false), 1 => Just(true)])
            .prop_map(|(page, allow, ticked, elsewhere)| Operation::Decide { page, allow, ticked, elsewhere }),
        16 => (pick(), by()).prop_map(|(code, by)| Operation::Poll { code, by }),
        16 => (pick(), prop_oneof![3 => Just(false), 1 => Just(true)], narrowed, by())
            .prop_map(|(family, used, scopes, by)| Operation::Refresh { family, used, scopes, by }),
        2 => (pick(), any::<bool>(), by()).prop_map(|(token, refresh, by)| Operation::Revoke { token, refresh, by }),
        2 => pick().prop_map(|grant| Operation::EndGrant { grant }),
        12 => message().prop_map(|message| Operation::Send { message }),
        5 => message().prop_map(|message| Operation::Reserve { message }),
        6 => (pick(), finish()).prop_map(|(runner, how)| Operation::Finish { runner, how }),
        1 => Just(Operation::Sweep),
        2 => (0_u8..3, prop_oneof![1 => Just(true), 1 => Just(false)])
            .prop_map(|(agent, enabled)| Operation::Switch { agent: agent / 2, enabled }),
    ]
}

fn pause() -> impl Strategy<Value = Pause> {
    prop_oneof![
        40 => Just(Pause::None),
        20 => Just(Pause::Second),
        12 => Just(Pause::Interval),
        12 => Just(Pause::Parallel),
        8 => Just(Pause::Lease),
        3 => Just(Pause::Expiry),
        2 => Just(Pause::Tokens),
        2 => Just(Pause::Day),
        1 => Just(Pause::Month),
    ]
}

/// Always there at first; shrinking leaves it out.
fn kept<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    (weighted(1.0), value).prop_map(|(kept, value)| kept.then_some(value))
}

fn step() -> impl Strategy<Value = Step> {
    let operations = prop_oneof![
        24 => vec(kept(operation()), 2),
        4 => vec(kept(operation()), 3),
        2 => vec(kept(operation()), 4..=5),
        1 => vec(kept(operation()), 6..=8),
        // Many ask for one thing at the same instant.
        4 => (operation(), vec(kept(Just(())), 2..=3))
            .prop_map(|(operation, times)| times.iter().map(|kept| kept.map(|()| operation.clone())).collect()),
    ];
    (pause(), operations).prop_map(|(pause, operations): (_, Vec<_>)| Step {
        pause,
        operations: operations.into_iter().flatten().collect(),
    })
}

/// Sequences of [`STEPS`] steps, each of which shrinking can leave out.
pub(crate) fn sequences() -> impl Strategy<Value = (bool, Vec<Option<Step>>)> {
    (prop_oneof![3 => Just(false), 1 => Just(true)], vec(kept(step()), STEPS))
}
