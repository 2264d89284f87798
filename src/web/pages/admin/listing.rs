//! Lists of the console as pages show them: a form that narrows them, a table whose columns order them, and the links to the
//! next page and to the whole list as CSV. All that a view is stands in its address.

use askama::Template;

use super::{Frame, Section, console_page};
use crate::clock::Timestamp;
use crate::domain::page::Direction;
use crate::web::pages::Page as _;

/// An instant: in UTC here, and in the reader's own time by script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct When {
    /// For machines (RFC 3339).
    pub datetime: String,
    /// For people.
    pub shown: String,
}

impl When {
    /// `at`, to the minute.
    pub fn at(at: Timestamp) -> Self {
        let datetime = at.to_rfc3339();
        let shown = match (datetime.get(..10), datetime.get(11..16)) {
            (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
            _ => datetime.clone(),
        };
        Self { datetime, shown }
    }
}

/// How a state is coloured; its words alone say it too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Over, or waiting.
    Quiet,
    /// Somebody should know.
    Bad,
}

impl Tone {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Quiet => "quiet",
            Self::Bad => "bad",
        }
    }
}

/// What stands in one place of a table or beside one name of a list of facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// There is none.
    Nothing,
    /// Words.
    Text(String),
    /// An id, which can be copied, and the address of what it names.
    Id(String, Option<String>),
    /// Words that lead somewhere.
    Link(String, String),
    /// An instant.
    Time(When),
    /// A number, as [`number`] writes it.
    Number(String),
    /// A state.
    State(&'static str, Tone),
}

impl Cell {
    /// An instant, where there is one.
    pub fn time(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Nothing, |at| Self::Time(When::at(at)))
    }

    /// A number.
    pub fn number(number: i64) -> Self {
        Self::Number(self::number(number))
    }
}

/// `1 214`: digits in groups of three, with a narrow space that does not break.
pub fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut written = String::with_capacity(digits.len() + 8);
    if number < 0 {
        written.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            written.push('\u{202f}');
        }
        written.push(digit);
    }
    written
}

/// `1 214 grants`, `1 grant`.
pub fn counted(count: i64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// The head of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// What it is called.
    pub label: &'static str,
    /// Whether numbers stand under it.
    pub is_number: bool,
    /// The address of the view that is ordered by it; from the other end where this one is.
    pub address: Option<String>,
    /// From which end this view is ordered by it.
    pub sorted: Option<Direction>,
}

impl Head {
    /// A column that orders nothing.
    pub const fn plain(label: &'static str) -> Self {
        Self { label, is_number: false, address: None, sorted: None }
    }

    pub(super) const fn aria_sort(&self) -> Option<&'static str> {
        match self.sorted {
            Some(Direction::Ascending) => Some("ascending"),
            Some(Direction::Descending) => Some("descending"),
            None => None,
        }
    }
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// What it is called, for those who do not see it.
    pub name: &'static str,
    /// Its columns.
    pub heads: Vec<Head>,
    /// Its rows, of as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// What is said when there are none.
    pub empty: &'static str,
    /// The address of the first page, on every other one.
    pub first: Option<String>,
    /// The address of the next page.
    pub next: Option<String>,
    /// The address of the whole list as CSV.
    pub csv: Option<String>,
}

/// One choice of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// What is sent; empty for any.
    pub value: String,
    /// What is read.
    pub label: String,
}

/// What a field takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Control {
    /// Text.
    Text,
    /// An instant in UTC.
    Instant,
    /// One of these, or any.
    Choice(Vec<Choice>),
}

/// A field of the form that narrows a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The parameter.
    pub name: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it holds now.
    pub value: String,
    /// What it takes.
    pub control: Control,
}

impl Field {
    pub(super) fn is_chosen(&self, choice: &Choice) -> bool {
        self.value == choice.value
    }
}

/// A link to something that can be done or seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// What it is called.
    pub label: String,
    /// Where it leads.
    pub address: String,
}

/// What was done, or why nothing was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Whether it was done.
    pub is_good: bool,
    /// In words.
    pub text: String,
}

impl Notice {
    /// It was done.
    pub fn done(text: impl Into<String>) -> Self {
        Self { is_good: true, text: text.into() }
    }

    /// It was not.
    pub fn wrong(text: impl Into<String>) -> Self {
        Self { is_good: false, text: text.into() }
    }
}

/// Something that is known, and what it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What it is called.
    pub label: &'static str,
    /// What it is.
    pub cell: Cell,
}

impl Fact {
    /// `cell`, called `label`.
    pub const fn new(label: &'static str, cell: Cell) -> Self {
        Self { label, cell }
    }
}

/// A list with what narrows it.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/list.html")]
pub struct ListPage {
    /// What stands around it.
    pub frame: Frame,
    /// What it is called.
    pub title: &'static str,
    /// How many there are, or what they are.
    pub lead: Option<String>,
    /// What can be done with them.
    pub actions: Vec<Action>,
    /// Its address without a query.
    pub path: &'static str,
    /// What narrows it.
    pub fields: Vec<Field>,
    /// What else the form sends along.
    pub hidden: Vec<(&'static str, String)>,
    /// Whether it is narrowed.
    pub is_narrowed: bool,
    /// Its rows.
    pub listing: Listing,
}

console_page!(ListPage, |page| page.title.to_owned());

impl ListPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        super::list_samples::states()
    }
}

/// An address of a list that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/bad_view.html")]
pub struct BadViewPage {
    /// What stands around it.
    pub frame: Frame,
    /// What is wrong, by the parameter's name.
    pub problem: String,
    /// The list without anything that narrows it.
    pub path: &'static str,
}

console_page!(BadViewPage, |_| "This address cannot be read".to_owned());

impl BadViewPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let problem = "state: is none of live, expired, ended".to_owned();
        vec![("state", Self { frame: Frame::sample_in(Section::Grants), problem, path: "/grants" })]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_groups_of_three() {
        for (count, written) in
            [(0, "0"), (999, "999"), (1_214, "1\u{202f}214"), (1_000_000, "1\u{202f}000\u{202f}000")]
        {
            assert_eq!(number(count), written);
        }
        assert_eq!(number(-1_000), "-1\u{202f}000");
        assert_eq!(
            (counted(1, "grant", "grants"), counted(0, "grant", "grants")),
            ("1 grant".into(), "0 grants".into())
        );
    }

    #[test]
    fn an_instant_is_written_in_utc_for_people_and_for_machines() {
        let when = When::at(Timestamp::from_seconds(1_767_225_600));
        assert_eq!((when.datetime.as_str(), when.shown.as_str()), ("2026-01-01T00:00:00Z", "2026-01-01 00:00 UTC"));
    }

    // case 45
    #[test]
    fn markup_in_every_cell_and_field_is_shown_as_text() {
        let evil = || "<script>alert('\"&')</script>".to_owned();
        let (_, mut page) = ListPage::states().into_iter().next().unwrap();
        page.lead = Some(evil());
        page.actions = vec![Action { label: evil(), address: evil() }];
        for field in &mut page.fields {
            field.value = evil();
        }
        page.hidden = vec![("sort", evil())];
        page.listing.rows = vec![vec![
            Cell::Text(evil()),
            Cell::Id(evil(), Some(evil())),
            Cell::Id(evil(), None),
            Cell::Link(evil(), evil()),
            Cell::Time(When { datetime: evil(), shown: evil() }),
            Cell::Number(evil()),
        ]];
        (page.listing.first, page.listing.next, page.listing.csv) = (Some(evil()), Some(evil()), Some(evil()));
        let bad = BadViewPage { frame: Frame::sample(), problem: evil(), path: "/grants" };
        for html in [page.render().unwrap(), bad.render().unwrap()] {
            assert!(!html.contains("<script>") && !html.contains("'\""), "{html}");
        }
    }
}
