//! The account page: an administrator's own password and second factor.

use askama::Template;

use super::qr::Qr;
use super::{Frame, Section, console_page};
use crate::domain::account::{PoorPassword, SHORTEST_PASSWORD};
use crate::web::pages::Page as _;

/// What was done, or why nothing was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountNotice {
    /// There is another password.
    PasswordChanged,
    /// The next log-in asks for a code.
    SecondFactorOn,
    /// It does no longer.
    SecondFactorOff,
    /// The present password is another: 403.
    WrongPassword,
    /// The code is another: 403.
    WrongCode,
    /// The new password is not taken: 422.
    PoorPassword(PoorPassword),
    /// The new password was not typed alike twice: 422.
    NotAlike,
    /// The page was too old, or the account has changed meanwhile: 409.
    Stale,
    /// Too many wrong passwords: 429.
    TooManyTries,
    /// Too many passwords are checked at this moment: 503.
    Busy,
}

impl AccountNotice {
    const fn is_good(self) -> bool {
        matches!(self, Self::PasswordChanged | Self::SecondFactorOn | Self::SecondFactorOff)
    }

    fn words(self) -> String {
        match self {
            Self::PasswordChanged => "Your password is changed, and every other session of yours has ended.".to_owned(),
            Self::SecondFactorOn => {
                "The second factor is on: the next log-in asks for a code. Every other session of yours has ended."
                    .to_owned()
            }
            Self::SecondFactorOff => {
                "The second factor is off. Every other session of yours has ended; remove the entry from your app."
                    .to_owned()
            }
            Self::WrongPassword => "Nothing was changed: this is not your present password.".to_owned(),
            Self::WrongCode => "Nothing was changed: this is not the code that your app should show.".to_owned(),
            Self::PoorPassword(poor) => format!("Nothing was changed: the new password {poor}."),
            Self::NotAlike => "Nothing was changed: the new password was not the same both times.".to_owned(),
            Self::Stale => {
                "Nothing was changed: your account has changed meanwhile. Look again, and try again.".to_owned()
            }
            Self::TooManyTries => "Nothing was changed: too many wrong passwords. Wait a little.".to_owned(),
            Self::Busy => "Nothing was changed: too much is going on. Try again in a few seconds.".to_owned(),
        }
    }
}

/// A second factor that is offered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    sealed: String,
    groups: Vec<String>,
    qr: Option<Qr>,
    uri: String,
}

impl Offer {
    /// An offer whose `secret` is typed into an app, or read by it from the picture of `uri`.
    pub fn new(sealed: &str, secret: &str, uri: &str) -> Self {
        let letters: Vec<char> = secret.chars().collect();
        let groups = letters.chunks(4).map(|group| group.iter().collect()).collect();
        Self { sealed: sealed.to_owned(), groups, qr: Qr::draw(uri), uri: uri.to_owned() }
    }
}

/// The account page.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/account.html")]
pub struct AccountPage {
    /// What stands around it.
    pub frame: Frame,
    /// The second factor that is offered; none where there is one.
    pub offer: Option<Offer>,
    /// What was done, or why nothing was.
    pub notice: Option<AccountNotice>,
}

console_page!(AccountPage, |_| "Your account".to_owned());

impl AccountPage {
    const fn shortest(&self) -> usize {
        let _ = self;
        SHORTEST_PASSWORD
    }

    /// No second factor yet.
    pub fn sample() -> Self {
        let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let uri = format!("otpauth://totp/Example%20Provider:anna?secret={secret}&issuer=Example%20Provider");
        Self {
            frame: Frame::sample_in(Section::Account),
            offer: Some(Offer::new("c2FtcGxl", secret, &uri)),
            notice: None,
        }
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let with = |notice| Self { notice: Some(notice), ..Self::sample() };
        let on = |notice| Self { offer: None, notice, ..Self::sample() };
        vec![
            ("first", Self::sample()),
            ("protected", on(None)),
            ("password-changed", with(AccountNotice::PasswordChanged)),
            ("on", on(Some(AccountNotice::SecondFactorOn))),
            ("off", with(AccountNotice::SecondFactorOff)),
            ("wrong-password", with(AccountNotice::WrongPassword)),
            ("wrong-code", with(AccountNotice::WrongCode)),
            ("poor-password", with(AccountNotice::PoorPassword(PoorPassword::Short))),
            ("not-alike", with(AccountNotice::NotAlike)),
            ("stale", with(AccountNotice::Stale)),
            ("too-many-tries", with(AccountNotice::TooManyTries)),
            ("busy", with(AccountNotice::Busy)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_page_carries_its_token() {
        for (state, page) in AccountPage::states() {
            let html = page.render().unwrap();
            let forms = html.matches(" method=\"post\"").count();
            assert_eq!(html.matches("name=\"form_token\"").count(), forms, "{state}");
            assert!(forms >= 2, "{state}");
        }
    }

    #[test]
    fn a_secret_can_be_read_typed_and_scanned() {
        let html = AccountPage::sample().render().unwrap();
        assert!(html.contains("<path d=\"M4 4h1v1h-1z"));
        assert_eq!(html.matches("<span>GEZD</span>").count(), 2);
    }
}
