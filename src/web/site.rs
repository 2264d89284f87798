//! Whose host a request names: the Provider's, or one that a Brand points here (RFC 9110 §7.2, RFC 9112 §3.2).
//!
//! Refuses a request without exactly one `Host`, one whose absolute target names another host, and any host that is not
//! configured. Nothing is ever built from the `Host` header; it only chooses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use actix_web::http::Uri;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage, HttpRequest};
use url::Url;

use super::app;
use crate::config::Config;
use crate::directory::{HostedBrand, Snapshot};
use crate::domain::id::BrandId;

/// What is served to whichever host is asked.
pub const HEALTH_PATH: &str = "/healthz";

/// Whose host a request on the public listener names.
#[derive(Clone)]
pub enum Site {
    /// `public_url`.
    Provider,
    /// A Brand's `auth_origin`.
    Brand(Arc<HostedBrand>),
}

/// What of a Brand a route serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// Under its interface URL, always on the Provider's host (PACT §2.1).
    Interface,
    /// Under its issuer: on its own host where it has one, and then only there (PACT §5.1).
    Issuer,
}

/// The Brand that a request's host and path name, or `None` where there is none or it is not served there.
pub fn brand_of(req: &HttpRequest, served: Served) -> Option<Arc<HostedBrand>> {
    let site = req.extensions().get::<Site>().cloned()?;
    match (site, served) {
        (Site::Brand(hosted), Served::Issuer) => Some(hosted),
        (Site::Brand(_), Served::Interface) => None,
        (Site::Provider, served) => {
            let id = BrandId::parse(req.match_info().get("brand")?).ok()?;
            let hosted = app(req).directory.current().brand(&id).cloned()?;
            (served == Served::Interface || !has_own_host(&hosted)).then_some(hosted)
        }
    }
}

fn has_own_host(hosted: &HostedBrand) -> bool {
    hosted.brand.delegation.as_ref().is_some_and(|delegation| delegation.auth_origin.is_some())
}

/// A dynamic part of the path, percent-decoded once; empty where the route has none of this name.
pub fn path_parameter(req: &HttpRequest, name: &str) -> String {
    // The router has decoded all but these three, which would change what a path means.
    let text = req.match_info().get(name).unwrap_or_default();
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        decoded.push_str(before);
        let (character, after) = match after.split_at_checked(2) {
            Some(("25", after)) => ('%', after),
            Some(("2F" | "2f", after)) => ('/', after),
            Some(("2B" | "2b", after)) => ('+', after),
            _ => ('%', after),
        };
        decoded.push(character);
        rest = after;
    }
    decoded.push_str(rest);
    decoded
}

/// A host and port as a request names them, in lower case and without a trailing dot.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `host[:port]`; `None` for anything else, credentials included.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                let address: Ipv6Addr = address.parse().ok()?;
                let port = if rest.is_empty() { rest } else { rest.strip_prefix(':')? };
                (format!("[{address}]"), port)
            }
            None => {
                let (host, port) = text.split_once(':').unwrap_or((text, ""));
                let host = host.strip_suffix('.').unwrap_or(host);
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
                if host.is_empty() || !host.bytes().all(is_name) {
                    return None;
                }
                (host.to_ascii_lowercase(), port)
            }
        };
        let port = match port {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        Some(Self { host, port })
    }

    fn is_loopback(&self) -> bool {
        is_loopback_name(&self.host)
    }

    /// As an origin is written: without the port where it is the scheme's own.
    fn origin(&self, scheme: &str) -> String {
        match self.port {
            Some(port) if Some(port) != default_port(scheme) => format!("{scheme}://{}:{port}", self.host),
            _ => format!("{scheme}://{}", self.host),
        }
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

fn is_loopback_name(host: &str) -> bool {
    let is_address = || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || is_address()
}

/// What the host of a request is compared with.
#[derive(Clone, Debug)]
pub struct Hosts {
    public_url: String,
    scheme: String,
    host: String,
    port: Option<u16>,
    admin: Vec<Authority>,
}

impl Hosts {
    /// The hosts that `config` names.
    pub fn new(config: &Config) -> Self {
        let url = Url::parse(&config.public_url).ok();
        let url = url.as_ref();
        Self {
            public_url: config.public_url.clone(),
            scheme: url.map(Url::scheme).unwrap_or_default().to_owned(),
            host: url.and_then(Url::host_str).unwrap_or_default().to_owned(),
            port: url.and_then(Url::port_or_known_default),
            admin: config
                .admin_hosts
                .iter()
                .map(String::as_str)
                .chain(admin_host(config))
                .filter_map(Authority::parse)
                .collect(),
        }
    }

    /// Whether the public listener is reached over HTTPS.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// Finds whose host `authority` is on the public listener, which is bound to `listener_port`.
    fn public_site(&self, authority: &Authority, listener_port: u16, directory: &Snapshot) -> Option<Site> {
        let port = authority.port.or_else(|| default_port(&self.scheme));
        if authority.host == self.host && port == self.port {
            return Some(Site::Provider);
        }
        let of_brand = |scheme| directory.brand_at_origin(&authority.origin(scheme));
        if let Some(hosted) = of_brand("https").or_else(|| of_brand("http")) {
            return Some(Site::Brand(Arc::clone(hosted)));
        }
        let is_own_port = port == self.port || port == Some(listener_port);
        (is_loopback_name(&self.host) && authority.is_loopback() && is_own_port).then_some(Site::Provider)
    }

    fn is_administrators(&self, authority: &Authority) -> bool {
        let is_named =
            |named: &Authority| named.host == authority.host && (named.port.is_none() || named.port == authority.port);
        authority.is_loopback() || self.admin.iter().any(is_named)
    }

    /// Finds whose host `request` names, on the listener that is bound to `port`, and keeps it for [`brand_of`] and the routes.
    ///
    /// # Errors
    /// [`Misaddressed`] when it names none.
    pub fn admit_public(&self, request: &ServiceRequest, port: u16, directory: &Snapshot) -> Result<(), Misaddressed> {
        if request.path() == HEALTH_PATH {
            request.extensions_mut().insert(Site::Provider);
            return Ok(());
        }
        let authority = authority(request.headers(), request.uri()).ok_or(Misaddressed::Malformed)?;
        let site = self.public_site(&authority, port, directory).ok_or_else(|| {
            Misaddressed::UnknownHost(format!("This host is not served here. Ask {} instead.", self.public_url))
        })?;
        request.extensions_mut().insert(site);
        Ok(())
    }

    /// Checks the host of a request on the administrators' listener, so that no web page can reach it through a name of
    /// its own.
    ///
    /// # Errors
    /// [`Misaddressed`] when it names another.
    pub fn admit_administrator(&self, request: &ServiceRequest) -> Result<(), Misaddressed> {
        if request.path() == HEALTH_PATH {
            return Ok(());
        }
        let authority = authority(request.headers(), request.uri()).ok_or(Misaddressed::Malformed)?;
        if self.is_administrators(&authority) {
            return Ok(());
        }
        let hint = "This host is not served here. Use a loopback name, or name it in admin_hosts.";
        Err(Misaddressed::UnknownHost(hint.to_owned()))
    }
}

/// The host and port of `admin_url`.
fn admin_host(config: &Config) -> Option<&str> {
    config.admin_url.as_deref()?.split_once("://").map(|(_, host)| host)
}

/// The origin of the pages that the administrators' listener serves in this request: `admin_url`; where that is not set or a
/// loopback name, the host that the request names, which was admitted.
pub fn admin_origin(req: &HttpRequest) -> Option<String> {
    let config = &app(req).config;
    let scheme = if config.is_admin_https() { "https" } else { "http" };
    let is_elsewhere = |host: &&str| !Authority::parse(host).is_some_and(|host| host.is_loopback());
    match admin_host(config).filter(is_elsewhere) {
        Some(_) => config.admin_url.clone(),
        None => authority(req.headers(), req.uri()).map(|host| host.origin(scheme)),
    }
}

/// A request names no host that is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misaddressed {
    /// It has not exactly one well-formed host.
    Malformed,
    /// The host is not configured; says, from configuration alone, what to ask instead.
    UnknownHost(String),
}

/// The host that a request names: exactly one `Host`, which an absolute target repeats (RFC 9112 §3.2, §3.2.2).
fn authority(headers: &HeaderMap, target: &Uri) -> Option<Authority> {
    let mut hosts = headers.get_all(header::HOST);
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return None;
    };
    let host = Authority::parse(host.to_str().ok()?)?;
    let Some(absolute) = target.authority() else {
        return Some(host);
    };
    let absolute = Authority::parse(absolute.as_str())?;
    (absolute == host).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(public_url: &str, more: &str) -> Hosts {
        let text = format!("public_url = \"{public_url}\"\naudience = \"a\"\n{more}\n[outbound]\nallow_private = true");
        Hosts::new(&Config::from_toml(&text).unwrap())
    }

    fn is_provider(hosts: &Hosts, host: &str) -> bool {
        let authority = Authority::parse(host);
        authority.is_some_and(|it| matches!(hosts.public_site(&it, 4711, &Snapshot::default()), Some(Site::Provider)))
    }

    #[test]
    fn a_host_is_read_without_regard_to_case_trailing_dot_and_default_port() {
        let hosts = hosts("https://provider.example.com", "");
        for host in [
            "provider.example.com",
            "PROVIDER.example.COM",
            "provider.example.com.",
            "provider.example.com:443",
            "provider.example.com.:443",
            "provider.example.com:",
        ] {
            assert!(is_provider(&hosts, host), "{host}");
        }
    }

    #[test]
    fn other_hosts_and_malformed_ones_are_not_the_providers() {
        let hosts = hosts("https://provider.example.com", "");
        for host in [
            "",
            ".",
            "example.com",
            "provider.example.com..",
            "provider.example.com:80",
            "provider.example.com:4711",
            "provider.example.com:+443",
            "provider.example.com:99999",
            "user@provider.example.com",
            "provider.example.com/x",
            "provider.example.com, other",
            "localhost:4711",
            "127.0.0.1",
            "[::1",
            "[::1]x",
        ] {
            assert!(!is_provider(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_provider_on_loopback_answers_to_every_loopback_name() {
        let hosts = hosts("http://127.0.0.1:8080", "");
        for host in ["127.0.0.1:8080", "localhost:8080", "shop.localhost:8080", "[::1]:8080", "[0:0::1]:4711"] {
            assert!(is_provider(&hosts, host), "{host}");
        }
        for host in ["localhost", "localhost:9", "localhost.example.com:8080", "128.0.0.1:8080", "notlocalhost:8080"] {
            assert!(!is_provider(&hosts, host), "{host}");
        }
    }

    fn hosts_of_url(admin_url: &str) -> Hosts {
        hosts("https://provider.example.com", &format!("admin_url = \"{admin_url}\""))
    }

    #[test]
    fn administrators_come_by_loopback_or_a_named_host() {
        let hosts =
            hosts("https://provider.example.com", "admin_hosts = [\"ops.internal\", \"Console.internal:8443\"]");
        let admits = |host: &str| hosts.is_administrators(&Authority::parse(host).unwrap());
        assert!(admits("localhost:8081") && admits("127.0.0.1:1") && admits("[::1]:8081"));
        assert!(admits("ops.internal") && admits("OPS.internal:9000") && admits("console.internal:8443"));
        let with_url = hosts_of_url("https://admin.example:8443");
        let admits_with_url = |host: &str| with_url.is_administrators(&Authority::parse(host).unwrap());
        assert!(admits_with_url("admin.example:8443") && !admits_with_url("admin.example:9"));
        assert!(!admits("console.internal") && !admits("provider.example.com") && !admits("evil.example"));
    }

    #[test]
    fn an_absolute_target_must_name_the_same_host() {
        let named = |hosts: &[&str], target: &str| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            authority(&headers, &target.parse().unwrap())
        };
        assert!(named(&["a.example"], "/x").is_some());
        assert!(named(&["a.example"], "http://A.example/x").is_some());
        assert!(named(&["a.example"], "http://b.example/x").is_none());
        assert!(named(&["a.example"], "http://u@a.example/x").is_none());
        assert!(named(&[], "/x").is_none());
        assert!(named(&[], "http://a.example/x").is_none());
        assert!(named(&["a.example", "a.example"], "/x").is_none());
    }
}
