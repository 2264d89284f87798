//! One grant: what it allows, to whom, and everything that happened under it.

use askama::Template;

use super::{Cell, Fact, Frame, Head, Listing, Notice, Section, Tone, When, console_page};
use crate::clock::Timestamp;
use crate::web::pages::Page as _;

/// Something that a grant allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// The scope.
    pub id: String,
    /// The Brand's words for it; none for one that it offers no longer.
    pub description: Option<String>,
    /// Whether it can make changes.
    pub writes: bool,
}

/// A grant.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/grant.html")]
pub struct GrantPage {
    /// What stands around it.
    pub frame: Frame,
    /// Its id.
    pub id: String,
    /// What was done, or why nothing was.
    pub notice: Option<Notice>,
    /// What of its record was altered, when it was to be exported.
    pub altered: Vec<String>,
    /// What is known of it.
    pub facts: Vec<Fact>,
    /// What it allows.
    pub allows: Vec<Allowed>,
    /// What the User decided.
    pub decisions: Listing,
    /// What was done under it.
    pub receipts: Listing,
    /// What was issued under it.
    pub tokens: Listing,
    /// Whether there are older receipts, or tokens, than are shown.
    pub has_older: (bool, bool),
    /// Whether the reader may take it back, and there is something to take back.
    pub is_revocable: bool,
    /// The rows of the audit log about it.
    pub audit: String,
}

console_page!(GrantPage, |page| format!("Grant {}", page.id));

impl GrantPage {
    /// A table of it.
    pub fn table(name: &'static str, empty: &'static str, heads: &[&'static str], rows: Vec<Vec<Cell>>) -> Listing {
        let heads = heads.iter().map(|label| Head::plain(label)).collect();
        Listing { name, heads, rows, empty, first: None, next: None, csv: None }
    }

    fn sample() -> Self {
        let at = |minutes: i64| Cell::Time(When::at(Timestamp::from_seconds(1_790_769_600 + minutes * 60)));
        let id = "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA".to_owned();
        let text = |text: &str| Cell::Text(text.to_owned());
        let row_id = |last: char| Cell::Id(format!("f0c12e6b-231e-4d92-a610-2518a0f27d2{last}"), None);
        Self {
            frame: Frame::sample_in(Section::Grants),
            notice: None,
            altered: Vec::new(),
            facts: vec![
                Fact::new("State", Cell::State("live", Tone::Good)),
                Fact::new("Brand", text("Skyline Airways")),
                Fact::new("User", Cell::Id("jane-4471".to_owned(), Some("/grants?user=jane-4471".to_owned()))),
                Fact::new(
                    "Personal agent",
                    Cell::Link("Demo personal agent".to_owned(), "/personal-agents".to_owned()),
                ),
                Fact::new("Issuer", Cell::Id("https://pa.example.com".to_owned(), None)),
                Fact::new("Its name for the User (sub)", Cell::Id("user-7f3a".to_owned(), None)),
                Fact::new("First allowed", at(-3_000)),
                Fact::new("Latest decision", at(-200)),
                Fact::new("Expires", at(500_000)),
                Fact::new("Last used", at(-12)),
            ],
            allows: vec![
                Allowed {
                    id: "orders:read".to_owned(),
                    description: Some("Look up your orders".to_owned()),
                    writes: false,
                },
                Allowed {
                    id: "orders:cancel".to_owned(),
                    description: Some("Cancel an order".to_owned()),
                    writes: true,
                },
                Allowed { id: "points:read".to_owned(), description: None, writes: false },
            ],
            decisions: Self::table(
                "Decisions",
                "No decision is kept.",
                &["When", "Decision", "Scopes", "Language", "Request"],
                vec![vec![at(-3_000), text("Allowed"), text("orders:read orders:cancel"), text("en"), row_id('0')]],
            ),
            receipts: Self::table(
                "Receipts",
                "Nothing was done under it.",
                &["When", "What was done", "Receipt"],
                vec![
                    vec![at(-12), text("Called cancel order, for: Cancel an order"), row_id('1')],
                    vec![at(-13), text("Answered without using anything"), row_id('2')],
                ],
            ),
            tokens: Self::table(
                "Tokens",
                "No token was issued.",
                &["Issued", "Ends", "Scopes", "Refreshed", "Token (jti)", "Family"],
                vec![vec![at(-30), at(30), text("orders:read"), Cell::Nothing, row_id('3'), row_id('4')]],
            ),
            has_older: (true, false),
            is_revocable: true,
            audit: format!("/audit?subject={id}"),
            id,
        }
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let live = Self::sample();
        let mut ended = live.clone();
        ended.is_revocable = false;
        ended.facts.insert(1, Fact::new("Ended by", Cell::Text("administrator anna".to_owned())));
        if let Some(state) = ended.facts.first_mut() {
            state.cell = Cell::State("ended", Tone::Quiet);
        }
        let revoked = Self { notice: Some(Notice::done("It has ended, on every node.")), ..ended.clone() };
        let mut altered = ended.clone();
        altered.notice = Some(Notice::wrong("Nothing was exported: the record was altered."));
        altered.altered = vec!["audit row 12: it has no seal of ours".to_owned()];
        let mut bare = ended.clone();
        for table in [&mut bare.decisions, &mut bare.receipts, &mut bare.tokens] {
            table.rows = Vec::new();
        }
        vec![("live", live), ("ended", ended), ("revoked", revoked), ("altered", altered), ("bare", bare)]
    }
}
