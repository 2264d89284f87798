//! `personal_agents = "open"` (PACT §3.1): who may introduce itself, what is asked of it, and what never happens for it.

mod bounds;

use assent::outbound::Method;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::{Database, Kind, on_both_databases};
use crate::support::keys::KeyServer;
use crate::support::origin::{CONFIGURATION, KEYS, Origin, Reply};
use crate::support::world::{PROVIDER, Party, SHOP, Setup, World, personal_agent_table};

/// One request to the interface.
async fn ask(world: &World, token: &str) -> Answer {
    world.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(token).send().await
}

async fn accepted(world: &World, pa: &Party) {
    let answer = ask(world, &world.jwt_of(pa, "user-1")).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// The bare 401, on the interface and at the authorization server.
async fn refused(world: &World, pa: &Party) {
    let token = world.jwt_of(pa, "user-1");
    ask(world, &token).await.assert_unauthenticated();
    world.at_issuer(Method::POST, SHOP, "/token").form(&[]).bearer(&token).send().await.assert_unauthenticated();
}

/// What an origin answers in place of its OpenID configuration.
type Document<'a> = Box<dyn Fn(&Origin) -> Reply + 'a>;

/// The rows of personal agents that nobody but themselves registered.
async fn strangers(db: &Database) -> Vec<String> {
    db.rows("SELECT issuer, name, jwks_uri, enabled FROM personal_agent WHERE name LIKE 'http%' ORDER BY issuer").await
}

on_both_databases! {
    async fn a_stranger_that_proves_who_it_is_gets_a_row_that_outlives_the_process(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (origin, pa) = Origin::of_personal_agent();
        accepted(&world, &pa).await;
        let enabled = if db.kind == Kind::Sqlite { "1" } else { "true" };
        let row = format!("issuer={0} name={0} jwks_uri={0}/jwks.json enabled={enabled}", pa.issuer);
        assert_eq!(strangers(&db).await, [row]);
        assert_eq!(db.audit_actions(&pa.issuer).await.unwrap(), ["personal_agent_registered"]);
        let audit = db.rows("SELECT actor_kind, actor, request_id, brand_id FROM audit WHERE action = 'personal_agent_registered'").await;
        assert_eq!(audit.len(), 1);
        assert!(audit[0].starts_with(&format!("actor_kind=personal_agent actor={} request_id=", pa.issuer)), "{audit:?}");
        assert!(!audit[0].contains("request_id= "), "{audit:?}");

        for _ in 0..3 {
            accepted(&world, &pa).await;
        }
        let before = db.contents().await;
        world.app.directory.refresh(&world.app.store).await.unwrap();
        let (other, closed) = (world.another_node_as(&db, &Setup::open("")).await, world.another_node(&db).await);
        accepted(&other, &pa).await;
        // A Provider that closes again keeps those who came while it was open.
        accepted(&closed, &pa).await;
        assert_eq!(db.contents().await, before);
        assert_eq!(origin.asked(CONFIGURATION), 1);
        assert_eq!(origin.asked(KEYS), 3, "once for each node");
        for node in [world, other, closed] {
            node.stop().await;
        }
    }

    async fn a_user_sees_the_origin_and_nothing_of_what_the_document_says(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (_origin, pa) = Origin::of_personal_agent();
        let asked = world.oauth_as(&pa, SHOP, "/device_authorization", "user-1", &[("scope", "orders:read")]).await;
        let code = asked.oauth_json()["user_code"].as_str().unwrap().to_owned();
        let page = world.post_assertion(SHOP, &world.assertion(SHOP, "jane", &code, json!({}))).await;
        assert_eq!(page.status(), 200);
        let html = page.text();
        let heading = html.split_once("<h1").unwrap().1.split_once("</h1>").unwrap().0;
        assert_eq!(heading.matches(&pa.issuer).count(), 1, "{heading}");
        assert!(!html.contains("canary"));
        world.stop().await;
    }

    async fn where_only_registered_agents_may_call_nobody_is_asked_who_they_are(db: Database) {
        let world = World::start(&db).await;
        let (origin, pa) = Origin::of_personal_agent();
        let before = db.contents().await;
        refused(&world, &pa).await;
        assert_eq!((origin.connections(), db.contents().await), (0, before));
        world.stop().await;
    }

    // case 18
    async fn a_document_that_is_not_the_issuers_own_or_leads_to_no_keys_registers_nobody(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let before = db.contents().await;
        let (elsewhere, _) = Origin::of_personal_agent();
        let good = |origin: &Origin| origin.configuration();
        let with = |origin: &Origin, name: &str, value: serde_json::Value| {
            let mut document = good(origin);
            document[name] = value;
            Reply::json(document)
        };
        let large = |origin: &Origin| Reply::json(format!("{}{}", " ".repeat(65_536), good(origin)));
        let twice = |origin: &Origin, first: &str| {
            let text = good(origin).to_string();
            Reply::json(text.replacen('{', &format!("{{{first},"), 1))
        };
        let documents: Vec<(&str, Document<'_>)> = vec![
            ("another issuer", Box::new(|o| with(o, "issuer", json!(elsewhere.url(""))))),
            ("a trailing slash", Box::new(|o| with(o, "issuer", json!(o.url("/"))))),
            ("capitals", Box::new(|o| with(o, "issuer", json!(o.url("").to_uppercase())))),
            ("an array", Box::new(|o| with(o, "issuer", json!([o.url("")])))),
            ("two issuers", Box::new(|o| twice(o, "\"issuer\":\"https://x.example\""))),
            ("the same issuer twice", Box::new(|o| twice(o, &format!("\"issuer\":\"{}\"", o.url(""))))),
            ("a document of another", Box::new(|_| Reply::json(elsewhere.configuration()))),
            ("no jwks_uri", Box::new(|o| Reply::json(json!({ "issuer": o.url("") })))),
            ("a jwks_uri that is null", Box::new(|o| with(o, "jwks_uri", json!(null)))),
            ("a relative jwks_uri", Box::new(|_| Reply::json(json!({ "jwks_uri": "/jwks.json" })))),
            ("a jwks_uri of another scheme", Box::new(|o| with(o, "jwks_uri", json!("ftp://127.0.0.1/jwks.json")))),
            ("a file", Box::new(|o| with(o, "jwks_uri", json!("file:///etc/passwd")))),
            ("credentials", Box::new(|o| with(o, "jwks_uri", json!(format!("http://u:p@{}/jwks.json", o.address))))),
            ("keys that are not there", Box::new(|o| with(o, "jwks_uri", json!(o.url("/nothing"))))),
            ("keys that are a page", Box::new(|o| { o.reply(KEYS, Reply::html()); Reply::json(good(o)) })),
            ("keys behind a redirect", Box::new(|o| {
                o.reply("/moved", Reply::redirect("302", &o.url(KEYS)));
                with(o, "jwks_uri", json!(o.url("/moved")))
            })),
            ("no keys", Box::new(|o| { o.reply(KEYS, Reply::json("{\"keys\":[]}")); Reply::json(good(o)) })),
            ("keys of another", Box::new(|o| { o.reply(KEYS, Reply::json(Party::new("x").jwks())); Reply::json(good(o)) })),
            ("a redirect to where it is", Box::new(|_| Reply::redirect("301", &elsewhere.url(CONFIGURATION)))),
            ("a page", Box::new(|_| Reply::html())),
            ("plain text", Box::new(|o| Reply::of("200 OK", "text/plain", good(o).to_string().as_bytes()))),
            ("another status", Box::new(|o| Reply::of("203 X", "application/json", good(o).to_string().as_bytes()))),
            ("an error", Box::new(|o| Reply::of("500 X", "application/json", good(o).to_string().as_bytes()))),
            ("nothing there", Box::new(|_| Reply::of("404 Not Found", "text/html", b""))),
            ("nothing", Box::new(|_| Reply::Whole(Vec::new()))),
            ("half of it", Box::new(|_| Reply::Whole(Reply::head()))),
            ("too much", Box::new(large)),
            ("no end", Box::new(|_| Reply::Endless(Reply::head()))),
            ("a byte now and then", Box::new(|_| Reply::Drip(Reply::head()))),
            ("not an object", Box::new(|o| Reply::json(json!([good(o)])))),
            ("{}", Box::new(|_| Reply::json("{}"))),
            ("something behind it", Box::new(|o| Reply::json(format!("{}{{}}", good(o))))),
            ("compressed", Box::new(|o| {
                let Reply::Whole(bytes) = Reply::json(good(o)) else { unreachable!() };
                let text = String::from_utf8(bytes).unwrap();
                Reply::Whole(text.replacen("\r\n", "\r\ncontent-encoding: gzip\r\n", 1).replace('{', "\u{1f}").into_bytes())
            })),
        ];
        for (what, document) in documents {
            world.advance(1);
            let (origin, pa) = Origin::of_personal_agent();
            origin.reply(CONFIGURATION, document(&origin));
            refused(&world, &pa).await;
            assert_eq!(origin.asked(CONFIGURATION), 1, "{what}");
            assert!(origin.written() < 32 << 20, "{what}: more than the buffers of the sockets hold");
            assert_eq!(db.contents().await, before, "{what}");
        }
        assert_eq!(elsewhere.connections(), 0);
        // The same server with nothing wrong is taken.
        world.advance(1);
        accepted(&world, &Origin::of_personal_agent().1).await;
        world.stop().await;
    }

    async fn a_wrong_signature_registers_nobody_and_keeps_nobody_out(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (origin, pa) = Origin::of_personal_agent();
        let imposter = Party::new(&pa.issuer);
        let before = db.contents().await;
        for _ in 0..5 {
            refused(&world, &imposter).await;
        }
        assert_eq!(db.contents().await, before);
        accepted(&world, &pa).await;
        refused(&world, &imposter).await;
        assert_eq!((strangers(&db).await.len(), origin.asked(CONFIGURATION)), (1, 1));
        world.stop().await;
    }

    async fn a_disabled_stranger_stays_out_on_every_node_and_after_a_restart(db: Database) {
        let setup = Setup::open("");
        let world = World::start_as(&db, &setup).await;
        let (origin, pa) = Origin::of_personal_agent();
        accepted(&world, &pa).await;
        let other = world.another_node_as(&db, &setup).await;
        accepted(&other, &pa).await;
        world.apply(&personal_agent_table(&pa.issuer, "Bad agent", &origin.url(KEYS), false)).await;
        other.app.directory.refresh(&other.app.store).await.unwrap();
        let (before, asked) = (db.contents().await, origin.connections());
        let restarted = world.another_node_as(&db, &setup).await;
        for node in [&world, &other, &restarted] {
            refused(node, &pa).await;
            world.advance(400);
            refused(node, &pa).await;
        }
        assert_eq!((db.contents().await, origin.connections()), (before, asked));
        world.apply(&personal_agent_table(&pa.issuer, "Good agent", &origin.url(KEYS), true)).await;
        accepted(&world, &pa).await;
        for node in [world, other, restarted] {
            node.stop().await;
        }
    }

    async fn an_agent_that_an_administrator_registered_is_judged_by_that_alone(db: Database) {
        let world = World::start_as(&db, &Setup::open("")).await;
        let (origin, says_so) = Origin::of_personal_agent();
        let registered = Party::new(&says_so.issuer);
        let keys = KeyServer::start(registered.jwks()).await;
        world.apply(&personal_agent_table(&registered.issuer, "Known agent", &keys.url(), true)).await;
        let before = db.contents().await;
        refused(&world, &says_so).await;
        accepted(&world, &registered).await;
        assert_eq!((origin.connections(), db.contents().await), (0, before));
        world.stop().await;
    }

    async fn what_another_node_made_of_a_stranger_counts_before_this_node_has_seen_it(db: Database) {
        let setup = Setup::open("");
        let world = World::start_as(&db, &setup).await;
        let (origin, pa) = Origin::of_personal_agent();
        let other = world.another_node_as(&db, &setup).await;
        other.apply(&personal_agent_table(&pa.issuer, "Bad agent", &origin.url(KEYS), false)).await;
        let before = db.contents().await;
        refused(&world, &pa).await;
        assert_eq!(db.contents().await, before);
        assert!(origin.asked(CONFIGURATION) <= 1, "or none, when this node was quick to see it");
        other.stop().await;
        world.stop().await;
    }
}
