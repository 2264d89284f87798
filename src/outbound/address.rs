//! Which addresses may be called: those of the public Internet, and what the configuration adds.
//!
//! Refuses every range that the IANA special-purpose registries (RFC 6890) keep from the public Internet, and every
//! IPv6 form that carries an IPv4 address inside: the translator at its other end would decide where it leads.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use url::{Host, Url};

use super::OutboundError;
use crate::config::OutboundConfig;

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

const NOT_PUBLIC_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),      // this network
    v4(10, 0, 0, 8),     // private
    v4(100, 64, 0, 10),  // carrier-grade NAT
    v4(127, 0, 0, 8),    // loopback
    v4(169, 254, 0, 16), // link-local, where clouds keep their metadata
    v4(172, 16, 0, 12),  // private
    v4(192, 0, 0, 24),   // protocol assignments
    v4(192, 0, 2, 24),   // documentation
    v4(192, 88, 99, 24), // 6to4 relays
    v4(192, 168, 0, 16), // private
    v4(198, 18, 0, 15),  // benchmarking
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4), // multicast
    v4(240, 0, 0, 4), // reserved, and broadcast
];

/// The only block from which global unicast addresses are given out. Mapped (`::ffff:0:0/96`), NAT64 (`64:ff9b::/96`),
/// unique local, link-local and multicast addresses all lie outside.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);

const NOT_PUBLIC_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 23),      // protocol assignments, Teredo, benchmarking
    v6(0x2001, 0x0db8, 32), // documentation
    v6(0x2002, 0, 16),      // 6to4
    v6(0x3fff, 0, 20),      // documentation
];

/// Whether `address` is one of the public Internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|range| range.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address) && !NOT_PUBLIC_V6.iter().any(|range| range.contains(&address))
        }
    }
}

/// What may be called, from the configuration.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) allow_private: bool,
    private_hosts: HashSet<String>,
}

/// A host in the one spelling that the URL parser gives it, without the dot that may end a name.
fn canonical(host: &str) -> String {
    let literal = host.parse::<Ipv6Addr>().map(Host::Ipv6).or_else(|_| Host::parse(host));
    let text = literal.map_or_else(|_| host.to_ascii_lowercase(), |host| host.to_string());
    text.strip_suffix('.').unwrap_or(&text).to_owned()
}

impl Policy {
    pub(super) fn new(config: &OutboundConfig) -> Self {
        let private_hosts = config.private_hosts.iter().map(|host| canonical(host)).collect();
        Self { allow_private: config.allow_private, private_hosts }
    }

    /// Whether `host` may be reached at `address`.
    pub(super) fn allows(&self, host: &str, address: IpAddr) -> bool {
        self.allow_private || is_public(address) || self.private_hosts.contains(&canonical(host))
    }

    /// Checks everything that can be told from `url` alone, and gives its host. The URL parser has already brought an
    /// address, however it was spelled (`0x7f.1`, `2130706433`), into its one form; such a host is never resolved, so
    /// it is judged here.
    pub(super) fn check(&self, url: &Url) -> Result<String, OutboundError> {
        let refuse = |reason| Err(OutboundError::Refused { host: url.host_str().unwrap_or_default().into(), reason });
        let https = url.scheme() == "https" || (self.allow_private && url.scheme() == "http");
        if !https {
            return refuse("is not an https address");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("holds credentials");
        }
        let Some(host) = url.host() else {
            return refuse("has no host");
        };
        let text = host.to_string();
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        if literal.is_some_and(|address| !self.allows(&text, address)) {
            return Err(OutboundError::NotPublic { host: text });
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    // case 15
    #[test]
    fn special_purpose_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn ordinary_addresses_are_public() {
        for address in
            ["8.8.8.8", "1.1.1.1", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1111", "2a00:1450::1"]
        {
            assert!(public(address), "{address}");
        }
    }

    fn policy(private_hosts: &[&str]) -> Policy {
        let private_hosts = private_hosts.iter().map(|&host| host.to_owned()).collect();
        Policy::new(&OutboundConfig { private_hosts, ..OutboundConfig::default() })
    }

    fn refused(policy: &Policy, text: &str) -> bool {
        policy.check(&Url::parse(text).unwrap()).is_err()
    }

    // case 15
    #[test]
    fn a_private_address_is_refused_in_every_spelling() {
        let policy = policy(&[]);
        for text in [
            "https://127.0.0.1/",
            "https://127.0.0.1./",
            "https://127.1/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://%31%32%37.0.0.1/",
            "https://①②⑦.0.0.1/",
            "https://127。0。0。1/",
            "https://[::1]/",
            "https://[0:0:0:0:0:0:0:1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[64:ff9b::127.0.0.1]/",
            "https://0/",
            "https://169.254.169.254/latest/meta-data",
        ] {
            assert!(refused(&policy, text), "{text}");
        }
    }

    // case 15
    #[test]
    fn schemes_other_than_https_and_credentials_are_refused() {
        let policy = policy(&["a.example"]);
        for text in ["http://a.example/", "ftp://a.example/", "file:///etc/passwd", "https://u@a.example/"] {
            assert!(refused(&policy, text), "{text}");
        }
        assert!(refused(&policy, "https://u:p@a.example/"));
        assert!(!refused(&policy, "https://a.example/"));
    }

    // case 15
    #[test]
    fn where_private_addresses_are_allowed_credentials_and_odd_schemes_still_are_not() {
        let policy = Policy::new(&OutboundConfig { allow_private: true, ..OutboundConfig::default() });
        assert!(!refused(&policy, "http://127.0.0.1:9/"));
        assert!(refused(&policy, "http://u@127.0.0.1:9/"));
        assert!(refused(&policy, "file:///etc/passwd"));
    }

    // case 15
    #[test]
    fn a_private_host_is_known_by_whole_name_whatever_its_spelling() {
        let policy = policy(&["Keys.Internal", "::1", "10.0.0.7"]);
        let private = IpAddr::from([10, 0, 0, 1]);
        assert!(policy.allows("keys.internal", private));
        assert!(policy.allows("KEYS.internal.", private));
        assert!(!policy.allows("x.keys.internal", private));
        assert!(!policy.allows("eys.internal", private));
        assert!(!refused(&policy, "https://[::1]/"));
        assert!(!refused(&policy, "https://10.0.0.7/"));
        assert!(refused(&policy, "https://10.0.0.8/"));
    }
}
