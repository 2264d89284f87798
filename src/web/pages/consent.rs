//! The consent page (PACT §5.3): who wants what, and is it mine?
//!
//! It is the answer to the assertion POST or to the GET form of the consent URL. Its first form carries `session`, the
//! ticked `scope`s and `decision`, and needs no script and no cookie.

use askama::Template;

use super::{BrandLook, Page, origin};
use crate::text::{self, Language, Sentence};

/// One scope with its checkbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopeLine {
    /// The value of `scope`.
    pub id: String,
    /// The Brand's words, verbatim.
    pub description: String,
    /// More of them, under it.
    pub detail: Option<String>,
    /// Whether it can make changes.
    pub writes: bool,
    /// Whether its box starts ticked.
    pub ticked: bool,
}

/// The consent page.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// The User's language.
    pub language: Language,
    /// The Brand whose account it is about.
    pub brand: BrandLook,
    /// The personal agent's registered name; its origin where it has none.
    pub pa_name: String,
    /// The origin of the personal agent's issuer.
    pub pa_origin: String,
    /// How the Brand's login names the User.
    pub signed_in_as: String,
    /// The Brand's login with this page's `return_to`, for somebody else.
    pub login_url: String,
    /// The code as `XXXX-XXXX`; none for a step-up, which has no code to show.
    pub user_code: Option<String>,
    /// How long ago the code was issued, in whole minutes.
    pub asked_minutes_ago: u64,
    /// Whether the personal agent already acts for this Brand user under another `sub`.
    pub other_sub_warning: bool,
    /// Whether the grant changed since the page was last shown.
    pub changed: bool,
    /// What is asked for and not allowed yet, in the Brand's order.
    pub requested: Vec<ScopeLine>,
    /// What the grant allows already, in the Brand's order.
    pub allowed: Vec<ScopeLine>,
    /// The value of the hidden field `session`, base64url.
    pub session: String,
    /// The absolute address of the decision.
    pub action: String,
    /// The GET form of the consent URL with this code, which script puts in the address bar.
    pub address: String,
    /// The Brand's `return_url`, to which the decision leads.
    pub return_url: Option<String>,
    /// The day on which the grant ends, as the language writes days.
    pub lasts_until: String,
    /// The address of `/grants`; none where there is none.
    pub grants_url: Option<String>,
}

impl Page for ConsentPage {
    fn language(&self) -> Language {
        self.language
    }

    fn brand(&self) -> Option<&BrandLook> {
        Some(&self.brand)
    }

    fn title(&self) -> String {
        (self.texts().title)(&self.brand.name)
    }

    /// The decision's own origin, and the Brand's `return_url`: Chromium holds redirects against the policy too.
    fn form_action(&self) -> Vec<String> {
        let mut sources: Vec<String> = origin(&self.action).into_iter().collect();
        sources.extend(self.return_url.as_deref().and_then(origin).filter(|source| !sources.contains(source)));
        sources
    }
}

impl ConsentPage {
    const fn texts(&self) -> &'static text::Consent {
        &self.language.texts().consent
    }

    /// One that registered itself has no other name than its origin, which is then said once.
    fn asks(&self) -> Sentence {
        if self.pa_name == self.pa_origin {
            return (self.texts().asks_by_origin)(&self.pa_origin, &self.brand.name);
        }
        (self.texts().asks)(&self.pa_name, &self.pa_origin, &self.brand.name)
    }

    fn asked(&self) -> String {
        let texts = self.texts();
        let asked = if self.user_code.is_some() { texts.asked } else { texts.asked_in_conversation };
        asked(self.asked_minutes_ago)
    }

    /// A first request of a personal agent that has the code shown.
    pub fn sample() -> Self {
        let line = |id: &str, description: &str, detail: Option<&str>, writes| ScopeLine {
            id: id.to_owned(),
            description: description.to_owned(),
            detail: detail.map(str::to_owned),
            writes,
            ticked: true,
        };
        Self {
            language: Language::English,
            brand: BrandLook::sample(),
            pa_name: "Demo personal agent".to_owned(),
            pa_origin: "https://pa.example.com".to_owned(),
            signed_in_as: "jane@example.com".to_owned(),
            login_url: "https://skyline.example/login?return_to=https%3A%2F%2Fauth.skyline.example%2Fconsent"
                .to_owned(),
            user_code: Some("WDJB-MJHT".to_owned()),
            asked_minutes_ago: 2,
            other_sub_warning: false,
            changed: false,
            requested: vec![
                line("flights:upcoming:read", "View upcoming flights", Some("Trips, seats and booking details"), false),
                line("flights:rebook", "Rebook flights", Some("Change your flights"), true),
                line("miles:read", "See your miles", None, false),
            ],
            allowed: Vec::new(),
            session: "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA".to_owned(),
            action: "https://auth.skyline.example/consent/decision".to_owned(),
            address: "https://auth.skyline.example/consent?user_code=WDJB-MJHT".to_owned(),
            return_url: Some("https://skyline.example/connected".to_owned()),
            lasts_until: "31 October 2026".to_owned(),
            grants_url: None,
        }
    }

    /// Every state, by name.
    pub(super) fn states() -> Vec<(&'static str, Self)> {
        let first = Self::sample();
        let mut again = first.clone();
        again.allowed = again.requested.drain(..1).collect();
        let step_up = Self { user_code: None, asked_minutes_ago: 0, other_sub_warning: true, ..again.clone() };
        let changed = Self { changed: true, asked_minutes_ago: 1, ..again.clone() };
        let covered = Self { allowed: first.requested.clone(), requested: Vec::new(), ..first.clone() };
        let plain = BrandLook { color: None, ..first.brand.clone() };
        let plain = Self { brand: plain, grants_url: Some("/grants".to_owned()), ..first.clone() };
        let unnamed = Self { pa_name: first.pa_origin.clone(), ..first.clone() };
        let mut long = first.clone();
        long.brand.name = "Donaudampfschifffahrtsgesellschaft für Reisen aller Art, Versand und Pflege GmbH".to_owned();
        long.pa_origin = format!("https://{}.example.com", "agents-".repeat(8));
        long.signed_in_as = "x".repeat(255);
        for line in &mut long.requested {
            line.description = format!("{} – {}", line.description, "words without an end ".repeat(8).trim());
        }
        vec![
            ("first", first),
            ("again", again),
            ("step-up", step_up),
            ("changed", changed),
            ("covered", covered),
            ("without-colour", plain),
            ("named-by-origin", unnamed),
            ("long", long),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
        let (_, rest) = text.split_once(&format!("{name}=\"")).unwrap();
        rest.split_once('"').unwrap().0
    }

    #[test]
    fn the_consent_form_is_the_first_form_and_its_session_is_read_without_a_parser() {
        let page = ConsentPage::sample();
        let html = page.render().unwrap();
        let (_, form) = html.split_once("<form").unwrap();
        assert_eq!(attribute(form, "method"), "post");
        assert_eq!(attribute(form, "action"), page.action);
        let (_, field) = form.split_once("name=\"session\"").unwrap();
        assert_eq!(attribute(field, "value"), page.session);
    }

    // case 45
    #[test]
    fn markup_in_every_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        let line = ScopeLine { id: evil(), description: evil(), detail: Some(evil()), writes: true, ticked: true };
        let mut page = ConsentPage {
            pa_name: evil(),
            pa_origin: evil(),
            signed_in_as: evil(),
            login_url: evil(),
            user_code: Some(evil()),
            other_sub_warning: true,
            changed: true,
            requested: vec![line.clone()],
            allowed: vec![line],
            session: evil(),
            action: evil(),
            address: evil(),
            return_url: Some(evil()),
            lasts_until: evil(),
            grants_url: Some(evil()),
            ..ConsentPage::sample()
        };
        page.brand.name = evil();
        let html = page.render().unwrap();
        assert!(!html.contains("<script>"));
        assert!(!html.contains("'\""));
        assert!(html.contains("&#60;script&#62;"));
    }

    #[test]
    fn a_ticked_box_is_checked_and_an_unticked_one_is_not() {
        let mut page = ConsentPage::sample();
        for line in &mut page.requested {
            line.ticked = line.id == "flights:rebook";
        }
        let html = page.render().unwrap();
        assert_eq!(html.matches(" checked").count(), 1);
        assert_eq!(html.matches("name=\"scope\"").count(), 3);
    }

    #[test]
    fn a_personal_agent_that_is_named_by_its_origin_is_named_once() {
        let heading = |page: &ConsentPage| {
            let html = page.render().unwrap();
            html.split_once("<h1").unwrap().1.split_once("</h1>").unwrap().0.to_owned()
        };
        let named = ConsentPage::sample();
        assert_eq!(heading(&named).matches("https://pa.example.com").count(), 1);
        let unnamed = ConsentPage { pa_name: named.pa_origin.clone(), ..named };
        let heading = heading(&unnamed);
        assert_eq!(heading.matches("https://pa.example.com").count(), 1);
        assert!(!heading.contains('('), "{heading}");
    }

    #[test]
    fn a_step_up_shows_no_code() {
        let page = ConsentPage { user_code: None, ..ConsentPage::sample() };
        assert!(!page.render().unwrap().contains("WDJB-MJHT</"));
    }
}
