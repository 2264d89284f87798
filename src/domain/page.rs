//! Pages of a list: where one begins, in which order, and how many rows it has at most.
//!
//! A page begins after a row, not at a number: what is added or taken away meanwhile repeats nothing and skips nothing.
//! Refuses a cursor of another list or order, which would begin anywhere.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// A column by which a list can be ordered.
pub trait Sort: Copy + PartialEq + Send + Sync + 'static {
    /// All of them, the usual one first.
    const ALL: &'static [Self];

    /// As surfaces name it.
    fn name(self) -> &'static str;

    /// The one of this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|sort| sort.name() == name)
    }
}

/// A list that has one order: by time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByTime;

impl Sort for ByTime {
    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "created"
    }
}

/// From which end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The smallest or oldest first.
    Ascending,
    /// The greatest or newest first.
    Descending,
}

impl Direction {
    const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "asc",
            Self::Descending => "desc",
        }
    }
}

/// The value of the column by which a list is ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    /// Of a time, in milliseconds since the epoch.
    Number(i64),
    /// Of a name.
    Text(String),
}

/// A row's place in a list: the column's value, and its id among those that have the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The column's value.
    pub key: Key,
    /// Unique in the list.
    pub id: String,
}

/// Which page of a list is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paging<S> {
    /// By which column.
    pub sort: S,
    /// From which end.
    pub direction: Direction,
    /// The last row of the page before; `None` for the first page.
    pub after: Option<Place>,
    size: u16,
}

/// Why there is no such page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidPaging {
    /// A page has at least one row and at most [`Paging::MOST`].
    #[error("limit: a page has 1 to 1000 rows")]
    Size,
    /// The cursor is none that a page of this list in this order has given.
    #[error("cursor: is not that of a page of this list in this order")]
    Cursor,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    s: String,
    d: String,
    k: Key,
    i: String,
}

impl<S: Sort> Paging<S> {
    /// The most rows of a page.
    pub const MOST: u16 = 1000;

    /// The page of at most `size` rows after the one that gave `cursor`.
    ///
    /// # Errors
    /// [`InvalidPaging`].
    pub fn new(sort: S, direction: Direction, size: u16, cursor: Option<&str>) -> Result<Self, InvalidPaging> {
        if !(1..=Self::MOST).contains(&size) {
            return Err(InvalidPaging::Size);
        }
        let mut paging = Self { sort, direction, after: None, size };
        if let Some(cursor) = cursor {
            paging.after = Some(paging.read(cursor).ok_or(InvalidPaging::Cursor)?);
        }
        Ok(paging)
    }

    /// How many rows a query takes: one more than are shown, which tells whether there is another page.
    pub fn limit(&self) -> i64 {
        i64::from(self.size) + 1
    }

    /// The page of `rows`, of which there is at most one too many. `place` tells where a row stands.
    pub fn page<T>(&self, mut rows: Vec<T>, place: impl Fn(&T) -> Place) -> Page<T> {
        let size = usize::from(self.size);
        let more = rows.len() > size;
        rows.truncate(size);
        let next = rows.last().filter(|_| more).map(|last| self.write(place(last)));
        Page { items: rows, next }
    }

    fn write(&self, place: Place) -> String {
        let (s, d) = (self.sort.name().to_owned(), self.direction.name().to_owned());
        let written = Written { s, d, k: place.key, i: place.id };
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&written).unwrap_or_default())
    }

    fn read(&self, cursor: &str) -> Option<Place> {
        let written: Written = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let is_ours = written.s == self.sort.name() && written.d == self.direction.name();
        // No database keeps NUL, and PostgreSQL takes none.
        let has_nul = written.i.contains('\0') || matches!(&written.k, Key::Text(text) if text.contains('\0'));
        (is_ours && !has_nul).then_some(Place { key: written.k, id: written.i })
    }
}

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page<T> {
    /// Its rows, in order.
    pub items: Vec<T>,
    /// The cursor of the page after it; `None` for the last one.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// The same page of other things.
    pub fn map<U>(self, each: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(each).collect(), next: self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(size: u16) -> Paging<ByTime> {
        Paging::new(ByTime, Direction::Descending, size, None).unwrap()
    }

    fn place(row: &i64) -> Place {
        Place { key: Key::Number(*row), id: row.to_string() }
    }

    #[test]
    fn a_page_leads_to_the_next_until_the_last() {
        let page = first(2).page(vec![9, 8, 7], place);
        assert_eq!(page.items, [9, 8]);
        let next = page.next.unwrap();
        let paging = Paging::new(ByTime, Direction::Descending, 2, Some(&next)).unwrap();
        assert_eq!(paging.after, Some(place(&8)));
        assert_eq!(paging.page(vec![7], place), Page { items: vec![7], next: None });
        assert_eq!(paging.page(vec![7, 6], place).next, None);
    }

    #[test]
    fn a_page_of_no_rows_or_too_many_is_refused() {
        for size in [0, 1001] {
            assert_eq!(Paging::new(ByTime, Direction::Ascending, size, None), Err(InvalidPaging::Size));
        }
    }

    #[test]
    fn a_cursor_of_another_order_or_of_nobodys_making_is_refused() {
        let cursor = first(1).page(vec![9, 8], place).next.unwrap();
        assert_eq!(Paging::new(ByTime, Direction::Ascending, 1, Some(&cursor)), Err(InvalidPaging::Cursor));
        for wrong in ["", "x", "{}", &cursor[1..], &format!("{cursor}A"), "\u{0}"] {
            assert_eq!(
                Paging::new(ByTime, Direction::Descending, 1, Some(wrong)),
                Err(InvalidPaging::Cursor),
                "{wrong}"
            );
        }
        for id in ["a\\u0000", "a"] {
            let text = format!("{{\"s\":\"created\",\"d\":\"desc\",\"k\":1,\"i\":\"{id}\"}}");
            let cursor = BASE64_URL_SAFE_NO_PAD.encode(text);
            assert_eq!(Paging::new(ByTime, Direction::Descending, 1, Some(&cursor)).is_ok(), id == "a");
        }
    }
}
