//! What stood on a consent page and who looked at it: the words that an auditor asks for a year later.

use serde::{Deserialize, Serialize};

use super::assertion::Assertion;
use super::brand::{Delegation, Scope};
use super::device::Shown;
use super::scope::{ScopeId, ScopeSet};

/// One scope as it stood on the page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShownScope {
    /// Its id.
    pub id: ScopeId,
    /// Its words, verbatim, in the page's language.
    pub description: String,
    /// The words under them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Whether it was marked as able to make changes.
    pub writes: bool,
}

/// The scopes of a page in their order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShownScopes {
    /// Asked for.
    pub requested: Vec<ShownScope>,
    /// Allowed before, not asked for now.
    pub allowed: Vec<ShownScope>,
}

impl ShownScopes {
    /// The Brand's words for `shown` in `language`. A scope that the Brand no longer has is left out.
    pub fn new(shown: &Shown, delegation: &Delegation, language: &str) -> Self {
        let words = |set: &ScopeSet| {
            let line = |scope: &Scope| {
                let text = delegation.text(scope, language);
                ShownScope {
                    id: scope.id.clone(),
                    description: text.description,
                    detail: text.detail,
                    writes: scope.writes,
                }
            };
            delegation.scopes.iter().filter(|scope| set.contains(&scope.id)).map(line).collect()
        };
        Self { requested: words(&shown.requested), allowed: words(&shown.allowed) }
    }

    /// Every scope on the page.
    pub fn ids(&self) -> ScopeSet {
        self.requested.iter().chain(&self.allowed).map(|scope| scope.id.clone()).collect()
    }
}

/// What is kept of a verified assertion: everything but the user code, which is a secret while it lives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SignInRecord {
    /// The Brand's login.
    pub iss: String,
    /// The User's id at the Brand.
    pub sub: String,
    /// The assertion's own id.
    pub jti: String,
    /// When the User signed in, seconds since the Unix epoch.
    pub iat: i64,
    /// When the assertion ran out.
    pub exp: i64,
    /// As the Brand gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// As the Brand gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// As the Brand gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}

impl SignInRecord {
    /// How the consent page names the User: the e-mail address, else the name, else the id.
    pub fn signed_in_as(&self) -> &str {
        self.email.as_deref().or(self.name.as_deref()).unwrap_or(&self.sub)
    }
}

impl From<&Assertion> for SignInRecord {
    fn from(assertion: &Assertion) -> Self {
        Self {
            iss: assertion.issuer.clone(),
            sub: assertion.sub.as_str().to_owned(),
            jti: assertion.jti.clone(),
            iat: assertion.issued_at.seconds(),
            exp: assertion.expires_at.seconds(),
            name: assertion.name.clone(),
            email: assertion.email.clone(),
            locale: assertion.locale.clone(),
        }
    }
}
