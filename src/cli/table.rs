//! Tables for people: a header, columns that stand under each other, one line for each row whatever it is piped into.

use std::fmt::Write as _;
use std::io::{self, Write};

/// A table. It is written once its widths are known.
pub(super) struct Table<const COLUMNS: usize> {
    header: [&'static str; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(super) const fn new(header: [&'static str; COLUMNS]) -> Self {
        Self { header, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row.map(|cell| printable(&cell)));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, and nothing at all when it has no rows.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut widths = self.header.map(str::len);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let header = self.header.map(str::to_owned);
        for row in std::iter::once(&header).chain(&self.rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let _ = write!(line, "{cell:<width$}  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// `text` without what a terminal would obey: control characters, and those that turn the direction of writing.
pub(super) fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns(c) {
            printable.extend(c.escape_unicode());
        } else {
            printable.push(c);
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_and_lines_end_where_their_text_ends() {
        let mut table = Table::new(["ID", "NAME", "STATE"]);
        table.push(["1".to_owned(), "Übung".to_owned(), "live".to_owned()]);
        table.push(["1000".to_owned(), "x".to_owned(), String::new()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "ID    NAME   STATE\n1     Übung  live\n1000  x\n");
    }

    // case 81
    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let mut table = Table::new(["NAME"]);
        table.push(["a\u{1b}[2J\r\n\u{202e}b".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME\na\\u{1b}[2J\\u{d}\\u{a}\\u{202e}b\n");
    }
}
