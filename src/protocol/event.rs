//! Security Event Tokens about grants (RFC 8417 §2), and what a receiver answers to one (RFC 8935 §2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::numeric_date;
use crate::clock::Timestamp;
use crate::domain::event::{GrantEvent, Happened};

/// The media type of a token on its way (RFC 8417 §7.1).
pub const CONTENT_TYPE: &str = "application/secevent+jwt";

/// The claims of a token. It has exactly one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityEventClaims {
    /// The Brand's authorization server.
    pub iss: String,
    /// The receiver's address.
    pub aud: String,
    /// When it happened, whole seconds: the same however often it is sent.
    #[serde(with = "numeric_date")]
    pub iat: Timestamp,
    /// The same however often it is sent.
    pub jti: String,
    /// Whose grant it is about (RFC 9493 §3.2.3).
    pub sub_id: Subject,
    /// What happened, by its URI.
    pub events: BTreeMap<String, GrantEventClaims>,
}

/// A User, as the Brand's own login names them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// `iss_sub`.
    pub format: String,
    /// The Brand's login.
    pub iss: String,
    /// The User's id there.
    pub sub: String,
}

/// What is told of a grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantEventClaims {
    /// The grant.
    pub grant_id: String,
    /// The personal agent's issuer.
    pub client_id: String,
    /// What it allows now, separated by spaces; left out when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When it expires, in seconds since the Unix epoch; left out when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Who ended it: `user`, `personal_agent`, `administrator` or `brand_change`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
}

impl SecurityEventClaims {
    /// The claims that tell `event` of the Brand whose authorization server is `issuer` and whose login is `login`, to the
    /// receiver at `audience`.
    pub fn new(event: &GrantEvent, issuer: &str, login: &str, audience: &str) -> Self {
        let (uri, ended_by) = match event.happened {
            Happened::Created => ("urn:assent:event:grant-created", None),
            Happened::Changed => ("urn:assent:event:grant-changed", None),
            Happened::Ended(by) => ("urn:assent:event:grant-ended", Some(by.to_string())),
        };
        let allows = ended_by.is_none();
        let told = GrantEventClaims {
            grant_id: event.grant.to_string(),
            client_id: event.personal_agent.to_string(),
            scope: allows.then(|| event.scopes.to_string()),
            expires_at: allows.then(|| event.expires_at.seconds()),
            ended_by,
        };
        Self {
            iss: issuer.to_owned(),
            aud: audience.to_owned(),
            iat: Timestamp::from_seconds(event.at.seconds()),
            jti: event.id.clone(),
            sub_id: Subject { format: "iss_sub".to_owned(), iss: login.to_owned(), sub: event.brand_user.to_string() },
            events: BTreeMap::from([(uri.to_owned(), told)]),
        }
    }
}

/// What a receiver has against a token (RFC 8935 §2.4), by the codes of its registry; whatever else it says is `Other`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Objection {
    /// The token itself is malformed or not understood.
    InvalidRequest,
    /// The key is not known or not good there.
    InvalidKey,
    /// The issuer is not expected there.
    InvalidIssuer,
    /// The audience is not this receiver.
    InvalidAudience,
    /// Who delivers is not authenticated.
    AuthenticationFailed,
    /// Who delivers may not.
    AccessDenied,
    /// Anything else.
    Other,
}

impl Objection {
    /// Reads the body of an answer with status 400.
    pub fn parse(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Answer {
            err: String,
        }
        let answer: Option<Answer> = serde_json::from_slice(body).ok();
        match answer.as_ref().map(|answer| answer.err.as_str()) {
            Some("invalid_request") => Self::InvalidRequest,
            Some("invalid_key") => Self::InvalidKey,
            Some("invalid_issuer") => Self::InvalidIssuer,
            Some("invalid_audience") => Self::InvalidAudience,
            Some("authentication_failed") => Self::AuthenticationFailed,
            Some("access_denied") => Self::AccessDenied,
            Some(_) | None => Self::Other,
        }
    }

    /// In a word, for the log.
    pub const fn label(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidKey => "invalid_key",
            Self::InvalidIssuer => "invalid_issuer",
            Self::InvalidAudience => "invalid_audience",
            Self::AuthenticationFailed => "authentication_failed",
            Self::AccessDenied => "access_denied",
            Self::Other => "status 400",
        }
    }

    /// Whether it is about this one token, so that another may fare better.
    pub const fn is_about_one(self) -> bool {
        match self {
            Self::InvalidRequest | Self::Other => true,
            Self::InvalidKey | Self::InvalidIssuer | Self::InvalidAudience => false,
            Self::AuthenticationFailed | Self::AccessDenied => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::grant::EndedBy;
    use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
    use crate::domain::scope::ScopeSet;

    fn event(happened: Happened) -> GrantEvent {
        let grant = GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap();
        GrantEvent {
            id: format!("{grant}.2"),
            brand: BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap(),
            grant,
            happened,
            brand_user: BrandUser::parse("jane-4471").unwrap(),
            personal_agent: Issuer::parse("https://pa.example.com").unwrap(),
            scopes: ScopeSet::parse("orders:read orders:cancel").unwrap(),
            expires_at: Timestamp::from_seconds(1_769_817_600),
            at: Timestamp::from_millis(1_767_225_600_999),
            attempts: 1,
        }
    }

    #[test]
    fn a_token_says_who_what_and_when_and_no_more() {
        let told = |happened| {
            let claims = SecurityEventClaims::new(
                &event(happened),
                "https://a.example",
                "https://l.example",
                "https://e.example/in",
            );
            serde_json::to_string(&claims).unwrap()
        };
        assert_eq!(
            told(Happened::Changed),
            r#"{"iss":"https://a.example","aud":"https://e.example/in","iat":1767225600,"jti":"a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB.2","sub_id":{"format":"iss_sub","iss":"https://l.example","sub":"jane-4471"},"events":{"urn:assent:event:grant-changed":{"grant_id":"a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB","client_id":"https://pa.example.com","scope":"orders:read orders:cancel","expires_at":1769817600}}}"#
        );
        assert!(told(Happened::Created).contains("urn:assent:event:grant-created"));
        let ended = told(Happened::Ended(EndedBy::User));
        assert!(ended.ends_with(r#""events":{"urn:assent:event:grant-ended":{"grant_id":"a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAB","client_id":"https://pa.example.com","ended_by":"user"}}}"#), "{ended}");
    }

    #[test]
    fn an_objection_is_read_from_its_code_and_nothing_else() {
        assert_eq!(Objection::parse(br#"{"err":"invalid_key","description":"x"}"#), Objection::InvalidKey);
        assert_eq!(Objection::parse(br#"{"err":"access_denied"}"#).label(), "access_denied");
        for odd in [&b""[..], b"<html>", b"{}", br#"{"err":1}"#, br#"{"err":"else"}"#, b"[]"] {
            assert_eq!(Objection::parse(odd), Objection::Other);
        }
    }
}
