//! `admin_url` and `[administrators]`: where administrators' browsers come in, how long they stay, and how often a password may be guessed.

use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::{InvalidConfig, within};

/// How long administrators stay logged in, and how often a password may be guessed. Guesses are counted per node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdministratorsConfig {
    /// A session that was not used for so long ends, in minutes.
    pub idle_minutes: u32,
    /// A session ends after so long, whatever happens in it, in hours.
    pub session_hours: u32,
    /// How many passwords are checked at once, each with 64 MiB of memory and a core.
    pub password_permits: usize,
    /// How many more may wait for that.
    pub password_waiting: usize,
    /// Wrong log-ins for one name from one address, or one browser that logged in before, until the next has to wait.
    pub wrong_log_ins: u32,
    /// Wrong log-ins for one name from everywhere else, until the next has to wait.
    pub wrong_log_ins_per_name: u32,
    /// Wrong log-ins from one address for whatever names, until the next has to wait.
    pub wrong_log_ins_per_address: u32,
}

impl Default for AdministratorsConfig {
    fn default() -> Self {
        Self {
            idle_minutes: 15,
            session_hours: 8,
            password_permits: 2,
            password_waiting: 32,
            wrong_log_ins: 5,
            wrong_log_ins_per_name: 20,
            wrong_log_ins_per_address: 30,
        }
    }
}

impl AdministratorsConfig {
    /// A session that was not used for so long ends.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(u64::from(self.idle_minutes) * 60)
    }

    /// A session ends after so long.
    pub fn session(&self) -> Duration {
        Duration::from_secs(u64::from(self.session_hours) * 3600)
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("administrators.idle_minutes", self.idle_minutes, 1..=1440)?;
        within("administrators.session_hours", self.session_hours, 1..=168)?;
        within("administrators.password_permits", self.password_permits, 1..=64)?;
        within("administrators.password_waiting", self.password_waiting, 1..=1000)?;
        within("administrators.wrong_log_ins", self.wrong_log_ins, 1..=1000)?;
        within("administrators.wrong_log_ins_per_name", self.wrong_log_ins_per_name, 1..=1000)?;
        within("administrators.wrong_log_ins_per_address", self.wrong_log_ins_per_address, 1..=1000)
    }
}

/// Refuses an `admin_url` that browsers could not keep a session at.
pub(super) fn check_url(text: &str, allow_http: bool) -> Result<(), InvalidConfig> {
    let refuse = |problem: String| Err(InvalidConfig::Value { key: "admin_url", problem });
    let Ok(url) = Url::parse(text) else {
        return refuse(format!("{text} is not an address"));
    };
    let origin = url.origin().ascii_serialization();
    if origin != text {
        return refuse(format!("is {text}, expected an origin such as {origin}"));
    }
    if url.scheme() == "https" || (url.scheme() == "http" && (allow_http || is_loopback(&url))) {
        return Ok(());
    }
    refuse(format!("is {}:, expected https:, or http: on a loopback name", url.scheme()))
}

/// Whether the host of `url` is this machine by any name.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_url_is_an_origin_over_https_or_on_this_machine() {
        for fine in [
            "https://ops.example.com",
            "https://ops.example.com:8443",
            "http://localhost:8081",
            "http://127.0.0.1:8081",
        ] {
            assert!(check_url(fine, false).is_ok(), "{fine}");
        }
        for wrong in
            ["http://ops.example.com", "https://ops.example.com/", "https://ops.example.com/x", "ops", "ftp://x"]
        {
            assert!(check_url(wrong, false).unwrap_err().to_string().contains("admin_url"), "{wrong}");
        }
        assert!(check_url("http://ops.example.com", true).is_ok());
    }
}
