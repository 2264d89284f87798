//! What was done, or would be.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::id::{BrandId, GrantId};

/// One line of what an apply file meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeJson {
    /// `created`, `changed` or `unchanged`.
    #[schemars(extend("enum" = ["created", "changed", "unchanged"]))]
    pub what: &'static str,
    /// `brand` or `personal_agent`.
    #[schemars(extend("enum" = ["brand", "personal_agent"]))]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountJson {
    /// Grants.
    pub grants: i64,
    /// Of so many Brands.
    pub brands: i64,
}

/// What became of the revocation of one grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevokedJson {
    /// Which.
    pub grant_id: GrantId,
    /// `ended`, or `already ended`.
    #[schemars(extend("enum" = ["ended", "already ended"]))]
    pub what: &'static str,
}

/// What became of the revocation of many.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevokedAllJson {
    /// By this revocation.
    pub ended: i64,
    /// By somebody else while it went on.
    pub already_ended: i64,
    /// Of so many Brands.
    pub brands: i64,
}

/// What became of the removal of a Brand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedJson {
    /// Which.
    pub brand_id: BrandId,
    /// `removed`, or `already removed`.
    #[schemars(extend("enum" = ["removed", "already removed"]))]
    pub what: &'static str,
    /// Live grants that ended with it.
    pub grants_ended: i64,
}

/// What became of a deed of which there is nothing else to show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoneJson {
    /// To what: an id or a name.
    pub id: String,
    /// What was done, or that it was so before: `revoked` or `already revoked`, `removed`, `changed` or `unchanged`.
    #[schemars(extend("enum" = ["revoked", "already revoked", "removed", "changed", "unchanged"]))]
    pub what: &'static str,
}
