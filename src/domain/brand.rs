//! Brands: what a Provider hosts, and where each is served (PACT §1, §2.1, §5.1).
//!
//! Refuses, through [`Brand::check`], what could not be served or would mislead a User: a delegation without scopes, a
//! login that is not a web address, a grant of more than a year.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// A sentence for the card.
    pub description: String,
    /// The version of the Brand's agent, for the card.
    pub version: String,
    /// At least one.
    pub skills: Vec<Skill>,
    /// The backend behind the interface.
    pub agent: Agent,
}

/// What an agent can do, in words, as A2A cards carry it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    /// Unique on the card.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// At least one.
    pub tags: Vec<String>,
}

/// The Brand's agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Agent {
    /// A backend that is called over HTTP.
    Http(HttpAgent),
    /// One that is part of this program.
    Builtin(BuiltinAgent),
}

/// A backend that is called over HTTP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpAgent {
    /// Each turn is POSTed here.
    pub url: Url,
    /// How long a turn may take, 1 to 300 seconds.
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: u16,
    /// Whether a turn under delegation carries a delegation token for the Brand's own account API.
    #[serde(default)]
    pub forward_token: bool,
}

const fn default_timeout_seconds() -> u16 {
    30
}

/// An agent that is part of this program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltinAgent {
    /// Which one.
    pub builtin: Builtin,
}

/// The agents that are part of this program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// The scripted shop of the demo and the tests.
    Demo,
}

/// What a Brand needs to offer delegated authority (PACT §5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// A host of the Brand's own that points here, `https://auth.brand.example`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_origin: Option<Url>,
    /// The Brand's own login.
    pub login_url: Url,
    /// Where the User's browser goes after the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_url: Option<Url>,
    /// Who signs the assertions of the Brand's login, and with which keys.
    pub assertion: AssertionIssuer,
    /// Signs delegation tokens and receipts.
    #[serde(default)]
    pub signing_alg: SigningAlg,
    /// Life of a delegation token, 60 to 3600 seconds.
    #[serde(default = "default_access_token_seconds")]
    pub access_token_seconds: u32,
    /// Life of a grant from its latest decision, 1 to 365 days.
    #[serde(default = "default_grant_days")]
    pub grant_days: u32,
    /// Whether a request that a live grant covers is approved by signing in.
    #[serde(default)]
    pub skip_consent: bool,
    /// The look of the Brand's pages.
    #[serde(default)]
    pub theme: Theme,
    /// In the order in which they are shown; at least one.
    pub scopes: Vec<Scope>,
    /// Scope texts per language tag and scope id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, BTreeMap<ScopeId, ScopeText>>,
}

const fn default_access_token_seconds() -> u32 {
    900
}

const fn default_grant_days() -> u32 {
    30
}

/// Who signs a Brand's assertions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssertionIssuer {
    /// The exact `iss`.
    pub issuer: String,
    /// Where the public keys are; either this or `jwks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<Url>,
    /// The public keys themselves, a JWK set (RFC 7517 §5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks: Option<serde_json::Value>,
}

/// The signature algorithms of PACT §3.2 and §5.4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// `#rrggbb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
}

/// An sRGB colour, written `#rrggbb`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or("a colour is written #rrggbb")?;
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// On the card and in tokens.
    pub id: ScopeId,
    /// Shown to the User verbatim.
    pub description: String,
    /// Shown under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether it can make changes, which the consent page marks.
    #[serde(default)]
    pub writes: bool,
}

/// A scope's words in one language.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeText {
    /// In place of the scope's own.
    pub description: String,
    /// In place of the scope's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What is wrong with a Brand: the parameter, what it holds and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {problem}")]
pub struct InvalidBrand {
    /// As it is written in an `apply` file.
    pub parameter: String,
    /// In words.
    pub problem: String,
}

fn ensure(holds: bool, parameter: &str, problem: impl Into<String>) -> Result<(), InvalidBrand> {
    if holds { Ok(()) } else { Err(InvalidBrand { parameter: parameter.to_owned(), problem: problem.into() }) }
}

fn ensure_text(parameter: &str, text: &str, max: usize) -> Result<(), InvalidBrand> {
    let length = text.chars().count();
    ensure(!text.trim().is_empty(), parameter, "must not be empty")?;
    ensure(length <= max, parameter, format!("has {length} characters; at most {max} are shown"))?;
    ensure(!text.chars().any(char::is_control), parameter, "must not have control characters")
}

/// Whether `url` is one a browser can be sent to: HTTPS, or HTTP where `allow_http`, without credentials or fragment.
fn ensure_web(parameter: &str, url: &Url, allow_http: bool) -> Result<(), InvalidBrand> {
    let scheme = url.scheme();
    ensure(scheme == "https" || (allow_http && scheme == "http"), parameter, format!("is {scheme}:, expected https:"))?;
    ensure(url.host().is_some(), parameter, "has no host")?;
    ensure(url.username().is_empty() && url.password().is_none(), parameter, "must not hold credentials")?;
    ensure(url.fragment().is_none(), parameter, "must not have a fragment")
}

impl Brand {
    /// Checks what one Brand alone can be checked for. `allow_http` lifts the HTTPS rule, for development.
    ///
    /// # Errors
    /// [`InvalidBrand`] names the first parameter that cannot be served.
    pub fn check(&self, allow_http: bool) -> Result<(), InvalidBrand> {
        ensure_text("name", &self.name, 80)?;
        ensure_text("description", &self.profile.description, 500)?;
        ensure_text("version", &self.profile.version, 40)?;
        ensure(!self.profile.skills.is_empty(), "skills", "has none; an A2A card lists at least one")?;
        for skill in &self.profile.skills {
            ensure_text("skills.id", &skill.id, 80)?;
            ensure_text("skills.name", &skill.name, 80)?;
            ensure_text("skills.description", &skill.description, 500)?;
            ensure(!skill.tags.is_empty(), "skills.tags", "has none; an A2A skill has at least one")?;
        }
        if let Agent::Http(agent) = &self.profile.agent {
            ensure_web("agent.url", &agent.url, allow_http)?;
            let seconds = agent.timeout_seconds;
            ensure((1..=300).contains(&seconds), "agent.timeout_seconds", format!("is {seconds}, expected 1 to 300"))?;
        }
        self.delegation.as_ref().map_or(Ok(()), |delegation| delegation.check(allow_http))
    }
}

impl Delegation {
    fn check(&self, allow_http: bool) -> Result<(), InvalidBrand> {
        if let Some(origin) = &self.auth_origin {
            ensure_web("delegation.auth_origin", origin, allow_http)?;
            let bare = origin.path() == "/" && origin.query().is_none();
            ensure(bare, "delegation.auth_origin", "is an origin: scheme, host and port, nothing after them")?;
        }
        ensure_web("delegation.login_url", &self.login_url, allow_http)?;
        let has_return_to = self.login_url.query_pairs().any(|(name, _)| name == "return_to");
        ensure(!has_return_to, "delegation.login_url", "must not have a return_to parameter of its own")?;
        if let Some(url) = &self.return_url {
            ensure_web("delegation.return_url", url, allow_http)?;
        }
        ensure_text("delegation.assertion.issuer", &self.assertion.issuer, 512)?;
        match (&self.assertion.jwks_uri, &self.assertion.jwks) {
            (Some(url), None) => ensure_web("delegation.assertion.jwks_uri", url, allow_http)?,
            (None, Some(jwks)) => {
                let keys = jwks.get("keys").and_then(|keys| keys.as_array()).is_some_and(|keys| !keys.is_empty());
                ensure(keys, "delegation.assertion.jwks", "is not a JWK set with at least one key")?;
            }
            _ => ensure(false, "delegation.assertion", "needs either jwks_uri or jwks")?,
        }
        let seconds = self.access_token_seconds;
        let range = (60..=3600).contains(&seconds);
        ensure(range, "delegation.access_token_seconds", format!("is {seconds}, expected 60 to 3600"))?;
        let days = self.grant_days;
        ensure((1..=365).contains(&days), "delegation.grant_days", format!("is {days}, expected 1 to 365"))?;
        ensure(
            !self.scopes.is_empty(),
            "delegation.scopes",
            "has none; a Brand that offers delegation has at least one",
        )?;
        let ids = self.scope_ids();
        ensure(ids.len() == self.scopes.len(), "delegation.scopes.id", "stands twice")?;
        ensure(ids.len() <= 50, "delegation.scopes", "has more than 50, which nobody can decide on")?;
        for scope in &self.scopes {
            ensure_text("delegation.scopes.description", &scope.description, 200)?;
            if let Some(detail) = &scope.detail {
                ensure_text("delegation.scopes.detail", detail, 500)?;
            }
        }
        for (language, texts) in &self.texts {
            for (id, text) in texts {
                let parameter = format!("delegation.texts.{language}.{id}");
                ensure(ids.contains(id), &parameter, "is not one of the scopes")?;
                ensure_text(&parameter, &text.description, 200)?;
            }
        }
        Ok(())
    }

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

/// Where one Brand is served. Every absolute URL is built here, from configuration alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// `{public_url}/a2a/{brandId}` (PACT §2.1).
    pub interface_url: String,
    /// The issuer of the Brand's authorization server (RFC 8414 §2).
    pub issuer: String,
}

impl Addresses {
    /// The addresses of `brand` under `public_url`, which has no trailing slash.
    pub fn of(public_url: &str, brand: &Brand) -> Self {
        let interface_url = format!("{public_url}/a2a/{}", brand.id);
        let auth_origin = brand.delegation.as_ref().and_then(|delegation| delegation.auth_origin.as_ref());
        let issuer = match auth_origin {
            Some(origin) => origin.origin().ascii_serialization(),
            None => format!("{interface_url}/oauth"),
        };
        Self { interface_url, issuer }
    }

    /// The consent page, which is also the assertion's `aud`.
    pub fn consent_url(&self) -> String {
        self.under_issuer("consent")
    }

    /// A path under the issuer.
    pub fn under_issuer(&self, path: &str) -> String {
        format!("{}/{path}", self.issuer)
    }

    /// The Brand's card (PACT §2.1).
    pub fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.interface_url)
    }

    /// The link to the Brand's login that comes back to the consent page, with `user_code` where one is given
    /// (RFC 8628 §3.2, PACT §5.3). Whatever query `login_url` has is kept.
    pub fn verification_uri(&self, login_url: &Url, user_code: Option<&str>) -> String {
        let return_to = match user_code {
            Some(code) => format!("{}?user_code={code}", self.consent_url()),
            None => self.consent_url(),
        };
        let mut link = login_url.clone();
        link.query_pairs_mut().append_pair("return_to", &return_to);
        link.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples;

    #[test]
    fn a_brand_without_an_origin_of_its_own_is_served_under_its_interface() {
        let brand = samples::brand();
        let addresses = Addresses::of("https://provider.example.com", &brand);
        assert_eq!(addresses.interface_url, format!("https://provider.example.com/a2a/{}", brand.id));
        assert_eq!(addresses.issuer, format!("{}/oauth", addresses.interface_url));
        assert_eq!(addresses.consent_url(), format!("{}/consent", addresses.issuer));
    }

    #[test]
    fn an_auth_origin_is_the_issuer_without_a_trailing_slash() {
        let mut brand = samples::brand();
        brand.delegation.as_mut().unwrap().auth_origin = Some(Url::parse("https://auth.brand.example").unwrap());
        let addresses = Addresses::of("https://provider.example.com", &brand);
        assert_eq!(addresses.issuer, "https://auth.brand.example");
        assert_eq!(addresses.consent_url(), "https://auth.brand.example/consent");
    }

    #[test]
    fn the_login_link_keeps_the_query_that_the_login_has() {
        let brand = samples::brand();
        let addresses = Addresses::of("https://provider.example.com", &brand);
        let login = Url::parse("https://shop.example/login?lang=de&x=%26").unwrap();
        let link = Url::parse(&addresses.verification_uri(&login, Some("WDJB-MJHT"))).unwrap();
        let pairs: Vec<(String, String)> = link.query_pairs().into_owned().collect();
        assert_eq!(
            pairs,
            [
                ("lang".to_owned(), "de".to_owned()),
                ("x".to_owned(), "&".to_owned()),
                ("return_to".to_owned(), format!("{}?user_code=WDJB-MJHT", addresses.consent_url())),
            ]
        );
    }

    #[test]
    fn a_brand_that_cannot_be_served_is_refused_by_the_name_of_the_parameter() {
        let refused = |change: fn(&mut Brand), parameter: &str| {
            let mut brand = samples::brand();
            change(&mut brand);
            assert_eq!(brand.check(false).unwrap_err().parameter, parameter);
        };
        assert_eq!(samples::brand().check(false), Ok(()));
        refused(|b| b.name.clear(), "name");
        refused(|b| b.profile.skills.clear(), "skills");
        refused(|b| b.delegation.as_mut().unwrap().scopes.clear(), "delegation.scopes");
        refused(|b| b.delegation.as_mut().unwrap().grant_days = 366, "delegation.grant_days");
        refused(|b| b.delegation.as_mut().unwrap().access_token_seconds = 3601, "delegation.access_token_seconds");
        refused(
            |b| b.delegation.as_mut().unwrap().login_url = Url::parse("http://shop.example/login").unwrap(),
            "delegation.login_url",
        );
        refused(
            |b| b.delegation.as_mut().unwrap().auth_origin = Some(Url::parse("https://auth.example/x").unwrap()),
            "delegation.auth_origin",
        );
        refused(|b| b.delegation.as_mut().unwrap().assertion.jwks_uri = None, "delegation.assertion");
        refused(
            |b| {
                let scopes = &mut b.delegation.as_mut().unwrap().scopes;
                let again = scopes[0].clone();
                scopes.push(again);
            },
            "delegation.scopes.id",
        );
    }
}
