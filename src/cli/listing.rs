//! Lists: how many rows, in which order, from where on; as a table or as one JSON object per line.

use std::io::Write;

use serde::Serialize;

use super::failure::Failure;
use super::table::Table;
use crate::clock::Timestamp;
use crate::domain::page::{Direction, Page, Paging, Sort};
use crate::flow::Fault;
use crate::flow::admin::Verdict;

/// What every list takes.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Listing {
    /// At most so many rows.
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on after a list that ended with this cursor.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// The other end first.
    #[arg(long)]
    reverse: bool,
    /// One JSON object per line.
    #[arg(long)]
    pub(super) json: bool,
}

impl Listing {
    /// Asks for page after page until there are enough rows, and writes them. The usual end first is `first`.
    pub(super) async fn write<S: Sort, T, J: Serialize, const COLUMNS: usize>(
        &self,
        (sort, first): (S, Direction),
        header: [&'static str; COLUMNS],
        out: &mut impl Write,
        fetch: impl AsyncFn(Paging<S>) -> Result<Verdict<Page<T>>, Fault>,
        (as_json, as_row): (impl Fn(T) -> J, impl Fn(&J) -> [String; COLUMNS]),
    ) -> Result<(), Failure> {
        let direction = match (first, self.reverse) {
            (Direction::Descending, false) | (Direction::Ascending, true) => Direction::Descending,
            (Direction::Descending, true) | (Direction::Ascending, false) => Direction::Ascending,
        };
        let mut table = Table::new(header);
        let (mut left, mut cursor) = (self.limit, self.after.clone());
        loop {
            let size = u16::try_from(left).unwrap_or(u16::MAX).min(Paging::<S>::MOST);
            let paging = Paging::new(sort, direction, size, cursor.as_deref());
            let paging = paging.map_err(|invalid| Failure::Usage(format!("--after: {invalid}")))?;
            let page = done(fetch(paging).await?, "such thing")?;
            left = left.saturating_sub(u32::try_from(page.items.len()).unwrap_or(u32::MAX));
            for item in page.items {
                let item = as_json(item);
                if self.json {
                    writeln!(out, "{}", serde_json::to_string(&item).map_err(Fault::from)?)?;
                } else {
                    table.push(as_row(&item));
                }
            }
            cursor = page.next;
            if cursor.is_none() || left == 0 {
                break;
            }
        }
        table.write(out)?;
        if let Some(cursor) = cursor {
            eprintln!("there are more: go on with --after {cursor}");
        }
        Ok(())
    }
}

/// What was done, or why it was not. `what` is what there is none of.
pub(super) fn done<T>(verdict: Verdict<T>, what: impl std::fmt::Display) -> Result<T, Failure> {
    match verdict {
        Verdict::Done(done) => Ok(done),
        Verdict::Forbidden => Err(Failure::Said("the role does not allow it".to_owned())),
        Verdict::NotThere => Err(Failure::Said(format!("there is no {what}"))),
    }
}

/// Reads a sort column by its name.
pub(super) fn sort<S: Sort>(text: &str) -> Result<S, String> {
    S::named(text).ok_or_else(|| {
        let names: Vec<_> = S::ALL.iter().map(|sort| sort.name()).collect();
        format!("is none of {}", names.join(", "))
    })
}

/// Reads `2026-09-30T12:00:00Z`, or `2026-09-30` for its first instant in UTC.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    let midnight = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    let parsed = Timestamp::parse_rfc3339(text).or_else(midnight);
    parsed.ok_or_else(|| "is neither 2026-09-30T12:00:00Z (RFC 3339) nor 2026-09-30".to_owned())
}

/// One line of JSON.
pub(super) fn line(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    writeln!(out, "{}", serde_json::to_string(value).map_err(Fault::from)?)?;
    Ok(())
}

/// `1 grant`, `2 grants`.
pub(super) fn counted(count: i64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
