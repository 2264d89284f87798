//! Brands: what a Provider hosts (PACT §1, §5.2). Refuses, through [`Brand::check`], what could not be served.

mod check;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::check::{LINE, optional_origin, optional_web_address, web_address};
use super::id::BrandId;
use super::scope::{ScopeId, ScopeSet};

/// A business whose agent runs on this Provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Brand {
    /// Assigned by the Provider.
    pub id: BrandId,
    /// What the card and the pages call it.
    pub name: String,
    /// What stands on its card, and where its agent is.
    pub profile: Profile,
    /// Absent for a Brand of the Identity profile alone.
    pub delegation: Option<Delegation>,
}

/// The parts of a Brand that every profile has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// A sentence for the card.
    #[schemars(extend("minLength" = 1, "maxLength" = 500, "pattern" = LINE))]
    pub description: String,
    /// The version of the Brand's agent, for the card.
    #[schemars(extend("minLength" = 1, "maxLength" = 40, "pattern" = LINE))]
    pub version: String,
    /// At least one.
    #[schemars(length(min = 1))]
    pub skills: Vec<Skill>,
    /// The backend behind the interface.
    pub agent: Agent,
}

/// What an agent can do, in words, as A2A cards carry it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    /// Unique on the card.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    pub id: String,
    /// For people.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    pub name: String,
    /// For people.
    #[schemars(extend("minLength" = 1, "maxLength" = 500, "pattern" = LINE))]
    pub description: String,
    /// At least one.
    #[schemars(length(min = 1))]
    pub tags: Vec<String>,
}

/// The Brand's agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Agent {
    /// A backend that is called over HTTP.
    Http(HttpAgent),
    /// One that is part of this program.
    Builtin(BuiltinAgent),
}

/// A backend that is called over HTTP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpAgent {
    /// Each turn is POSTed here.
    #[schemars(schema_with = "web_address")]
    pub url: Url,
    /// How long a turn may take, 1 to 300 seconds.
    #[serde(default = "default_timeout_seconds")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout_seconds: u16,
    /// Whether a turn under delegation carries a delegation token for the Brand's own account API.
    #[serde(default)]
    pub forward_token: bool,
}

const fn default_timeout_seconds() -> u16 {
    30
}

/// An agent that is part of this program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuiltinAgent {
    /// Which one.
    pub builtin: Builtin,
}

/// The agents that are part of this program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// The scripted shop of the demo and the tests.
    Demo,
}

/// What a Brand needs to offer delegated authority (PACT §5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// A host of the Brand's own that points here, `https://auth.brand.example`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "optional_origin")]
    pub auth_origin: Option<Url>,
    /// The Brand's own login.
    #[schemars(schema_with = "web_address")]
    pub login_url: Url,
    /// Where the User's browser goes after the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "optional_web_address")]
    pub return_url: Option<Url>,
    /// Who signs the assertions of the Brand's login, and with which keys.
    pub assertion: AssertionIssuer,
    /// Signs delegation tokens and receipts.
    #[serde(default)]
    pub signing_alg: SigningAlg,
    /// Life of a delegation token, 60 to 3600 seconds.
    #[serde(default = "default_access_token_seconds")]
    #[schemars(range(min = 60, max = 3600))]
    pub access_token_seconds: u32,
    /// Life of a grant from its latest decision, 1 to 365 days.
    #[serde(default = "default_grant_days")]
    #[schemars(range(min = 1, max = 365))]
    pub grant_days: u32,
    /// Whether a request that a live grant covers is approved by signing in.
    #[serde(default)]
    pub skip_consent: bool,
    /// Where the Brand is told of its grants; absent for one that does not want to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventReceiver>,
    /// The look of the Brand's pages.
    #[serde(default)]
    pub theme: Theme,
    /// In the order in which they are shown; at least one.
    #[schemars(length(min = 1, max = 50))]
    pub scopes: Vec<Scope>,
    /// Scope texts per language tag and scope id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = serde_json::json!({ "pattern": "^[a-z]{2,8}$" })))]
    pub texts: BTreeMap<String, BTreeMap<ScopeId, ScopeText>>,
}

const fn default_access_token_seconds() -> u32 {
    900
}

const fn default_grant_days() -> u32 {
    30
}

/// Who signs a Brand's assertions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssertionIssuer {
    /// The exact `iss`.
    #[schemars(extend("minLength" = 1, "maxLength" = 512, "pattern" = LINE))]
    pub issuer: String,
    /// Where the public keys are; either this or `jwks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "optional_web_address")]
    pub jwks_uri: Option<Url>,
    /// The public keys themselves, a JWK set (RFC 7517 §5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["object", "null"]))]
    pub jwks: Option<serde_json::Value>,
}

/// Where a Brand is told of its grants (RFC 8935).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventReceiver {
    /// Each Security Event Token is POSTed here.
    #[schemars(schema_with = "web_address")]
    pub url: Url,
}

/// The signature algorithms of PACT §3.2 and §5.4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum SigningAlg {
    /// ECDSA with P-256 and SHA-256.
    #[default]
    #[serde(rename = "ES256")]
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
}

impl SigningAlg {
    /// The `alg` of RFC 7518 §3.1.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }
}

/// The look of a Brand's pages.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// `#rrggbb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
}

/// An sRGB colour, written `#rrggbb`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("pattern" = "^#[0-9a-fA-F]{6}$"))]
pub struct Color {
    /// Red.
    pub red: u8,
    /// Green.
    pub green: u8,
    /// Blue.
    pub blue: u8,
}

impl TryFrom<String> for Color {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hexadecimal = |digits: &&str| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = text.strip_prefix('#').filter(is_hexadecimal).ok_or("a colour is written #rrggbb")?;
        let value = u32::from_str_radix(digits, 16).map_err(|_| "a colour is written #rrggbb")?;
        let [_, red, green, blue] = value.to_be_bytes();
        Ok(Self { red, green, blue })
    }
}

impl From<Color> for String {
    fn from(color: Color) -> Self {
        format!("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue)
    }
}

/// One scope of a Brand (PACT §5.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// On the card and in tokens.
    pub id: ScopeId,
    /// Shown to the User verbatim.
    #[schemars(extend("minLength" = 1, "maxLength" = 200, "pattern" = LINE))]
    pub description: String,
    /// Shown under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1, "maxLength" = 500, "pattern" = LINE))]
    pub detail: Option<String>,
    /// Whether it can make changes, which the consent page marks.
    #[serde(default)]
    pub writes: bool,
}

/// A scope's words in one language.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeText {
    /// In place of the scope's own.
    #[schemars(extend("minLength" = 1, "maxLength" = 200, "pattern" = LINE))]
    pub description: String,
    /// In place of the scope's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minLength" = 1, "maxLength" = 500, "pattern" = LINE))]
    pub detail: Option<String>,
}

impl Brand {
    /// What signs the Brand's tokens, receipts and turns.
    pub fn signing_alg(&self) -> SigningAlg {
        self.delegation.as_ref().map_or_else(SigningAlg::default, |delegation| delegation.signing_alg)
    }

    /// The scopes that it offers; none without delegation.
    pub fn offered(&self) -> ScopeSet {
        self.delegation.as_ref().map_or_else(ScopeSet::empty, Delegation::scope_ids)
    }
}

impl Delegation {
    /// All scope ids, in the Brand's order.
    pub fn scope_ids(&self) -> ScopeSet {
        self.scopes.iter().map(|scope| scope.id.clone()).collect()
    }

    /// `wanted` in the Brand's order, or `None` when one of them is not this Brand's.
    pub fn select(&self, wanted: &ScopeSet) -> Option<ScopeSet> {
        let all = self.scope_ids();
        wanted.is_subset_of(&all).then(|| all.intersection(wanted))
    }

    /// A scope's words in `language` where the Brand gives them, in the Brand's own otherwise.
    pub fn text(&self, scope: &Scope, language: &str) -> ScopeText {
        let own = || ScopeText { description: scope.description.clone(), detail: scope.detail.clone() };
        self.texts.get(language).and_then(|texts| texts.get(&scope.id)).cloned().unwrap_or_else(own)
    }
}
