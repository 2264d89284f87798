//! One operation: its method, path and words, what it is given and answers, and what carries it out. Routes and document
//! are both made of it.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::Method;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use super::input::{Body, Parameter, Parameters};
use super::problem::Problem;
use crate::app::App;
use crate::flow::Fault;
use crate::flow::admin::By;

/// What a handler is given.
#[derive(Clone)]
pub struct Call<P = (), Q = (), B = ()> {
    /// Everything it needs.
    pub app: Arc<App>,
    /// Who asks.
    pub by: By,
    /// What stands in the path.
    pub path: P,
    /// What stands in the query.
    pub query: Q,
    /// What stands in the body.
    pub body: B,
}

/// What a handler answers.
pub type Answer<A> = Result<A, Problem>;

/// A request to an operation, of which nothing is read yet.
pub struct Raw {
    /// Everything it needs.
    pub app: Arc<App>,
    /// Who asks.
    pub by: By,
    /// The parameters of the path, each decoded once.
    pub path: Map<String, Value>,
    /// The parameters of the query.
    pub query: Map<String, Value>,
    /// The body.
    pub body: actix_web::web::Bytes,
}

/// What carries a request out, once it was read. It answers the body.
pub type Run = LocalBoxFuture<'static, Result<String, Problem>>;

type Prepare = Rc<dyn Fn(Raw) -> Result<Run, Problem>>;

/// Who may call it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It reads: every role may.
    Reads,
    /// It changes something: an operator may, or an owner alone.
    Changes,
    /// It changes administrators or API keys: an owner may.
    Owns,
}

impl Effect {
    /// Whether it changes something.
    pub const fn writes(self) -> bool {
        match self {
            Self::Reads => false,
            Self::Changes | Self::Owns => true,
        }
    }

    /// Who may, in words.
    pub const fn roles(self) -> &'static str {
        match self {
            Self::Reads => "auditor, operator, owner",
            Self::Changes => "operator, owner",
            Self::Owns => "owner",
        }
    }
}

/// One operation.
#[derive(Clone)]
pub struct Operation {
    /// Its name, unique.
    pub id: &'static str,
    /// Its method.
    pub method: Method,
    /// Its path below [`super::PREFIX`], with parameters in braces.
    pub path: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Who may.
    pub effect: Effect,
    /// The status of its answer.
    pub status: u16,
    /// The parameters of its path.
    pub in_path: Vec<Parameter>,
    /// The parameters of its query.
    pub in_query: Vec<Parameter>,
    /// The schema of its body, and a body.
    pub body: Option<(Value, Value)>,
    /// Adds the schema of its answer to a document.
    pub answer: fn(&mut SchemaGenerator) -> Value,
    prepare: Prepare,
}

impl Operation {
    /// An operation that reads.
    pub fn get<P: Parameters, Q: Parameters, A: Serialize + JsonSchema, F>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: fn(Call<P, Q>) -> F,
    ) -> Self
    where
        F: Future<Output = Answer<A>> + 'static,
    {
        Self::new((Method::GET, path, id, summary), Effect::Reads, handler)
    }

    /// An operation that operators may call.
    pub fn post<P: Parameters, Q: Parameters, B: Body, A: Serialize + JsonSchema, F>(
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: fn(Call<P, Q, B>) -> F,
    ) -> Self
    where
        F: Future<Output = Answer<A>> + 'static,
    {
        Self::new((Method::POST, path, id, summary), Effect::Changes, handler)
    }

    /// The same with another method.
    #[must_use]
    pub fn with(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// The same for those who read.
    #[must_use]
    pub fn reading(self) -> Self {
        Self { effect: Effect::Reads, ..self }
    }

    /// The same for owners alone.
    #[must_use]
    pub fn owning(self) -> Self {
        Self { effect: Effect::Owns, ..self }
    }

    /// The same, answering 201.
    #[must_use]
    pub fn creating(self) -> Self {
        Self { status: 201, ..self }
    }

    /// The same with a body that it takes.
    #[must_use]
    pub fn example(self, example: Value) -> Self {
        let body = self.body.map(|(schema, _)| (schema, example));
        Self { body, ..self }
    }

    fn new<P: Parameters, Q: Parameters, B: Body, A: Serialize + JsonSchema, F>(
        (method, path, id, summary): (Method, &'static str, &'static str, &'static str),
        effect: Effect,
        handler: fn(Call<P, Q, B>) -> F,
    ) -> Self
    where
        F: Future<Output = Answer<A>> + 'static,
    {
        let schema = B::schema().map(Rc::new);
        let body = schema.as_ref().map(|schema| ((**schema).clone(), Value::Object(Map::new())));
        let prepare = move |raw: Raw| -> Result<Run, Problem> {
            let Raw { app, by, path, query, body } = raw;
            let not_there = |_| Problem::NotThere { what: "such thing".to_owned(), parameter: None };
            let path = P::read(&path).map_err(not_there)?;
            let query = Q::read(&query)?;
            let body = B::read(schema.as_deref(), &body)?;
            let answer = handler(Call { app, by, path, query, body });
            let written =
                answer.map(|answer| serde_json::to_string(&answer?).map_err(|error| Fault::from(error).into()));
            Ok(written.boxed_local())
        };
        Self {
            id,
            method,
            path,
            summary,
            effect,
            status: 200,
            in_path: P::all(),
            in_query: Q::all(),
            body,
            answer: |generator| generator.subschema_for::<A>().into(),
            prepare: Rc::new(prepare),
        }
    }

    /// What the operation is about: the first part of its path.
    pub fn noun(&self) -> &'static str {
        self.path.trim_start_matches('/').split('/').next().unwrap_or_default()
    }

    /// Reads a request, and answers what carries it out.
    ///
    /// # Errors
    /// [`Problem`] when it cannot be read.
    pub fn prepare(&self, raw: Raw) -> Result<Run, Problem> {
        (self.prepare)(raw)
    }
}
