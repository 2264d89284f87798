//! What went wrong, as a page: what happened, whether anything was allowed, what to do next.
//!
//! Every problem has its own sentences, but one page stands for unknown, expired and decided user codes, so that it
//! tells nobody which codes exist.

use askama::Template;

use super::{BrandLook, Page};
use crate::text::{self, Language};

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The Brand's assertion does not hold: 403.
    SignInNotVerified,
    /// The user code is unknown, expired or decided: 410.
    CodeNotUsable,
    /// Too many wrong codes: 429.
    TooManyTries,
    /// Too many requests: 429.
    TooManyRequests,
    /// The decision has no session of ours, another's, or came from another site: 403.
    PageNotUsable,
    /// For the holder of the consent page: the device authorization has expired meanwhile, 410.
    Expired,
    /// For the holder of the consent page: it has been decided before, 409.
    AlreadyDecided {
        /// Whether it was allowed.
        allowed: bool,
    },
    /// The form does not hold what the page offered: 400.
    BadRequest,
    /// Nothing is served here: 404.
    NotFound,
    /// Nothing can be done for now and nothing was: 503.
    Busy,
    /// A fault of ours, perhaps after the decision was kept: 500.
    Internal,
}

impl Problem {
    /// Every problem.
    pub const ALL: [Self; 12] = [
        Self::SignInNotVerified,
        Self::CodeNotUsable,
        Self::TooManyTries,
        Self::TooManyRequests,
        Self::PageNotUsable,
        Self::Expired,
        Self::AlreadyDecided { allowed: true },
        Self::AlreadyDecided { allowed: false },
        Self::BadRequest,
        Self::NotFound,
        Self::Busy,
        Self::Internal,
    ];

    /// The name of its sample.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignInNotVerified => "sign-in-not-verified",
            Self::CodeNotUsable => "code-not-usable",
            Self::TooManyTries => "too-many-tries",
            Self::TooManyRequests => "too-many-requests",
            Self::PageNotUsable => "page-not-usable",
            Self::Expired => "expired",
            Self::AlreadyDecided { allowed: true } => "already-allowed",
            Self::AlreadyDecided { allowed: false } => "already-denied",
            Self::BadRequest => "bad-request",
            Self::NotFound => "not-found",
            Self::Busy => "busy",
            Self::Internal => "internal",
        }
    }

    const fn words(self, texts: &text::Problems) -> &text::Problem {
        match self {
            Self::SignInNotVerified => &texts.sign_in_not_verified,
            Self::CodeNotUsable => &texts.code_not_usable,
            Self::TooManyTries => &texts.too_many_tries,
            Self::TooManyRequests => &texts.too_many_requests,
            Self::PageNotUsable => &texts.page_not_usable,
            Self::Expired => &texts.expired,
            Self::AlreadyDecided { allowed: true } => &texts.already_allowed,
            Self::AlreadyDecided { allowed: false } => &texts.already_denied,
            Self::BadRequest => &texts.bad_request,
            Self::NotFound => &texts.not_found,
            Self::Busy => &texts.busy,
            Self::Internal => &texts.internal,
        }
    }
}

/// The page for what went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// The User's language.
    pub language: Language,
    /// Whose page it is; none when the Brand is not known.
    pub brand: Option<BrandLook>,
    /// What went wrong.
    pub problem: Problem,
    /// The Brand's login, for a link back; none where that leads nowhere.
    pub login_url: Option<String>,
}

impl Page for ErrorPage {
    fn language(&self) -> Language {
        self.language
    }

    fn brand(&self) -> Option<&BrandLook> {
        self.brand.as_ref()
    }

    fn title(&self) -> String {
        self.words().title.to_owned()
    }
}

impl ErrorPage {
    const fn words(&self) -> &'static text::Problem {
        self.problem.words(&self.language.texts().problems)
    }

    fn back_to(&self) -> text::Sentence {
        let brand = self.brand.as_ref().map(|brand| brand.name.as_str());
        (self.language.texts().general.back_to)(brand)
    }

    /// A repeated assertion, with a way back.
    pub fn sample() -> Self {
        Self {
            language: Language::English,
            brand: Some(BrandLook::sample()),
            problem: Problem::SignInNotVerified,
            login_url: Some("https://skyline.example/login".to_owned()),
        }
    }

    /// Every state, by name.
    pub(super) fn states() -> Vec<(&'static str, Self)> {
        let of = |problem: Problem| (problem.name(), Self { problem, ..Self::sample() });
        let unknown = Self { brand: None, problem: Problem::NotFound, login_url: None, ..Self::sample() };
        Problem::ALL.into_iter().map(of).chain([("without-brand", unknown)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_says_what_happened_what_was_allowed_and_what_to_do_next() {
        for (_, page) in ErrorPage::states() {
            let html = page.render().unwrap();
            let words = page.words();
            for sentence in [words.title, words.happened, words.allowed, words.next] {
                assert!(html.contains(sentence), "{:?}: {sentence}", page.problem);
            }
        }
    }

    #[test]
    fn problems_do_not_share_a_title() {
        let texts = &Language::English.texts().problems;
        for (place, problem) in Problem::ALL.into_iter().enumerate() {
            let first = Problem::ALL.iter().position(|other| other.words(texts).title == problem.words(texts).title);
            assert_eq!(first, Some(place), "{problem:?}");
        }
    }

    // case 45
    #[test]
    fn markup_in_every_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        let brand = Some(BrandLook { name: evil(), color: None });
        let html = ErrorPage { brand, login_url: Some(evil()), ..ErrorPage::sample() }.render().unwrap();
        assert!(!html.contains("<script>"));
        assert!(!html.contains("'\""));
    }
}
