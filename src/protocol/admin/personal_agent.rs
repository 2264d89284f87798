//! A personal agent.

use schemars::JsonSchema;
use serde::Serialize;

use super::At;
use crate::domain::id::Issuer;

/// A personal agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonalAgentJson {
    /// Its exact `iss`.
    pub issuer: Issuer,
    /// What Users read.
    pub name: String,
    /// Where its public keys are.
    pub jwks_uri: String,
    /// Whether it may call.
    pub enabled: bool,
    /// Its live grants.
    pub live_grants: i64,
    /// At how many Brands they are.
    pub brands: i64,
    /// When it was registered.
    pub created_at: At,
    /// Its latest change.
    pub updated_at: At,
}
