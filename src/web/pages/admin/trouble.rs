//! What went wrong in the console, as a page: what happened, and what to do next.

use askama::Template;

use super::{Frame, console_page};
use crate::web::pages::Page as _;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The form is not from a page of this session: 403.
    FormNotTaken,
    /// Nobody is logged in any more: 403.
    SessionEnded,
    /// The role does not allow it: 403.
    NotAllowed,
    /// The form cannot be read: 400.
    BadForm,
    /// There is no such thing, or none within reach: 404.
    NotFound,
    /// It has changed meanwhile: 409.
    Changed,
    /// Too many tries, or too many requests: 429.
    TooManyTries,
    /// Nothing can be done for now: 503.
    Busy,
    /// A fault of ours: 500.
    Internal,
}

impl Trouble {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::FormNotTaken,
        Self::SessionEnded,
        Self::NotAllowed,
        Self::BadForm,
        Self::NotFound,
        Self::Changed,
        Self::TooManyTries,
        Self::Busy,
        Self::Internal,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::FormNotTaken => "form-not-taken",
            Self::SessionEnded => "session-ended",
            Self::NotAllowed => "not-allowed",
            Self::BadForm => "bad-form",
            Self::NotFound => "not-found",
            Self::Changed => "changed",
            Self::TooManyTries => "too-many-tries",
            Self::Busy => "busy",
            Self::Internal => "internal",
        }
    }

    /// Its heading, and what to do next.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::FormNotTaken => (
                "This form was not taken",
                "Nothing was done. It did not come from a page of the console that belongs to your present session: go \
                 back, reload the page and try again. If you came here from another site, somebody tried to act in your name.",
            ),
            Self::SessionEnded => {
                ("You are not logged in any more", "Nothing was done. Log in again, and repeat what you wanted to do.")
            }
            Self::NotAllowed => {
                ("Your role does not allow this", "Nothing was done. An owner can give you another role.")
            }
            Self::BadForm => {
                ("This form could not be read", "Nothing was done. Go back, reload the page and try again.")
            }
            Self::NotFound => (
                "There is no such thing here",
                "It was removed, never was, or belongs to a Brand that is not yours to see.",
            ),
            Self::Changed => (
                "It has changed meanwhile",
                "Nothing was done. Somebody else changed the same thing: go back, reload the page and look again.",
            ),
            Self::TooManyTries => ("Too many tries", "Nothing was done. Wait a little, and try again."),
            Self::Busy => ("Try again in a moment", "Nothing was done: the database is away, busy or full."),
            Self::Internal => (
                "Something went wrong here",
                "The log says what, under this answer's request id. Look whether what you wanted was done before you repeat it.",
            ),
        }
    }
}

/// The page for what went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/trouble.html")]
pub struct TroublePage {
    /// What stands around it; none for somebody who is not logged in.
    pub frame: Option<Frame>,
    /// What went wrong.
    pub trouble: Trouble,
}

console_page!(TroublePage, |page| page.trouble.words().0.to_owned());

impl TroublePage {
    /// The session has ended.
    pub fn sample() -> Self {
        Self { frame: None, trouble: Trouble::SessionEnded }
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let of = |trouble: Trouble| {
            let frame = (trouble != Trouble::SessionEnded).then(Frame::sample);
            (trouble.name(), Self { frame, trouble })
        };
        Trouble::ALL.into_iter().map(of).collect()
    }
}
