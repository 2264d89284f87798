//! The log-in page. It says of a log-in that failed nothing but that.

use askama::Template;

use super::console_page;
use crate::web::pages::Page as _;

/// Why nobody is logged in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongLogIn {
    /// Wrong, whatever of it: 403.
    Refused,
    /// Too many wrong ones: 429.
    TooManyTries,
    /// Too many log in at this moment: 503.
    Busy,
}

/// The log-in page.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/log_in.html")]
pub struct LogInPage {
    /// What the Provider is called.
    pub provider: String,
    /// What the form carries.
    pub form_token: String,
    /// Where it leads then.
    pub next: String,
    /// What was wrong before.
    pub wrong: Option<WrongLogIn>,
}

console_page!(LogInPage, |page| format!("Log in: {}", page.provider));

impl LogInPage {
    /// Nothing typed yet.
    pub fn sample() -> Self {
        let form_token = "c2FtcGxlLW9mLWEtZm9ybS10b2tlbi0wMTIzNDU2Nzg".to_owned();
        Self { provider: "Example Provider".to_owned(), form_token, next: "/".to_owned(), wrong: None }
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let wrong = |wrong| Self { wrong: Some(wrong), ..Self::sample() };
        vec![
            ("first", Self::sample()),
            ("refused", wrong(WrongLogIn::Refused)),
            ("too-many-tries", wrong(WrongLogIn::TooManyTries)),
            ("busy", wrong(WrongLogIn::Busy)),
        ]
    }
}
