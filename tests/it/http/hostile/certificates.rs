//! Certificates: the right one of an authority in `ca_file`, and every wrong one.

use openssl::ssl::SslAcceptor;

use super::{Door, Stage};
use crate::support::database::on_both_databases;
use crate::support::origin::Origin;
use crate::support::tls::{Authority, IN_2020, IN_2021, IN_2098, IN_2099, self_signed};

on_both_databases! {
    // case 15: with TLS that is not the host's own
    async fn only_a_good_certificate_of_a_known_authority_opens_a_door(db: Database) {
        let stage = Stage::new(&db).await;
        let nobody = Authority::new("Unknown authority");
        let namesake = Authority::new("Test authority");
        for (number, door) in Door::ALL.into_iter().enumerate() {
            let host = |n: usize| format!("p{}.example", number * 20 + n);
            let from = |authority: &Authority, n: usize, life| authority.server(&host(n), life);
            let wrong: [(&str, SslAcceptor); 8] = [
                ("another name", stage.authority.server("other.example", (IN_2020, IN_2099))),
                ("a name below", stage.authority.server(&format!("www.{}", host(1)), (IN_2020, IN_2099))),
                ("a name that it ends with", stage.authority.server(&format!("evil{}", host(2)), (IN_2020, IN_2099))),
                ("expired", from(&stage.authority, 3, (IN_2020, IN_2021))),
                ("not yet valid", from(&stage.authority, 4, (IN_2098, IN_2099))),
                ("of an unknown authority", from(&nobody, 5, (IN_2020, IN_2099))),
                ("of an authority of the same name", from(&namesake, 6, (IN_2020, IN_2099))),
                ("self-signed", self_signed(&host(7))),
            ];
            for (n, (what, tls)) in wrong.into_iter().enumerate() {
                let server = Origin::start(Some(tls));
                stage.names.set(&host(n), &[&[server.address]]);
                let opens = stage.opens(&db, door, &format!("https://{}{}", host(n), door.path())).await;
                assert!(!opens, "{door:?}: {what}");
                assert!(server.connections() > 0, "{door:?}: {what}");
                assert_eq!(server.asked(door.path()), 0, "{door:?}: {what}: nothing was said to it");
            }
            let plain = Origin::start(None);
            stage.names.set(&host(8), &[&[plain.address]]);
            assert!(!stage.opens(&db, door, &format!("https://{}{}", host(8), door.path())).await, "{door:?}: no TLS");
            assert_eq!(plain.asked(door.path()), 0);

            let honest = stage.honest(door, &host(9));
            assert!(stage.opens(&db, door, &format!("https://{}{}", host(9), door.path())).await, "{door:?}");
            assert_eq!(honest.asked(door.path()), 1);
        }
        stage.stop().await;
    }
}
