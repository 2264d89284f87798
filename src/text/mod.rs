//! The catalogue of everything a person reads, in every language Assent speaks (PACT §5.3: what consent must say).
//!
//! A language is one value of [`Texts`]: a sentence that is missing does not compile. Sentences with names in them are
//! functions, so that each language has its own word order and its own plurals. Refuses markup: a text is plain, and
//! what stands out in it is a [`Part`], which the page writes and escapes.

mod english;
mod language;
mod sentence;

pub use language::{Direction, Language};
pub use sentence::{Part, Sentence};

use crate::clock::Timestamp;
use crate::domain::grant::EndedBy;

/// Everything a person reads, in one language.
#[derive(Debug)]
pub struct Texts {
    /// What several pages say.
    pub general: General,
    /// The consent page.
    pub consent: Consent,
    /// The page that asks for a user code.
    pub code: Code,
    /// The page after a decision, for a Brand without a `return_url`.
    pub closing: Closing,
    /// The User's own list of grants.
    pub grants: Grants,
    /// The pages for what went wrong.
    pub problems: Problems,
}

/// What several pages say.
#[derive(Debug)]
pub struct General {
    /// A day, `31 October 2026`, in UTC.
    pub day: fn(Timestamp) -> String,
    /// An instant to the minute, `31 October 2026, 14:05 UTC`.
    pub instant: fn(Timestamp) -> String,
    /// The link to a Brand's login, with the Brand's name where it is known.
    pub back_to: fn(brand: Option<&str>) -> Sentence,
    /// Nothing more is to be done here.
    pub back_to_agent: &'static str,
    /// What the Brand's agent says when it lacks scopes and has no words of its own; the Brand's words for each.
    pub needs_permission: fn(scopes: &[&str]) -> String,
    /// The link to what the User allowed.
    pub your_grants: &'static str,
}

/// The consent page.
#[derive(Debug)]
pub struct Consent {
    /// The title of the window.
    pub title: fn(brand: &str) -> String,
    /// Who wants what.
    pub asks: fn(agent: &str, origin: &str, brand: &str) -> Sentence,
    /// The same of a personal agent that has no name but its origin.
    pub asks_by_origin: fn(origin: &str, brand: &str) -> Sentence,
    /// Whose account it is.
    pub signed_in_as: fn(who: &str) -> Sentence,
    /// The link to the Brand's login, for somebody else.
    pub not_you: &'static str,
    /// Which code the personal agent shows.
    pub code_must_be: fn(code: &str) -> Sentence,
    /// How long ago a device authorization began, in whole minutes.
    pub asked: fn(minutes: u64) -> String,
    /// How long ago a step-up began, in whole minutes.
    pub asked_in_conversation: fn(minutes: u64) -> String,
    /// What to do about a request of somebody else's making.
    pub not_started: &'static str,
    /// The personal agent acts for this account under another `sub` too.
    pub other_sub: fn(agent: &str, brand: &str) -> Sentence,
    /// The grant changed while the page was open.
    pub changed: &'static str,
    /// Above the scopes that are asked for.
    pub requested: fn(agent: &str) -> Sentence,
    /// Above the scopes that the grant already has.
    pub allowed: &'static str,
    /// Below that, on unticking.
    pub allowed_hint: &'static str,
    /// Marks a scope that writes.
    pub writes: &'static str,
    /// The button that allows.
    pub allow: &'static str,
    /// The same once it is counted; `{ticked}` and `{all}` stand for the numbers.
    pub allow_count: &'static str,
    /// The same when nothing is ticked.
    pub allow_none: &'static str,
    /// The button that does not.
    pub deny: &'static str,
    /// How long it lasts.
    pub lasts: fn(until: &str) -> String,
    /// Where it can be taken back.
    pub take_back: fn(brand: &str) -> Sentence,
}

/// The page that asks for a user code.
#[derive(Debug)]
pub struct Code {
    /// The title and the heading.
    pub title: &'static str,
    /// What happens next.
    pub lead: fn(brand: &str) -> Sentence,
    /// The label of the field.
    pub label: &'static str,
    /// What a code looks like.
    pub hint: &'static str,
    /// What was typed is no code.
    pub invalid: &'static str,
    /// The button.
    pub go_on: &'static str,
    /// What to do about a code that somebody else sent.
    pub not_yours: &'static str,
}

/// The page after a decision.
#[derive(Debug)]
pub struct Closing {
    /// Title and heading after allowing.
    pub approved: &'static str,
    /// Above the scopes that are allowed now.
    pub approved_list: fn(agent: &str, brand: &str) -> Sentence,
    /// Title and heading after not allowing.
    pub denied: &'static str,
    /// What that means.
    pub denied_text: fn(agent: &str, brand: &str) -> Sentence,
    /// Title and heading after everything was unticked.
    pub ended: &'static str,
    /// What that means.
    pub ended_text: fn(agent: &str, brand: &str) -> Sentence,
}

/// The User's own list of grants.
#[derive(Debug)]
pub struct Grants {
    /// Title and heading.
    pub title: fn(brand: &str) -> String,
    /// There is nothing that allows anything.
    pub none: fn(brand: &str) -> Sentence,
    /// The day of the first decision.
    pub since: fn(day: &str) -> String,
    /// The day on which a grant ends.
    pub until: fn(day: &str) -> String,
    /// Above what a grant allows.
    pub may: &'static str,
    /// Above what was done under a grant, and the link to that.
    pub did: &'static str,
    /// Nothing was.
    pub did_nothing: &'static str,
    /// What was done at one time: what the Brand's agent called, and the Brand's words for what it used. Either may be
    /// empty.
    pub deed: fn(tools: &[String], scopes: &[String]) -> Sentence,
    /// The link to what was done before.
    pub older: &'static str,
    /// Opens the question.
    pub revoke: &'static str,
    /// The question.
    pub question: fn(agent: &str, brand: &str) -> Sentence,
    /// The button that revokes.
    pub revoke_now: &'static str,
    /// What was revoked, and since when.
    pub revoked: fn(agent: &str, brand: &str, at: &str) -> Sentence,
    /// A grant changed while the page was open.
    pub changed: &'static str,
    /// There are more live grants than are shown.
    pub has_more: &'static str,
    /// Above what is over.
    pub past: &'static str,
    /// Who ended a grant, and on which day.
    pub ended: fn(by: EndedBy, day: &str) -> String,
    /// The link back to the whole list.
    pub all: &'static str,
}

/// One problem: what happened, whether anything was allowed, what to do next.
#[derive(Debug)]
pub struct Problem {
    /// Title and heading.
    pub title: &'static str,
    /// What happened.
    pub happened: &'static str,
    /// Whether anything was allowed.
    pub allowed: &'static str,
    /// What to do next.
    pub next: &'static str,
}

/// The pages for what went wrong.
#[derive(Debug)]
pub struct Problems {
    /// The Brand's assertion does not hold.
    pub sign_in_not_verified: Problem,
    /// The user code is unknown, expired or decided: the same words for all three.
    pub code_not_usable: Problem,
    /// Too many wrong codes.
    pub too_many_tries: Problem,
    /// Too many requests from one address.
    pub too_many_requests: Problem,
    /// The decision came from another site, or from a page of another sign-in.
    pub page_not_usable: Problem,
    /// The device authorization expired while its consent page was open.
    pub expired: Problem,
    /// It was decided before, and allowed.
    pub already_allowed: Problem,
    /// It was decided before, and not allowed.
    pub already_denied: Problem,
    /// The form does not hold what the page offered.
    pub bad_request: Problem,
    /// Nothing is served at this address.
    pub not_found: Problem,
    /// Nothing could be done for now, and nothing was.
    pub busy: Problem,
    /// A fault of ours, at a moment that cannot be told.
    pub internal: Problem,
}
