//! `[outbound]`: how this program calls others.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, is_host, within};

/// How this program calls others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutboundConfig {
    /// Lifts the rules about schemes and addresses. For development and tests only.
    pub allow_private: bool,
    /// Hosts that may resolve to private addresses.
    pub private_hosts: Vec<String>,
    /// A PEM file with certificate authorities that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// How long a key set may take, in seconds. Agents have the `timeout_seconds` of their Brand.
    pub timeout_seconds: u32,
    /// The bytes of a key set.
    pub max_bytes: usize,
    /// The bytes of an agent's answer.
    pub agent_max_bytes: usize,
}

impl Default for OutboundConfig {
    fn default() -> Self {
        Self {
            allow_private: false,
            private_hosts: Vec::new(),
            ca_file: None,
            timeout_seconds: 5,
            max_bytes: 64 * 1024,
            agent_max_bytes: 256 * 1024,
        }
    }
}

impl OutboundConfig {
    /// How long an exchange may take that has no timeout of its own.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        if let Some(wrong) = self.private_hosts.iter().find(|host| !is_host(host) || host.contains([':', '/'])) {
            let problem = format!("{wrong} is not a host name");
            return Err(InvalidConfig::Value { key: "outbound.private_hosts", problem });
        }
        // A host that failed is left alone for 10 s, which must be longer than a fetch may take.
        within("outbound.timeout_seconds", self.timeout_seconds, 1..=9)?;
        within("outbound.max_bytes", self.max_bytes, 1024..=16 * 1024 * 1024)?;
        within("outbound.agent_max_bytes", self.agent_max_bytes, 1024..=16 * 1024 * 1024)
    }
}
