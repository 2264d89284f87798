//! How little a stranger can make a Provider do.

use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use super::{accepted, ask, refused, strangers};
use crate::support::database::on_both_databases;
use crate::support::origin::{CONFIGURATION, KEYS, Origin, Reply};
use crate::support::world::{AUDIENCE, PROVIDER, Party, SHOP, Setup, World};

on_both_databases! {
    async fn an_issuer_that_is_no_origin_in_its_one_spelling_is_not_asked_for(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (origin, pa) = Origin::of_personal_agent();
        let port = origin.address.port();
        let before = db.contents().await;
        for issuer in [
            format!("{}/", pa.issuer), format!("{}/pa", pa.issuer), format!("{}?x=1", pa.issuer),
            format!("{}#x", pa.issuer), format!("HTTP://127.0.0.1:{port}"), format!("http://LOCALHOST:{port}"),
            format!("http://localhost.:{port}"), format!("http://user@127.0.0.1:{port}"),
            format!("http://user:secret@127.0.0.1:{port}"), format!("http://0x7f.1:{port}"),
            format!("http://2130706433:{port}"), format!("http://0177.0.0.1:{port}"), format!("http://127.1:{port}"),
            format!("http://127.0.0.1.:{port}"), format!("http://[::ffff:127.0.0.1]:{port}"),
            format!("http://%31%32%37.0.0.1:{port}"), format!("http://①②⑦.0.0.1:{port}"),
            format!("http://127.0.0.1:0{port}"), format!(" http://127.0.0.1:{port}"), format!("http:127.0.0.1:{port}"),
            format!("http:\\\\127.0.0.1:{port}"), format!("//127.0.0.1:{port}"), format!("127.0.0.1:{port}"),
            format!("ws://127.0.0.1:{port}"), "http://bücher.example".to_owned(), "https://PA.example.com".to_owned(),
            "https://pa.example.com:443".to_owned(), "file:///etc/passwd".to_owned(), "urn:pa:1".to_owned(),
        ] {
            refused(&world, &Party::new(&issuer)).await;
        }
        assert_eq!((origin.connections(), db.contents().await), (0, before));
        accepted(&world, &pa).await;
        world.stop().await;
    }

    async fn a_token_that_no_keys_could_save_is_worth_no_lookup(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (origin, pa) = Origin::of_personal_agent();
        let now = world.clock.now().seconds();
        let before = db.contents().await;
        let good = json!({ "iss": pa.issuer, "sub": "user-1", "aud": AUDIENCE, "iat": now, "exp": now + 120 });
        for (name, value) in [
            ("aud", json!("https://x.example")), ("aud", json!([AUDIENCE])), ("aud", json!(null)), ("sub", json!("")),
            ("sub", json!(7)), ("exp", json!(now - 31)), ("exp", json!(now + 301)), ("iat", json!(now + 31)),
            ("nbf", json!(now + 60)), ("exp", json!("soon")), ("iat", json!(null)),
        ] {
            let mut claims = good.clone();
            claims[name] = value;
            ask(&world, &pa.signer.sign_claims("JWT", &claims).unwrap()).await.assert_unauthenticated();
        }
        ask(&world, &pa.signer.sign_claims("at+jwt", &good).unwrap()).await.assert_unauthenticated();
        assert_eq!((origin.connections(), db.contents().await), (0, before));
        ask(&world, &pa.signer.sign_claims("JWT", &good).unwrap()).await.json();
        world.stop().await;
    }

    async fn a_failure_is_remembered_for_five_minutes(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        for path in [CONFIGURATION, KEYS] {
            world.advance(1);
            let (origin, pa) = Origin::of_personal_agent();
            let honest = match path {
                CONFIGURATION => Reply::json(origin.configuration()),
                _ => Reply::json(pa.jwks()),
            };
            origin.reply(path, Reply::html());
            refused(&world, &pa).await;
            let connections = origin.connections();
            origin.reply(path, honest);
            for _ in 0..4 {
                world.advance(74);
                refused(&world, &pa).await;
            }
            assert_eq!(origin.connections(), connections, "{path}");
            world.advance(4);
            accepted(&world, &pa).await;
        }
        world.stop().await;
    }

    async fn twenty_first_requests_at_once_are_one_lookup_and_one_row(db: Database) {
        let setup = Setup::open("");
        let world = World::start_as(&db, &setup).await;
        let other = world.another_node_as(&db, &setup).await;
        let (origin, pa) = Origin::of_personal_agent();
        let requests = (0..20).map(|n| accepted(if n % 2 == 0 { &world } else { &other }, &pa));
        join_all(requests).await;
        assert_eq!(strangers(&db).await.len(), 1);
        assert_eq!(db.audit_actions(&pa.issuer).await.unwrap(), ["personal_agent_registered"]);
        assert_eq!((origin.asked(CONFIGURATION), origin.asked(KEYS)), (2, 2), "once for each node");
        world.stop().await;
        other.stop().await;
    }

    async fn a_full_provider_looks_nobody_up(db: Database) {
        let world = World::start_as(&db, &Setup::open("max_personal_agents = 3\nlookups_per_second = 20")).await;
        let (first, second) = (Origin::of_personal_agent(), Origin::of_personal_agent());
        accepted(&world, &first.1).await;
        world.advance(1);
        let before = db.contents().await;
        refused(&world, &second.1).await;
        assert_eq!((second.0.connections(), db.contents().await), (0, before));
        accepted(&world, &first.1).await;
        accepted(&world, &world.pa).await;
        let wider = world.another_node_as(&db, &Setup::open("max_personal_agents = 4")).await;
        accepted(&wider, &second.1).await;
        world.stop().await;
        wider.stop().await;
    }

    async fn a_flood_of_strangers_holds_up_no_known_agent_and_makes_one_lookup_a_second(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (slow, slow_pa) = Origin::of_personal_agent();
        slow.reply(CONFIGURATION, Reply::Silence);
        let (known, known_pa) = Origin::of_personal_agent();
        accepted(&world, &known_pa).await;
        world.advance(1);

        // One lookup hangs; whoever waits for it hangs with it.
        let (tokens, path) = (world.jwt_of(&slow_pa, "user-1"), format!("/a2a/{SHOP}/tasks"));
        let hanging: Vec<_> = (0..10).map(|_| {
            let request = world.ask(Method::GET, PROVIDER, &path).bearer(&tokens);
            tokio::spawn(async move { request.send().await.status() })
        }).collect();
        while slow.asked(CONFIGURATION) == 0 {
            tokio::task::yield_now().await;
        }

        // Two hundred others are turned away at once, and those who are known are answered among them.
        let others = Origin::start(None);
        let port = others.address.port();
        let mut stranger = Party::new("");
        let flood = (0..200).map(|n| {
            stranger.issuer = format!("http://s-{n}.localhost:{port}");
            let token = world.jwt_of(&stranger, "user-1");
            let world = &world;
            async move { ask(world, &token).await.assert_unauthenticated() }
        });
        let known_agents = async {
            accepted(&world, &known_pa).await;
            accepted(&world, &world.pa).await;
            assert!(hanging.iter().all(|request| !request.is_finished()), "nobody waited for the lookup to end");
            for _ in 0..20 {
                accepted(&world, &known_pa).await;
                accepted(&world, &world.pa).await;
            }
        };
        tokio::join!(join_all(flood), known_agents);
        assert_eq!((known.asked(CONFIGURATION), others.connections(), slow.asked(CONFIGURATION)), (1, 0, 1));
        assert_eq!(strangers(&db).await.len(), 1);
        for request in hanging {
            request.abort();
        }
        world.stop().await;
    }
}
