//! What a Brand is told of its grants (RFC 8417, RFC 8935): at least once, in order per grant, under one `jti`, whatever
//! becomes of receivers and nodes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use assent::app::App;
use assent::clock::Clock;
use assent::crypto::security_event;
use assent::domain::audit::{Action, RequestId};
use assent::domain::device::Decision;
use assent::domain::grant::{EndedBy, Grant};
use assent::domain::id::{BrandId, GrantId};
use assent::flow::admin::Run;
use assent::flow::admin::apply::{apply, parse};
use assent::flow::admin::grants::revoke;
use assent::flow::background::events::Couriers;
use assent::protocol::event::SecurityEventClaims;
use assent::store::{Decide, Decided};
use serde_json::{Value, json};

use crate::support::backend::{Backend, Script};
use crate::support::build::{entry, jane, scopes, user};
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::Tokens;
use crate::support::world::{CLUB, NOW, Party, SHOP, Setup, World, brand_table, interface_url, open_app, owner};

const BUILTIN: &str = "{ builtin = \"demo\" }";

fn status(status: u16) -> Script {
    Script { status, ..Script::json(json!({})) }
}

fn objection(err: &str) -> Script {
    Script { status: 400, ..Script::json(json!({ "err": err, "description": "no" })) }
}

fn table(brand: &str, login: &Party, receiver: &Backend) -> String {
    let events = format!("events = {{ url = \"{}\" }}\n", receiver.url());
    brand_table(brand, "Example Shop", BUILTIN, Some((login, &events)))
}

/// What a receiver was sent, in order, each token verified with the keys that the Brand publishes.
fn told(app: &App, brand: &str, receiver: &Backend) -> Vec<SecurityEventClaims> {
    let hosted = Arc::clone(app.directory.current().brand(&BrandId::parse(brand).unwrap()).unwrap());
    let read = |turn: crate::support::backend::SeenTurn| {
        assert_eq!(turn.header("content-type"), Some("application/secevent+jwt"));
        assert_eq!(turn.header("accept"), Some("application/json"));
        assert_eq!(turn.header("authorization"), None);
        let token = String::from_utf8(turn.body).unwrap();
        let issuer = format!("{}/oauth", interface_url(brand));
        security_event::verify(&token, hosted.ring.published(), &issuer, &receiver.url()).unwrap()
    };
    receiver.seen().into_iter().map(read).collect()
}

/// Of each grant its events in the order in which they were sent, by their numbers.
fn by_grant(told: &[SecurityEventClaims]) -> BTreeMap<String, Vec<u32>> {
    let mut all: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for claims in told {
        let (grant, number) = claims.jti.split_once('.').unwrap();
        all.entry(grant.to_owned()).or_default().push(number.parse().unwrap());
        assert!(claims.events.values().all(|told| told.grant_id == grant));
    }
    all
}

/// A node that only tells, when it is told to.
struct Node {
    app: Arc<App>,
    couriers: Couriers,
}

impl Node {
    async fn start(db: &Database, clock: &Clock) -> Self {
        Self { app: open_app(db, clock, &Setup::default()).await, couriers: Couriers::default() }
    }

    async fn apply(&self, file: &str) {
        apply(&self.app, &parse(file).unwrap(), &owner(), Run::Real).await.unwrap();
        self.app.directory.refresh(&self.app.store).await.unwrap();
    }

    /// Everything that can be told now is.
    async fn tell(&mut self) {
        self.couriers.look(&self.app).await.unwrap();
        self.couriers.all_back().await;
    }
}

/// The User decides anew on a grant of this version.
async fn redecide(db: &Database, grant: &Grant, version: i64, wanted: &str) {
    let device = db.requested().await;
    let grant = Grant { scopes: scopes(wanted), ..grant.clone() };
    let decided = db
        .decide(&Decide {
            decision: &Decision::Approve(grant.scopes.clone()),
            page_grant: Some(&(grant.id.clone(), version)),
            grant: &grant,
            evidence: &db.build.evidence(&device, &grant.brand_user),
            entry: &entry(Action::GrantChanged),
        })
        .await
        .unwrap();
    assert_eq!(decided, Decided::Done);
}

/// A grant that is made, changed and ended.
async fn whole_life(db: &Database, name: &str) -> Grant {
    let (_, grant) = db.approved_by(&user(name)).await;
    redecide(db, &grant, 1, "orders:read").await;
    assert!(db.end_grant(&grant.id, EndedBy::Administrator, &entry(Action::GrantEnded)).await.unwrap());
    grant
}

on_both_databases! {
    async fn while_the_receiver_is_down_and_the_node_restarts_each_event_arrives_in_order_under_one_jti(db: Database) {
        let (clock, receiver, login) = (Clock::manual(NOW), Backend::start().await, Party::new("https://login.example"));
        receiver.answer_with(status(503));
        let mut node = Node::start(&db, &clock).await;
        node.apply(&table(SHOP, &login, &receiver)).await;
        let (_, grant) = db.approved_by(&jane()).await;
        node.tell().await;
        redecide(&db, &grant, 1, "orders:read").await;
        let other = whole_life(&db, "joe").await;
        for _ in 0..4 {
            node.tell().await;
            let seen = receiver.seen().len();
            node.tell().await;
            assert_eq!(receiver.seen().len(), seen, "it is left alone for a while");
            clock.advance(Duration::from_secs(20));
        }
        drop(node);
        let mut node = Node::start(&db, &clock).await;
        receiver.answer_with(Script::hang_up());
        node.tell().await;
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let failed = told(&node.app, SHOP, &receiver);
        assert!(failed.len() >= 5 && by_grant(&failed).values().flatten().all(|number| *number == 1), "{failed:?}");
        assert_eq!(db.count("SELECT id FROM event").await, 6);

        receiver.answer_with(status(202));
        clock.advance(Duration::from_secs(60));
        node.tell().await;
        assert_eq!(db.count("SELECT id FROM event").await, 0);
        let told = told(&node.app, SHOP, &receiver);
        let orders = by_grant(&told);
        assert_eq!(orders.keys().cloned().collect::<HashSet<_>>(), HashSet::from([grant.id.to_string(), other.id.to_string()]));
        for numbers in orders.values() {
            assert!(numbers.is_sorted() && numbers.ends_with(&[1, 2, 3]), "{numbers:?}");
        }
        // The same event is the same claims, however often it was sent.
        let mut whole: BTreeMap<&str, &SecurityEventClaims> = BTreeMap::new();
        for claims in &told {
            assert_eq!(*whole.entry(&claims.jti).or_insert(claims), claims);
        }
        let of = |number: u32| serde_json::to_value(whole[format!("{}.{number}", grant.id).as_str()]).unwrap();
        let expected = |uri: &str, told: Value| json!({
            "iss": format!("{}/oauth", interface_url(SHOP)), "aud": receiver.url(), "iat": NOW.seconds(), "jti": of(1)["jti"],
            "sub_id": { "format": "iss_sub", "iss": "https://login.example", "sub": "jane-4471" }, "events": { uri: told },
        });
        let about = |more: Value| {
            let mut told = json!({ "grant_id": grant.id, "client_id": "https://pa.example.com" });
            told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            told
        };
        let expires = NOW.seconds() + 30 * 86_400;
        let created = about(json!({ "scope": "orders:read orders:cancel", "expires_at": expires }));
        assert_eq!(of(1), expected("urn:assent:event:grant-created", created));
        assert_eq!(of(2)["events"]["urn:assent:event:grant-changed"], about(json!({ "scope": "orders:read", "expires_at": expires })));
        assert_eq!(of(3)["events"]["urn:assent:event:grant-ended"], about(json!({ "ended_by": "user" })));
    }

    async fn two_nodes_at_once_tell_everything_in_order_and_once(db: Database) {
        let (clock, receiver, login) = (Clock::manual(NOW), Backend::start().await, Party::new("https://login.example"));
        receiver.answer_with(status(202));
        let mut node = Node::start(&db, &clock).await;
        node.apply(&table(SHOP, &login, &receiver)).await;
        let mut other = Node::start(&db, &clock).await;
        let mut grants = HashSet::new();
        for number in 0..12 {
            grants.insert(whole_life(&db, &format!("user-{number}")).await.id.to_string());
        }
        while db.count("SELECT id FROM event").await > 0 {
            tokio::join!(node.tell(), other.tell());
        }
        let orders = by_grant(&told(&node.app, SHOP, &receiver));
        assert_eq!(orders.keys().cloned().collect::<HashSet<_>>(), grants);
        assert!(orders.values().all(|numbers| *numbers == [1, 2, 3]), "{orders:?}");
    }

    async fn what_a_node_took_and_never_sent_is_another_nodes_after_the_lease(db: Database) {
        let (clock, receiver, login) = (Clock::manual(NOW), Backend::start().await, Party::new("https://login.example"));
        receiver.answer_with(status(202));
        let mut node = Node::start(&db, &clock).await;
        node.apply(&table(SHOP, &login, &receiver)).await;
        let grant = whole_life(&db, "jane").await;
        let now = clock.now();
        let taken = db.claim_events(&grant.brand, now, now.plus(Duration::from_secs(30)), 8).await.unwrap();
        assert_eq!(taken.iter().map(|event| event.id.clone()).collect::<Vec<_>>(), [format!("{}.1", grant.id)]);
        node.tell().await;
        assert_eq!(receiver.seen().len(), 0, "nor what comes after it");
        clock.advance(Duration::from_secs(30));
        node.tell().await;
        assert_eq!(by_grant(&told(&node.app, SHOP, &receiver))[grant.id.as_str()], [1, 2, 3]);
        // The first node comes to itself: what it says of its attempt changes nothing.
        db.event_failed(&taken[0], clock.now()).await.unwrap();
        assert_eq!(db.count("SELECT id FROM event").await, 0);
    }

    async fn a_dead_receiver_holds_up_no_other_brand(db: Database) {
        let (clock, login) = (Clock::manual(NOW), Party::new("https://login.example"));
        let (dead, alive) = (Backend::start().await, Backend::start().await);
        dead.answer_with(status(202).after(Duration::from_secs(4)));
        alive.answer_with(status(202));
        let mut node = Node::start(&db, &clock).await;
        let club = table(CLUB, &login, &alive).replace("Example Shop", "Book Club");
        node.apply(&format!("{}{club}", table(SHOP, &login, &dead))).await;
        whole_life(&db, "jane").await;
        for round in 1..=2 {
            let grant = Grant { brand: BrandId::parse(CLUB).unwrap(), ..db.build.grant(&user(&format!("joe-{round}"))) };
            let device = assent::domain::device::DeviceAuthorization { brand: grant.brand.clone(), ..db.build.device() };
            db.store_device(&device).await;
            let evidence = assent::store::Evidence { brand: grant.brand.clone(), ..db.build.evidence(&device, &grant.brand_user) };
            let decision = Decision::Approve(grant.scopes.clone());
            let entry = entry(Action::GrantCreated);
            let decide = Decide { decision: &decision, page_grant: None, grant: &grant, evidence: &evidence, entry: &entry };
            assert_eq!(db.decide(&decide).await.unwrap(), Decided::Done);
            // The other's courier is on its way all the while.
            node.couriers.look(&node.app).await.unwrap();
            dead.seen_at_least(1).await;
            alive.seen_at_least(round).await;
            while db.count("SELECT id FROM event WHERE brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAD'").await > 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(dead.seen().len(), 1);
            node.couriers.look(&node.app).await.unwrap();
        }
    }

    async fn an_objection_to_one_event_holds_up_its_grant_alone_and_one_to_all_the_receiver(db: Database) {
        let (clock, receiver, login) = (Clock::manual(NOW), Backend::start().await, Party::new("https://login.example"));
        let mut node = Node::start(&db, &clock).await;
        node.apply(&table(SHOP, &login, &receiver)).await;
        receiver.answer_with(objection("invalid_request"));
        let grant = whole_life(&db, "jane").await;
        node.tell().await;
        receiver.answer_with(status(202));
        whole_life(&db, "joe").await;
        node.tell().await;
        let of_jane = |told: &[SecurityEventClaims]| by_grant(told)[grant.id.as_str()].clone();
        let first = told(&node.app, SHOP, &receiver);
        assert_eq!((of_jane(&first), first.len()), (vec![1], 4));
        clock.advance(Duration::from_secs(2));
        node.tell().await;
        assert_eq!(of_jane(&told(&node.app, SHOP, &receiver)), [1, 1, 2, 3]);

        for script in [objection("invalid_key"), objection("access_denied"), status(200), status(404), status(302), Script::hang_up()] {
            receiver.answer_with(script.clone());
            let before = receiver.seen().len();
            let grant = whole_life(&db, &format!("user-{before}")).await;
            whole_life(&db, &format!("other-{before}")).await;
            node.tell().await;
            // Those that were on their way together, and no more.
            assert_eq!(receiver.seen().len(), before + 2, "{script:?}");
            node.tell().await;
            assert_eq!(receiver.seen().len(), before + 2, "{script:?}");
            receiver.answer_with(status(202));
            clock.advance(Duration::from_secs(2));
            node.tell().await;
            assert_eq!(by_grant(&told(&node.app, SHOP, &receiver))[grant.id.as_str()], [1, 1, 2, 3], "{script:?}");
            assert_eq!(db.count("SELECT id FROM event").await, 0);
        }
    }

    async fn an_event_is_given_up_with_an_audit_row_after_its_time_and_forgotten_when_nobody_wants_it(db: Database) {
        let (clock, receiver, login) = (Clock::manual(NOW), Backend::start().await, Party::new("https://login.example"));
        let node = Node::start(&db, &clock).await;
        node.apply(&table(SHOP, &login, &receiver)).await;
        let grant = whole_life(&db, "jane").await;
        let request = RequestId("sweep".to_owned());
        let later = NOW.plus(Duration::from_secs(1));
        assert_eq!(db.give_up_events(NOW, 100, &request, later).await.unwrap(), 0);
        assert_eq!(db.give_up_events(later, 2, &request, later).await.unwrap(), 2);
        assert_eq!(db.rows("SELECT id FROM event").await, [format!("id={}.3", grant.id)]);
        let rows = db.rows("SELECT actor_kind, subject FROM audit WHERE action = 'event_given_up' ORDER BY sequence").await;
        assert_eq!(rows, [1, 2].map(|number| format!("actor_kind=assent subject={}.{number}", grant.id)));
        node.apply(&brand_table(SHOP, "Example Shop", BUILTIN, Some((&login, "")))).await;
        assert_eq!(db.count("SELECT id FROM event").await, 0);
        whole_life(&db, "joe").await;
        assert_eq!(db.count("SELECT id FROM event").await, 0, "a Brand that does not ask is not told");
    }

    // case 56: and the Brand is told, whoever it was
    async fn every_way_in_which_a_grant_begins_changes_or_ends_is_told(db: Database) {
        let world = World::start(&db).await;
        let receiver = Backend::start().await;
        receiver.answer_with(status(503));
        let whole = table(SHOP, &world.brand_login, &receiver);
        world.apply(&whole).await;
        let rows = || db.rows("SELECT grant_id, what, ended_by, scopes FROM event ORDER BY happened_at, grant_id, grant_version");
        let mut expected = Vec::new();
        let mut told = |grant: &str, what: &str, by: &str, scopes: &str| {
            expected.push(format!("grant_id={grant} what={what} ended_by={by} scopes={scopes}"));
        };

        let first = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let grant = first.grant();
        told(&grant, "created", "NULL", "orders:read");
        world.advance(1);
        let more = world.tokens(SHOP, "user-1", "jane", &["orders:read", "orders:cancel"]).await;
        told(&grant, "changed", "NULL", "orders:read orders:cancel");
        // None of these changes what the grant is: a denial, a refresh, a theft, a message.
        let codes = world.codes(SHOP, "user-1", "refunds:issue").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        world.decide(SHOP, &page.session, "deny", &[]).await;
        let refreshed = Tokens::of(&world.refresh(SHOP, "user-1", &more.refresh).await);
        world.send(SHOP, "user-1", Some(&refreshed.access), "m-1", None, "Hello").await;
        world.advance(11);
        assert_eq!(world.refresh(SHOP, "user-1", &more.refresh).await.oauth_error(), "invalid_grant");
        // What the Brand no longer offers.
        let cancel = "{ id = \"orders:cancel\", description = \"Cancel an order\", writes = true },\n";
        world.apply(&whole.replace(cancel, "")).await;
        told(&grant, "changed", "NULL", "orders:read");
        world.apply(&whole).await;
        world.advance(1);
        // The personal agent.
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &first.refresh)]).await.assert_empty(200);
        told(&grant, "ended", "personal_agent", "orders:read");
        // The User, on their list and by leaving nothing ticked; an administrator.
        for by in ["user", "nothing", "administrator", "brand_change"] {
            world.advance(1);
            let grant = world.tokens(SHOP, "user-1", "jane", &["orders:cancel"]).await.grant();
            told(&grant, "created", "NULL", "orders:cancel");
            world.advance(1);
            match by {
                "user" => {
                    let list = world.grants(SHOP, "jane").await;
                    assert_eq!(world.revoke_on_page(SHOP, &list.session, &grant).await.status(), 200);
                }
                "nothing" => {
                    let codes = world.codes(SHOP, "user-1", "orders:cancel").await;
                    let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
                    assert_eq!(world.decide(SHOP, &page.session, "allow", &[]).await.status(), 303);
                }
                "administrator" => {
                    revoke(&world.app, &owner(), &GrantId::parse(grant.clone()).unwrap()).await.unwrap();
                }
                _ => {
                    world.apply(&whole.replace(cancel, "")).await;
                    world.apply(&whole).await;
                }
            }
            told(&grant, "ended", if by == "nothing" { "user" } else { by }, "orders:cancel");
        }
        assert_eq!(rows().await, expected);

        // The running server tells all of it once the receiver is back.
        receiver.answer_with(status(202));
        let seen = receiver.seen().len();
        for _ in 0..200 {
            world.advance(60);
            tokio::time::sleep(Duration::from_millis(50)).await;
            if db.count("SELECT id FROM event").await == 0 {
                break;
            }
        }
        let orders = by_grant(&self::told(&world.app, SHOP, &receiver)[seen..]);
        assert_eq!(orders.values().map(Vec::len).sum::<usize>(), expected.len());
        assert!(orders.values().all(|numbers| numbers.is_sorted()), "{orders:?}");
        world.stop().await;
    }
}
