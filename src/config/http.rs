//! `[http]`: how long a client may take.

use std::time::Duration;

use serde::Deserialize;

use super::{InvalidConfig, within};

/// How long a client may take, on both listeners.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// From the first byte of a request to the end of its headers, in seconds.
    pub headers_within_seconds: u32,
    /// For the body after that, in seconds.
    pub body_within_seconds: u32,
    /// A connection may be idle for so long between requests, in seconds: longer than the minute after which load
    /// balancers drop theirs.
    pub keep_alive_seconds: u32,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self { headers_within_seconds: 8, body_within_seconds: 8, keep_alive_seconds: 75 }
    }
}

impl HttpConfig {
    /// From the first byte of a request to the end of its headers.
    pub fn headers_within(&self) -> Duration {
        Duration::from_secs(self.headers_within_seconds.into())
    }

    /// For a body.
    pub fn body_within(&self) -> Duration {
        Duration::from_secs(self.body_within_seconds.into())
    }

    /// Between requests.
    pub fn keep_alive(&self) -> Duration {
        Duration::from_secs(self.keep_alive_seconds.into())
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        within("http.headers_within_seconds", self.headers_within_seconds, 1..=300)?;
        within("http.body_within_seconds", self.body_within_seconds, 1..=300)?;
        within("http.keep_alive_seconds", self.keep_alive_seconds, 1..=3600)
    }
}
