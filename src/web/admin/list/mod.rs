//! Lists of the console: each is narrowed, ordered and paged by its address, and comes whole as CSV.
//!
//! A list says what it is by [`List`]; this module reads the address, asks the flow and fills the page.

mod csv;
mod view;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};

use super::{Trouble, bad_view, fault, frame, trouble};
use crate::app::App;
use crate::domain::page::{Direction, InvalidPaging, Page};
use crate::flow::Fault;
use crate::flow::admin::{By, Verdict};
use crate::web::extract::session::viewer;
use crate::web::pages::admin::{Action, Cell, Field, Head, ListPage, Listing, Section};
use crate::web::{app, html};

pub(super) use csv::export;
pub(super) use view::{BadView, View, address, any_of};

/// How many rows a page has.
const PAGE: u16 = 50;

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    label: &'static str,
    is_number: bool,
    order: Option<(&'static str, Direction)>,
}

impl Column {
    /// A column that orders nothing.
    pub(super) const fn plain(label: &'static str) -> Self {
        Self { label, is_number: false, order: None }
    }

    /// A column of numbers that orders nothing.
    pub(super) const fn number(label: &'static str) -> Self {
        Self { label, is_number: true, order: None }
    }

    /// A column by which the list can be ordered, as `name`, from this end at first.
    pub(super) const fn sorted(label: &'static str, name: &'static str, first: Direction) -> Self {
        Self { label, is_number: false, order: Some((name, first)) }
    }
}

/// Who asks for a list, and which view of it.
pub(super) struct Asked<'a> {
    pub(super) app: &'a App,
    pub(super) by: &'a By,
    pub(super) view: &'a View,
}

/// What became of a page that was asked for.
pub(super) enum Listed<T> {
    /// Here it is.
    Page(Page<T>),
    /// The role does not allow it.
    Forbidden,
    /// It is of something that is not there, or out of reach.
    NotThere,
    /// No page of this view gave the cursor.
    NoCursor,
}

impl<T> From<Verdict<Page<T>>> for Listed<T> {
    fn from(verdict: Verdict<Page<T>>) -> Self {
        match verdict {
            Verdict::Done(page) => Self::Page(page),
            Verdict::Forbidden => Self::Forbidden,
            Verdict::NotThere => Self::NotThere,
        }
    }
}

impl<T> From<InvalidPaging> for Listed<T> {
    fn from(_: InvalidPaging) -> Self {
        Self::NoCursor
    }
}

/// A list of the console. A value is one that is narrowed as some address says.
pub(super) trait List: Sized + 'static {
    /// What a row is made from.
    type Item: 'static;

    /// Where it is. Its address is the section's unless [`List::PATH`] says otherwise.
    const SECTION: Section;
    /// Its address; the CSV is there with `.csv` behind it.
    const PATH: &'static str = Self::SECTION.path();
    /// What it is called.
    const TITLE: &'static str;
    /// What is said when it has no rows.
    const EMPTY: &'static str;
    /// The parameters that narrow it.
    const FILTERS: &'static [&'static str];
    /// Its columns. The first that orders is the usual order.
    const COLUMNS: &'static [Column];
    /// The names of the columns of its CSV.
    const CSV: &'static [&'static str];

    /// Reads what narrows it.
    fn read(view: &View) -> Result<Self, BadView>;

    /// Asks the flow for a page.
    async fn page(&self, asked: &Asked<'_>, size: u16, cursor: Option<&str>) -> Result<Listed<Self::Item>, Fault>;

    /// What stands above its rows: how many there are, or what they are.
    async fn lead(&self, asked: &Asked<'_>) -> Result<Option<String>, Fault> {
        let _ = asked;
        Ok(None)
    }

    /// What can be done with them.
    fn actions(&self, asked: &Asked<'_>) -> Vec<Action> {
        let _ = asked;
        Vec::new()
    }

    /// The fields that narrow it, each with one of [`List::FILTERS`]; [`View::field`] and its like make them.
    fn fields(&self, asked: &Asked<'_>) -> Vec<Field>;

    /// The cells of a row, as many as there are columns.
    fn cells(&self, asked: &Asked<'_>, item: &Self::Item) -> Vec<Cell>;

    /// The values of a row of the CSV, as many as it has columns; times are RFC 3339 in UTC.
    fn record(&self, app: &App, item: &Self::Item) -> Vec<String>;
}

/// The page of a list.
pub(super) async fn show<L: List>(req: &HttpRequest) -> HttpResponse {
    let viewer = match viewer(req).await {
        Ok(viewer) => viewer,
        Err(response) => return response,
    };
    let read = View::read::<L>(req).and_then(|view| L::read(&view).map(|list| (view, list)));
    let (view, list) = match read {
        Ok(read) => read,
        Err(problem) => return bad_view(&viewer, L::SECTION, &problem),
    };
    let asked = Asked { app: app(req), by: &viewer.caller().by, view: &view };
    let page = match list.page(&asked, PAGE, view.cursor()).await {
        Ok(Listed::Page(page)) => page,
        Ok(Listed::Forbidden) => return trouble(Some(&viewer), Trouble::NotAllowed),
        Ok(Listed::NotThere) => return trouble(Some(&viewer), Trouble::NotFound),
        Ok(Listed::NoCursor) => return bad_view(&viewer, L::SECTION, &BadView::cursor()),
        Err(error) => return fault(Some(&viewer), &error),
    };
    let lead = match list.lead(&asked).await {
        Ok(lead) => lead,
        Err(error) => return fault(Some(&viewer), &error),
    };
    let listing = Listing {
        name: L::TITLE,
        heads: L::COLUMNS.iter().map(|column| head(&view, column)).collect(),
        rows: page.items.iter().map(|item| list.cells(&asked, item)).collect(),
        empty: L::EMPTY,
        first: view.cursor().map(|_| view.address(None)),
        next: page.next.map(|cursor| view.address(Some(&cursor))),
        csv: (!page.items.is_empty()).then(|| view.csv_address()),
    };
    let page = ListPage {
        frame: frame(&viewer, L::SECTION),
        title: L::TITLE,
        lead,
        actions: list.actions(&asked),
        path: L::PATH,
        fields: list.fields(&asked),
        hidden: view.hidden(),
        is_narrowed: view.is_narrowed(),
        listing,
    };
    html::respond(StatusCode::OK, &page)
}

fn head(view: &View, column: &Column) -> Head {
    let sorted = column.order.and_then(|(name, _)| (view.sort() == name).then(|| view.order()));
    let address = column.order.map(|(name, first)| {
        let order = match sorted {
            Some(Direction::Ascending) => Direction::Descending,
            Some(Direction::Descending) => Direction::Ascending,
            None => first,
        };
        view.ordered_address(name, order, first)
    });
    Head { label: column.label, is_number: column.is_number, address, sorted }
}
