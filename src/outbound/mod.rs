//! Calls to others: key sets, discovery, agents, events. The only user of the HTTP client.
//!
//! Refuses whatever is not HTTPS, addresses outside the public ranges (checked on the very addresses that are connected
//! to), credentials in a URL, redirects, proxies from the environment, compressed answers (they stay as they are), bodies
//! above their bound and exchanges beyond their time. A certificate is always checked.

mod address;
mod resolver;
#[cfg(test)]
mod tests;

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use native_tls::TlsConnector;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

pub use address::is_public;
pub use reqwest::Method;
pub use resolver::{Resolver, SystemResolver};

use crate::config::OutboundConfig;
use address::Policy;
use resolver::{Guard, NoneAllowed, NotResolved};

/// A connection that is not established after so long is given up, whatever time the exchange has: the attempt outlives
/// an exchange that was cut off.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why an exchange gave no answer. It holds a host and a constant reason, never a query, a header or a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The client could not be set up, at start.
    #[error("outbound: {0}")]
    Setup(&'static str),
    /// The URL or the request is not one that is sent.
    #[error("{host}: {reason}")]
    Refused {
        /// Where it would have gone; empty when the URL has no host.
        host: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The host has no address in the public ranges.
    #[error("{host}: has no public address")]
    NotPublic {
        /// The host of the URL.
        host: String,
    },
    /// The whole exchange was not over in time.
    #[error("{host}: timed out")]
    TimedOut {
        /// The host of the URL.
        host: String,
    },
    /// The body has more bytes than were asked for.
    #[error("{host}: the answer is too large")]
    TooLarge {
        /// The host of the URL.
        host: String,
    },
    /// The answer has another status than 200; only [`Outbound::get_json`] minds.
    #[error("{host}: answered {status}")]
    Status {
        /// The host of the URL.
        host: String,
        /// The status of the answer.
        status: u16,
    },
    /// No connection, or one that broke.
    #[error("{host}: {reason}")]
    Failed {
        /// The host of the URL.
        host: String,
        /// At which step.
        reason: &'static str,
    },
}

/// One request.
#[derive(Clone)]
pub struct Request {
    /// Any method.
    pub method: Method,
    /// Where it goes.
    pub url: Url,
    /// In order; a name may stand more than once. A `Host` here replaces the one of the URL.
    pub headers: Vec<(String, String)>,
    /// `None` sends no body.
    pub body: Option<Vec<u8>>,
    /// For the whole exchange, from resolving the name to the last byte of the body; `None` for the configured one.
    pub timeout: Option<Duration>,
    /// The bound of the answer's body; `None` for the configured one.
    pub max_bytes: Option<usize>,
}

impl Request {
    /// A request without headers and body, under the configured bounds.
    pub const fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: Vec::new(), body: None, timeout: None, max_bytes: None }
    }

    /// A GET.
    pub const fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// A POST of `body`, whose type is `content_type`.
    pub fn post(url: Url, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut request = Self::new(Method::POST, url).header("content-type", content_type);
        request.body = Some(body.into());
        request
    }

    /// The same request with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// One answer, of whatever status.
#[derive(Clone)]
pub struct Response {
    /// 100 to 999.
    pub status: u16,
    /// In order, names in lower case; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// As it came, never decompressed.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name, in whatever case it is given.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every header of this name, in order.
    pub fn headers_named(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Whether `Content-Type` is `application/json`, with or without parameters (RFC 9110 §8.3.1).
    pub fn is_json(&self) -> bool {
        let [one] = *self.headers_named("content-type") else {
            return false;
        };
        one.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
    }
}

/// The way out: an HTTP client with its rules. A clone shares the connections.
#[derive(Clone)]
pub struct Outbound {
    client: reqwest::Client,
    guard: Guard,
    /// Shared, since reading the system's authorities takes a tenth of a second and a megabyte.
    tls: TlsConnector,
    timeout: Duration,
    max_bytes: usize,
}

impl Outbound {
    /// Sets up the client; names are resolved by `resolver`.
    ///
    /// # Errors
    /// [`OutboundError::Setup`] when `ca_file` cannot be read, holds no certificate or a broken one.
    pub fn new(config: &OutboundConfig, resolver: Arc<dyn Resolver>) -> Result<Self, OutboundError> {
        let tls = tls(config.ca_file.as_deref())?;
        let guard = Guard { resolver, policy: Arc::new(Policy::new(config)) };
        let client = client(&guard, &tls)?;
        Ok(Self { client, guard, tls, timeout: config.timeout(), max_bytes: config.max_bytes })
    }

    /// The same rules with connections of its own, so that one slow backend does not hold up another.
    ///
    /// # Errors
    /// [`OutboundError::Setup`] when the system gives no client.
    pub fn dedicated(&self) -> Result<Self, OutboundError> {
        Ok(Self { client: client(&self.guard, &self.tls)?, ..self.clone() })
    }

    /// Sends `request` and reads the whole answer, of whatever status; a redirect is an answer like any other.
    ///
    /// # Errors
    /// [`OutboundError`] when the request is refused, or no whole answer came within its bounds.
    pub async fn exchange(&self, request: Request) -> Result<Response, OutboundError> {
        let host = self.guard.policy.check(&request.url)?;
        let timeout = request.timeout.unwrap_or(self.timeout);
        match tokio::time::timeout(timeout, self.transfer(request, &host)).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(OutboundError::TimedOut { host }),
        }
    }

    /// The body at `url`, which is read as JSON by the caller: 200 only, under the configured bounds.
    ///
    /// # Errors
    /// As [`Outbound::exchange`], and [`OutboundError::Status`] for any status but 200.
    pub async fn get_json(&self, url: &Url) -> Result<Vec<u8>, OutboundError> {
        let response = self.exchange(Request::get(url.clone()).header("accept", "application/json")).await?;
        if response.status != 200 {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(OutboundError::Status { host, status: response.status });
        }
        Ok(response.body)
    }

    async fn transfer(&self, request: Request, host: &str) -> Result<Response, OutboundError> {
        let max_bytes = request.max_bytes.unwrap_or(self.max_bytes);
        let mut response = self.client.execute(prepared(request, host)?).await.map_err(|error| failed(&error, host))?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error, host))? {
            if chunk.len() > max_bytes.saturating_sub(body.len()) {
                return Err(OutboundError::TooLarge { host: host.to_owned() });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status, headers, body })
    }
}

/// A TLS client of version 1.2 or later that trusts the system's authorities and those in `ca_file`.
fn tls(ca_file: Option<&Path>) -> Result<TlsConnector, OutboundError> {
    let mut builder = TlsConnector::builder();
    builder.min_protocol_version(Some(native_tls::Protocol::Tlsv12)).request_alpns(&["h2", "http/1.1"]);
    if let Some(file) = ca_file {
        let pem = fs::read(file).map_err(|_| OutboundError::Setup("ca_file cannot be read"))?;
        let broken = |_| OutboundError::Setup("ca_file holds something that is not a PEM certificate");
        let authorities = native_tls::Certificate::stack_from_pem(&pem).map_err(broken)?;
        if authorities.is_empty() {
            return Err(OutboundError::Setup("ca_file holds no PEM certificate"));
        }
        for authority in authorities {
            builder.add_root_certificate(authority);
        }
    }
    builder.build().map_err(|_| OutboundError::Setup("the TLS library gives no client"))
}

fn client(guard: &Guard, tls: &TlsConnector) -> Result<reqwest::Client, OutboundError> {
    reqwest::Client::builder()
        .user_agent(concat!("assent/", env!("CARGO_PKG_VERSION")))
        .https_only(!guard.policy.allow_private)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .dns_resolver(guard.clone())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(64)
        .tls_backend_preconfigured(tls.clone())
        .build()
        .map_err(|_| OutboundError::Setup("the HTTP library gives no client"))
}

fn prepared(request: Request, host: &str) -> Result<reqwest::Request, OutboundError> {
    let mut prepared = reqwest::Request::new(request.method, request.url);
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) else {
            return Err(OutboundError::Refused { host: host.to_owned(), reason: "a header cannot be sent" });
        };
        prepared.headers_mut().append(name, value);
    }
    *prepared.body_mut() = request.body.map(Into::into);
    Ok(prepared)
}

/// Names the step that failed. The client's own text is left behind, since it holds the URL.
fn failed(error: &reqwest::Error, host: &str) -> OutboundError {
    let host = host.to_owned();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<NoneAllowed>() {
            return OutboundError::NotPublic { host };
        }
        if inner.is::<NotResolved>() {
            return OutboundError::Failed { host, reason: "the name was not resolved" };
        }
        if inner.is::<openssl::error::ErrorStack>() || inner.is::<openssl::ssl::Error>() {
            return OutboundError::Failed {
                host,
                reason: "the TLS handshake failed, or the certificate is not trusted",
            };
        }
        cause = inner.source();
    }
    if error.is_timeout() {
        return OutboundError::TimedOut { host };
    }
    let reason = if error.is_connect() { "could not connect" } else { "the connection broke" };
    OutboundError::Failed { host, reason }
}
