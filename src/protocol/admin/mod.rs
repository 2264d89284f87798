//! What administrators are shown as JSON, by the command line's `--json` and by the API alike.
//!
//! Names in camelCase, times as RFC 3339 in UTC, and what does not apply is left out.

mod account;
mod audit;
mod brand;
mod change;
mod grant;
mod key;
mod overview;
mod personal_agent;
mod problem;

pub use account::{
    AdministratorJson, ApiKeyJson, BrandsJson, NewApiKeyJson, NewResourceServerKeyJson, ResourceServerKeyJson,
};
pub use audit::{ActorJson, AuditRowJson, ErasedJson, EvidenceJson, FoundAboutJson, ReportJson, VerifiedJson};
pub use brand::BrandJson;
pub use change::{AppliedJson, ChangeJson, CountJson, DoneJson, RemovedJson, RevokedAllJson, RevokedJson};
pub use grant::{DecisionJson, GrantDetailsJson, GrantJson, ReceiptJson, TokenJson};
pub use key::{KeyJson, LeftJson, RotatedJson, SuccessorJson};
pub use overview::{HourJson, OverviewJson};
pub use personal_agent::PersonalAgentJson;
pub use problem::ProblemJson;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::clock::Timestamp;

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageOf{T}")]
pub struct PageJson<T> {
    /// Its rows, in order.
    pub items: Vec<T>,
    /// Asks for the page after it; left out on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An instant, written `2026-09-30T12:00:00Z`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(pub Timestamp);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339())
    }
}

impl JsonSchema for At {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "At".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "examples": ["2026-09-30T12:00:00Z"] })
    }
}
