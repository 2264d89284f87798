//! The User's own list of grants (PACT §5.3): what each agent may do and did, and a button that takes it back after one
//! more question. It needs no script and no cookie.

use askama::Template;

use super::{BrandLook, Page, origin};
use crate::text::{self, Language, Sentence};

/// Something that a grant allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MayLine {
    /// The Brand's words, verbatim.
    pub description: String,
    /// More of them, under it.
    pub detail: Option<String>,
    /// Whether it can make changes.
    pub writes: bool,
}

/// Something that was done, from a receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeedLine {
    /// When, as the language writes instants.
    pub at: String,
    /// The same for machines (RFC 3339).
    pub datetime: String,
    /// What the Brand's agent called.
    pub tools: Vec<String>,
    /// The Brand's words for what it used.
    pub scopes: Vec<String>,
}

/// A grant that allows something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantLine {
    /// The value of `grant`.
    pub id: String,
    /// The personal agent's registered name; its origin where it has none.
    pub pa_name: String,
    /// The origin of its issuer.
    pub pa_origin: String,
    /// The day on which it was first allowed.
    pub since: String,
    /// The day on which it ends.
    pub until: String,
    /// What it may do, in the Brand's order.
    pub may: Vec<MayLine>,
    /// What it did, the latest first.
    pub did: Vec<DeedLine>,
    /// Where the older of these are; none where there are no more.
    pub older: Option<String>,
}

/// A grant that allows nothing any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PastLine {
    /// The personal agent's registered name; its origin where it has none.
    pub pa_name: String,
    /// The origin of its issuer.
    pub pa_origin: String,
    /// Who ended it and when, in words.
    pub ended: String,
    /// Where it stands alone with what was done; none where it does already.
    pub address: Option<String>,
    /// What it did, the latest first, where it stands alone.
    pub did: Vec<DeedLine>,
    /// Where the older of these are; none where there are no more.
    pub older: Option<String>,
}

/// What has just happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A grant was taken back.
    Revoked {
        /// Whose it was.
        pa_name: String,
        /// Since when, as the language writes instants.
        at: String,
    },
    /// A grant changed since the page was shown, and nothing was done.
    Changed,
}

/// The User's own list of grants.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "grants.html")]
pub struct GrantsPage {
    /// The User's language.
    pub language: Language,
    /// The Brand whose account it is about.
    pub brand: BrandLook,
    /// How the Brand's login names the User.
    pub signed_in_as: String,
    /// The Brand's login, for somebody else.
    pub login_url: String,
    /// What has just happened.
    pub notice: Option<Notice>,
    /// What allows something now, the latest decision first.
    pub live: Vec<GrantLine>,
    /// What does no more, the latest end first.
    pub past: Vec<PastLine>,
    /// Whether one grant alone is shown.
    pub is_one: bool,
    /// Whether there are more live ones than stand here.
    pub has_more: bool,
    /// The value of the hidden field `session`, base64url.
    pub session: String,
    /// The absolute address of the revocation.
    pub action: String,
    /// The address of the whole list.
    pub grants_url: String,
}

impl Page for GrantsPage {
    fn language(&self) -> Language {
        self.language
    }

    fn brand(&self) -> Option<&BrandLook> {
        Some(&self.brand)
    }

    fn title(&self) -> String {
        (self.texts().title)(&self.brand.name)
    }

    fn form_action(&self) -> Vec<String> {
        origin(&self.action).into_iter().collect()
    }
}

impl GrantsPage {
    const fn texts(&self) -> &'static text::Grants {
        &self.language.texts().grants
    }

    fn deed(&self, line: &DeedLine) -> Sentence {
        (self.texts().deed)(&line.tools, &line.scopes)
    }

    /// Two agents, one of which did something, and one whose time is over.
    pub fn sample() -> Self {
        let deed = |at: &str, datetime: &str, tools: &[&str], scopes: &[&str]| DeedLine {
            at: at.to_owned(),
            datetime: datetime.to_owned(),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        };
        let may = |description: &str, detail: Option<&str>, writes| MayLine {
            description: description.to_owned(),
            detail: detail.map(str::to_owned),
            writes,
        };
        let first = GrantLine {
            id: "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB".to_owned(),
            pa_name: "Demo personal agent".to_owned(),
            pa_origin: "https://pa.example.com".to_owned(),
            since: "1 October 2026".to_owned(),
            until: "31 October 2026".to_owned(),
            may: vec![
                may("View upcoming flights", Some("Trips, seats and booking details"), false),
                may("Rebook flights", Some("Change your flights"), true),
            ],
            did: vec![
                deed("3 October 2026, 14:05 UTC", "2026-10-03T14:05:00Z", &["rebook"], &["Rebook flights"]),
                deed("3 October 2026, 14:01 UTC", "2026-10-03T14:01:00Z", &[], &["View upcoming flights"]),
                deed("2 October 2026, 09:30 UTC", "2026-10-02T09:30:00Z", &[], &[]),
            ],
            older: Some("https://auth.skyline.example/grants?grant=a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB".to_owned()),
        };
        let second = GrantLine {
            id: "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAC".to_owned(),
            pa_name: "https://agents.example".to_owned(),
            pa_origin: "https://agents.example".to_owned(),
            did: Vec::new(),
            older: None,
            may: vec![may("See your miles", None, false)],
            ..first.clone()
        };
        let past = PastLine {
            pa_name: "Travel companion".to_owned(),
            pa_origin: "https://companion.example".to_owned(),
            ended: "You took it back on 28 September 2026.".to_owned(),
            address: Some("https://auth.skyline.example/grants?grant=a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAD".to_owned()),
            did: Vec::new(),
            older: None,
        };
        Self {
            language: Language::English,
            brand: BrandLook::sample(),
            signed_in_as: "jane@example.com".to_owned(),
            login_url: "https://skyline.example/login?return_to=https%3A%2F%2Fauth.skyline.example%2Fgrants".to_owned(),
            notice: None,
            live: vec![first, second],
            past: vec![past],
            is_one: false,
            has_more: false,
            session: "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA".to_owned(),
            action: "https://auth.skyline.example/grants/revoke".to_owned(),
            grants_url: "https://auth.skyline.example/grants".to_owned(),
        }
    }

    /// Every state, by name.
    pub(super) fn states() -> Vec<(&'static str, Self)> {
        let list = Self::sample();
        let (first, second) = (list.live.first().cloned(), list.live.last().cloned());
        let live = |line: Option<GrantLine>| line.into_iter().collect::<Vec<_>>();
        let none = Self { live: Vec::new(), past: Vec::new(), ..list.clone() };
        let notice =
            Notice::Revoked { pa_name: "Demo personal agent".to_owned(), at: "3 October 2026, 15:00 UTC".to_owned() };
        let revoked = Self { notice: Some(notice), live: live(second), ..list.clone() };
        let changed = Self { notice: Some(Notice::Changed), has_more: true, ..list.clone() };
        let one = Self { live: live(first.clone()), past: Vec::new(), is_one: true, ..list.clone() };
        let mut past = Self { live: Vec::new(), is_one: true, ..list.clone() };
        for line in &mut past.past {
            line.address = None;
            line.did = first.iter().flat_map(|first| first.did.clone()).collect();
        }
        let mut long = list.clone();
        long.brand.name = "Donaudampfschifffahrtsgesellschaft für Reisen aller Art, Versand und Pflege GmbH".to_owned();
        long.signed_in_as = "x".repeat(255);
        for line in &mut long.live {
            line.pa_origin = format!("https://{}.example.com", "agents-".repeat(8));
            for deed in &mut line.did {
                deed.tools = vec!["call".repeat(40), "look it up".to_owned()];
            }
        }
        vec![
            ("list", list),
            ("none", none),
            ("revoked", revoked),
            ("changed", changed),
            ("one", one),
            ("past", past),
            ("long", long),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_live_grant_has_a_form_of_its_own_behind_one_more_question() {
        let page = GrantsPage::sample();
        let html = page.render().unwrap();
        assert_eq!(
            html.matches("<form method=\"post\" action=\"https://auth.skyline.example/grants/revoke\"").count(),
            2
        );
        assert_eq!(html.matches(&format!("name=\"session\" value=\"{}\"", page.session)).count(), 2);
        for line in &page.live {
            assert_eq!(html.matches(&format!("name=\"grant\" value=\"{}\"", line.id)).count(), 1);
        }
        for piece in html.split("<form").take(2) {
            assert!(piece.contains("<details") && piece.contains("<summary"), "{piece}");
        }
    }

    // case 45
    #[test]
    fn markup_in_every_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        let did = || vec![DeedLine { at: evil(), datetime: evil(), tools: vec![evil()], scopes: vec![evil()] }];
        let mut page = GrantsPage {
            signed_in_as: evil(),
            login_url: evil(),
            notice: Some(Notice::Revoked { pa_name: evil(), at: evil() }),
            live: vec![GrantLine {
                id: evil(),
                pa_name: evil(),
                pa_origin: evil(),
                since: evil(),
                until: evil(),
                may: vec![MayLine { description: evil(), detail: Some(evil()), writes: true }],
                did: did(),
                older: Some(evil()),
            }],
            past: vec![PastLine {
                pa_name: evil(),
                pa_origin: evil(),
                ended: evil(),
                address: Some(evil()),
                did: did(),
                older: Some(evil()),
            }],
            is_one: true,
            has_more: true,
            session: evil(),
            action: evil(),
            grants_url: evil(),
            ..GrantsPage::sample()
        };
        page.brand.name = evil();
        let html = page.render().unwrap();
        assert!(!html.contains("<script>"));
        assert!(!html.contains("'\""));
    }
}
