//! A grant, and what happened under it.

use schemars::JsonSchema;
use serde::Serialize;

use super::At;
use crate::clock::Timestamp;
use crate::domain::grant::{Grant, GrantState};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer, PaSub};
use crate::domain::scope::ScopeId;
use crate::protocol::claims::ReceiptClaims;

/// A grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantJson {
    /// Its id.
    pub grant_id: GrantId,
    /// `live`, `expired` or `ended`.
    #[schemars(extend("enum" = ["live", "expired", "ended"]))]
    pub state: &'static str,
    /// At which Brand.
    pub brand_id: BrandId,
    /// The User's id there.
    pub user: BrandUser,
    /// The personal agent's issuer.
    pub personal_agent: Issuer,
    /// Its name for the User.
    pub sub: PaSub,
    /// What it allows.
    pub scopes: Vec<ScopeId>,
    /// When it was first allowed.
    pub created_at: At,
    /// The latest decision.
    pub decided_at: At,
    /// It allows nothing from then on.
    pub expires_at: At,
    /// Its latest token or turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<At>,
    /// When somebody ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<At>,
    /// Who did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
}

impl GrantJson {
    /// `grant` as it is at `now`.
    pub fn new(grant: Grant, now: Timestamp) -> Self {
        let state = match grant.state {
            GrantState::Ended { .. } => "ended",
            GrantState::Live if grant.is_live(now) => "live",
            GrantState::Live => "expired",
        };
        let (ended_at, ended_by) = match grant.state {
            GrantState::Ended { at, by } => (Some(At(at)), Some(by.to_string())),
            GrantState::Live => (None, None),
        };
        Self {
            grant_id: grant.id,
            state,
            brand_id: grant.brand,
            user: grant.brand_user,
            personal_agent: grant.caller.issuer,
            sub: grant.caller.sub,
            scopes: grant.scopes.iter().cloned().collect(),
            created_at: At(grant.created_at),
            decided_at: At(grant.decided_at),
            expires_at: At(grant.expires_at),
            last_used_at: grant.last_used_at.map(At),
            ended_at,
            ended_by,
        }
    }
}

/// A decision of the User about a grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionJson {
    /// The request that was decided.
    pub request_id: String,
    /// `approved`, `approved_without_page`, `denied` or `withdrawn`.
    #[schemars(extend("enum" = ["approved", "approved_without_page", "denied", "withdrawn"]))]
    pub decision: String,
    /// What was allowed.
    pub scopes: Vec<ScopeId>,
    /// In which language the page was.
    pub language: String,
    /// When.
    pub decided_at: At,
}

/// A delegation token that was issued under a grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenJson {
    /// Its `jti`.
    pub jti: String,
    /// The redeemed device code that it descends from.
    pub family: String,
    /// What it allowed.
    pub scopes: Vec<ScopeId>,
    /// When it was issued.
    pub issued_at: At,
    /// When it ends.
    pub expires_at: At,
    /// When the refresh token beside it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refreshed_at: Option<At>,
    /// When its family was given up after a theft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_revoked_at: Option<At>,
}

/// A receipt.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptJson {
    /// Its id in the log.
    pub receipt_id: String,
    /// Whose key signed it.
    pub brand_id: BrandId,
    /// Under which grant.
    pub grant_id: GrantId,
    /// Whose account.
    pub user: BrandUser,
    /// On whose behalf.
    pub personal_agent: Issuer,
    /// The message that it answers.
    pub message_id: String,
    /// When it was signed.
    pub created_at: At,
    /// What it says; left out when it is no receipt that this program reads. `assent receipt verify` checks the signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<ReceiptClaims>,
    /// What was signed.
    pub jws: String,
}

/// A grant with what happened under it.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantDetailsJson {
    /// The grant.
    #[serde(flatten)]
    pub grant: GrantJson,
    /// What the User decided, oldest first.
    pub decisions: Vec<DecisionJson>,
    /// The latest tokens, newest first.
    pub tokens: Vec<TokenJson>,
    /// Whether there are older tokens.
    pub more_tokens: bool,
    /// The latest receipts, newest first.
    pub receipts: Vec<ReceiptJson>,
    /// Whether there are older receipts.
    pub more_receipts: bool,
}
