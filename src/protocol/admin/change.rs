//! What was done, or would be.

use serde::Serialize;

use crate::domain::id::GrantId;

/// One line of what an apply file meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeJson {
    /// `created`, `changed` or `unchanged`.
    pub what: &'static str,
    /// `brand` or `personal_agent`.
    pub kind: &'static str,
    /// The Brand's id or the personal agent's issuer.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Of what was changed, the parameters that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// What an apply file meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppliedJson {
    /// One per table of the file, in its order.
    pub changes: Vec<ChangeJson>,
    /// Live grants that lost some scopes.
    pub grants_narrowed: usize,
    /// Live grants that lost all of them.
    pub grants_ended: usize,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// How many grants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CountJson {
    /// Grants.
    pub grants: i64,
    /// Of so many Brands.
    pub brands: i64,
}

/// What became of the revocation of one grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokedJson {
    /// Which.
    pub grant_id: GrantId,
    /// `ended`, or `already ended`.
    pub what: &'static str,
}

/// What became of the revocation of many.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RevokedAllJson {
    /// By this revocation.
    pub ended: i64,
    /// By somebody else while it went on.
    pub already_ended: i64,
    /// Of so many Brands.
    pub brands: i64,
}
