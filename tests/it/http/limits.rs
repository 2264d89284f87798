//! 429 with a `Retry-After` that is true, on every kind of route (contract of the limits; PACT §6, RFC 6585 §4).

use std::time::Duration;

use assent::outbound::Method;

use crate::support::client::{Answer, Ask};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, AIRLINE_HOST, PROVIDER, Party, SHOP, World};

/// Each budget is small and of another size, so that a test sees which one was spent.
const SMALL: &str = "trusted_proxies = [\"127.0.0.0/8\"]\n[limits]\npersonal_agent_per_second = 4\npersonal_agent_burst = 9\n\
    sub_per_second = 2\nsub_burst = 5\npage_per_second = 1\npage_burst = 3\naddress_per_second = 1\naddress_burst = 7\n";

/// Asks again and again until it is too much; how often it was not.
async fn answered(ask: impl Fn() -> Ask) -> (usize, Answer) {
    for before in 0..100 {
        let answer = ask().send().await;
        if answer.status() == 429 {
            return (before, answer);
        }
    }
    panic!("it was never too much");
}

/// Checks that the answer says how long to wait, and waits.
fn wait(world: &World, refused: &Answer) {
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 0);
    // A millisecond less would not do in general, a second less never.
    world.clock.advance(Duration::from_secs(seconds));
}

fn from(ask: Ask, address: &str) -> Ask {
    ask.header("x-forwarded-for", address)
}

fn list(world: &World, jwt: &str, address: &str) -> Ask {
    from(world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(jwt), address)
}

on_both_databases! {
    async fn a_sub_that_asks_too_often_gets_429_and_waiting_as_told_works(db: Database) {
        let world = World::with(&db, SMALL).await;
        let (passed, refused) = answered(|| list(&world, &world.jwt("user-1"), "192.0.2.1")).await;
        assert_eq!(passed, 5);
        refused.assert_empty(429);
        assert_eq!(refused.header("retry-after"), Some("1"));
        // Nobody else is concerned: not another sub, nor the same sub of another personal agent.
        assert_eq!(list(&world, &world.jwt("user-2"), "192.0.2.1").send().await.status(), 200);
        assert_eq!(list(&world, &world.jwt_of(&world.other_pa, "user-1"), "192.0.2.1").send().await.status(), 200);
        wait(&world, &refused);
        assert_eq!(list(&world, &world.jwt("user-1"), "192.0.2.1").send().await.status(), 200);
        world.stop().await;
    }

    async fn every_operation_of_a_caller_is_counted(db: Database) {
        let world = World::with(&db, &SMALL.replace("sub_burst = 5", "sub_burst = 1")).await;
        for (n, (method, path)) in [
            (Method::GET, "tasks"),
            (Method::GET, "tasks/t-1"),
            (Method::POST, "tasks/t-1:cancel"),
            (Method::POST, "message:send"),
            (Method::POST, "message:stream"),
            (Method::GET, "tasks/t-1:subscribe"),
            (Method::GET, "extendedAgentCard"),
            (Method::DELETE, "tasks/t-1/pushNotificationConfigs/c-1"),
            (Method::POST, "oauth/device_authorization"),
            (Method::POST, "oauth/token"),
            (Method::POST, "oauth/revoke"),
        ]
        .into_iter()
        .enumerate()
        {
            let ask = || {
                let ask = world.ask(method.clone(), PROVIDER, &format!("/a2a/{SHOP}/{path}"));
                ask.bearer(&world.jwt(&format!("user-{n}"))).form(&[])
            };
            assert_ne!(ask().send().await.status(), 429, "{path}");
            assert_eq!(ask().send().await.status(), 429, "{path}");
            world.advance(1);
        }
        world.stop().await;
    }

    async fn a_personal_agent_that_asks_too_often_gets_429_for_every_sub(db: Database) {
        let world = World::with(&db, SMALL).await;
        for n in 0..9 {
            assert_eq!(list(&world, &world.jwt(&format!("user-{n}")), "192.0.2.1").send().await.status(), 200);
        }
        let refused = list(&world, &world.jwt("user-9"), "192.0.2.2").send().await;
        refused.assert_empty(429);
        assert_eq!(list(&world, &world.jwt_of(&world.other_pa, "user-9"), "192.0.2.1").send().await.status(), 200);
        wait(&world, &refused);
        assert_eq!(list(&world, &world.jwt("user-9"), "192.0.2.2").send().await.status(), 200);
        world.stop().await;
    }

    async fn an_oauth_route_says_it_in_oauths_words_and_does_nothing(db: Database) {
        let world = World::with(&db, SMALL).await;
        let ask = || {
            let ask = world.at_issuer(Method::POST, SHOP, "/device_authorization").bearer(&world.jwt("user-1"));
            ask.form(&[("scope", "orders:read")])
        };
        let (passed, refused) = answered(ask).await;
        assert_eq!((passed, refused.oauth_error().as_str()), (5, "too_many_requests"));
        assert_eq!(db.count("SELECT id FROM device_authorization").await, 5);
        wait(&world, &refused);
        assert_eq!(ask().send().await.status(), 200);
        world.stop().await;
    }

    async fn refused_jwts_are_counted_against_the_address_and_then_none_is_looked_at(db: Database) {
        let world = World::with(&db, SMALL).await;
        // Signed with another's key, in the name of this personal agent.
        let forged = {
            let forger = Party { issuer: world.pa.issuer.clone(), ..Party::new("https://pa.example.com") };
            world.jwt_of(&forger, "user-1")
        };
        let (passed, refused) = answered(|| list(&world, &forged, "192.0.2.1")).await;
        assert_eq!(passed, 7);
        refused.assert_empty(429);
        // Not even a good one, which is not verified any more; elsewhere it is, and its budget is whole.
        list(&world, &world.jwt("user-1"), "192.0.2.1").send().await.assert_empty(429);
        let (passed, _) = answered(|| list(&world, &world.jwt("user-1"), "192.0.2.2")).await;
        assert_eq!(passed, 5, "nobody spent what is the caller's");
        wait(&world, &refused);
        list(&world, &forged, "192.0.2.1").send().await.assert_unauthenticated();
        // On OAuth routes the same in other words.
        let token = from(world.at_issuer(Method::POST, SHOP, "/token").bearer(&forged).form(&[]), "192.0.2.1");
        assert_eq!(token.send().await.oauth_error(), "too_many_requests");
        world.stop().await;
    }

    async fn pages_and_forms_share_a_budget_for_each_address_and_say_so_on_a_page(db: Database) {
        let world = World::with(&db, SMALL).await;
        let before = db.contents().await;
        for brand in [SHOP, AIRLINE] {
            let page = || world.at_issuer(Method::GET, brand, "/consent");
            let form = || world.at_issuer(Method::POST, brand, "/consent/decision").form(&[("decision", "allow")]);
            let assertion = || world.at_issuer(Method::POST, brand, "/consent").form(&[("assertion", "a.b.c")]);
            let address = if brand == SHOP { "2001:db8:1::1" } else { "2001:db8:2::1" };
            for (ask, status) in [(page(), 200), (form(), 403), (assertion(), 403)] {
                assert_eq!(from(ask, address).send().await.status(), status);
            }
            // Another host of the same /64 is the same client; the next /64 is not.
            let neighbour = address.replace("::1", "::ffff:2");
            for ask in [page(), form(), assertion()] {
                let refused = from(ask, &neighbour).send().await;
                assert_eq!((refused.status(), refused.header("retry-after")), (429, Some("1")));
                assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"));
                assert!(refused.header("content-security-policy").is_some());
                let html = refused.text();
                assert!(html.contains("One moment, please") && html.contains("Nothing was allowed just now."), "{html}");
            }
            assert_eq!(from(page(), "2001:db8:3::1").send().await.status(), 200);
            world.advance(1);
            assert_eq!(from(page(), &neighbour).send().await.status(), 200);
            world.advance(600);
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    async fn everything_else_shares_a_wider_budget_for_each_address(db: Database) {
        let world = World::with(&db, SMALL).await;
        let other = |n: usize| {
            let (host, path) = match n % 7 {
                0 => (PROVIDER, format!("/a2a/{SHOP}/.well-known/agent-card.json")),
                1 => (PROVIDER, format!("/a2a/{SHOP}/oauth/jwks.json")),
                2 => (AIRLINE_HOST, "/.well-known/oauth-authorization-server".to_owned()),
                3 => (PROVIDER, "/not-there".to_owned()),
                4 => (AIRLINE_HOST, "/static/not-there.css".to_owned()),
                5 => (PROVIDER, format!("/a2a/{SHOP}/oauth/token")),
                _ => ("unknown.example", "/".to_owned()),
            };
            world.ask(Method::GET, host, &path)
        };
        for n in 0..7 {
            let answer = from(other(n), "192.0.2.1").send().await;
            assert!([200, 404, 405, 421].contains(&answer.status()), "{n}: {}", answer.status());
        }
        for n in 0..7 {
            let refused = from(other(n), "192.0.2.1").send().await;
            refused.assert_empty(429);
            assert_eq!(refused.header("retry-after"), Some("1"), "{n}");
        }
        // Signs of life are not counted, and pages have a budget of their own.
        assert_eq!(from(world.ask(Method::GET, PROVIDER, "/healthz"), "192.0.2.1").send().await.status(), 200);
        assert_eq!(from(world.at_issuer(Method::GET, SHOP, "/consent"), "192.0.2.1").send().await.status(), 200);
        world.advance(1);
        assert_eq!(from(other(0), "192.0.2.1").send().await.status(), 200);
        world.stop().await;
    }

    // case 80
    async fn an_untrusted_peer_cannot_name_another_address_to_be_counted_by(db: Database) {
        let small = SMALL.replace("127.0.0.0/8", "10.0.0.0/8");
        let world = World::with(&db, &small).await;
        let page = || world.at_issuer(Method::GET, SHOP, "/consent");
        for n in 0..10 {
            let ask = page()
                .header("x-forwarded-for", &format!("192.0.2.{n}"))
                .header("forwarded", &format!("for=192.0.2.{n}"))
                .header("x-real-ip", &format!("192.0.2.{n}"));
            assert_eq!(ask.send().await.status(), if n < 3 { 200 } else { 429 }, "{n}");
        }
        world.stop().await;
    }

    // case 80: a trusted one
    async fn of_a_trusted_peers_addresses_the_rightmost_untrusted_one_is_counted(db: Database) {
        let small = SMALL.replace("127.0.0.0/8", "127.0.0.0/8\", \"10.0.0.0/8");
        let world = World::with(&db, &small).await;
        let page = |forwarded: &str| from(world.at_issuer(Method::GET, SHOP, "/consent"), forwarded);
        // The client writes something new each time, and comes by one proxy or two.
        for (n, chain) in ["192.0.2.7", "192.0.2.7, 10.0.0.1", "192.0.2.7:4711, 10.0.0.2"].iter().enumerate() {
            assert_eq!(page(&format!("198.51.100.{n}, {chain}")).send().await.status(), 200, "{chain}");
        }
        assert_eq!(page("203.0.113.1, 192.0.2.7, 10.0.0.1").send().await.status(), 429);
        assert_eq!(page("192.0.2.7, 203.0.113.1").send().await.status(), 200);
        world.stop().await;
    }
}
