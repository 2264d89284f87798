//! Many grants taken back at once: how many there are, the question, and what became of it. What is typed is the number.

use askama::Template;

use super::{Fact, Frame, Notice, Section, console_page, counted, number};
use crate::store::GrantCount;
use crate::web::pages::Page as _;

/// How many live grants there are, of which Brands, and what the form that ends them sends along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RevokeAll {
    /// How many.
    pub count: GrantCount,
    /// The same of each Brand, by its name.
    pub by_brand: Vec<(String, i64)>,
    /// When they were counted, in milliseconds since the epoch: no later grant ends with them.
    pub counted_at: i64,
    /// What narrows them.
    pub narrowed: Vec<(&'static str, String)>,
}

impl RevokeAll {
    /// `1 214 grants of 3 Brands`.
    pub fn so_many(&self) -> String {
        so_many(self.count)
    }

    pub(super) fn shown(&self) -> String {
        number(self.count.grants)
    }

    pub(super) fn of(grants: &i64) -> String {
        number(*grants)
    }

    pub(super) fn sample() -> Self {
        Self {
            count: GrantCount { grants: 1_214, brands: 3 },
            by_brand: vec![
                ("Harbour Club".to_owned(), 14),
                ("Skyline Airways".to_owned(), 800),
                ("Skyline Shop".to_owned(), 400),
            ],
            counted_at: 1_790_769_600_000,
            narrowed: vec![("personal_agent", "https://pa.example.com".to_owned())],
        }
    }
}

/// `1 214 grants of 3 Brands`.
pub fn so_many(count: GrantCount) -> String {
    format!("{} of {}", counted(count.grants, "grant", "grants"), counted(count.brands, "Brand", "Brands"))
}

/// The question.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/revoke.html")]
pub struct RevokePage {
    /// What stands around it.
    pub frame: Frame,
    /// Why nothing was done.
    pub notice: Option<Notice>,
    /// What narrows them, in words.
    pub facts: Vec<Fact>,
    /// The grants.
    pub all: RevokeAll,
    /// The list of them.
    pub list: String,
}

console_page!(RevokePage, |_| "Revoke grants".to_owned());

impl RevokePage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let agent = super::Cell::Id("https://pa.example.com".to_owned(), None);
        let page = Self {
            frame: Frame::sample_in(Section::Grants),
            notice: None,
            facts: vec![Fact::new("Personal agent", agent)],
            all: RevokeAll::sample(),
            list: "/grants?personal_agent=https%3A%2F%2Fpa.example.com&state=live".to_owned(),
        };
        let more = Notice::wrong("Nothing was done: more fit now than were counted. Look at the new number.");
        let wrong = Notice::wrong("Nothing was done: what was typed is not the number that is asked for.");
        let none = RevokeAll { count: GrantCount::default(), by_brand: Vec::new(), ..RevokeAll::sample() };
        vec![
            ("question", page.clone()),
            ("everything", Self { facts: Vec::new(), ..page.clone() }),
            ("more", Self { notice: Some(more), ..page.clone() }),
            ("other-number", Self { notice: Some(wrong), ..page.clone() }),
            ("none", Self { all: none, ..page }),
        ]
    }
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/revoked.html")]
pub struct RevokedPage {
    /// What stands around it.
    pub frame: Frame,
    /// So many ended by this.
    pub ended: i64,
    /// So many were ended by somebody else meanwhile.
    pub already_ended: i64,
    /// Of so many Brands.
    pub brands: i64,
    /// The rows of the audit log about it.
    pub audit: String,
    /// The list of what still lives.
    pub list: String,
}

console_page!(RevokedPage, |page| match page.ended {
    1 => "1 grant has ended".to_owned(),
    ended => format!("{} grants have ended", number(ended)),
});

impl RevokedPage {
    fn of_brands(&self) -> String {
        counted(self.brands, "Brand", "Brands")
    }

    fn others(&self) -> String {
        counted(self.already_ended, "more was", "more were")
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let page = Self {
            frame: Frame::sample_in(Section::Grants),
            ended: 1_214,
            already_ended: 0,
            brands: 3,
            audit: "/audit?request=4c5d".to_owned(),
            list: "/grants?state=live".to_owned(),
        };
        vec![
            ("done", page.clone()),
            ("shared", Self { ended: 1, already_ended: 2, brands: 1, ..page.clone() }),
            ("none", Self { ended: 0, already_ended: 0, brands: 0, ..page }),
        ]
    }
}
