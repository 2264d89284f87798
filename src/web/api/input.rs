//! What an operation is given: parameters of its path and query, and its body, each read by the schema that stands in the
//! document, so that the two cannot differ.
//!
//! Refuses, by its name, a parameter that the operation has not, one that comes twice, one that is not of its form, and a
//! member of the body that has no place there.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::shape;
use crate::clock::Timestamp;
use crate::domain::page::{Direction, Paging, Sort};
use crate::protocol::json::{self, InvalidJson};

/// So many rows a page has unless something else is asked for.
const USUAL_ROWS: u16 = 100;

/// A parameter of a path or a query, as the document describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is.
    pub schema: Value,
}

/// Parameters that are read together.
pub trait Parameters: Sized + 'static {
    /// All of them.
    fn all() -> Vec<Parameter>;

    /// Reads them from those that were given.
    ///
    /// # Errors
    /// [`Problem::Invalid`].
    fn read(given: &Map<String, Value>) -> Result<Self, Problem>;
}

/// Parameters that are the fields of a struct.
pub trait Fields: DeserializeOwned + JsonSchema + 'static {}

/// A body that is a JSON object.
pub trait Written: DeserializeOwned + JsonSchema + 'static {}

/// A body, or that there is none.
pub trait Body: Sized + 'static {
    /// Its schema; none where there is no body.
    fn schema() -> Option<Value>;

    /// Reads it.
    ///
    /// # Errors
    /// [`Problem`].
    fn read(schema: Option<&Value>, bytes: &[u8]) -> Result<Self, Problem>;
}

/// The schema of what is given, with everything in it in its place.
fn schema_of<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema
}

impl Parameters for () {
    fn all() -> Vec<Parameter> {
        Vec::new()
    }

    fn read(_: &Map<String, Value>) -> Result<Self, Problem> {
        Ok(())
    }
}

impl<A: Parameters, B: Parameters> Parameters for (A, B) {
    fn all() -> Vec<Parameter> {
        let mut all = A::all();
        all.extend(B::all());
        all
    }

    fn read(given: &Map<String, Value>) -> Result<Self, Problem> {
        Ok((A::read(given)?, B::read(given)?))
    }
}

impl<T: Fields> Parameters for T {
    fn all() -> Vec<Parameter> {
        let schema = schema_of::<T>();
        let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let parameter = |(name, schema): (String, Value)| Parameter { name, schema: without_null(schema) };
        fields.into_iter().map(parameter).collect()
    }

    fn read(given: &Map<String, Value>) -> Result<Self, Problem> {
        from_value(Value::Object(given.clone()))
    }
}

/// In a path or a query there is no null.
fn without_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get_mut("type")
        && let Value::Array(types) = kind
    {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            *kind = one.clone();
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let one_of = schema.get_mut("anyOf").and_then(Value::as_array_mut).and_then(|all| {
        all.retain(|schema| schema.get("type").is_none_or(|name| name != "null"));
        (all.len() == 1).then(|| all.remove(0))
    });
    if let (Some(Value::Object(one)), Some(schema)) = (one_of, schema.as_object_mut()) {
        schema.remove("anyOf");
        schema.extend(one);
    }
    if schema.get("default").is_some_and(Value::is_null)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("default");
    }
    schema
}

/// Which page of a list, in which order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing<S>(pub Paging<S>);

impl<S: Sort> Parameters for Listing<S> {
    fn all() -> Vec<Parameter> {
        let names: Vec<&str> = S::ALL.iter().map(|sort| sort.name()).collect();
        let parameter = |name: &str, schema: Value| Parameter { name: name.to_owned(), schema };
        vec![
            limit(),
            cursor(),
            parameter(
                "sort",
                json!({
                    "description": "By which column.", "type": "string", "enum": names, "default": names.first(),
                }),
            ),
            parameter(
                "order",
                json!({
                    "description": "From which end: names begin with the smallest, times with the latest, unless said otherwise.",
                    "type": "string", "enum": ["asc", "desc"],
                }),
            ),
        ]
    }

    fn read(given: &Map<String, Value>) -> Result<Self, Problem> {
        let Page { limit, cursor } = Page::read(given)?;
        let sort = match (given.get("sort"), S::ALL) {
            (Some(name), _) => name.as_str().and_then(S::named),
            (None, all) => all.first().copied(),
        };
        let Some(sort) = sort else {
            let names: Vec<_> = S::ALL.iter().map(|sort| sort.name()).collect();
            return Err(Problem::invalid("sort", format!("is none of {}", names.join(", "))));
        };
        let direction = match given.get("order").map(|order| order.as_str().unwrap_or_default()) {
            Some("asc") => Direction::Ascending,
            Some("desc") => Direction::Descending,
            Some(_) => return Err(Problem::invalid("order", "is neither asc nor desc")),
            None if sort.name() == "name" => Direction::Ascending,
            None => Direction::Descending,
        };
        Ok(Self(Paging::new(sort, direction, limit, cursor.as_deref())?))
    }
}

fn limit() -> Parameter {
    let schema = json!({
        "description": "The most rows of a page.", "type": "integer", "minimum": 1, "maximum": 1000,
        "default": USUAL_ROWS,
    });
    Parameter { name: "limit".to_owned(), schema }
}

fn cursor() -> Parameter {
    let schema = json!({
        "description": "`nextCursor` of the page before, of the same list in the same order.", "type": "string",
        "minLength": 1,
    });
    Parameter { name: "cursor".to_owned(), schema }
}

/// Which page of a list that has one order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The most rows.
    pub limit: u16,
    /// After which row.
    pub cursor: Option<String>,
}

impl Parameters for Page {
    fn all() -> Vec<Parameter> {
        vec![limit(), cursor()]
    }

    fn read(given: &Map<String, Value>) -> Result<Self, Problem> {
        let limit = match given.get("limit") {
            None => Some(USUAL_ROWS),
            Some(limit) => limit.as_u64().and_then(|limit| u16::try_from(limit).ok()),
        };
        let limit = limit.filter(|limit| (1..=Paging::<crate::domain::page::ByTime>::MOST).contains(limit));
        let limit = limit.ok_or_else(|| Problem::invalid("limit", "is no plain number from 1 to 1000"))?;
        let cursor = given.get("cursor").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { limit, cursor })
    }
}

/// An instant in a query (RFC 3339).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Timestamp);

impl TryFrom<String> for Time {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Timestamp::parse_rfc3339(&text).map(Self).ok_or("an instant is written 2026-09-30T12:00:00Z")
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time", "examples": ["2026-09-30T12:00:00Z"] })
    }
}

/// A text that is looked for.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 255, "pattern" = crate::domain::check::PRINTABLE))]
pub struct Search(String);

impl Search {
    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl From<Search> for String {
    fn from(search: Search) -> Self {
        search.0
    }
}

impl TryFrom<String> for Search {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_fine = (1..=255).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if is_fine { Ok(Self(text)) } else { Err("a text has 1 to 255 characters and none of them controls") }
    }
}

impl Body for () {
    fn schema() -> Option<Value> {
        None
    }

    fn read(_: Option<&Value>, bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.is_empty() {
            return Ok(());
        }
        Err(Problem::Malformed { detail: "this operation has no body".to_owned(), parameter: None })
    }
}

impl<T: Written> Body for T {
    fn schema() -> Option<Value> {
        Some(schema_of::<T>().into())
    }

    fn read(schema: Option<&Value>, bytes: &[u8]) -> Result<Self, Problem> {
        let mut value = json::parse(bytes).map_err(|invalid| malformed(&invalid))?;
        make_whole(&mut value);
        shape::check(schema.unwrap_or(&Value::Null), &value)
            .map_err(|shape::Misshapen { at, expected }| Problem::invalid(at, format!("expected {expected}")))?;
        from_value(value)
    }
}

/// Writes numbers without a fraction as integers: to JSON `1.0` and `1` are one number.
fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole =
                number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0);
            if let Some(whole) = whole.and_then(|whole| format!("{whole:.0}").parse::<i64>().ok()) {
                *value = Value::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn malformed(invalid: &InvalidJson) -> Problem {
    Problem::Malformed { detail: format!("the body is not strict JSON: {invalid}"), parameter: None }
}

/// Reads a `T`, or names what keeps it from being one.
fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let inside = if path == "." { String::new() } else { path };
        let text = error.inner().to_string();
        let named = |start: &str| text.strip_prefix(start).and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
        let (name, detail) = if let Some(name) = named("missing field `") {
            (Some(name), "is missing".to_owned())
        } else {
            (None, InvalidJson::of_shape(error.inner()).to_string())
        };
        Problem::invalid(joined(&inside, name), detail)
    })
}

/// A member of a place in the body.
pub fn joined(inside: &str, name: Option<&str>) -> String {
    match (inside, name) {
        ("", Some(name)) => name.to_owned(),
        ("", None) => "body".to_owned(),
        (inside, Some(name)) => format!("{inside}.{name}"),
        (inside, None) => inside.to_owned(),
    }
}

/// Reads a query: each parameter known, once, and written so that there is one way to read it.
///
/// # Errors
/// [`Problem`].
pub fn read_query(query: &str, known: &[Parameter]) -> Result<Map<String, Value>, Problem> {
    let mut seen = BTreeSet::new();
    let mut given = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name).ok_or_else(|| unreadable(None))?;
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
            let is_plain = (1..=40).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
            let shown = if is_plain { name } else { "query".to_owned() };
            return Err(Problem::invalid(shown, "this operation has no such parameter"));
        };
        let value = decoded(value).ok_or_else(|| unreadable(Some(&name)))?;
        if !seen.insert(name.clone()) {
            return Err(Problem::invalid(name, "is given more than once"));
        }
        let value = typed(&parameter.schema, value);
        checked(parameter, &value)?;
        given.insert(name, value);
    }
    Ok(given)
}

/// Checks a parameter against its schema.
///
/// # Errors
/// [`Problem::Invalid`].
pub fn checked(Parameter { name, schema }: &Parameter, value: &Value) -> Result<(), Problem> {
    let check = shape::check(schema, value);
    check.map_err(|shape::Misshapen { expected, .. }| Problem::invalid(name, format!("expected {expected}")))
}

fn unreadable(name: Option<&str>) -> Problem {
    let detail = "the query is not percent-encoded UTF-8 without NUL".to_owned();
    Problem::Malformed { detail, parameter: name.map(str::to_owned) }
}

/// Percent-decoded once, `+` as a space; `None` where that has no one meaning.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                high * 16 + low
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A parameter's text as what its schema says it is. What is not stays text, and is refused as that.
pub fn typed(schema: &Value, text: String) -> Value {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    match (kind, text.as_str()) {
        ("boolean", "true") => Value::Bool(true),
        ("boolean", "false") => Value::Bool(false),
        ("integer", plain) if is_plain => plain.parse::<i64>().map_or(Value::String(text), Value::from),
        _ => Value::String(text),
    }
}
