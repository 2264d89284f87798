//! A Brand.

use schemars::JsonSchema;
use serde::Serialize;

use super::At;
use crate::domain::brand::{Delegation, Profile};
use crate::domain::id::BrandId;

/// A Brand. `profile` and `delegation` are written as in an apply file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrandJson {
    /// Its id.
    pub brand_id: BrandId,
    /// What it is called.
    pub name: String,
    /// `served` or `removed`.
    #[schemars(extend("enum" = ["served", "removed"]))]
    pub state: &'static str,
    /// Its live grants.
    pub live_grants: i64,
    /// When it was made.
    pub created_at: At,
    /// Its latest change.
    pub updated_at: At,
    /// When it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<At>,
    /// What stands on its card, and where its agent is.
    pub profile: Profile,
    /// Left out for a Brand of the Identity profile alone, and for one that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
}
