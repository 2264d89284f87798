//! The page of a form that does something: what it means is said first, and what destroys something is typed.

use askama::Template;

use super::parts::{Fact, Link};
use super::{Frame, console_page};
use crate::web::pages::Page as _;

/// Why nothing was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// What kind of thing it is.
    pub kind: WrongKind,
    /// In whole words; names the field.
    pub words: String,
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongKind {
    /// What was typed is not taken: 422.
    Input,
    /// It cannot be done as things stand: 409.
    Conflict,
    /// Too much is going on: 503.
    Busy,
}

impl Wrong {
    /// What was typed is not taken.
    pub fn input(words: impl Into<String>) -> Self {
        Self { kind: WrongKind::Input, words: words.into() }
    }

    /// It cannot be done as things stand.
    pub fn conflict(words: impl Into<String>) -> Self {
        Self { kind: WrongKind::Conflict, words: words.into() }
    }

    /// Too much is going on.
    pub fn busy() -> Self {
        Self { kind: WrongKind::Busy, words: "Too much is going on. Try again in a few seconds.".to_owned() }
    }
}

/// One field of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// One line.
    Line {
        /// Its name in the form.
        name: &'static str,
        /// What it is called.
        label: String,
        /// What to know of it; may be empty.
        hint: String,
        /// What stands in it.
        value: String,
        /// What it takes.
        kind: LineKind,
        /// Whether something must stand in it.
        required: bool,
    },
    /// Many lines, such as a part of a file.
    Area {
        /// Its name in the form.
        name: &'static str,
        /// What it is called.
        label: &'static str,
        /// What to know of it.
        hint: &'static str,
        /// What stands in it.
        value: String,
    },
    /// Some of these, or one.
    Choice {
        /// Its name in the form.
        name: &'static str,
        /// What is chosen.
        legend: &'static str,
        /// Whether it may be several, or none.
        several: bool,
        /// Among what.
        options: Vec<Choice>,
    },
}

/// What a line takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// Words.
    Text,
    /// A new password.
    NewPassword,
    /// A whole number.
    Number,
}

impl LineKind {
    const fn input_type(self) -> &'static str {
        match self {
            Self::Text | Self::Number => "text",
            Self::NewPassword => "password",
        }
    }

    const fn autocomplete(self) -> &'static str {
        match self {
            Self::Text | Self::Number => "off",
            Self::NewPassword => "new-password",
        }
    }

    const fn is_number(self) -> bool {
        matches!(self, Self::Number)
    }

    const fn longest(self) -> usize {
        match self {
            Self::Text => 200,
            Self::NewPassword => crate::domain::account::LONGEST_PASSWORD,
            Self::Number => 20,
        }
    }
}

/// Something that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// What the form sends.
    pub value: String,
    /// What it is called.
    pub label: String,
    /// Whether it is chosen.
    pub chosen: bool,
}

impl Choice {
    /// A choice that is made when `chosen`.
    pub fn new(value: impl Into<String>, label: impl Into<String>, chosen: bool) -> Self {
        Self { value: value.into(), label: label.into(), chosen }
    }
}

impl Field {
    /// What must be typed to go on.
    pub fn typed(label: impl Into<String>) -> Self {
        Self::line("typed", label, "", "", LineKind::Text)
    }

    /// A line in which something must stand.
    pub fn line(
        name: &'static str,
        label: impl Into<String>,
        hint: impl Into<String>,
        value: impl Into<String>,
        kind: LineKind,
    ) -> Self {
        Self::Line { name, label: label.into(), hint: hint.into(), value: value.into(), kind, required: true }
    }

    /// A line that may be left empty.
    pub fn optional(
        name: &'static str,
        label: impl Into<String>,
        hint: impl Into<String>,
        value: impl Into<String>,
        kind: LineKind,
    ) -> Self {
        Self::Line { name, label: label.into(), hint: hint.into(), value: value.into(), kind, required: false }
    }
}

/// A button of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Button {
    /// What it sends as `step`; empty where there is one button.
    pub step: &'static str,
    /// What it says.
    pub label: &'static str,
}

/// The page of a form.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/form.html")]
pub struct FormPage {
    /// What stands around it.
    pub frame: Frame,
    /// What it does.
    pub title: String,
    /// Why nothing was done.
    pub wrong: Option<Wrong>,
    /// What follows from it.
    pub says: Vec<String>,
    /// What it concerns.
    pub facts: Vec<Fact>,
    /// What is typed and chosen.
    pub fields: Vec<Field>,
    /// What else the form sends.
    pub hidden: Vec<(&'static str, String)>,
    /// Where it is sent.
    pub action: String,
    /// How it is sent; none where nothing can be done.
    pub buttons: Vec<Button>,
    /// Where nothing is done.
    pub cancel: Link,
}

console_page!(FormPage, |page| page.title.clone());

impl FormPage {
    /// The same page, which says why nothing was done.
    #[must_use]
    pub fn with_wrong(self, wrong: Option<Wrong>) -> Self {
        Self { wrong, ..self }
    }

    /// The same, which sends `value` along as `name`.
    pub fn with_hidden(mut self, name: &'static str, value: String) -> Self {
        self.hidden.push((name, value));
        self
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let mut states = super::key::form_samples();
        states.extend(super::audit::form_samples());
        states.extend(super::brand_form::form_samples());
        states.extend(super::resource_server_key::form_samples());
        states.extend(super::administrator_form::form_samples());
        states.extend(super::api_key::form_samples());
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_carries_its_token_once_and_says_what_follows() {
        for (state, page) in FormPage::states() {
            let html = page.render().unwrap();
            let forms = html.matches(" method=\"post\"").count();
            assert_eq!(html.matches("name=\"form_token\"").count(), forms, "{state}");
            assert_eq!(forms, if page.buttons.is_empty() { 1 } else { 2 }, "{state}");
            assert!(!page.says.is_empty() || !page.fields.is_empty(), "{state}");
        }
    }

    #[test]
    fn what_is_wrong_is_announced_and_kept_beside_what_was_typed() {
        let (_, page) = FormPage::states().remove(0);
        let html = page.with_wrong(Some(Wrong::input("name: is empty"))).render().unwrap();
        assert!(html.contains("role=\"alert\"") && html.contains("name: is empty"));
    }
}
