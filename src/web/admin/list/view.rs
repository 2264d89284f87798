//! A view of a list, as its address says: what narrows it, its order, and after which row it begins.
//!
//! Refuses every parameter that is unknown, repeated or wrong, by its name; and a cursor that a page of another view gave.

use std::fmt;

use actix_web::HttpRequest;

use super::List;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::domain::page::{Direction, InvalidPaging, Paging, Sort};
use crate::web::extract::query::{QueryProblem, read_query};
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{Choice, Control, Field};

/// So many digits of a view's digest stand before each of its cursors.
const KEY_DIGITS: usize = 12;

/// What is wrong with an address: the parameter, and what was expected of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::web::admin) struct BadView(String);

impl BadView {
    /// The parameter `name` is wrong in this way.
    pub(in crate::web::admin) fn new(name: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{name}: {problem}"))
    }

    pub(super) fn cursor() -> Self {
        Self::new("cursor", "is not that of a page of this view")
    }
}

impl From<QueryProblem> for BadView {
    fn from(problem: QueryProblem) -> Self {
        Self(problem.to_string())
    }
}

/// Reads one of these names, and says all of them where it is none.
pub(in crate::web::admin) fn any_of<T: Copy>(
    all: &[T],
    name: fn(T) -> &'static str,
) -> impl FnOnce(&str) -> Result<T, String> {
    move |text| {
        let found = all.iter().copied().find(|one| name(*one) == text);
        found.ok_or_else(|| format!("is none of {}", all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ")))
    }
}

/// A view of a list.
#[derive(Clone, Debug)]
pub(in crate::web::admin) struct View {
    path: &'static str,
    /// What narrows it, in the list's order; nothing that is empty.
    values: Vec<(&'static str, String)>,
    sort: &'static str,
    order: Direction,
    /// Whether an address without them has the same.
    is_usual_sort: bool,
    is_usual_order: bool,
    cursor: Option<String>,
}

impl View {
    /// Reads the address of a page of `L`.
    pub(super) fn read<L: List>(req: &HttpRequest) -> Result<Self, BadView> {
        let mut known = L::FILTERS.to_vec();
        known.extend(["sort", "order", "cursor"]);
        Self::of::<L>(&read_query(req, &known)?)
    }

    /// Reads the address of its CSV, which has no pages.
    pub(super) fn read_whole<L: List>(req: &HttpRequest) -> Result<Self, BadView> {
        let mut known = L::FILTERS.to_vec();
        known.extend(["sort", "order"]);
        Self::of::<L>(&read_query(req, &known)?)
    }

    /// What `form` says of a list; what it holds beside that was looked at before.
    pub(in crate::web::admin) fn of<L: List>(form: &Form) -> Result<Self, BadView> {
        let value = |name: &&'static str| form.one(name).map(|value| (*name, value.to_owned()));
        let values = L::FILTERS.iter().filter_map(value).collect();
        let orders: Vec<(&'static str, Direction)> = L::COLUMNS.iter().filter_map(|column| column.order).collect();
        let usual = orders.first().copied().unwrap_or(("", Direction::Descending));
        let (sort, first) = match form.one("sort") {
            None => usual,
            Some(name) => orders.iter().copied().find(|(known, _)| *known == name).ok_or_else(|| {
                let known: Vec<&str> = orders.iter().map(|(name, _)| *name).collect();
                BadView::new("sort", format!("is none of {}", known.join(", ")))
            })?,
        };
        let order = match form.one("order") {
            None => first,
            Some("asc") => Direction::Ascending,
            Some("desc") => Direction::Descending,
            Some(_) => return Err(BadView::new("order", "is none of asc, desc")),
        };
        let mut view = Self {
            path: L::PATH,
            values,
            sort,
            order,
            is_usual_sort: sort == usual.0,
            is_usual_order: order == first,
            cursor: None,
        };
        if let Some(cursor) = form.one("cursor") {
            let inner = cursor.strip_prefix(&view.key()).and_then(|rest| rest.strip_prefix('.'));
            view.cursor = Some(inner.ok_or_else(BadView::cursor)?.to_owned());
        }
        Ok(view)
    }

    /// What the parameter `name` holds.
    pub(in crate::web::admin) fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// What the parameter `name` holds, as `parse` reads it.
    pub(in crate::web::admin) fn one<'a, T, E: fmt::Display>(
        &'a self,
        name: &str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<Option<T>, BadView> {
        self.text(name).map(parse).transpose().map_err(|problem| BadView::new(name, problem))
    }

    /// The instant that the parameter `name` holds: RFC 3339, or what a field for date and time sends, which is UTC.
    pub(in crate::web::admin) fn instant(&self, name: &str) -> Result<Option<Timestamp>, BadView> {
        self.one(name, |text| {
            let spelled = [text.to_owned(), format!("{text}Z"), format!("{text}:00Z"), format!("{text}T00:00:00Z")];
            let read = spelled.iter().find_map(|text| Timestamp::parse_rfc3339(text));
            read.ok_or("is no instant such as 2026-09-30T12:00:00Z")
        })
    }

    /// The page of at most `size` rows after `cursor`.
    pub(in crate::web::admin) fn paging<S: Sort>(
        &self,
        size: u16,
        cursor: Option<&str>,
    ) -> Result<Paging<S>, InvalidPaging> {
        let sort = S::named(self.sort).ok_or(InvalidPaging::Cursor)?;
        Paging::new(sort, self.order, size, cursor)
    }

    pub(super) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    pub(super) const fn sort(&self) -> &'static str {
        self.sort
    }

    pub(super) const fn order(&self) -> Direction {
        self.order
    }

    /// Whether anything narrows it.
    pub(in crate::web::admin) const fn is_narrowed(&self) -> bool {
        !self.values.is_empty()
    }

    /// What narrows it, of the parameters `names`.
    pub(in crate::web::admin) fn values(&self, names: &[&str]) -> Vec<(&'static str, String)> {
        self.values.iter().filter(|(name, _)| names.contains(name)).cloned().collect()
    }

    /// The address of `path` that is narrowed by the same of the parameters `names`, and by one more.
    pub(in crate::web::admin) fn with(&self, path: &str, names: &[&str], more: (&str, &str)) -> String {
        let values = self.values.iter().filter(|(name, _)| names.contains(name));
        address(path, values.map(|(name, value)| (*name, value.as_str())).chain(Some(more)))
    }

    /// The address of another path that is narrowed alike, but for the parameters `without`.
    pub(in crate::web::admin) fn narrowed(&self, path: &str, without: &[&str]) -> String {
        let values = self.values.iter().filter(|(name, _)| !without.contains(name));
        address(path, values.map(|(name, value)| (*name, value.as_str())))
    }

    /// The address of this view from behind `cursor` on, or from its beginning.
    pub(super) fn address(&self, cursor: Option<&str>) -> String {
        let cursor = cursor.map(|cursor| format!("{}.{cursor}", self.key()));
        let order = self.order_parameters();
        let order = order.iter().map(|(name, value)| (*name, value.as_str()));
        address(self.path, self.pairs().chain(order).chain(cursor.as_deref().map(|cursor| ("cursor", cursor))))
    }

    /// The address of the same rows, ordered by `sort`, which begins at the end `first` unless something else is said.
    pub(super) fn ordered_address(&self, sort: &'static str, order: Direction, first: Direction) -> String {
        let order = (order != first).then(|| ("order", name_of(order)));
        address(self.path, self.pairs().chain(Some(("sort", sort))).chain(order))
    }

    /// The address of all its rows as CSV.
    pub(super) fn csv_address(&self) -> String {
        let order = self.order_parameters();
        let order = order.iter().map(|(name, value)| (*name, value.as_str()));
        address(&format!("{}.csv", self.path), self.pairs().chain(order))
    }

    /// What the form that narrows the list sends along.
    pub(super) fn hidden(&self) -> Vec<(&'static str, String)> {
        self.order_parameters()
    }

    fn order_parameters(&self) -> Vec<(&'static str, String)> {
        let sort = (!self.is_usual_sort).then(|| ("sort", self.sort.to_owned()));
        let order = (!self.is_usual_order).then(|| ("order", name_of(self.order).to_owned()));
        sort.into_iter().chain(order).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Which view it is but for its order, which the cursor itself names.
    fn key(&self) -> String {
        let digest = codes::digest(&address(self.path, self.pairs())).to_hex();
        digest.get(..KEY_DIGITS).unwrap_or_default().to_owned()
    }

    /// A field of text.
    pub(in crate::web::admin) fn field(&self, name: &'static str, label: &'static str) -> Field {
        let value = self.text(name).unwrap_or_default().to_owned();
        Field { name, label, value, control: Control::Text }
    }

    /// A field for an instant.
    pub(in crate::web::admin) fn instant_field(&self, name: &'static str, label: &'static str) -> Field {
        let at = self.instant(name).ok().flatten();
        let value = at.map(|at| {
            let (seconds, millis) = (at.to_rfc3339(), at.millis().rem_euclid(1000));
            let seconds = seconds.trim_end_matches('Z');
            if millis == 0 { seconds.to_owned() } else { format!("{seconds}.{millis:03}") }
        });
        Field { name, label, value: value.unwrap_or_default(), control: Control::Instant }
    }

    /// A field for one of `choices`, given as values and labels, or any.
    pub(in crate::web::admin) fn choice(
        &self,
        name: &'static str,
        label: &'static str,
        any: &str,
        choices: impl IntoIterator<Item = (String, String)>,
    ) -> Field {
        let first = (String::new(), any.to_owned());
        let choices = std::iter::once(first).chain(choices).map(|(value, label)| Choice { value, label });
        let (mut choices, field) = (choices.collect::<Vec<_>>(), self.field(name, label));
        // What narrows the list now stays chosen, though it is offered no longer: a Brand that was removed.
        if !choices.iter().any(|choice| choice.value == field.value) {
            choices.push(Choice { value: field.value.clone(), label: field.value.clone() });
        }
        Field { control: Control::Choice(choices), ..field }
    }
}

/// `path` with these parameters.
pub(in crate::web::admin) fn address<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

const fn name_of(order: Direction) -> &'static str {
    match order {
        Direction::Ascending => "asc",
        Direction::Descending => "desc",
    }
}
