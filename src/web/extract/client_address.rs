//! The address that a request comes from: the peer's, or what proxies that are trusted say, the rightmost first.
//!
//! `X-Forwarded-For` of anyone else is not read; what a client wrote itself stands further left and is never reached.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use actix_web::HttpRequest;
use ipnet::IpNet;

use crate::limits::ClientAddress;
use crate::web::app;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address as it is counted.
pub fn counted(req: &HttpRequest) -> ClientAddress {
    client_address(req, &app(req).config.trusted_proxies).into()
}

/// The client's address, IPv4-mapped ones as IPv4.
fn client_address(req: &HttpRequest, trusted_proxies: &[IpNet]) -> IpAddr {
    let peer = req.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical());
    let is_trusted = |address: &IpAddr| trusted_proxies.iter().any(|net| net.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let values: Vec<&str> =
        req.headers().get_all(X_FORWARDED_FOR).map(|value| value.to_str().unwrap_or_default()).collect();
    let mut nearest = peer;
    for hop in values.iter().rev().flat_map(|value| value.rsplit(',')) {
        // What cannot be read ends the chain: nothing beyond it is vouched for.
        let Some(address) = parse(hop.trim()) else {
            break;
        };
        nearest = address;
        if !is_trusted(&address) {
            break;
        }
    }
    nearest
}

/// An address, which some proxies write with a port.
fn parse(hop: &str) -> Option<IpAddr> {
    let address = hop.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn seen(peer: &str, forwarded: &[&str]) -> String {
        let start = TestRequest::default().peer_addr(format!("{peer}:1").parse().unwrap());
        let request = forwarded.iter().fold(start, |request, value| request.append_header((X_FORWARDED_FOR, *value)));
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        client_address(&request.to_http_request(), &trusted).to_string()
    }

    // case 80
    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_says() {
        assert_eq!(seen("203.0.113.7", &["198.51.100.1"]), "203.0.113.7");
    }

    // case 80
    #[test]
    fn the_rightmost_address_that_is_no_trusted_proxy_is_the_client() {
        assert_eq!(seen("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1", "198.51.100.1", "10.0.0.2"]), "198.51.100.1");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 198.51.100.1:5000"]), "198.51.100.1");
        assert_eq!(seen("[fd00::1]", &["[2001:db8::5]:443"]), "2001:db8::5");
    }

    // case 80
    #[test]
    fn a_chain_ends_where_it_cannot_be_read() {
        assert_eq!(seen("10.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(seen("10.0.0.1", &[""]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3");
    }

    // case 80
    #[test]
    fn a_mapped_address_is_the_ipv4_one() {
        assert_eq!(seen("[::ffff:10.0.0.1]", &["::ffff:198.51.100.1"]), "198.51.100.1");
    }
}
