//! Administrators, API keys and resource-server keys.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::At;
use crate::clock::Timestamp;
use crate::domain::account::{Administrator, ApiKey};
use crate::domain::administrator::{Reach, Role};
use crate::domain::id::{AdministratorName, ApiKeyId, BrandId, ResourceServerKeyId};
use crate::domain::resource_server_key::ResourceServerKey;

/// At which Brands a role holds: `"*"`, or a list of ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrandsJson(pub Reach);

impl Serialize for BrandsJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Reach::All => serializer.serialize_str("*"),
            Reach::Brands(brands) => brands.serialize(serializer),
        }
    }
}

impl JsonSchema for BrandsJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Brands".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let id = generator.subschema_for::<BrandId>();
        json_schema!({ "anyOf": [{ "const": "*" }, { "type": "array", "items": id }] })
    }
}

/// An administrator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdministratorJson {
    /// What they log in with.
    pub name: AdministratorName,
    /// What they may do.
    pub role: Role,
    /// At which Brands: `"*"` for all, or a list of ids.
    pub brands: BrandsJson,
    /// Whether they are let in.
    pub enabled: bool,
    /// Whether a log-in asks for a second factor.
    pub second_factor: bool,
    /// When they were made.
    pub created_at: At,
    /// The latest change but a log-in.
    pub changed_at: At,
    /// The latest log-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logged_in_at: Option<At>,
}

impl From<Administrator> for AdministratorJson {
    fn from(account: Administrator) -> Self {
        Self {
            enabled: account.is_enabled(),
            second_factor: account.has_second_factor(),
            name: account.name,
            role: account.access.role,
            brands: BrandsJson(account.access.reach),
            created_at: At(account.created_at),
            changed_at: At(account.changed_at),
            logged_in_at: account.logged_in_at.map(At),
        }
    }
}

/// An API key, without the key itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyJson {
    /// Its id, which is no secret: the audit log names it so.
    pub id: ApiKeyId,
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// At which Brands: `"*"` for all, or a list of ids.
    pub brands: BrandsJson,
    /// `live`, `expired` or `revoked`.
    #[schemars(extend("enum" = ["live", "expired", "revoked"]))]
    pub state: &'static str,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: At,
    /// It is nothing from then on.
    pub expires_at: At,
    /// When it was used, to a quarter of an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<At>,
    /// Since when it is revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<At>,
}

impl ApiKeyJson {
    /// `key` as it is at `now`.
    pub fn new(key: ApiKey, now: Timestamp) -> Self {
        Self {
            state: key.state(now),
            id: key.id,
            name: key.name,
            role: key.access.role,
            brands: BrandsJson(key.access.reach),
            created_by: key.created_by,
            created_at: At(key.created_at),
            expires_at: At(key.expires_at),
            last_used_at: key.last_used_at.map(At),
            revoked_at: key.revoked_at.map(At),
        }
    }
}

/// An API key that was just made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct NewApiKeyJson {
    /// What it is.
    #[serde(flatten)]
    pub about: ApiKeyJson,
    /// The key itself, shown now or never.
    pub key: String,
}

/// A resource-server key, without the key itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceServerKeyJson {
    /// Names it where it is listed and revoked; no secret.
    pub key_id: ResourceServerKeyId,
    /// `live`, `expired` or `revoked`.
    #[schemars(extend("enum" = ["live", "expired", "revoked"]))]
    pub state: &'static str,
    /// The Brand whose tokens it may be asked about.
    pub brand_id: BrandId,
    /// For people.
    pub name: String,
    /// When it was made.
    pub created_at: At,
    /// It opens nothing from then on; left out for one that is good until it is revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<At>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<At>,
}

impl ResourceServerKeyJson {
    /// `key` as it is at `now`.
    pub fn new(key: ResourceServerKey, now: Timestamp) -> Self {
        let state = match key.revoked_at {
            Some(_) => "revoked",
            None if key.is_live(now) => "live",
            None => "expired",
        };
        Self {
            key_id: key.id,
            state,
            brand_id: key.brand,
            name: key.name,
            created_at: At(key.created_at),
            expires_at: key.expires_at.map(At),
            revoked_at: key.revoked_at.map(At),
        }
    }
}

/// A resource-server key that was just made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct NewResourceServerKeyJson {
    /// What it is.
    #[serde(flatten)]
    pub about: ResourceServerKeyJson,
    /// The key itself, shown now or never.
    pub key: String,
}
