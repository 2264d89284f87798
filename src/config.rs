//! Configuration: `assent.toml`, overridden by `ASSENT_*` variables (`ASSENT_OUTBOUND__ALLOW_PRIVATE` for a section's).
//!
//! Refuses unknown keys and values that could not be served, each by the name of the key.

mod administrators;
mod database;
mod events;
mod http;
mod limits;
mod open_registration;
mod outbound;

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use url::Url;

use crate::secret::Secret;
pub use administrators::AdministratorsConfig;
pub use database::{DatabaseConfig, DatabaseUrl};
pub use events::EventsConfig;
pub use http::HttpConfig;
pub use limits::LimitsConfig;
pub use open_registration::OpenRegistrationConfig;
pub use outbound::OutboundConfig;

/// Everything that can be set, with its defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The origin under which personal agents and browsers reach the public listener; no trailing slash.
    pub public_url: String,
    /// The `aud` that is given to personal agents: one opaque string per Provider (PACT §3.1).
    pub audience: String,
    /// Where the public listener is bound.
    #[serde(default = "defaults::listen")]
    pub listen: SocketAddr,
    /// Where the administrators' listener is bound.
    #[serde(default = "defaults::admin_listen")]
    pub admin_listen: SocketAddr,
    /// Hosts that the administrators' listener accepts beside loopback names.
    #[serde(default)]
    pub admin_hosts: Vec<String>,
    /// The origin under which administrators' browsers reach that listener; no trailing slash. Without one, they come by
    /// `http:` and whichever host the listener accepts.
    #[serde(default)]
    pub admin_url: Option<String>,
    /// `sqlite://path` or `postgres://…`; the latter may hold a password.
    #[serde(default = "defaults::database_url")]
    pub database_url: DatabaseUrl,
    /// A file with 32 random bytes in base64, under which private keys are sealed.
    #[serde(default = "defaults::master_key_file")]
    pub master_key_file: PathBuf,
    /// The same value itself, in place of the file. Set it in the environment only.
    #[serde(default)]
    pub master_key: Option<SecretText>,
    /// What the card and the pages call the Provider.
    #[serde(default = "defaults::provider_name")]
    pub provider_name: String,
    /// Which personal agents may call.
    #[serde(default)]
    pub personal_agents: PersonalAgents,
    /// Proxies whose `X-Forwarded-For` is believed.
    #[serde(default)]
    pub trusted_proxies: Vec<IpNet>,
    /// A context without a turn for so long is closed, in days.
    #[serde(default = "defaults::conversation_idle_days")]
    pub conversation_idle_days: u32,
    /// How long in-flight requests may take when the server stops, in seconds.
    #[serde(default = "defaults::shutdown_seconds")]
    pub shutdown_seconds: u64,
    /// What is logged, in the syntax of `tracing`'s filters.
    #[serde(default = "defaults::log")]
    pub log: String,
    /// How this program calls others.
    #[serde(default)]
    pub outbound: OutboundConfig,
    /// The bounds of [`PersonalAgents::Open`].
    #[serde(default)]
    pub open_registration: OpenRegistrationConfig,
    /// How often and how much at once.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// How Brands are told of their grants.
    #[serde(default)]
    pub events: EventsConfig,
    /// How long a client may take.
    #[serde(default)]
    pub http: HttpConfig,
    /// How long administrators stay logged in, and how often a password may be guessed.
    #[serde(default)]
    pub administrators: AdministratorsConfig,
    /// How many connections the database gets.
    #[serde(default)]
    pub database: DatabaseConfig,
}

/// Which personal agents may call (PACT §3.1): a Provider's policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum PersonalAgents {
    /// Those that an administrator registered.
    #[default]
    Registered,
    /// Those, and whoever serves an OpenID configuration and keys at the origin that its `iss` is.
    Open,
}

impl TryFrom<String> for PersonalAgents {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "registered" => Ok(Self::Registered),
            "open" => Ok(Self::Open),
            _ => Err("personal_agents: expected \"registered\" or \"open\""),
        }
    }
}

/// Text that is not shown.
#[derive(Clone, Debug)]
pub struct SecretText(pub Secret<String>);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

mod defaults {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::path::PathBuf;

    use super::DatabaseUrl;

    pub(super) fn listen() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 8080).into()
    }
    pub(super) fn admin_listen() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 8081).into()
    }
    pub(super) fn database_url() -> DatabaseUrl {
        DatabaseUrl::new("sqlite://assent.db")
    }
    pub(super) fn master_key_file() -> PathBuf {
        "master.key".into()
    }
    pub(super) fn provider_name() -> String {
        "Example Provider".to_owned()
    }
    pub(super) const fn conversation_idle_days() -> u32 {
        30
    }
    pub(super) const fn shutdown_seconds() -> u64 {
        30
    }
    pub(super) fn log() -> String {
        "info".to_owned()
    }
}

/// Why a configuration cannot be used; names the key.
#[derive(Debug, thiserror::Error)]
pub enum InvalidConfig {
    /// The file or a variable could not be read as the expected shape.
    #[error("configuration: {0}")]
    Read(#[from] config::ConfigError),
    /// A value that could not be served.
    #[error("configuration: {key}: {problem}")]
    Value {
        /// The key, as it is written in the file.
        key: &'static str,
        /// What it holds and what was expected.
        problem: String,
    },
}

fn is_host(host: &str) -> bool {
    Url::parse(&format!("https://{host}/")).is_ok_and(|url| url.path() == "/" && url.query().is_none())
}

/// Refuses a number that is not in `range`, by the name of its key.
fn within<T: PartialOrd + fmt::Display>(
    key: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), InvalidConfig> {
    if range.contains(&value) {
        return Ok(());
    }
    let problem = format!("is {value}, expected {} to {}", range.start(), range.end());
    Err(InvalidConfig::Value { key, problem })
}

impl Config {
    /// Reads `file`, then the variables of the environment that begin with `ASSENT_`.
    ///
    /// # Errors
    /// [`InvalidConfig`] when the file cannot be read, a key is unknown or missing, or a value cannot be served.
    pub fn load(file: &Path) -> Result<Self, InvalidConfig> {
        let environment = config::Environment::with_prefix("ASSENT").prefix_separator("_").separator("__");
        let read: Self = config::Config::builder()
            .add_source(config::File::from(file).format(config::FileFormat::Toml))
            .add_source(environment)
            .build()?
            .try_deserialize()?;
        read.checked()
    }

    /// Reads `text` in place of a file, without the environment.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn from_toml(text: &str) -> Result<Self, InvalidConfig> {
        let read: Self = config::Config::builder()
            .add_source(config::File::from_str(text, config::FileFormat::Toml))
            .build()?
            .try_deserialize()?;
        read.checked()
    }

    fn checked(self) -> Result<Self, InvalidConfig> {
        let refuse = |key, problem: String| Err(InvalidConfig::Value { key, problem });
        let Ok(public) = Url::parse(&self.public_url) else {
            return refuse("public_url", format!("{} is not an address", self.public_url));
        };
        let https = public.scheme() == "https" || (self.outbound.allow_private && public.scheme() == "http");
        if !https {
            return refuse("public_url", format!("is {}:, expected https:", public.scheme()));
        }
        if public.origin().ascii_serialization() != self.public_url {
            let expected = public.origin().ascii_serialization();
            return refuse("public_url", format!("is {}, expected an origin such as {expected}", self.public_url));
        }
        if self.audience.is_empty() || self.audience.chars().any(char::is_control) {
            return refuse("audience", "must be one non-empty string".to_owned());
        }
        let database = self.database_url.expose();
        if !["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| database.starts_with(scheme)) {
            return refuse("database_url", "expected sqlite://… or postgres://…".to_owned());
        }
        if let Some(wrong) = self.admin_hosts.iter().find(|host| !is_host(host) || host.contains('/')) {
            return refuse(
                "admin_hosts",
                format!("{wrong} is not a host, such as ops.example.com or ops.example.com:8443"),
            );
        }
        if let Some(url) = &self.admin_url {
            administrators::check_url(url, self.outbound.allow_private)?;
        }
        within("conversation_idle_days", self.conversation_idle_days, 1..=36_500)?;
        within("shutdown_seconds", self.shutdown_seconds, 0..=3600_u64)?;
        self.outbound.check()?;
        self.limits.check()?;
        self.events.check()?;
        self.http.check()?;
        self.administrators.check()?;
        self.database.check()?;
        self.open_registration.check()?;
        Ok(self)
    }

    /// Whether browsers reach this server over HTTPS.
    pub fn is_https(&self) -> bool {
        self.public_url.starts_with("https:")
    }

    /// Whether administrators' browsers reach their listener over HTTPS.
    pub fn is_admin_https(&self) -> bool {
        self.admin_url.as_ref().is_some_and(|url| url.starts_with("https:"))
    }

    /// A context without a turn for so long is closed.
    pub fn conversation_idle(&self) -> Duration {
        Duration::from_secs(u64::from(self.conversation_idle_days) * 86_400)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: &str =
        "public_url = \"https://provider.example.com\"\naudience = \"https://provider.example.com/a2a\"\n";

    fn refused(more: &str) -> String {
        Config::from_toml(&format!("{REQUIRED}{more}")).unwrap_err().to_string()
    }

    #[test]
    fn two_keys_are_enough() {
        let config = Config::from_toml(REQUIRED).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.database_url.expose(), "sqlite://assent.db");
        assert!(!config.outbound.allow_private);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        assert!(refused("publik_url = 1").contains("publik_url"));
        assert!(refused("[outbound]\nalow_private = true").contains("alow_private"));
    }

    #[test]
    fn a_public_url_is_an_https_origin() {
        for wrong in
            ["http://provider.example.com", "https://provider.example.com/", "https://provider.example.com/x", "x"]
        {
            let text = format!("public_url = \"{wrong}\"\naudience = \"a\"");
            assert!(Config::from_toml(&text).unwrap_err().to_string().contains("public_url"), "{wrong}");
        }
    }

    #[test]
    fn a_host_that_is_none_is_refused_and_so_is_a_policy_that_is_not_there() {
        assert!(refused("admin_hosts = [\"https://ops.example/x\"]").contains("admin_hosts"));
        assert!(refused("[outbound]\nprivate_hosts = [\"a b\"]").contains("private_hosts"));
        for wrong in ["Open", "closed", "", "open "] {
            assert!(
                refused(&format!("personal_agents = \"{wrong}\"")).contains("\"registered\" or \"open\""),
                "{wrong}"
            );
        }
        for policy in ["registered", "open"] {
            let fine = format!("{REQUIRED}admin_hosts = [\"ops.example:8443\"]\npersonal_agents = \"{policy}\"");
            assert!(Config::from_toml(&fine).is_ok());
        }
    }

    #[test]
    fn open_registration_has_bounds_and_each_is_a_key() {
        let read = |text: &str| Config::from_toml(&format!("{REQUIRED}[open_registration]\n{text}"));
        let bounds = read("").unwrap().open_registration;
        assert_eq!((bounds.max_personal_agents, bounds.interval().as_millis()), (10_000, 1000));
        assert_eq!(bounds.remembered().as_secs(), 300);
        assert_eq!(read("lookups_per_second = 20").unwrap().open_registration.interval().as_millis(), 50);
        assert!(read("max_personal_agents = 0").is_ok());
        for wrong in [
            "lookups_per_second = 0",
            "lookups_per_second = 21",
            "remembered_seconds = 9",
            "remembered_seconds = 3601",
            "max_personal_agents = 1000001",
            "max_personal_agents = -1",
            "per_second = 1",
        ] {
            let refused = read(wrong).unwrap_err().to_string();
            assert!(refused.contains(wrong.split(' ').next().unwrap()), "{refused}");
        }
    }

    #[test]
    fn every_bound_is_in_the_example_with_its_default() {
        let example = include_str!("../assent.example.toml");
        let defaults = Config::from_toml(REQUIRED).unwrap();
        for section in [
            format!("{:?}", defaults.limits),
            format!("{:?}", defaults.http),
            format!("{:?}", defaults.database),
            format!("{:?}", defaults.outbound),
            format!("{:?}", defaults.administrators),
        ] {
            let fields = section.split_once(" { ").unwrap().1.trim_end_matches(" }").split(", ");
            for (key, value) in fields.map(|field| field.split_once(": ").unwrap()) {
                assert!(example.contains(&format!("\n{key} = {value}")) || value == "None", "{key} = {value}");
            }
        }
    }

    #[test]
    fn a_bound_that_cannot_work_is_refused_by_its_key() {
        let documented: toml::Table = toml::from_str(include_str!("../assent.example.toml")).unwrap();
        for section in ["limits", "http", "database", "outbound", "administrators"] {
            for (key, _) in documented[section].as_table().unwrap().iter().filter(|(_, value)| value.is_integer()) {
                for wrong in ["0", "-1", "4294967296", "99999999999999999999", "\"many\""] {
                    let problem = refused(&format!("[{section}]\n{key} = {wrong}"));
                    // A number that the file's own syntax cannot hold is told by its line.
                    assert!(problem.contains(key) || wrong.len() > 19, "{section}.{key} = {wrong}: {problem}");
                }
            }
        }
        assert!(refused("conversation_idle_days = 0").contains("conversation_idle_days"));
        assert!(refused("shutdown_seconds = 3601").contains("shutdown_seconds"));
    }

    #[test]
    fn credentials_do_not_show() {
        let mut config = Config::from_toml(REQUIRED).unwrap();
        config.database_url = DatabaseUrl::new("postgres://assent:canary@db/assent");
        config.master_key = Some(SecretText(Secret::new("canary".to_owned())));
        assert!(!format!("{config:?}").contains("canary"));
    }
}
