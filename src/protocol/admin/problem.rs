//! What went wrong, for programs and people alike (RFC 9457).

use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ProblemJson {
    /// Which kind of problem: an address under which it is described.
    #[schemars(extend("format" = "uri-reference"))]
    pub r#type: String,
    /// The kind in words; the same each time.
    pub title: String,
    /// The status of the answer once more.
    pub status: u16,
    /// What it was this time, and what to do.
    pub detail: String,
    /// The parameter, member of the body or header that was wrong, where it is one: `delegation.scopes[0].id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}
