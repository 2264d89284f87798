//! Where every party of the demo is, and the two files that tell the server so: `assent.toml` and what is applied.

use std::path::Path;

use crate::crypto::jwks::PublicKey;

/// The Brand that offers delegation under a host of its own.
pub(super) const SHOP_ID: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";

/// The Brand whose authorization server is under its interface URL.
const AIRLINE_ID: &str = "01M3R53Q5SZQ6FQSMSDBSSREAB";

/// Where one Brand is found.
pub(super) struct Place {
    /// `{public_url}/a2a/{brandId}`.
    pub(super) interface_url: String,
    /// The issuer of its authorization server.
    pub(super) issuer: String,
    /// Where its login is.
    pub(super) login_origin: String,
    /// Where the browser goes after the decision.
    pub(super) return_url: String,
}

impl Place {
    fn new(interface_url: String, issuer: String, login_origin: String) -> Self {
        let return_url = format!("{login_origin}/connected");
        Self { interface_url, issuer, login_origin, return_url }
    }

    /// Where its card is (PACT §2.1).
    pub(super) fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.interface_url)
    }
}

/// A TOML basic string. JSON's escapes are among TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The ports of everything that listens.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) public: u16,
    pub(super) admin: u16,
    pub(super) shop: u16,
    pub(super) airline: u16,
    pub(super) personal_agent: u16,
    pub(super) agent: u16,
}

impl Ports {
    pub(super) fn public_url(self) -> String {
        format!("http://provider.localhost:{}", self.public)
    }

    pub(super) fn audience(self) -> String {
        format!("{}/a2a", self.public_url())
    }

    pub(super) fn shop(self) -> Place {
        let interface_url = format!("{}/a2a/{SHOP_ID}", self.public_url());
        let issuer = format!("http://auth.shop.localhost:{}", self.public);
        Place::new(interface_url, issuer, format!("http://shop.localhost:{}", self.shop))
    }

    pub(super) fn airline(self) -> Place {
        let interface_url = format!("{}/a2a/{AIRLINE_ID}", self.public_url());
        let issuer = format!("{interface_url}/oauth");
        Place::new(interface_url, issuer, format!("http://skyline.localhost:{}", self.airline))
    }

    pub(super) fn personal_agent(self) -> String {
        format!("http://pa.localhost:{}", self.personal_agent)
    }

    pub(super) fn agent_url(self) -> String {
        format!("http://127.0.0.1:{}/turns", self.agent)
    }

    /// `assent.toml`. What the server itself calls is named by address: system resolvers do not all know names under
    /// `localhost`.
    pub(super) fn config(self, database: &Path, master_key: &Path) -> String {
        format!(
            r#"public_url = "{public_url}"
audience = "{audience}"
listen = "127.0.0.1:{public}"
admin_listen = "127.0.0.1:{admin}"
database_url = {database}
master_key_file = {master_key}
provider_name = "Example Provider"
shutdown_seconds = 1

[outbound]
allow_private = true
"#,
            public_url = self.public_url(),
            audience = self.audience(),
            public = self.public,
            admin = self.admin,
            database = quoted(&format!("sqlite://{}", database.display())),
            master_key = quoted(&master_key.display().to_string()),
        )
    }

    /// What is registered, as an `apply` file: the shop by the address of its login's keys, the airline by the key
    /// itself.
    pub(super) fn apply(self, airline_key: &PublicKey) -> String {
        let (shop, airline) = (self.shop(), self.airline());
        let key = airline_key.to_jwk();
        let key: Vec<String> = key.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!(
            r##"[[personal_agent]]
name = "Demo personal agent"
issuer = "{pa}"
jwks_uri = "http://127.0.0.1:{pa_port}/.well-known/jwks.json"
enabled = true

[[brand]]
id = "{SHOP_ID}"
name = "Example Shop"
description = "Orders, cancellations and refunds."
version = "1.0.0"
skills = [{{ id = "orders", name = "Orders", description = "Order status and changes.", tags = ["orders"] }}]
agent = {{ url = "{agent_url}", timeout_seconds = 10 }}

[brand.delegation]
auth_origin = "{shop_issuer}"
login_url = "{shop_login}/login"
return_url = "{shop_return}"
assertion = {{ issuer = "{shop_login}", jwks_uri = "http://127.0.0.1:{shop_port}/.well-known/jwks.json" }}
theme = {{ color = "{SHOP_COLOR}" }}
{SCOPES}
[[brand]]
id = "{AIRLINE_ID}"
name = "Skyline Airways"
description = "Orders on board and from the shop."
version = "1.0.0"
skills = [{{ id = "orders", name = "Orders", description = "Order status and changes.", tags = ["orders"] }}]
agent = {{ builtin = "demo" }}

[brand.delegation]
login_url = "{airline_login}/login"
return_url = "{airline_return}"
assertion = {{ issuer = "{airline_login}", jwks = {{ keys = [{{ {key} }}] }} }}
theme = {{ color = "{AIRLINE_COLOR}" }}
{SCOPES}"##,
            pa = self.personal_agent(),
            pa_port = self.personal_agent,
            agent_url = self.agent_url(),
            shop_issuer = shop.issuer,
            shop_login = shop.login_origin,
            shop_return = shop.return_url,
            shop_port = self.shop,
            airline_login = airline.login_origin,
            airline_return = airline.return_url,
            key = key.join(", "),
        )
    }
}

pub(super) const SHOP_COLOR: &str = "#1f5f4a";
pub(super) const AIRLINE_COLOR: &str = "#16345c";

/// What the scripted agent of both Brands is able to do.
const SCOPES: &str = r#"scopes = [
  { id = "orders:read", description = "Look up your orders", detail = "Orders, their status and delivery dates" },
  { id = "orders:cancel", description = "Cancel an order that has not shipped", writes = true },
  { id = "refunds:issue", description = "Refund an order to your payment method", detail = "Up to the amount you paid", writes = true },
]
"#;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::config::Config;
    use crate::crypto::jwks::KeySet;
    use crate::demo::stage::new_signer;
    use crate::domain::addresses::Addresses;
    use crate::domain::brand::{Agent, Brand, Delegation, Profile, Skill};
    use crate::domain::id::BrandId;

    const PORTS: Ports =
        Ports { public: 4000, admin: 4001, shop: 4002, airline: 4003, personal_agent: 4004, agent: 4005 };

    #[derive(Deserialize)]
    struct File {
        brand: Vec<Entry>,
    }

    #[derive(Deserialize)]
    struct Entry {
        id: String,
        name: String,
        description: String,
        version: String,
        skills: Vec<Skill>,
        agent: Agent,
        delegation: Delegation,
    }

    fn brands(text: &str) -> Vec<Brand> {
        let file: File = toml::from_str(text).unwrap();
        let brand = |entry: Entry| Brand {
            id: BrandId::parse(entry.id).unwrap(),
            name: entry.name,
            profile: Profile {
                description: entry.description,
                version: entry.version,
                skills: entry.skills,
                agent: entry.agent,
            },
            delegation: Some(entry.delegation),
        };
        file.brand.into_iter().map(brand).collect()
    }

    #[test]
    fn the_brands_can_be_served_where_the_other_parties_expect_them() {
        let signer = new_signer("skyline-login-1").unwrap();
        let brands = brands(&PORTS.apply(signer.public()));
        for (brand, place) in brands.iter().zip([PORTS.shop(), PORTS.airline()]) {
            brand.check(true).unwrap();
            let addresses = Addresses::of(&PORTS.public_url(), brand);
            assert_eq!(addresses.interface_url, place.interface_url);
            assert_eq!(addresses.issuer, place.issuer);
            assert_eq!(addresses.card_url(), place.card_url());
            assert_eq!(addresses.consent_url(), format!("{}/consent", place.issuer));
        }
        assert_eq!(brands.len(), 2);
        let inline = brands[1].delegation.as_ref().unwrap().assertion.jwks.clone().unwrap();
        assert!(KeySet::parse(inline.to_string().as_bytes()).unwrap().has_kid("skyline-login-1"));
    }

    #[test]
    fn the_configuration_is_one_that_the_server_starts_with() {
        let config =
            Config::from_toml(&PORTS.config(Path::new("/tmp/a \"b\"/assent.db"), Path::new("/tmp/c\\d"))).unwrap();
        assert_eq!(config.database_url.expose(), "sqlite:///tmp/a \"b\"/assent.db");
        assert_eq!(config.master_key_file, Path::new("/tmp/c\\d"));
        assert_eq!(config.audience, PORTS.audience());
    }
}
