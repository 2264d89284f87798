//! The page that asks for a user code (RFC 8628 §3.3) and sends it on to the Brand's login, telling nothing about it.

use askama::Template;

use super::{BrandLook, Page, origin};
use crate::text::{self, Language};

/// The page that asks for a user code.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "code.html")]
pub struct CodePage {
    /// The User's language.
    pub language: Language,
    /// The Brand at which the User signs in next.
    pub brand: BrandLook,
    /// The consent URL, to which the code goes as `user_code` by GET.
    pub action: String,
    /// The Brand's login, to which that redirects.
    pub login_url: String,
    /// What was typed before and is no code by its form; none at first.
    pub invalid: Option<String>,
}

impl Page for CodePage {
    fn language(&self) -> Language {
        self.language
    }

    fn brand(&self) -> Option<&BrandLook> {
        Some(&self.brand)
    }

    fn title(&self) -> String {
        self.texts().title.to_owned()
    }

    /// This origin, and the Brand's login: Chromium holds redirects against the policy too.
    fn form_action(&self) -> Vec<String> {
        std::iter::once("'self'".to_owned()).chain(origin(&self.login_url)).collect()
    }
}

impl CodePage {
    const fn texts(&self) -> &'static text::Code {
        &self.language.texts().code
    }

    /// Nothing typed yet.
    pub fn sample() -> Self {
        Self {
            language: Language::English,
            brand: BrandLook::sample(),
            action: "https://auth.skyline.example/consent".to_owned(),
            login_url: "https://skyline.example/login".to_owned(),
            invalid: None,
        }
    }

    /// Every state, by name.
    pub(super) fn states() -> Vec<(&'static str, Self)> {
        let invalid = Self { invalid: Some("WDJA-MJH".to_owned()), ..Self::sample() };
        vec![("empty", Self::sample()), ("invalid", invalid)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_goes_to_the_consent_url_by_get() {
        let html = CodePage::sample().render().unwrap();
        assert!(html.contains("<form method=\"get\" action=\"https://auth.skyline.example/consent\""));
        assert!(html.contains("name=\"user_code\""));
    }

    // case 45
    #[test]
    fn markup_in_every_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        let mut page = CodePage { action: evil(), login_url: evil(), invalid: Some(evil()), ..CodePage::sample() };
        page.brand.name = evil();
        let html = page.render().unwrap();
        assert!(!html.contains("<script>"));
        assert!(!html.contains("'\""));
    }
}
