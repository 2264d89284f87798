//! Personal agents, as registered with the Provider (PACT §3.1).

use url::Url;

use super::id::Issuer;

/// A personal agent that may call, or once could.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonalAgent {
    /// Its exact `iss`.
    pub issuer: Issuer,
    /// What the User reads on the consent page.
    pub name: String,
    /// Where its public keys are.
    pub jwks_uri: Url,
    /// A disabled personal agent's requests get 401.
    pub enabled: bool,
}

impl PersonalAgent {
    /// The origin of its issuer, which the consent page shows (PACT §5.3); the issuer itself when it is not a URL.
    pub fn origin(&self) -> String {
        match Url::parse(self.issuer.as_str()) {
            Ok(url) if url.origin().is_tuple() => url.origin().ascii_serialization(),
            _ => self.issuer.as_str().to_owned(),
        }
    }
}
