//! The page that asks for the code of a second factor, once the password was right.

use askama::Template;

use super::{WrongLogIn, console_page};
use crate::web::pages::Page as _;

/// The page that asks for a code.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/second_factor.html")]
pub struct SecondFactorPage {
    /// What the Provider is called.
    pub provider: String,
    /// What the form carries.
    pub form_token: String,
    /// Where it leads then.
    pub next: String,
    /// What was wrong before.
    pub wrong: Option<WrongLogIn>,
}

console_page!(SecondFactorPage, |page| format!("Second factor: {}", page.provider));

impl SecondFactorPage {
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
        ]
    }
}
