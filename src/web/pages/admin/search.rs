//! What was found, where it is not one thing alone.

use askama::Template;

use super::{Frame, console_page};
use crate::web::pages::Page as _;

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HitLine {
    /// What it is.
    pub kind: &'static str,
    /// What it is called.
    pub text: String,
    /// Where it is.
    pub address: String,
    /// What else helps to tell it from others.
    pub detail: String,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/search.html")]
pub struct SearchPage {
    /// What stands around it; it holds what was looked for.
    pub frame: Frame,
    /// Whether personal agents were looked for too.
    pub sees_agents: bool,
    /// What was found.
    pub hits: Vec<HitLine>,
}

console_page!(SearchPage, |_| "Search".to_owned());

impl SearchPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let line = |kind, text: &str, detail: &str| HitLine {
            kind,
            text: text.to_owned(),
            address: "/grants".to_owned(),
            detail: detail.to_owned(),
        };
        let frame = Frame { search: "demo".to_owned(), ..Frame::sample() };
        let hits = vec![
            line("Personal agent", "Demo personal agent", "https://pa.example.com"),
            line("Personal agent", "Demo of another", "https://other.example.com"),
            line("User", "demo", "2 grants of 1 Brand"),
        ];
        let several = Self { frame, sees_agents: true, hits };
        let none = Self { hits: Vec::new(), ..several.clone() };
        vec![
            ("several", several),
            ("none-of-one-brand", Self { sees_agents: false, ..none.clone() }),
            ("nothing-asked", Self { frame: Frame::sample(), ..none.clone() }),
            ("none", none),
        ]
    }
}
