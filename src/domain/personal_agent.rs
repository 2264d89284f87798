//! Personal agents, as registered with the Provider (PACT §3.1).

use url::Url;

use super::check::{InvalidParameter, ensure_text, ensure_web};
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
    /// Checks what could not be used. `allow_http` lifts the HTTPS rule, for development.
    ///
    /// # Errors
    /// [`InvalidParameter`] names it.
    pub fn check(&self, allow_http: bool) -> Result<(), InvalidParameter> {
        ensure_text("name", &self.name, 80)?;
        ensure_web("jwks_uri", &self.jwks_uri, allow_http)
    }

    /// The origin of its issuer, which the consent page shows (PACT §5.3); the issuer itself when it is not a URL.
    pub fn origin(&self) -> String {
        match Url::parse(self.issuer.as_str()) {
            Ok(url) if url.origin().is_tuple() => url.origin().ascii_serialization(),
            _ => self.issuer.as_str().to_owned(),
        }
    }

    /// Whether an administrator gave it a name; one that registered itself is called by its origin.
    pub fn has_own_name(&self) -> bool {
        self.name != self.origin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples;

    #[test]
    fn a_key_set_without_https_or_with_credentials_is_refused() {
        let check = |uri: &str| {
            let agent = PersonalAgent { jwks_uri: Url::parse(uri).unwrap(), ..samples::personal_agent() };
            agent.check(false).map_err(|problem| problem.parameter)
        };
        assert_eq!(check("https://pa.example.com/jwks.json"), Ok(()));
        for wrong in ["http://pa.example.com/j", "https://u:p@pa.example.com/j", "https://pa.example.com/j#f"] {
            assert_eq!(check(wrong), Err("jwks_uri".to_owned()), "{wrong}");
        }
    }
}
