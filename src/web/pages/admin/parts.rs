//! What the console's pages are put together from: facts about a thing, tables, and links to what can be done with it.

use url::form_urlencoded::Serializer;

use super::{When, number};
use crate::clock::Timestamp;

/// A link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// What it is called.
    pub label: String,
    /// Where it leads, on this listener.
    pub href: String,
}

impl Link {
    /// A link called `label`.
    pub fn new(label: impl Into<String>, href: impl Into<String>) -> Self {
        Self { label: label.into(), href: href.into() }
    }
}

/// Something that is shown of a thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Words.
    Text(String),
    /// An id, an address or another text that is copied as it is.
    Id(String),
    /// A thing that has a page.
    Link(Link),
    /// An instant.
    At(When),
    /// One line each.
    Lines(Vec<String>),
    /// There is none.
    Nothing,
}

impl Value {
    /// Words.
    pub fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string())
    }

    /// A text that is copied as it is.
    pub fn id(id: impl ToString) -> Self {
        Self::Id(id.to_string())
    }

    /// An instant.
    pub fn instant(at: Timestamp) -> Self {
        Self::At(When::at(at))
    }

    /// An instant, or that there was none.
    pub fn at(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Nothing, Self::instant)
    }
}

/// One thing that is known of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// And how.
    pub value: Value,
}

/// A fact.
pub(super) const fn fact(name: &'static str, value: Value) -> Fact {
    Fact { name, value }
}

/// A small table that is shown whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What its columns are.
    pub columns: Vec<&'static str>,
    /// Its rows, with a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// What is said where it has none.
    pub empty: &'static str,
}

/// A part of a page, under a heading of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its heading.
    pub heading: &'static str,
    /// What to know of it; may be empty.
    pub hint: &'static str,
    /// What stands in it.
    pub holds: Holds,
    /// What can be done there.
    pub deeds: Vec<Link>,
}

/// What stands in a part of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Facts.
    Facts(Vec<Fact>),
    /// A table.
    Table(Table),
    /// A text as it is, such as JSON.
    Text(String),
}

impl Block {
    /// A part without a hint, in which nothing can be done.
    pub const fn new(heading: &'static str, holds: Holds) -> Self {
        Self { heading, hint: "", holds, deeds: Vec::new() }
    }

    /// The id of its heading in its page: `live-grants` for "Live grants".
    pub fn anchor(&self) -> String {
        self.heading.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    }
}

/// `/keys/{kid}/retire`: an address of these parts, each as one segment of a path (RFC 3986 §3.3).
pub fn path(segments: &[&str]) -> String {
    use std::fmt::Write as _;
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        for byte in segment.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
                path.push(char::from(byte));
            } else {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

/// `path` with these parameters.
pub(super) fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{path}?{query}")
}

/// `1 grant`, `2 grants`, with the thousands apart.
pub(super) fn counted(count: impl TryInto<i64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(i64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stays_one_whatever_it_holds() {
        assert_eq!(path(&["keys", "a/b c%?#é", "retire"]), "/keys/a%2Fb%20c%25%3F%23%C3%A9/retire");
        assert_eq!(path(&["administrators", "anna.b-c_d@example.com"]), "/administrators/anna.b-c_d@example.com");
        assert_eq!(with_query("/audit", &[("subject", "a&b")]), "/audit?subject=a%26b");
    }

    #[test]
    fn numbers_are_read_easily_and_agree_with_what_they_count() {
        assert_eq!(counted(1_i64, "grant"), "1 grant");
        assert_eq!(counted(0_usize, "grant"), "0 grants");
        assert_eq!(counted(1_234_567_i64, "row"), "1\u{202f}234\u{202f}567 rows");
        let block = Block::new("Resource-server keys", Holds::Text(String::new()));
        assert_eq!(block.anchor(), "resource-server-keys");
    }
}
