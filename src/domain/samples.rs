//! Whole values with defaults, for pages that render from samples and for tests.

#![expect(clippy::expect_used, reason = "the samples are constants, and every test run reads them")]

use url::Url;

use super::brand::{
    Agent, AssertionIssuer, Brand, Builtin, BuiltinAgent, Delegation, Profile, Scope, SigningAlg, Skill, Theme,
};
use super::id::{BrandId, Issuer};
use super::personal_agent::PersonalAgent;
use super::scope::ScopeId;

fn url(text: &str) -> Url {
    Url::parse(text).expect("a sample address")
}

/// A shop with orders to read, cancel and refund.
pub fn brand() -> Brand {
    let scope = |id: &str, description: &str, detail: Option<&str>, writes| Scope {
        id: ScopeId::parse(id).expect("a sample scope"),
        description: description.to_owned(),
        detail: detail.map(str::to_owned),
        writes,
    };
    Brand {
        id: BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").expect("a sample Brand id"),
        name: "Example Shop".to_owned(),
        profile: Profile {
            description: "Orders, cancellations and refunds.".to_owned(),
            version: "1.0.0".to_owned(),
            skills: vec![Skill {
                id: "orders".to_owned(),
                name: "Orders".to_owned(),
                description: "Order status and changes.".to_owned(),
                tags: vec!["orders".to_owned()],
            }],
            agent: Agent::Builtin(BuiltinAgent { builtin: Builtin::Demo }),
        },
        delegation: Some(Delegation {
            auth_origin: None,
            login_url: url("https://shop.example/login"),
            return_url: Some(url("https://shop.example/connected")),
            assertion: AssertionIssuer {
                issuer: "https://shop.example".to_owned(),
                jwks_uri: Some(url("https://shop.example/.well-known/jwks.json")),
                jwks: None,
            },
            signing_alg: SigningAlg::Es256,
            access_token_seconds: 900,
            grant_days: 30,
            skip_consent: false,
            events: None,
            theme: Theme::default(),
            scopes: vec![
                scope("orders:read", "Look up your orders", Some("Orders, their status and delivery dates"), false),
                scope("orders:cancel", "Cancel an order that has not shipped", None, true),
                scope(
                    "refunds:issue",
                    "Refund an order to your payment method",
                    Some("Up to the amount you paid"),
                    true,
                ),
            ],
            texts: std::collections::BTreeMap::new(),
        }),
    }
}

/// A registered personal agent.
pub fn personal_agent() -> PersonalAgent {
    PersonalAgent {
        issuer: Issuer::parse("https://pa.example.com").expect("a sample issuer"),
        name: "Demo personal agent".to_owned(),
        jwks_uri: url("https://pa.example.com/.well-known/jwks.json"),
        enabled: true,
    }
}
