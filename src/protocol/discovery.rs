//! What Assent reads of an OpenID provider's configuration (OpenID Connect Discovery 1.0 §3): who it is of and where its
//! keys are. Everything else in it is left alone.

use serde::Deserialize;
use url::Url;

use super::json::{self, InvalidJson};

/// An OpenID provider's configuration.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct OpenIdConfiguration {
    /// Whose it is.
    pub issuer: String,
    /// Where the keys are that verify what the issuer signs.
    pub jwks_uri: Url,
}

impl OpenIdConfiguration {
    /// Reads one.
    ///
    /// # Errors
    /// [`InvalidJson`] for what [`json::parse`] refuses, for what is no object, and where one of the two members is
    /// missing or not of its type.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidJson> {
        json::parse_as(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_members_are_read_whatever_else_there_is() {
        let text = br#"{"issuer":"https://pa.example","jwks_uri":"https://pa.example/j","x":{"y":[1]},"scopes":null}"#;
        let read = OpenIdConfiguration::parse(text).unwrap();
        assert_eq!((read.issuer.as_str(), read.jwks_uri.as_str()), ("https://pa.example", "https://pa.example/j"));
    }

    #[test]
    fn what_is_not_one_object_with_both_members_once_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            "null",
            "<html>",
            r#"["https://pa.example","https://pa.example/j"]"#,
            r#"{"issuer":"https://pa.example"}"#,
            r#"{"jwks_uri":"https://pa.example/j"}"#,
            r#"{"issuer":null,"jwks_uri":"https://pa.example/j"}"#,
            r#"{"issuer":["https://pa.example"],"jwks_uri":"https://pa.example/j"}"#,
            r#"{"issuer":"https://pa.example","jwks_uri":""}"#,
            r#"{"issuer":"https://pa.example","jwks_uri":"/j"}"#,
            r#"{"issuer":"https://pa.example","jwks_uri":7}"#,
            r#"{"issuer":"https://pa.example","issuer":"https://pa.example","jwks_uri":"https://pa.example/j"}"#,
            r#"{"issuer":"https://pa.example","jwks_uri":"https://pa.example/j","a":{"b":1,"b":2}}"#,
            r#"{"issuer":"https://pa.example","jwks_uri":"https://pa.example/j"} {}"#,
        ] {
            assert!(OpenIdConfiguration::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
