//! Addresses outside the public ranges, however they are written and whenever they turn up.

use std::net::{IpAddr, SocketAddr};

use super::{CALLERS_HOST, Door, Stage, address, apply_refuses};
use crate::support::database::on_both_databases;
use crate::support::origin::{CONFIGURATION, KEYS, Origin, Reply};

/// A block of the global unicast range that nobody was given: public by its number, and never reached.
const NOWHERE: &str = "[3000::1]:443";

/// One address of each kind that is not public.
const FORBIDDEN: [&str; 22] = [
    "127.0.0.1",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.0.1",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00::1",
    "fe80::1",
    "ff02::1",
];

on_both_databases! {
    // case 15: names
    async fn a_name_at_an_address_that_is_not_public_opens_no_door_and_is_not_called(db: Database) {
        let stage = Stage::new(&db).await;
        for (number, door) in Door::ALL.into_iter().enumerate() {
            for (n, forbidden) in FORBIDDEN.iter().enumerate() {
                let host = format!("x{}.example", number * 100 + n);
                let server = stage.honest(door, &host);
                let ip: IpAddr = forbidden.parse().unwrap();
                stage.names.set(&host, &[&[SocketAddr::new(ip, server.address.port())]]);
                let opens = stage.opens(&db, door, &format!("https://{host}{}", door.path())).await;
                assert!(!opens, "{door:?}: {forbidden}");
                assert_eq!(server.connections(), 0, "{door:?}: {forbidden}");
                assert!(stage.names.asked().contains(&host), "{door:?}: {forbidden}: it was resolved");
            }
        }
        stage.stop().await;
    }

    // case 15: a name that changes its answer between check and connect, and a mixed answer
    async fn a_name_that_changes_its_answer_is_called_at_what_was_checked_alone(db: Database) {
        let stage = Stage::new(&db).await;
        // First a public address that is not reached, and beside it this server's, which is not public; then that alone,
        // for whoever would ask again between the check and the connection.
        let rebound = Door::ALL.map(|door| {
            let host = format!("rebound-{door:?}.example").to_lowercase();
            let server = stage.honest(door, &host);
            let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), server.address.port());
            stage.names.set(&host, &[&[server.address, address(NOWHERE), mapped], &[server.address]]);
            server
        });
        let opened = stage.open_at_once(|door| format!("rebound-{door:?}.example").to_lowercase()).await;
        assert_eq!((opened, rebound.map(|server| server.connections())), ([false; 4], [0; 4]));

        // The other way round, what is asked once is not asked again.
        let returning = Door::ALL.map(|door| {
            let host = format!("returning-{door:?}.example").to_lowercase();
            let server = stage.honest(door, &host);
            stage.names.set(&host, &[&[server.address], &[address(NOWHERE)]]);
            server
        });
        let opened = stage.open_at_once(|door| format!("returning-{door:?}.example").to_lowercase()).await;
        assert_eq!((opened, returning.map(|server| server.connections())), ([false; 4], [0; 4]));

        assert_eq!(stage.open_at_once(|door| format!("unknown-{door:?}.example").to_lowercase()).await, [false; 4]);
        stage.stop().await;
    }

    // case 15: addresses
    async fn an_address_that_is_not_public_opens_no_door_in_any_spelling(db: Database) {
        let stage = Stage::new(&db).await;
        for door in Door::ALL {
            let plain = Origin::start(None);
            let port = plain.address.port();
            for host in [
                "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0x7f.1", "0x7f.0.0.1", "0x7f000001", "2130706433",
                "017700000001", "0177.0.0.1", "0177.1", "%31%32%37.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "１２７.0.0.1",
                "0", "0.0.0.0", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
                "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
            ] {
                let opens = stage.opens(&db, door, &format!("https://{host}:{port}{}", door.path())).await;
                assert!(!opens, "{door:?}: {host}");
            }
            assert_eq!(plain.connections(), 0, "{door:?}");
        }
        assert_eq!(stage.names.asked(), [CALLERS_HOST], "an address is no name");
        stage.stop().await;
    }

    // case 15: what an address may not be at all
    async fn plain_http_and_credentials_are_refused_when_they_are_applied_and_when_they_are_discovered(db: Database) {
        let stage = Stage::new(&db).await;
        let before = db.contents().await;
        for (door, parameter) in [(Door::Keys, "jwks_uri"), (Door::Login, "assertion.jwks_uri"), (Door::Agent, "agent.url")] {
            for url in [
                "http://p0.example/x", "ftp://p0.example/x", "file:///etc/passwd", "data:application/json,%7B%7D",
                "https://user@p0.example/x", "https://user:secret@p0.example/x", "https://:secret@p0.example/x",
                "https://p0.example/x#y",
            ] {
                assert!(apply_refuses(&stage.node, &stage.table(door, url), parameter).await, "{door:?}: {url}");
            }
        }
        assert_eq!(db.contents().await, before);
        let keys = Origin::start(None);
        for (n, jwks_uri) in [
            format!("http://{}{KEYS}", keys.address), format!("https://{}{KEYS}", keys.address),
            format!("https://user@p99.example{KEYS}"), format!("https://x99.example{KEYS}"),
        ].into_iter().enumerate() {
            let host = format!("p{n}.example");
            let server = stage.honest(Door::Discovery, &host);
            stage.names.set("p99.example", &[&[keys.address]]);
            stage.names.set("x99.example", &[&[keys.address]]);
            let document = serde_json::json!({ "issuer": format!("https://{host}"), "jwks_uri": jwks_uri });
            server.reply(CONFIGURATION, Reply::json(document));
            assert!(!stage.opens(&db, Door::Discovery, &format!("https://{host}")).await, "{jwks_uri}");
            assert_eq!((server.asked(CONFIGURATION), server.asked(KEYS), keys.connections()), (1, 0, 0), "{jwks_uri}");
        }
        stage.stop().await;
    }
}
