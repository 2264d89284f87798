//! Everything the walk-through stands on: a directory of its own, a configuration, two Brands with their logins and
//! agents, a personal agent, and the server that connects them.
//!
//! All of it is on loopback, at ports that were free. The directory is readable by its owner only, and is removed when
//! the stage is cleared.

use std::fs;
use std::path::{Path, PathBuf};

use actix_web::dev::ServerHandle;
use actix_web::web;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use super::DemoError;
use super::brand_login::{self, BrandLogin, LoginUser};
use super::listener::{free_port, serve};
use super::personal_agent::{self, PersonalAgent};
use super::provider::Provider;
use super::shop_agent::{self, ShopAgent};
use super::wire;
use crate::clock::Clock;
use crate::config::Config;
use crate::crypto::jwks::PublicKey;
use crate::crypto::signer::{Signer, generate_key};
use crate::domain::brand::SigningAlg;
use crate::entropy::Entropy;
use crate::outbound::Outbound;

/// The Brand that offers delegation under a host of its own.
const SHOP_ID: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";

/// The Brand whose authorization server is under its interface URL.
const AIRLINE_ID: &str = "01M3R53Q5SZQ6FQSMSDBSSREAB";

const JANE: LoginUser = LoginUser { id: "jane-4471", name: "Jane Doe", email: "jane@example.com" };

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
    /// The page of the User's grants.
    pub(super) grants_url: String,
}

impl Place {
    fn new(interface_url: String, issuer: String, login_origin: String) -> Self {
        let (return_url, grants_url) = (format!("{login_origin}/connected"), format!("{issuer}/grants"));
        Self { interface_url, issuer, login_origin, return_url, grants_url }
    }

    /// Where its card is (PACT §2.1).
    pub(super) fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.interface_url)
    }
}

/// The parties, up and listening.
pub(super) struct Stage {
    /// The Brand that most of the walk is about.
    pub(super) shop: Place,
    /// Another Brand of the same Provider.
    pub(super) airline: Place,
    /// The personal agent.
    pub(super) personal_agent: web::Data<PersonalAgent>,
    /// The shop's agent.
    pub(super) shop_agent: web::Data<ShopAgent>,
    /// How the parties outside the server call it.
    pub(super) outbound: Outbound,
    /// Where the console is.
    pub(super) admin_url: String,
    directory: Directory,
    provider: Provider,
    listeners: Vec<ServerHandle>,
}

/// A directory that goes when its holder does.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Directory {
    fn make(name: &str) -> Result<Self, DemoError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| DemoError::Io { what: "a directory for the demo", error })?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), DemoError> {
        fs::write(self.file(name), text).map_err(|error| DemoError::Io { what: "a file of the demo", error })
    }
}

/// A new key for one of the outside parties.
///
/// # Errors
/// [`DemoError::Key`] when OpenSSL fails.
pub(super) fn new_signer(kid: &str) -> Result<Signer, DemoError> {
    let key = generate_key(SigningAlg::Es256, kid)?;
    Signer::from_private_jwk(key.private_jwk.expose()).map_err(|error| DemoError::Apply(error.to_string()))
}

/// A TOML basic string. JSON's escapes are among TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The ports of everything that listens.
#[derive(Clone, Copy)]
struct Ports {
    public: u16,
    admin: u16,
    shop: u16,
    airline: u16,
    personal_agent: u16,
    agent: u16,
}

impl Ports {
    fn public_url(self) -> String {
        format!("http://provider.localhost:{}", self.public)
    }

    fn audience(self) -> String {
        format!("{}/a2a", self.public_url())
    }

    fn shop(self) -> Place {
        let interface_url = format!("{}/a2a/{SHOP_ID}", self.public_url());
        let issuer = format!("http://auth.shop.localhost:{}", self.public);
        Place::new(interface_url, issuer, format!("http://shop.localhost:{}", self.shop))
    }

    fn airline(self) -> Place {
        let interface_url = format!("{}/a2a/{AIRLINE_ID}", self.public_url());
        let issuer = format!("{interface_url}/oauth");
        Place::new(interface_url, issuer, format!("http://skyline.localhost:{}", self.airline))
    }

    fn personal_agent(self) -> String {
        format!("http://pa.localhost:{}", self.personal_agent)
    }

    fn agent_url(self) -> String {
        format!("http://127.0.0.1:{}/turns", self.agent)
    }

    /// `assent.toml`. What the server itself calls is named by address: system resolvers do not all know names under
    /// `localhost`.
    fn config(self, database: &Path, master_key: &Path) -> String {
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
    fn apply(self, airline_key: &PublicKey) -> String {
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

const SHOP_COLOR: &str = "#1f5f4a";
const AIRLINE_COLOR: &str = "#16345c";

/// What the scripted agent of both Brands is able to do.
const SCOPES: &str = r#"scopes = [
  { id = "orders:read", description = "Look up your orders", detail = "Orders, their status and delivery dates" },
  { id = "orders:cancel", description = "Cancel an order that has not shipped", writes = true },
  { id = "refunds:issue", description = "Refund an order to your payment method", detail = "Up to the amount you paid", writes = true },
]
"#;

impl Stage {
    /// Starts every party.
    ///
    /// # Errors
    /// [`DemoError`] says what could not be had.
    pub(super) async fn set() -> Result<Self, DemoError> {
        let (clock, entropy) = (Clock::system(), Entropy::operating_system());
        let outbound = wire::client()?;
        let (public, public_port) = free_port()?;
        let (admin, admin_port) = free_port()?;
        let (shop_listener, shop_port) = free_port()?;
        let (airline_listener, airline_port) = free_port()?;
        let (pa_listener, pa_port) = free_port()?;
        let (agent_listener, agent_port) = free_port()?;
        let ports = Ports {
            public: public_port,
            admin: admin_port,
            shop: shop_port,
            airline: airline_port,
            personal_agent: pa_port,
            agent: agent_port,
        };
        let (shop, airline) = (ports.shop(), ports.airline());

        let shop_login = login("Example Shop", SHOP_COLOR, &shop, "shop-login-1", &clock, &entropy)?;
        let airline_login = login("Skyline Airways", AIRLINE_COLOR, &airline, "skyline-login-1", &clock, &entropy)?;
        let personal_agent = web::Data::new(PersonalAgent {
            issuer: ports.personal_agent(),
            sub: "user-7f3a".to_owned(),
            audience: ports.audience(),
            signer: new_signer("pa-1")?,
            clock: clock.clone(),
        });
        let keys_at = Url::parse(&format!("{}/jwks.json", shop.issuer));
        let shop_agent = web::Data::new(ShopAgent::new(
            SHOP_ID.to_owned(),
            shop.interface_url.clone(),
            ports.agent_url(),
            keys_at.map_err(|error| DemoError::Apply(error.to_string()))?,
            outbound.clone(),
            clock.clone(),
        ));

        let directory = Directory::make(&format!("assent-demo-{}", entropy.ulid(clock.now())))?;
        let config = ports.config(&directory.file("assent.db"), &directory.file("master.key"));
        let apply = ports.apply(airline_login.signer.public());
        directory.write("master.key", &BASE64_STANDARD.encode(entropy.bytes::<32>()))?;
        directory.write("assent.toml", &config)?;
        directory.write("apply.toml", &apply)?;

        let mut listeners = Vec::new();
        for (listener, login) in [(shop_listener, shop_login), (airline_listener, airline_login)] {
            let login = web::Data::new(login);
            listeners.push(serve(listener, move |config| {
                config.app_data(login.clone()).configure(brand_login::routes);
            })?);
        }
        let data = personal_agent.clone();
        listeners.push(serve(pa_listener, move |config| {
            config.app_data(data.clone()).configure(personal_agent::routes);
        })?);
        let data = shop_agent.clone();
        listeners.push(serve(agent_listener, move |config| {
            config.app_data(data.clone()).configure(shop_agent::routes);
        })?);

        // Held until now, so that nothing else on this machine took them meanwhile.
        drop((public, admin));
        let provider = Provider::start(Config::from_toml(&config)?, &apply, clock, entropy).await?;
        let admin_url = format!("http://127.0.0.1:{admin_port}");
        Ok(Self { shop, airline, personal_agent, shop_agent, outbound, admin_url, directory, provider, listeners })
    }

    /// The configuration, for the other commands to be tried with.
    pub(super) fn config_file(&self) -> PathBuf {
        self.directory.file("assent.toml")
    }

    /// Stops everything and removes the directory.
    pub(super) async fn clear(self) {
        self.provider.stop().await;
        for listener in self.listeners {
            listener.stop(false).await;
        }
        drop(self.directory);
    }
}

fn login(
    name: &'static str,
    color: &'static str,
    place: &Place,
    kid: &str,
    clock: &Clock,
    entropy: &Entropy,
) -> Result<BrandLogin, DemoError> {
    Ok(BrandLogin {
        name,
        color,
        origin: place.login_origin.clone(),
        consent_url: format!("{}/consent", place.issuer),
        grants_url: place.grants_url.clone(),
        user: JANE,
        signer: new_signer(kid)?,
        clock: clock.clone(),
        entropy: entropy.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::crypto::jwks::KeySet;
    use crate::domain::brand::{Addresses, Agent, Brand, Delegation, Profile, Skill};
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

    #[test]
    fn the_directory_is_its_owners_and_goes_with_its_holder() {
        use std::os::unix::fs::PermissionsExt as _;
        let name = format!("assent-demo-test-{}", Entropy::operating_system().ulid(Clock::system().now()));
        let directory = Directory::make(&name).unwrap();
        directory.write("master.key", "x").unwrap();
        let path = directory.0.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(Directory::make(&name).is_err());
        drop(directory);
        assert!(!path.exists());
    }
}
