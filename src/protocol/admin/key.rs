//! A Brand's key, its public half alone.

use serde::Serialize;
use serde_json::Value;

use super::At;
use crate::domain::id::{BrandId, KeyId};

/// A Brand's key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyJson {
    /// Its `kid`.
    pub kid: KeyId,
    /// Whose.
    pub brand_id: BrandId,
    /// What it signs with.
    pub alg: &'static str,
    /// `signing`, `next` (it starts later), `spare` (it may sign, and another does), `retired` or `compromised`.
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
    pub jwk: Value,
}
