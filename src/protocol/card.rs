//! The Agent Card of A2A 1.0 with PACT's security schemes (PACT §2.1, §5.1).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::addresses::Addresses;
use crate::domain::brand::{Brand, Delegation, Skill};

/// The name of the personal-agent JWT's scheme.
pub const PA_JWT: &str = "paJwt";
/// The same scheme under the name that PACT's conformance suite looks for.
pub const PLATFORM_JWT: &str = "platformJwt";
/// The name of the delegation's scheme.
pub const USER_DELEGATION: &str = "userDelegation";

/// An Agent Card.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    supported_interfaces: [Interface<'a>; 1],
    provider: Provider<'a>,
    capabilities: Capabilities,
    security_schemes: BTreeMap<&'static str, SecurityScheme<'a>>,
    security_requirements: Vec<Requirement>,
    default_input_modes: [&'static str; 1],
    default_output_modes: [&'static str; 1],
    skills: &'a [Skill],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Interface<'a> {
    url: &'a str,
    protocol_binding: &'static str,
    protocol_version: &'static str,
}

#[derive(Debug, Serialize)]
struct Provider<'a> {
    organization: &'a str,
    url: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    streaming: bool,
    push_notifications: bool,
    extended_agent_card: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum SecurityScheme<'a> {
    HttpAuthSecurityScheme(HttpAuth),
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2SecurityScheme(OAuth2<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HttpAuth {
    scheme: &'static str,
    bearer_format: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OAuth2<'a> {
    flows: Flows<'a>,
    #[serde(rename = "oauth2MetadataUrl")]
    metadata_url: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Flows<'a> {
    device_code: DeviceCode<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceCode<'a> {
    device_authorization_url: String,
    token_url: String,
    scopes: Scopes<'a>,
}

/// Scope descriptions by id, in the Brand's order.
#[derive(Debug)]
struct Scopes<'a>(&'a Delegation);

impl Serialize for Scopes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.scopes.iter().map(|scope| (scope.id.as_str(), &scope.description)))
    }
}

#[derive(Debug, Serialize)]
struct Requirement {
    schemes: BTreeMap<&'static str, List>,
}

#[derive(Debug, Serialize)]
struct List {
    list: [&'static str; 0],
}

impl<'a> AgentCard<'a> {
    /// The card of `brand`.
    pub fn new(brand: &'a Brand, addresses: &'a Addresses, provider_name: &'a str, public_url: &'a str) -> Self {
        let jwt = || SecurityScheme::HttpAuthSecurityScheme(HttpAuth { scheme: "Bearer", bearer_format: "JWT" });
        let mut security_schemes = BTreeMap::from([(PA_JWT, jwt()), (PLATFORM_JWT, jwt())]);
        let mut security_requirements = vec![require(&[PA_JWT])];
        if let Some(delegation) = &brand.delegation {
            let device_code = DeviceCode {
                device_authorization_url: addresses.under_issuer("device_authorization"),
                token_url: addresses.under_issuer("token"),
                scopes: Scopes(delegation),
            };
            let scheme = OAuth2 {
                flows: Flows { device_code },
                metadata_url: addresses.under_issuer(".well-known/oauth-authorization-server"),
            };
            security_schemes.insert(USER_DELEGATION, SecurityScheme::OAuth2SecurityScheme(scheme));
            security_requirements.push(require(&[PA_JWT, USER_DELEGATION]));
        }
        Self {
            name: &brand.name,
            description: &brand.profile.description,
            version: &brand.profile.version,
            supported_interfaces: [Interface {
                url: &addresses.interface_url,
                protocol_binding: "HTTP+JSON",
                protocol_version: "1.0",
            }],
            provider: Provider { organization: provider_name, url: public_url },
            capabilities: Capabilities { streaming: false, push_notifications: false, extended_agent_card: false },
            security_schemes,
            security_requirements,
            default_input_modes: ["text/plain"],
            default_output_modes: ["text/plain"],
            skills: &brand.profile.skills,
        }
    }
}

fn require(schemes: &[&'static str]) -> Requirement {
    Requirement { schemes: schemes.iter().map(|name| (*name, List { list: [] })).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::samples;

    fn card(brand: &Brand) -> Value {
        let addresses = Addresses::of("https://provider.example.com", brand);
        serde_json::to_value(AgentCard::new(brand, &addresses, "Example Provider", "https://provider.example.com"))
            .unwrap()
    }

    #[test]
    fn the_entry_that_needs_only_the_personal_agent_jwt_stays() {
        let card = card(&samples::brand());
        assert_eq!(
            card["securityRequirements"],
            json!([
                { "schemes": { "paJwt": { "list": [] } } },
                { "schemes": { "paJwt": { "list": [] }, "userDelegation": { "list": [] } } },
            ])
        );
    }

    #[test]
    fn a_brand_without_delegation_has_no_oauth_on_its_card() {
        let mut brand = samples::brand();
        brand.delegation = None;
        let card = card(&brand);
        assert!(card["securitySchemes"].get("userDelegation").is_none());
        assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn scopes_keep_the_brands_order() {
        let brand = samples::brand();
        let addresses = Addresses::of("https://provider.example.com", &brand);
        let text = serde_json::to_string(&AgentCard::new(&brand, &addresses, "P", "https://p.example")).unwrap();
        let places: Vec<usize> =
            ["orders:read", "orders:cancel", "refunds:issue"].iter().map(|id| text.find(id).unwrap()).collect();
        assert!(places.is_sorted());
    }

    #[test]
    fn every_field_that_a2a_requires_is_there_and_not_empty() {
        let card = card(&samples::brand());
        for field in [
            "name",
            "description",
            "version",
            "supportedInterfaces",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
        ] {
            let value = &card[field];
            let empty = value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
            assert!(!value.is_null() && !empty, "{field}");
        }
    }
}
