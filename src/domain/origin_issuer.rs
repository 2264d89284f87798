//! An issuer that is an origin and nothing more: the one kind of `iss` that a personal agent nobody registered may have,
//! since whoever answers at an origin can be asked where its keys are (PACT §3.1; OpenID Connect Discovery 1.0 §4).
//!
//! Refuses every spelling of an origin but one, so that no two issuers are one host: a path or a trailing slash, a query,
//! credentials, capitals, a name that is not in its ASCII form or no host's, a final dot, a port that is the scheme's own,
//! and an address in any other notation than its usual one.

use url::{Host, Url};

use super::check::{InvalidParameter, ensure, ensure_web};
use super::id::Issuer;
use super::personal_agent::PersonalAgent;

/// The longest `jwks_uri` that is taken from a document, in bytes.
const LONGEST_JWKS_URI: usize = 2048;

/// An issuer that is an origin, and the origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginIssuer {
    issuer: Issuer,
    origin: Url,
}

impl OriginIssuer {
    /// `issuer` as an origin; `None` when it is none, or not in its one spelling. `allow_http` lifts the HTTPS rule, for
    /// development.
    pub fn new(issuer: &Issuer, allow_http: bool) -> Option<Self> {
        let origin = Url::parse(issuer.as_str()).ok()?;
        let has_scheme = origin.scheme() == "https" || (allow_http && origin.scheme() == "http");
        let is_host = match origin.host()? {
            Host::Domain(name) => is_host_name(name),
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        };
        let is_canonical = origin.origin().ascii_serialization() == issuer.as_str();
        (has_scheme && is_host && is_canonical).then(|| Self { issuer: issuer.clone(), origin })
    }

    /// The issuer.
    pub const fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// Where its configuration is published (OpenID Connect Discovery 1.0 §4).
    pub fn configuration_url(&self) -> Url {
        let mut url = self.origin.clone();
        url.set_path("/.well-known/openid-configuration");
        url
    }

    /// The personal agent that a document with this `issuer` and `jwks_uri` describes: enabled, and named by its origin,
    /// which nobody but its owner can choose. Nothing else of the document is taken.
    ///
    /// # Errors
    /// [`InvalidParameter`] when the document is another issuer's, or its keys are where no registered ones may be.
    pub fn described_by(
        &self,
        issuer: &str,
        jwks_uri: Url,
        allow_http: bool,
    ) -> Result<PersonalAgent, InvalidParameter> {
        ensure(issuer == self.issuer.as_str(), "issuer", "is another")?;
        ensure_web("jwks_uri", &jwks_uri, allow_http)?;
        ensure(jwks_uri.as_str().len() <= LONGEST_JWKS_URI, "jwks_uri", "is too long")?;
        Ok(PersonalAgent { issuer: self.issuer.clone(), name: self.issuer.to_string(), jwks_uri, enabled: true })
    }
}

/// Labels of letters, digits and hyphens (RFC 1123 §2.1), of which none is empty: a URL's host may hold more.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str, allow_http: bool) -> Option<OriginIssuer> {
        OriginIssuer::new(&Issuer::parse(text).unwrap(), allow_http)
    }

    #[test]
    fn an_origin_in_its_one_spelling_is_accepted() {
        for text in [
            "https://pa.example.com",
            "https://pa.example.com:8443",
            "https://xn--bcher-kva.example",
            "https://8.8.8.8",
            "https://[2606:4700::1111]:444",
            "https://localhost",
        ] {
            assert_eq!(origin(text, false).unwrap().issuer().as_str(), text);
        }
    }

    #[test]
    fn every_other_spelling_and_everything_after_an_origin_is_refused() {
        for text in [
            "https://pa.example.com/",
            "https://pa.example.com/pa",
            "https://pa.example.com?x",
            "https://pa.example.com#x",
            "https://pa.example.com:443",
            "https://pa.example.com:0443",
            "https://pa.example.com:",
            "https://pa.example.com.",
            "https://pa.example.com..",
            "https://PA.example.com",
            "HTTPS://pa.example.com",
            "https:pa.example.com",
            "https:/pa.example.com",
            "https:\\\\pa.example.com",
            " https://pa.example.com",
            "https://pa.example.com ",
            "https://user@pa.example.com",
            "https://user:secret@pa.example.com",
            "https://@pa.example.com",
            "https://bücher.example",
            "https://pa.example.com\u{200b}",
            "https://%70a.example.com",
            "https://ｐａ.example.com",
            "https://2130706433",
            "https://0x7f.1",
            "https://0177.0.0.1",
            "https://127.1",
            "https://127.0.0.1.",
            "https://[0:0:0:0:0:0:0:1]",
            "https://[::FFFF:127.0.0.1]",
            "https://",
            "https://*",
            "https://*.example.com",
            "https://pa_1.example.com",
            "https://pa..example.com",
            "https://pa.example.com'",
            "https://pa.example.com&x",
            "http://pa.example.com",
            "ftp://pa.example.com",
            "wss://pa.example.com",
            "blob:https://pa.example.com",
            "data:text/plain,x",
            "pa.example.com",
            "urn:pa",
            "null",
        ] {
            assert_eq!(origin(text, false), None, "{text}");
        }
    }

    #[test]
    fn plain_http_is_an_origin_where_it_is_allowed_and_nothing_else_is() {
        assert!(origin("http://localhost:9001", true).is_some());
        assert!(origin("http://127.0.0.1:9001", true).is_some());
        for text in ["http://localhost:9001/", "http://localhost:80", "ftp://localhost", "file:///etc/passwd"] {
            assert_eq!(origin(text, true), None, "{text}");
        }
    }

    #[test]
    fn the_configuration_is_below_the_origin() {
        let url = origin("https://pa.example.com:8443", false).unwrap().configuration_url();
        assert_eq!(url.as_str(), "https://pa.example.com:8443/.well-known/openid-configuration");
    }

    // case 18
    #[test]
    fn a_document_of_another_issuer_describes_nobody() {
        let pa = origin("https://pa.example.com", false).unwrap();
        let keys = Url::parse("https://keys.example/jwks.json").unwrap();
        let described = pa.described_by("https://pa.example.com", keys.clone(), false).unwrap();
        assert_eq!((described.name.as_str(), described.enabled), ("https://pa.example.com", true));
        assert_eq!((described.issuer, described.jwks_uri), (pa.issuer().clone(), keys.clone()));
        for other in
            ["https://pa.example.com/", "https://PA.example.com", "https://pa.example.com:443", "https://x.example", ""]
        {
            let refused = pa.described_by(other, keys.clone(), false).unwrap_err();
            assert_eq!(refused.parameter, "issuer", "{other}");
        }
    }

    #[test]
    fn keys_are_where_registered_ones_may_be() {
        let pa = origin("https://pa.example.com", false).unwrap();
        let long = format!("https://pa.example.com/{}", "k".repeat(LONGEST_JWKS_URI));
        for wrong in [
            "http://pa.example.com/j",
            "https://u:p@pa.example.com/j",
            "https://pa.example.com/j#f",
            "file:///etc/passwd",
            "data:application/json,{}",
            &long,
        ] {
            let refused = pa.described_by("https://pa.example.com", Url::parse(wrong).unwrap(), false).unwrap_err();
            assert_eq!(refused.parameter, "jwks_uri", "{wrong}");
        }
    }
}
