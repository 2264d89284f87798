//! The page after a decision, for a Brand without a `return_url`: back to the personal agent.

use askama::Template;

use super::{BrandLook, Page};
use crate::text::{self, Language};

/// How it was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Closing {
    /// Something is allowed now.
    Approved {
        /// The descriptions of all that is, in the Brand's order.
        allowed: Vec<String>,
        /// The day on which the grant ends, as the language writes days.
        lasts_until: String,
    },
    /// The User did not allow it.
    Denied,
    /// The User left nothing ticked, and the grant has ended.
    Ended,
}

/// The page after a decision.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "closing.html")]
pub struct ClosingPage {
    /// The User's language.
    pub language: Language,
    /// The Brand whose account it was about.
    pub brand: BrandLook,
    /// The personal agent's registered name; its origin where it has none.
    pub pa_name: String,
    /// How it was decided.
    pub closing: Closing,
    /// The address of `/grants`; none where there is none.
    pub grants_url: Option<String>,
}

impl Page for ClosingPage {
    fn language(&self) -> Language {
        self.language
    }

    fn brand(&self) -> Option<&BrandLook> {
        Some(&self.brand)
    }

    fn title(&self) -> String {
        let texts = self.texts();
        match self.closing {
            Closing::Approved { .. } => texts.approved,
            Closing::Denied => texts.denied,
            Closing::Ended => texts.ended,
        }
        .to_owned()
    }
}

impl ClosingPage {
    const fn texts(&self) -> &'static text::Closing {
        &self.language.texts().closing
    }

    /// Two scopes were allowed.
    pub fn sample() -> Self {
        Self {
            language: Language::English,
            brand: BrandLook::sample(),
            pa_name: "Demo personal agent".to_owned(),
            closing: Closing::Approved {
                allowed: vec!["View upcoming flights".to_owned(), "Rebook flights".to_owned()],
                lasts_until: "31 October 2026".to_owned(),
            },
            grants_url: None,
        }
    }

    /// Every state, by name.
    pub(super) fn states() -> Vec<(&'static str, Self)> {
        let approved = Self::sample();
        let linked = Self { grants_url: Some("/grants".to_owned()), ..approved.clone() };
        let denied = Self { closing: Closing::Denied, ..approved.clone() };
        let ended = Self { closing: Closing::Ended, ..approved.clone() };
        vec![("approved", approved), ("approved-with-grants", linked), ("denied", denied), ("ended", ended)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // case 45
    #[test]
    fn markup_in_every_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        for closing in
            [Closing::Approved { allowed: vec![evil()], lasts_until: evil() }, Closing::Denied, Closing::Ended]
        {
            let mut page = ClosingPage { closing, pa_name: evil(), grants_url: Some(evil()), ..ClosingPage::sample() };
            page.brand.name = evil();
            let html = page.render().unwrap();
            assert!(!html.contains("<script>"));
            assert!(!html.contains("'\""));
        }
    }
}
