//! A Brand's key, its public half alone.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::At;
use crate::domain::id::{BrandId, KeyId};

/// A Brand's key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyJson {
    /// Its `kid`.
    pub kid: KeyId,
    /// Whose.
    pub brand_id: BrandId,
    /// What it signs with.
    #[schemars(extend("enum" = ["ES256", "RS256"]))]
    pub alg: &'static str,
    /// `signing`, `next` (it starts later), `spare` (it may sign, and another does), `retired` or `compromised`.
    #[schemars(extend("enum" = ["signing", "next", "spare", "retired", "compromised"]))]
    pub state: &'static str,
    /// When it was made, and published.
    pub created_at: At,
    /// When it starts to sign, or started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signs_from: Option<At>,
    /// When it stops signing, or stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retires_at: Option<At>,
    /// When it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compromised_at: Option<At>,
    /// The public half (RFC 7517 §4).
    #[schemars(extend("type" = "object"))]
    pub jwk: Value,
}

/// What became of a rotation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedJson {
    /// `made`; `advanced` when the key of a rotation that was under way starts sooner now; or `already under way`.
    #[schemars(extend("enum" = ["made", "advanced", "already under way"]))]
    pub what: &'static str,
    /// The new key's `kid`.
    pub kid: KeyId,
    /// Whose.
    pub brand_id: BrandId,
    /// When it starts to sign, and those before it give way.
    pub signs_from: At,
}

/// What became of a key that was to leave.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftJson {
    /// Its `kid`.
    pub kid: KeyId,
    /// `retired` or `given up`, with `already` before it when it was so before.
    #[schemars(extend("enum" = ["retired", "already retired", "given up", "already given up"]))]
    pub what: &'static str,
    /// The key that signs in its place, where another had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<SuccessorJson>,
}

/// A key that signs in the place of another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuccessorJson {
    /// Its `kid`.
    pub kid: KeyId,
    /// When it starts to sign.
    pub signs_from: At,
}
