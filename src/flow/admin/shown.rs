//! What the flows return, in the form in which surfaces show it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use super::apply::Change;
use super::grants::GrantDetails;
use super::keys::KeyRecord;
use crate::clock::Timestamp;
use crate::domain::page::Page;
use crate::domain::scope::{ScopeId, ScopeSet};
use crate::domain::signing_key::KeyState;
use crate::protocol::admin::{
    At, BrandJson, ChangeJson, CountJson, DecisionJson, GrantDetailsJson, GrantJson, HourJson, KeyJson, OverviewJson,
    PageJson, PersonalAgentJson, ReceiptJson, TokenJson,
};
use crate::protocol::claims::ReceiptClaims;
use crate::protocol::json;
use crate::store::{
    BrandRecord, DecisionRecord, GrantCount, Hour, Overview, PersonalAgentRecord, ReceiptRecord, TokenRecord,
};

impl<T> From<Page<T>> for PageJson<T> {
    fn from(page: Page<T>) -> Self {
        Self { items: page.items, next_cursor: page.next }
    }
}

impl From<GrantCount> for CountJson {
    fn from(GrantCount { grants, brands }: GrantCount) -> Self {
        Self { grants, brands }
    }
}

impl From<Change> for ChangeJson {
    fn from(Change { kind, id, name, what, fields }: Change) -> Self {
        Self { what, kind, id, name, fields }
    }
}

impl From<DecisionRecord> for DecisionJson {
    fn from(record: DecisionRecord) -> Self {
        Self {
            request_id: record.device.to_string(),
            decision: record.decision,
            scopes: ids(&record.granted),
            language: record.language,
            decided_at: At(record.decided_at),
        }
    }
}

impl From<TokenRecord> for TokenJson {
    fn from(record: TokenRecord) -> Self {
        Self {
            jti: record.token.to_string(),
            family: record.family.to_string(),
            scopes: ids(&record.scopes),
            issued_at: At(record.issued_at),
            expires_at: At(record.expires_at),
            refreshed_at: record.refreshed_at.map(At),
            family_revoked_at: record.family_revoked_at.map(At),
        }
    }
}

impl From<ReceiptRecord> for ReceiptJson {
    fn from(record: ReceiptRecord) -> Self {
        Self {
            receipt_id: record.id.to_string(),
            brand_id: record.brand,
            grant_id: record.grant,
            user: record.brand_user,
            personal_agent: record.issuer,
            message_id: record.message,
            created_at: At(record.created_at),
            claims: claims(&record.jws),
            jws: record.jws,
        }
    }
}

impl From<PersonalAgentRecord> for PersonalAgentJson {
    fn from(record: PersonalAgentRecord) -> Self {
        Self {
            issuer: record.agent.issuer,
            name: record.agent.name,
            jwks_uri: record.agent.jwks_uri.into(),
            enabled: record.agent.enabled,
            live_grants: record.live_grants,
            brands: record.brands,
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
        }
    }
}

impl From<BrandRecord> for BrandJson {
    fn from(record: BrandRecord) -> Self {
        Self {
            brand_id: record.brand.id,
            name: record.brand.name,
            state: if record.removed_at.is_some() { "removed" } else { "served" },
            live_grants: record.live_grants,
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            removed_at: record.removed_at.map(At),
            profile: record.brand.profile,
            delegation: record.brand.delegation,
        }
    }
}

impl From<Hour> for HourJson {
    fn from(Hour { from, approved, denied }: Hour) -> Self {
        Self { from: At(from), approved, denied }
    }
}

impl From<Overview> for OverviewJson {
    fn from(Overview { live, pending_codes, hours }: Overview) -> Self {
        let hours = hours.into_iter().map(HourJson::from).collect();
        Self { live_grants: live.grants, brands: live.brands, pending_codes, hours }
    }
}

/// A key as it is at `now`.
pub fn key(record: KeyRecord, now: Timestamp) -> KeyJson {
    let (state, signs_from, retires_at, compromised_at) = match record.state {
        KeyState::Live { signs_from } if signs_from > now => ("next", Some(signs_from), record.gives_way_at, None),
        KeyState::Live { signs_from } if record.signs => ("signing", Some(signs_from), record.gives_way_at, None),
        KeyState::Live { signs_from } => ("spare", Some(signs_from), record.gives_way_at, None),
        KeyState::Retired { at } => ("retired", None, Some(at), None),
        KeyState::Compromised { at } => ("compromised", None, None, Some(at)),
    };
    KeyJson {
        kid: record.id,
        brand_id: record.brand,
        alg: record.alg.name(),
        state,
        created_at: At(record.created_at),
        signs_from: signs_from.map(At),
        retires_at: retires_at.map(At),
        compromised_at: compromised_at.map(At),
        jwk: json::parse(record.public_jwk.as_bytes()).unwrap_or(Value::Null),
    }
}

/// A grant with what happened under it, as it is at `now`.
pub fn grant_details(details: GrantDetails, now: Timestamp) -> GrantDetailsJson {
    GrantDetailsJson {
        grant: GrantJson::new(details.grant, now),
        decisions: details.decisions.into_iter().map(DecisionJson::from).collect(),
        more_tokens: details.tokens.next.is_some(),
        tokens: details.tokens.items.into_iter().map(TokenJson::from).collect(),
        more_receipts: details.receipts.next.is_some(),
        receipts: details.receipts.items.into_iter().map(ReceiptJson::from).collect(),
    }
}

fn ids(scopes: &ScopeSet) -> Vec<ScopeId> {
    scopes.iter().cloned().collect()
}

/// What a receipt says. Its signature was ours when it was stored, and is for whoever doubts it to verify.
pub fn claims(jws: &str) -> Option<ReceiptClaims> {
    let payload = BASE64_URL_SAFE_NO_PAD.decode(jws.split('.').nth(1)?).ok()?;
    json::parse_as(&payload).ok()
}
