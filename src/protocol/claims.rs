//! The claims of what Assent signs: delegation tokens (PACT §5.4), receipts (PACT §5.6) and the tokens that go with a turn
//! to a Brand's agent.
//!
//! Shapes only; who may sign or accept them is for `crypto` and the flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::domain::id::{BrandUser, GrantId, Issuer, TokenId};
use crate::domain::scope::{ScopeId, ScopeSet};

/// A delegation token's claims (PACT §5.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DelegationClaims {
    /// The Brand's authorization server.
    pub iss: String,
    /// The Brand's interface URL.
    pub aud: String,
    /// The User's id at the Brand.
    pub sub: BrandUser,
    /// The personal agent's issuer.
    pub client_id: Issuer,
    /// What was granted, separated by spaces.
    #[serde(with = "scope")]
    pub scope: ScopeSet,
    /// The grant that the token is of.
    pub grant_id: GrantId,
    /// When it was made; whole seconds.
    #[serde(with = "numeric_date")]
    pub iat: Timestamp,
    /// Until when it is accepted; whole seconds.
    #[serde(with = "numeric_date")]
    pub exp: Timestamp,
    /// Names the token itself.
    #[serde(with = "token_id")]
    pub jti: TokenId,
}

/// A receipt's claims: these seven and no other (PACT §5.6). Written in this order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReceiptClaims {
    /// The grant under which the turn ran.
    pub grant_id: GrantId,
    /// The User's id at the Brand.
    pub user: BrandUser,
    /// The personal agent's issuer.
    pub pa: Issuer,
    /// The Brand's interface URL.
    pub brand: String,
    /// The scopes that the agent says it used.
    pub scopes_used: Vec<ScopeId>,
    /// What the agent says it did, in order.
    pub actions: Vec<Action>,
    /// When the turn was answered: RFC 3339, UTC with `Z`, whole seconds.
    #[serde(with = "rfc3339")]
    #[schemars(with = "super::admin::At")]
    pub ts: Timestamp,
}

/// One tool that the agent called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// Its name.
    pub tool: String,
    /// Base64url SHA-256 of the RFC 8785 form of its arguments; left out when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<String>,
}

/// The claims of the token that goes with a turn to the Brand's agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TurnClaims {
    /// The Brand's interface URL.
    pub iss: String,
    /// The agent's URL.
    pub aud: String,
    /// When it was made; whole seconds.
    #[serde(with = "numeric_date")]
    pub iat: Timestamp,
    /// 60 s later.
    #[serde(with = "numeric_date")]
    pub exp: Timestamp,
    /// Base64url SHA-256 of the request's body.
    pub body_sha256: String,
    /// Names the token itself.
    pub jti: String,
}

/// A NumericDate in whole seconds (RFC 7519 §2): what is signed here never has a fraction.
pub(super) mod numeric_date {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::clock::Timestamp;

    pub(in crate::protocol) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.seconds())
    }

    pub(in crate::protocol) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_seconds)
    }
}

/// `2026-09-30T12:00:00Z` and no other spelling of it.
mod rfc3339 {
    use serde::{Deserialize as _, Deserializer, Serializer, de};
    use time::OffsetDateTime;
    use time::format_description::well_known::Rfc3339;

    use crate::clock::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.to_rfc3339())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at = OffsetDateTime::parse(&text, &Rfc3339).map(|at| Timestamp::from_seconds(at.unix_timestamp()));
        at.ok().filter(|at| at.to_rfc3339() == text).ok_or_else(|| de::Error::custom("not a time in UTC with Z"))
    }
}

mod scope {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::domain::scope::ScopeSet;

    pub(super) fn serialize<S: Serializer>(scope: &ScopeSet, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(scope)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ScopeSet, D::Error> {
        ScopeSet::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

mod token_id {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::domain::id::TokenId;

    pub(super) fn serialize<S: Serializer>(id: &TokenId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TokenId, D::Error> {
        TokenId::parse(&String::deserialize(deserializer)?).ok_or_else(|| de::Error::custom("not a token id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIPT: &str = r#"{"grantId":"a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA","user":"jane-4471","pa":"https://pa.example.com","brand":"https://provider.example.com/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA","scopesUsed":["orders:read","orders:cancel"],"actions":[{"tool":"lookup_orders"},{"tool":"cancel_order","argsHash":"6q1Ojsx5J9hiNXAJDcfFYv8QjxYdlQkjfta7hdQDG8c"}],"ts":"2026-09-30T12:00:00Z"}"#;

    #[test]
    fn a_receipt_is_written_as_the_specification_shows_it() {
        let claims: ReceiptClaims = serde_json::from_str(RECEIPT).unwrap();
        assert_eq!(serde_json::to_string(&claims).unwrap(), RECEIPT);
    }

    #[test]
    fn a_receipt_has_its_seven_claims_and_no_other() {
        for wrong in [
            RECEIPT.replace("\"user\":\"jane-4471\",", ""),
            RECEIPT.replace("\"user\":", "\"sub\":\"x\",\"user\":"),
            RECEIPT.replace("\"tool\":\"lookup_orders\"", "\"tool\":\"lookup_orders\",\"args\":{}"),
            RECEIPT.replace("12:00:00Z", "12:00:00+00:00"),
            RECEIPT.replace("12:00:00Z", "12:00:00.5Z"),
            RECEIPT.replace("T12", "t12"),
        ] {
            assert!(serde_json::from_str::<ReceiptClaims>(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn token_times_have_no_fraction() {
        let token = r#"{"iss":"i","aud":"a","iat":1767225600,"exp":1767225660,"body_sha256":"b","jti":"j"}"#;
        let claims: TurnClaims = serde_json::from_str(token).unwrap();
        assert_eq!(serde_json::to_string(&claims).unwrap(), token);
        assert!(serde_json::from_str::<TurnClaims>(&token.replace("660,", "660.0,")).is_err());
    }
}
