//! A whole view as CSV (RFC 4180), in batches, so that no list is too long for it.
//!
//! What a spreadsheet would take for a formula is made text by an apostrophe before it: a User's id is chosen by others.

use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::stream;

use super::{Asked, BadView, List, Listed, View};
use crate::app::App;
use crate::domain::page::Page;
use crate::flow::Fault;
use crate::flow::admin::By;
use crate::web::admin::{Trouble, bad_view, fault, trouble};
use crate::web::extract::session::viewer;
use crate::web::{error, shared_app};

/// How many rows are in memory at once.
const BATCH: u16 = 500;

/// The rest could not be read: the connection ends without the last chunk, so that nobody takes it for all.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was broken off")]
struct BrokenOff;

/// What comes next.
enum Next<T> {
    Page(Page<T>),
    After(String),
    Nothing,
}

struct Export<L> {
    app: std::sync::Arc<App>,
    by: By,
    view: View,
    list: L,
}

impl<L: List> Export<L> {
    async fn batch(&self, cursor: Option<&str>) -> Result<Listed<L::Item>, Fault> {
        let asked = Asked { app: &self.app, by: &self.by, view: &self.view };
        self.list.page(&asked, BATCH, cursor).await
    }

    fn rows(&self, page: &Page<L::Item>) -> Bytes {
        let rows = page.items.iter().map(|item| line(&self.list.record(&self.app, item)));
        rows.collect::<String>().into()
    }
}

/// All rows of a view.
pub(in crate::web::admin) async fn export<L: List>(req: &HttpRequest) -> HttpResponse {
    let viewer = match viewer(req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let read = View::read_whole::<L>(req).and_then(|view| L::read(&view).map(|list| (view, list)));
    let (view, list) = match read {
        Ok(read) => read,
        Err(problem) => return bad_view(&viewer, L::SECTION, &problem),
    };
    let export = Export { app: shared_app(req), by: viewer.caller().by.clone(), view, list };
    let first = match export.batch(None).await {
        Ok(Listed::Page(first)) => first,
        Ok(Listed::Forbidden) => return trouble(Some(&viewer), Trouble::NotAllowed),
        Ok(Listed::NotThere) => return trouble(Some(&viewer), Trouble::NotFound),
        Ok(Listed::NoCursor) => return bad_view(&viewer, L::SECTION, &BadView::cursor()),
        Err(error) => return fault(Some(&viewer), &error),
    };
    let name = format!("attachment; filename=\"{}.csv\"", L::PATH.trim_start_matches('/').replace('/', "-"));
    let head = line(&L::CSV.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let rows = stream::try_unfold((export, Next::Page(first)), |(export, next)| async move {
        let page = match next {
            Next::Nothing => return Ok(None),
            Next::Page(page) => page,
            Next::After(cursor) => match export.batch(Some(&cursor)).await {
                Ok(Listed::Page(page)) => page,
                Ok(Listed::Forbidden | Listed::NotThere | Listed::NoCursor) => return Err(BrokenOff),
                Err(fault) => {
                    error::log_fault(&fault);
                    return Err(BrokenOff);
                }
            },
        };
        let rows = export.rows(&page);
        let next = page.next.map_or(Next::Nothing, Next::After);
        Ok(Some((rows, (export, next))))
    });
    let head = stream::once(async { Ok::<_, BrokenOff>(Bytes::from(head)) });
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/csv; charset=utf-8; header=present"))
        .insert_header((header::CONTENT_DISPOSITION, name))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .streaming(futures_util::StreamExt::chain(head, rows))
}

/// One record with its CRLF (RFC 4180 §2).
fn line(values: &[String]) -> String {
    let fields: Vec<String> = values.iter().map(|value| field(value)).collect();
    format!("{}\r\n", fields.join(","))
}

/// A field, quoted where it must be.
fn field(value: &str) -> String {
    let is_formula = |part: &str| part.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    // Where a comma separates decimals a table reads a semicolon as the end of a field.
    let parts = value.split_inclusive(';').enumerate().map(|(place, part)| {
        let is_read = if place == 0 { is_formula(part) } else { is_formula(part.trim_start_matches(' ')) };
        if is_read { format!("'{part}") } else { part.to_owned() }
    });
    let value = parts.collect::<String>();
    if value.contains([',', '"', '\r', '\n']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_behind_a_semicolon_is_text_too() {
        for (value, written) in
            [("x;=1+1", "x;'=1+1"), ("x; =1", "x;' =1"), ("a;b", "a;b"), (";", ";"), ("=1;-2", "'=1;'-2")]
        {
            assert_eq!(field(value), written);
        }
    }

    #[test]
    fn what_a_reader_of_csv_would_split_is_quoted() {
        let values = ["a", "", "a,b", "say \"no\"", "two\r\nlines", " spaced "].map(str::to_owned);
        assert_eq!(line(&values), "a,,\"a,b\",\"say \"\"no\"\"\",\"two\r\nlines\", spaced \r\n");
    }

    #[test]
    fn what_a_spreadsheet_would_compute_is_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"] {
            assert!(field(formula).trim_start_matches('"').starts_with('\''), "{formula:?}");
        }
        assert_eq!(
            field("=HYPERLINK(\"https://evil.example\",\"x\")"),
            "\"'=HYPERLINK(\"\"https://evil.example\"\",\"\"x\"\")\""
        );
        for plain in ["a=b", "1-1", "https://pa.example.com", "'", "2026-01-01T00:00:00Z"] {
            assert_eq!(field(plain), plain);
        }
    }
}
