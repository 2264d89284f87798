//! The JSON API for people: each operation in a line, and each kind of problem.

use askama::Template;

use super::console_page;
use crate::web::api::operation::Operation;
use crate::web::api::{PREFIX, table};
use crate::web::error::Kind;
use crate::web::pages::Page as _;

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiLine {
    /// Its method.
    pub method: String,
    /// Its path below the prefix.
    pub path: String,
    /// What it does.
    pub summary: &'static str,
    /// Who may.
    pub roles: &'static str,
}

/// One kind of problem.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiProblem {
    /// The end of its type.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its status.
    pub status: u16,
}

/// The page of all operations.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/api.html")]
pub struct ApiPage {
    /// Below this stands all of it.
    pub prefix: &'static str,
    /// What operations are about, and the operations.
    pub nouns: Vec<(&'static str, Vec<ApiLine>)>,
    /// What can be wrong.
    pub problems: Vec<ApiProblem>,
}

console_page!(ApiPage, |_| "The JSON API of Assent".to_owned());

impl ApiPage {
    /// The page of these operations.
    pub fn new(operations: &[Operation]) -> Self {
        let mut nouns: Vec<(&'static str, Vec<ApiLine>)> = Vec::new();
        for operation in operations {
            let line = ApiLine {
                method: operation.method.to_string(),
                path: operation.path.to_owned(),
                summary: operation.summary,
                roles: operation.effect.roles(),
            };
            match nouns.iter_mut().find(|(noun, _)| *noun == operation.noun()) {
                Some((_, lines)) => lines.push(line),
                None => nouns.push((operation.noun(), vec![line])),
            }
        }
        let problem = |kind: &Kind| ApiProblem { name: kind.name, title: kind.title, status: kind.status.as_u16() };
        Self { prefix: PREFIX, nouns, problems: Kind::ALL.iter().map(problem).collect() }
    }

    /// It has one state.
    pub fn sample() -> Self {
        Self::new(&table::operations())
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        vec![("all", Self::sample())]
    }
}
