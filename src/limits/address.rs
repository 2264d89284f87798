//! Whom an address stands for: the one place that says so.

use std::net::{IpAddr, Ipv6Addr};

/// A client's address as it is counted: an IPv6 one stands for its /64, within which a host takes whatever address it likes
/// (RFC 8981), and an IPv4-mapped one is the IPv4 one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_client_and_a_mapped_address_is_its_ipv4_one() {
        let address = |text: &str| ClientAddress::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1:2:3"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }
}
