//! Why an operation gives no answer. [`crate::web::error::problem`] maps it to a status; nothing else does.

use std::time::Duration;

use crate::domain::check::InvalidParameter;
use crate::domain::page::InvalidPaging;
use crate::flow::Fault;
use crate::flow::admin::Verdict;
use crate::limits::Spent;

/// Why an operation gives no answer. Its texts are for the developer who asked, and repeat no value.
#[derive(Debug)]
pub enum Problem {
    /// No live API key came with it: 401, the same in every case.
    Unauthenticated,
    /// The role does not allow it: 403.
    Forbidden,
    /// There is no such thing, or none within reach: 404.
    NotThere {
        /// Of what there is none.
        what: String,
        /// The parameter that names it, where it is none of the path.
        parameter: Option<String>,
    },
    /// No operation has this path: 404.
    NoOperation,
    /// No operation of this path has this method: 405.
    NoMethod {
        /// The methods that it has.
        allow: String,
    },
    /// The body did not arrive in time: 408.
    TooSlow,
    /// It cannot be done as things are: 409.
    Conflict {
        /// Why, and what to do.
        detail: String,
        /// The parameter that it is about.
        parameter: Option<String>,
    },
    /// The first request under this idempotency key is being carried out: 409.
    UnderWay {
        /// At the latest after so long it is not.
        wait: Duration,
    },
    /// The first request under this idempotency key was begun, and nobody knows whether it was done: 409.
    OutcomeUnknown,
    /// The request cannot be read: 400.
    Malformed {
        /// Where, in words.
        detail: String,
        /// The parameter that cannot be read.
        parameter: Option<String>,
    },
    /// The body is too large: 413.
    TooLarge,
    /// The body is not `application/json`, or encoded: 415.
    NotJson,
    /// A parameter is not what it must be: 422.
    Invalid {
        /// Which.
        parameter: String,
        /// What was expected.
        detail: String,
    },
    /// Another request came under this idempotency key: 422.
    AnotherRequest,
    /// Too many requests: 429.
    TooMany(Spent),
    /// Too much is under way: 503.
    Busy(Spent),
    /// Nobody asked for it: 500, or 503 where waiting may help.
    Fault(Fault),
    /// Something panicked: 500. It is in the log already.
    Panicked,
}

impl Problem {
    /// `parameter` is not what it must be.
    pub fn invalid(parameter: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid { parameter: parameter.into(), detail: detail.into() }
    }

    /// It cannot be done as things are.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::Conflict { detail: detail.into(), parameter: None }
    }

    /// Whether nothing was done, and the same may be sent again.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::TooMany(_) | Self::Busy(_) => true,
            Self::Fault(fault) => fault.is_passing(),
            _ => false,
        }
    }

    /// A thing that `parameter` of the body names is not there.
    pub fn names_nothing(parameter: &str, what: impl Into<String>) -> Self {
        Self::NotThere { what: what.into(), parameter: Some(parameter.to_owned()) }
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<InvalidParameter> for Problem {
    fn from(InvalidParameter { parameter, problem }: InvalidParameter) -> Self {
        Self::Invalid { parameter, detail: problem }
    }
}

impl From<InvalidPaging> for Problem {
    fn from(invalid: InvalidPaging) -> Self {
        match invalid {
            InvalidPaging::Size => Self::invalid("limit", "a page has 1 to 1000 rows"),
            InvalidPaging::Cursor => Self::invalid("cursor", "is not that of a page of this list in this order"),
        }
    }
}

/// What was done. `what` is what there is none of.
///
/// # Errors
/// [`Problem`] when it was not.
pub fn done<T>(verdict: Verdict<T>, what: &str) -> Result<T, Problem> {
    match verdict {
        Verdict::Done(done) => Ok(done),
        Verdict::Forbidden => Err(Problem::Forbidden),
        Verdict::NotThere => Err(Problem::NotThere { what: what.to_owned(), parameter: None }),
    }
}
