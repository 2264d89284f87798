//! Everything the walk-through stands on: a directory of its own, a configuration, two Brands with their logins and
//! agents, a personal agent, and the server that connects them.
//!
//! All of it is on loopback, at ports that were free. The directory is readable by its owner only, and is removed when
//! the stage is cleared.

use std::fs;
use std::path::PathBuf;

use actix_web::dev::ServerHandle;
use actix_web::web;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use url::Url;

use super::DemoError;
use super::brand_login::{self, BrandLogin, LoginUser};
use super::listener::{free_port, serve};
use super::personal_agent::{self, PersonalAgent};
use super::places::{AIRLINE_COLOR, Place, Ports, SHOP_COLOR, SHOP_ID};
use super::provider::Provider;
use super::shop_agent::{self, ShopAgent};
use super::wire;
use crate::clock::Clock;
use crate::config::Config;
use crate::crypto::signer::{Signer, generate_key};
use crate::domain::brand::SigningAlg;
use crate::entropy::Entropy;
use crate::outbound::Outbound;

const JANE: LoginUser = LoginUser { id: "jane-4471", name: "Jane Doe", email: "jane@example.com" };

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
        Ok(Self { shop, airline, personal_agent, shop_agent, outbound, directory, provider, listeners })
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
        grants_url: format!("{}/grants", place.issuer),
        user: JANE,
        signer: new_signer(kid)?,
        clock: clock.clone(),
        entropy: entropy.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
