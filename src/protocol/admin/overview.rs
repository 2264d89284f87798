//! The numbers an operator asks for first.

use schemars::JsonSchema;
use serde::Serialize;

use super::At;

/// How things stand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverviewJson {
    /// Live grants.
    pub live_grants: i64,
    /// At how many Brands they are.
    pub brands: i64,
    /// Device codes that a User could still decide.
    pub pending_codes: i64,
    /// The last 24 hours of the clock, the present one last.
    pub hours: Vec<HourJson>,
}

/// What Users decided in one hour.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HourJson {
    /// When it began.
    pub from: At,
    /// Requests that were allowed.
    pub approved: i64,
    /// Requests that were not.
    pub denied: i64,
}
