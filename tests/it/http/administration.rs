//! What administrators see and do, as flows on a running Provider: who may, what it means at once and on another node.

use std::collections::BTreeSet;
use std::time::Duration;

use assent::crypto::jwks::KeySet;
use assent::crypto::receipt;
use assent::domain::administrator::{Access, Reach, Role};
use assent::domain::audit::{Actor, RequestId};
use assent::domain::id::{BrandId, GrantId, Issuer, KeyId};
use assent::domain::page::{Direction, Paging, Sort};
use assent::domain::signing_key::KeyState;
use assent::flow::admin::apply::{ApplyOutcome, apply, parse};
use assent::flow::admin::brands::{self, Removed};
use assent::flow::admin::grants::{self, RevokedAll};
use assent::flow::admin::keys::{self, KeyRecord, Leaves, Left, Rotated};
use assent::flow::admin::personal_agents::{self, Put, Wanted};
use assent::flow::admin::{By, Run, Verdict, overview, receipts};
use assent::outbound::Method;
use assent::store::{
    BrandFilter, BrandSort, GrantFilter, GrantSort, GrantStanding, PersonalAgentFilter, PersonalAgentSort,
    ReceiptFilter,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use url::Url;

use crate::support::database::on_both_databases;
use crate::support::flow::{Tokens, claims};
use crate::support::world::{AIRLINE, CLUB, PLAIN, PROVIDER, SHOP, World, brand_table, owner, personal_agent_table};

fn brand(id: &str) -> BrandId {
    BrandId::parse(id).unwrap()
}

fn by(role: Role, reach: Reach) -> By {
    let access = Access { role, reach };
    By { actor: Actor::Administrator("somebody".to_owned()), access, request: RequestId("r".to_owned()) }
}

fn at(role: Role, id: &str) -> By {
    by(role, Reach::Brands(BTreeSet::from([brand(id)])))
}

fn first<S: Sort>() -> Paging<S> {
    Paging::new(S::ALL[0], Direction::Descending, 100, None).unwrap()
}

/// What became of something, without what it was.
fn verdict<T>(verdict: Verdict<T>) -> Verdict<()> {
    match verdict {
        Verdict::Done(_) => Verdict::Done(()),
        Verdict::Forbidden => Verdict::Forbidden,
        Verdict::NotThere => Verdict::NotThere,
    }
}

fn done<T: std::fmt::Debug>(verdict: Verdict<T>) -> T {
    match verdict {
        Verdict::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

/// An enum with the list of its variants.
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum $name { $($variant),* }

        impl $name {
            const ALL: &[Self] = &[$(Self::$variant),*];
        }
    };
}

listed! {
    /// What can be asked about a Brand, or something of it.
    Asked {
        ListGrants, CountGrants, ShowGrant, Tokens, ListReceipts, ReceiptsOfGrant, ShowBrand, ListKeys, CountLive,
        Revoke, RevokeAll, Rotate, Retire, Compromise, ApplyBrand, RemoveBrand,
    }
}

impl Asked {
    const fn changes(self) -> bool {
        match self {
            Self::ListGrants | Self::CountGrants | Self::ShowGrant | Self::Tokens | Self::ListReceipts => false,
            Self::ReceiptsOfGrant | Self::ShowBrand | Self::ListKeys | Self::CountLive => false,
            Self::Revoke | Self::RevokeAll | Self::Rotate | Self::Retire | Self::Compromise => true,
            Self::ApplyBrand | Self::RemoveBrand => true,
        }
    }
}

listed! {
    /// What can be asked about what is the Provider's as a whole.
    AskedOfAll { ListAgents, ShowAgent, RegisterAgent, ChangeAgent, DisableAgent, EnableAgent, ApplyAgent, ApplyNewBrand }
}

impl AskedOfAll {
    const fn changes(self) -> bool {
        match self {
            Self::ListAgents | Self::ShowAgent => false,
            Self::RegisterAgent | Self::ChangeAgent | Self::DisableAgent | Self::EnableAgent => true,
            Self::ApplyAgent | Self::ApplyNewBrand => true,
        }
    }
}

/// What there is of the shop.
struct Shop {
    grant: GrantId,
    key: KeyId,
}

async fn ask(world: &World, by: &By, shop: &Shop, asked: Asked) -> Verdict<()> {
    let app = &world.app;
    let id = brand(SHOP);
    let of_shop = GrantFilter { brand: Some(id.clone()), ..GrantFilter::default() };
    match asked {
        Asked::ListGrants => verdict(grants::list(app, by, &of_shop, &first()).await.unwrap()),
        Asked::CountGrants => verdict(grants::count(app, by, &of_shop).await.unwrap()),
        Asked::CountLive => verdict(grants::count_live(app, by, &of_shop).await.unwrap()),
        Asked::ShowGrant => verdict(grants::show(app, by, &shop.grant).await.unwrap()),
        Asked::Tokens => verdict(grants::tokens(app, by, &shop.grant, &first()).await.unwrap()),
        Asked::ListReceipts => {
            let filter = ReceiptFilter { brand: Some(id), ..ReceiptFilter::default() };
            verdict(receipts::list(app, by, &filter, &first()).await.unwrap())
        }
        Asked::ReceiptsOfGrant => {
            let filter = ReceiptFilter { grant: Some(shop.grant.clone()), ..ReceiptFilter::default() };
            verdict(receipts::list(app, by, &filter, &first()).await.unwrap())
        }
        Asked::ShowBrand => verdict(brands::show(app, by, &id).await.unwrap()),
        Asked::ListKeys => verdict(keys::list(app, by, Some(&id), &first()).await.unwrap()),
        Asked::Revoke => verdict(grants::revoke(app, by, &shop.grant).await.unwrap()),
        Asked::RevokeAll => verdict(grants::revoke_all(app, by, &of_shop, None).await.unwrap()),
        Asked::Rotate => verdict(keys::rotate(app, by, &id, false).await.unwrap()),
        Asked::Retire => verdict(keys::take_out(app, by, &shop.key, Leaves::Retired, true, Run::Real).await.unwrap()),
        Asked::Compromise => {
            verdict(keys::take_out(app, by, &shop.key, Leaves::Compromised, true, Run::Real).await.unwrap())
        }
        Asked::ApplyBrand => {
            let file = parse(&brand_table(SHOP, "Renamed Shop", "{ builtin = \"demo\" }", None)).unwrap();
            verdict(apply(app, &file, by, Run::Real).await.unwrap())
        }
        Asked::RemoveBrand => verdict(brands::remove(app, by, &id, "Renamed Shop").await.unwrap()),
    }
}

async fn ask_of_all(world: &World, by: &By, asked: AskedOfAll) -> Verdict<()> {
    let app = &world.app;
    let issuer = Issuer::parse(world.pa.issuer.as_str()).unwrap();
    let new = Issuer::parse("https://new.example").unwrap();
    let url = Url::parse("https://new.example/jwks.json").unwrap();
    let put =
        async |issuer: &Issuer, wanted: Wanted| verdict(personal_agents::put(app, by, issuer, &wanted).await.unwrap());
    match asked {
        AskedOfAll::ListAgents => {
            verdict(personal_agents::list(app, by, &PersonalAgentFilter::default(), &first()).await.unwrap())
        }
        AskedOfAll::ShowAgent => verdict(personal_agents::show(app, by, &issuer).await.unwrap()),
        AskedOfAll::RegisterAgent => put(&new, Wanted::Registered { name: "New".to_owned(), jwks_uri: url }).await,
        AskedOfAll::ChangeAgent => put(&issuer, Wanted::Changed { name: Some("X".to_owned()), jwks_uri: None }).await,
        AskedOfAll::DisableAgent => put(&issuer, Wanted::Enabled(false)).await,
        AskedOfAll::EnableAgent => put(&issuer, Wanted::Enabled(true)).await,
        AskedOfAll::ApplyAgent => {
            let file = parse(&personal_agent_table("https://new.example", "New", url.as_str(), false)).unwrap();
            verdict(apply(app, &file, by, Run::Real).await.unwrap())
        }
        AskedOfAll::ApplyNewBrand => {
            let table = brand_table("01M3R53Q5SZQ6FQSMSDBSSREAE", "New Brand", "{ builtin = \"demo\" }", None);
            verdict(apply(app, &parse(&table).unwrap(), by, Run::Real).await.unwrap())
        }
    }
}

async fn shop(world: &World) -> (Shop, Tokens) {
    let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
    let key = signing(world, SHOP).await.id;
    (Shop { grant: GrantId::parse(tokens.grant()).unwrap(), key }, tokens)
}

async fn all_keys(world: &World, id: &str) -> Vec<KeyRecord> {
    done(keys::list(&world.app, &owner(), Some(&brand(id)), &first()).await.unwrap()).items
}

/// The key that signs for a Brand now.
async fn signing(world: &World, id: &str) -> KeyRecord {
    let mut signing: Vec<_> = all_keys(world, id).await.into_iter().filter(|key| key.signs).collect();
    assert_eq!(signing.len(), 1);
    signing.remove(0)
}

async fn jwks(world: &World, id: &str) -> KeySet {
    KeySet::parse(&world.at_issuer(Method::GET, id, "/jwks.json").send().await.0.body).unwrap()
}

/// The `kid` of a JWT.
fn kid(token: &str) -> String {
    use base64::Engine as _;
    let header = token.split('.').next().unwrap();
    let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["kid"].as_str().unwrap().to_owned()
}

async fn see(nodes: &[&World]) {
    for node in nodes {
        node.app.directory.refresh(&node.app.store).await.unwrap();
    }
}

/// Tokens, a message under them and a refresh, all of which must work. Returns with which keys they were signed.
async fn in_use(nodes: &[&World], n: usize, turn: usize) -> BTreeSet<String> {
    let (here, there) = (nodes[n % nodes.len()], nodes[(n + 1) % nodes.len()]);
    let sub = format!("user-{n}-{turn}");
    let tokens = here.tokens(SHOP, &sub, &sub, &["orders:read"]).await;
    let reply = there.send(SHOP, &sub, Some(&tokens.access), "m-1", None, "Where is my order?").await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    let receipt = reply.json()["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
    let refreshed = Tokens::of(&there.refresh(SHOP, &sub, &tokens.refresh).await);
    let again = here.send(SHOP, &sub, Some(&refreshed.access), "m-2", None, "Where is my order?").await;
    assert_eq!(again.status(), 200, "{}", again.text());
    let published = jwks(there, SHOP).await;
    assert!(receipt::verify(&receipt, &published, None).is_ok());
    [tokens.access, refreshed.access, receipt].iter().map(|token| kid(token)).collect()
}

on_both_databases! {
    // case 77
    async fn whoever_only_reads_changes_nothing_and_another_brands_objects_are_not_there(db: Database) {
        let world = World::start(&db).await;
        let (shop, _) = shop(&world).await;
        let before = db.contents().await;
        for asked in Asked::ALL {
            let expected = if asked.changes() { Verdict::Forbidden } else { Verdict::Done(()) };
            assert_eq!(ask(&world, &at(Role::Auditor, SHOP), &shop, *asked).await, expected, "{asked:?}");
            assert_eq!(ask(&world, &by(Role::Auditor, Reach::All), &shop, *asked).await, expected, "{asked:?}");
            let elsewhere = if asked.changes() { Verdict::Forbidden } else { Verdict::NotThere };
            assert_eq!(ask(&world, &at(Role::Auditor, AIRLINE), &shop, *asked).await, elsewhere, "{asked:?}");
            for role in [Role::Operator, Role::Owner] {
                assert_eq!(ask(&world, &at(role, AIRLINE), &shop, *asked).await, Verdict::NotThere, "{asked:?}");
            }
        }
        for asked in AskedOfAll::ALL {
            for role in Role::ALL {
                let expected =
                    if asked.changes() && role == Role::Auditor { Verdict::Forbidden } else { Verdict::NotThere };
                assert_eq!(ask_of_all(&world, &at(role, SHOP), *asked).await, expected, "{asked:?}");
            }
            let expected = if asked.changes() { Verdict::Forbidden } else { Verdict::Done(()) };
            assert_eq!(ask_of_all(&world, &by(Role::Auditor, Reach::All), *asked).await, expected, "{asked:?}");
        }
        // Lists show nothing of a Brand out of reach, and no name of a grant tells whether there is one.
        let elsewhere = at(Role::Operator, AIRLINE);
        let any = GrantFilter::default();
        assert_eq!(done(grants::list(&world.app, &elsewhere, &any, &first()).await.unwrap()).items, []);
        assert_eq!(done(grants::count(&world.app, &elsewhere, &any).await.unwrap()).grants, 0);
        let none = RevokedAll::Done { ended: 0, already_ended: 0, brands: 0 };
        assert_eq!(done(grants::revoke_all(&world.app, &elsewhere, &any, None).await.unwrap()), none);
        assert_eq!(done(receipts::list(&world.app, &elsewhere, &ReceiptFilter::default(), &first()).await.unwrap()).items, []);
        assert_eq!(done(overview::overview(&world.app, &elsewhere).await.unwrap()).live.grants, 0);
        let seen = done(brands::list(&world.app, &elsewhere, &BrandFilter::default(), &first::<BrandSort>()).await.unwrap());
        assert_eq!(seen.items.iter().map(|seen| seen.brand.id.as_str()).collect::<Vec<_>>(), [AIRLINE]);
        let seen = done(keys::list(&world.app, &elsewhere, None, &first()).await.unwrap());
        assert!(seen.items.iter().all(|key| key.brand.as_str() == AIRLINE) && !seen.items.is_empty());
        assert_eq!(db.contents().await, before);

        for asked in Asked::ALL {
            assert_eq!(ask(&world, &at(Role::Operator, SHOP), &shop, *asked).await, Verdict::Done(()), "{asked:?}");
        }
        for asked in AskedOfAll::ALL {
            assert_eq!(ask_of_all(&world, &by(Role::Operator, Reach::All), *asked).await, Verdict::Done(()), "{asked:?}");
        }
        world.stop().await;
    }

    // cases 56 and 78
    async fn all_grants_of_a_personal_agent_end_at_once_everywhere_once_their_count_was_seen(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let filter = GrantFilter { issuer: Some(Issuer::parse(world.pa.issuer.as_str()).unwrap()), ..GrantFilter::default() };
        let mut all = Vec::new();
        for n in 0..3 {
            for id in [SHOP, AIRLINE] {
                let sub = format!("user-{n}");
                all.push((id, sub.clone(), world.tokens(id, &sub, &sub, &["orders:read"]).await));
            }
        }
        let codes = world.codes(SHOP, "user-0", "orders:read").await;
        world.allow(SHOP, "user-0", &codes, &["orders:read"]).await;
        let foreign = {
            let codes = world.oauth_as(&world.other_pa, SHOP, "/device_authorization", "x", &[("scope", "orders:read")]).await;
            let codes = codes.oauth_json();
            let page = world.sign_in(SHOP, "jane", codes["user_code"].as_str().unwrap()).await;
            world.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
            let device_code = codes["device_code"].as_str().unwrap().to_owned();
            Tokens::of(&world.poll_as(&world.other_pa, SHOP, "x", &device_code).await)
        };
        let app = &world.app;
        let count = done(grants::count_live(app, &owner(), &filter).await.unwrap());
        assert_eq!((count.grants, count.brands), (6, 2));
        let before = db.contents().await;
        let too_few = done(grants::revoke_all(app, &owner(), &filter, Some(5)).await.unwrap());
        assert_eq!(too_few, RevokedAll::MoreFit(count));
        assert_eq!(db.contents().await, before);
        // Those of one User end by themselves; three at once share the rest.
        let jane = GrantId::parse(all[0].2.grant()).unwrap();
        done(grants::revoke(app, &owner(), &jane).await.unwrap());
        let revoked = join_all((0..3).map(|_| async {
            match done(grants::revoke_all(app, &owner(), &filter, Some(6)).await.unwrap()) {
                RevokedAll::Done { ended, .. } => ended,
                other @ RevokedAll::MoreFit(_) => panic!("{other:?}"),
            }
        })).await;
        assert_eq!(revoked.iter().sum::<i64>(), 5);
        for node in [&other, &world] {
            for (id, sub, tokens) in &all {
                assert_eq!(node.refresh(id, sub, &tokens.refresh).await.oauth_error(), "invalid_grant");
                node.send(id, sub, Some(&tokens.access), "m-9", None, "Hello").await.assert_invalid_token();
            }
            assert_eq!(node.poll(SHOP, "user-0", &codes.device_code).await.oauth_error(), "invalid_grant");
        }
        let rows = db.rows("SELECT subject, actor FROM audit WHERE action = 'grant_ended'").await;
        let expected: BTreeSet<_> =
            all.iter().map(|(_, _, tokens)| format!("subject={} actor=test", tokens.grant())).collect();
        assert_eq!((rows.len(), rows.into_iter().collect::<BTreeSet<_>>()), (6, expected));
        let again = done(grants::revoke_all(app, &owner(), &filter, None).await.unwrap());
        assert_eq!(again, RevokedAll::Done { ended: 0, already_ended: 0, brands: 0 });
        let foreign_refresh = [("grant_type", "refresh_token"), ("refresh_token", foreign.refresh.as_str())];
        let lives = world.oauth_as(&world.other_pa, SHOP, "/token", "x", &foreign_refresh).await;
        assert_eq!(lives.status(), 200, "{}", lives.text());
        other.stop().await;
        world.stop().await;
    }

    // case 17
    async fn a_disabled_personal_agent_is_refused_and_an_enabled_one_goes_on_with_its_grants(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let issuer = Issuer::parse(world.pa.issuer.as_str()).unwrap();
        let put = async |wanted| done(personal_agents::put(&world.app, &owner(), &issuer, &wanted).await.unwrap());
        assert!(matches!(put(Wanted::Enabled(false)).await, Put::Done(agent) if !agent.enabled));
        assert!(matches!(put(Wanted::Enabled(false)).await, Put::Unchanged(_)));
        // This node at once, the other by its own looking.
        let send = async |node: &World, id| node.send(SHOP, "user-1", Some(&tokens.access), id, None, "Hello").await;
        send(&world, "m-1").await.assert_unauthenticated();
        while send(&other, "m-2").await.status() != 401 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 401);
        assert!(matches!(put(Wanted::Enabled(true)).await, Put::Done(agent) if agent.enabled));
        see(&[&other]).await;
        assert_eq!(send(&other, "m-3").await.status(), 200);
        let url = Url::parse("http://user:secret@pa.example/jwks").unwrap();
        let wrong = put(Wanted::Changed { name: None, jwks_uri: Some(url) }).await;
        assert!(matches!(wrong, Put::Invalid(invalid) if invalid.parameter == "jwks_uri"));
        let taken = Wanted::Registered { name: "Again".to_owned(), jwks_uri: Url::parse("https://x.example/j").unwrap() };
        assert_eq!(put(taken).await, Put::Taken);
        let rows = db.rows("SELECT action, payload FROM audit WHERE subject = 'https://pa.example.com' ORDER BY sequence").await;
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(rows[1].starts_with("action=personal_agent_disabled") && rows[2].starts_with("action=personal_agent_enabled"));
        assert!(rows[1].contains("\"before\"") && rows[1].contains("\"enabled\":false"), "{}", rows[1]);
        other.stop().await;
        world.stop().await;
    }

    // case 73
    async fn keys_rotate_under_load_and_not_one_request_fails(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let nodes = [&world, &other];
        let old = signing(&world, SHOP).await.id;
        let Rotated::Made { key: new, signs_from } =
            done(keys::rotate(&world.app, &owner(), &brand(SHOP), false).await.unwrap())
        else {
            panic!("a rotation is made")
        };
        assert_eq!(signs_from, world.clock.now().plus(Duration::from_secs(86_400)));
        let again = done(keys::rotate(&world.app, &owner(), &brand(SHOP), false).await.unwrap());
        assert_eq!(again, Rotated::UnderWay { key: new.clone(), signs_from });
        see(&nodes).await;
        assert_eq!(jwks(&other, SHOP).await.len(), 2, "the new key is published before it signs");
        let long_before = world.tokens(SHOP, "early", "early", &["orders:read"]).await;
        assert_eq!(kid(&long_before.access), old.as_str());
        world.advance(86_400 - 3);
        let mut seen = BTreeSet::new();
        for turn in 0..6 {
            let load = join_all((0..6).map(|n| in_use(&nodes, n, turn)));
            let step = async { world.advance(1) };
            let (kids, ()) = tokio::join!(load, step);
            seen.extend(kids.into_iter().flatten());
        }
        assert_eq!(seen, BTreeSet::from([old.to_string(), new.to_string()]));
        assert_eq!(signing(&world, SHOP).await.id, new);
        let retired = all_keys(&world, SHOP).await.into_iter().find(|key| key.id == old).unwrap();
        assert_eq!(retired.state, KeyState::Retired { at: signs_from });

        // At once, which is not before every node has seen it.
        let made = done(keys::rotate(&world.app, &owner(), &brand(SHOP), true).await.unwrap());
        let Rotated::Made { key: urgent, .. } = made else { panic!("{made:?}") };
        let mut seen = BTreeSet::new();
        for turn in 6..12 {
            if turn == 8 {
                see(&nodes).await;
            }
            let load = join_all((0..6).map(|n| in_use(&nodes, n, turn)));
            let step = async { world.advance(1) };
            let (kids, ()) = tokio::join!(load, step);
            seen.extend(kids.into_iter().flatten());
        }
        assert_eq!(seen, BTreeSet::from([new.to_string(), urgent.to_string()]));
        assert_eq!(jwks(&other, SHOP).await.len(), 3);
        let actions = "SELECT action FROM audit WHERE action LIKE 'key_%' AND brand_id = '01M3R53Q5SZQ6FQSMSDBSSREAA'";
        assert_eq!(db.count(actions).await, 3);
        other.stop().await;
        world.stop().await;
    }

    // case 72
    async fn a_retired_keys_receipts_verify_and_a_compromised_keys_do_not(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        let receipt = reply.json()["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
        let key = signing(&world, SHOP).await.id;
        let take = async |key: &KeyId, leaves, replace, run| {
            done(keys::take_out(&world.app, &owner(), key, leaves, replace, run).await.unwrap())
        };
        let before = db.contents().await;
        for leaves in [Leaves::Retired, Leaves::Compromised] {
            assert_eq!(take(&key, leaves, false, Run::Real).await, Left::WouldLeaveNone);
            assert_eq!(take(&key, leaves, true, Run::Dry).await, Left::Done { replaced_by: None });
        }
        assert_eq!(db.contents().await, before);

        let Left::Done { replaced_by: Some((second, from)) } = take(&key, Leaves::Retired, true, Run::Real).await else {
            panic!("replaced")
        };
        assert_eq!(signing(&world, SHOP).await.id, key, "until every node knows the next");
        assert_eq!(from, world.clock.now().plus(Duration::from_secs(3)));
        world.advance(3);
        see(&[&other]).await;
        assert_eq!(signing(&world, SHOP).await.id, second);
        assert_eq!(take(&key, Leaves::Retired, true, Run::Real).await, Left::Already);
        for node in [&world, &other] {
            assert!(receipt::verify(&receipt, &jwks(node, SHOP).await, None).is_ok());
            assert_eq!(node.send(SHOP, "user-1", Some(&tokens.access), "m-2", None, "Hello").await.status(), 200);
        }

        assert_eq!(take(&key, Leaves::Compromised, false, Run::Real).await, Left::Done { replaced_by: None });
        assert_eq!(take(&key, Leaves::Compromised, false, Run::Real).await, Left::Already);
        see(&[&other]).await;
        for node in [&world, &other] {
            assert!(receipt::verify(&receipt, &jwks(node, SHOP).await, None).is_err());
            node.send(SHOP, "user-1", Some(&tokens.access), "m-3", None, "Hello").await.assert_invalid_token();
        }
        // The grant lives: a refresh gives a token of the key that signs now.
        let refreshed = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(kid(&refreshed.access), second.as_str());
        assert_eq!(claims(&refreshed.access)["grant_id"], json!(tokens.grant()));

        // The last one leaves at once where it is compromised, and its predecessors do not come back.
        let Left::Done { replaced_by: Some((third, from)) } = take(&second, Leaves::Compromised, true, Run::Real).await
        else {
            panic!("replaced")
        };
        assert_eq!((signing(&world, SHOP).await.id, from), (third.clone(), world.clock.now()));
        // A rotation that is under way takes its place sooner.
        let Rotated::Made { key: fourth, .. } =
            done(keys::rotate(&world.app, &owner(), &brand(SHOP), false).await.unwrap())
        else {
            panic!("a rotation is made")
        };
        let left = take(&third, Leaves::Compromised, true, Run::Real).await;
        assert_eq!(left, Left::Done { replaced_by: Some((fourth.clone(), world.clock.now())) });
        assert_eq!(signing(&world, SHOP).await.id, fourth);
        let made = done(keys::rotate(&world.app, &owner(), &brand(SHOP), false).await.unwrap());
        let Rotated::Made { key: fifth, .. } = made else { panic!("{made:?}") };
        let soon = world.clock.now().plus(Duration::from_secs(3));
        let advanced = done(keys::rotate(&world.app, &owner(), &brand(SHOP), true).await.unwrap());
        assert_eq!(advanced, Rotated::Advanced { key: fifth.clone(), signs_from: soon });
        // One that has not begun can be taken back: the present one goes on.
        assert_eq!(take(&fifth, Leaves::Retired, false, Run::Real).await, Left::Done { replaced_by: None });
        world.advance(3);
        assert_eq!(signing(&world, SHOP).await.id, fourth);
        other.stop().await;
        world.stop().await;
    }

    async fn a_removed_brand_is_gone_from_every_node_and_its_receipts_still_verify(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        let receipt = reply.json()["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
        let codes = world.codes(SHOP, "user-2", "orders:read").await;
        let page = other.sign_in(SHOP, "joe", &codes.user_code).await;
        let remove = async |name: &str| done(brands::remove(&world.app, &owner(), &brand(SHOP), name).await.unwrap());
        let before = db.contents().await;
        assert_eq!(remove("Book Club").await, Removed::OtherName);
        assert_eq!(db.contents().await, before);
        assert_eq!(remove("Example Shop").await, Removed::Done { ended: 1 });
        // The other node has not looked yet: nothing can be allowed or used there either.
        other.send(SHOP, "user-1", Some(&tokens.access), "m-2", None, "Hello").await.assert_invalid_token();
        assert_eq!(other.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
        other.decide(SHOP, &page.session, "allow", &["orders:read"]).await;
        assert_eq!(db.count("SELECT id FROM delegation_grant WHERE state = 'live'").await, 0);
        see(&[&other]).await;
        for node in [&world, &other] {
            for path in ["/.well-known/agent-card.json", "/oauth/jwks.json", "/tasks"] {
                let path = format!("/a2a/{SHOP}{path}");
                assert_eq!(node.ask(Method::GET, PROVIDER, &path).bearer(&node.jwt("user-1")).send().await.status(), 404, "{path}");
            }
        }
        assert_eq!(remove("Example Shop").await, Removed::Already);
        let keys = all_keys(&world, SHOP).await;
        assert!(keys.iter().all(|key| !key.signs && matches!(key.state, KeyState::Retired { .. })));
        let set = format!("{{\"keys\":[{}]}}", keys[0].public_jwk);
        assert!(receipt::verify(&receipt, &KeySet::parse(set.as_bytes()).unwrap(), None).is_ok());
        let shown = done(brands::show(&world.app, &owner(), &brand(SHOP)).await.unwrap());
        assert!(shown.removed_at.is_some());
        assert_eq!(done(grants::show(&world.app, &owner(), &GrantId::parse(tokens.grant()).unwrap()).await.unwrap()).receipts.items.len(), 1);

        // Its id is not given away; its name is free, and so are its key's and grants' verbs of what is gone.
        let table = |id: &str| brand_table(id, "Example Shop", "{ builtin = \"demo\" }", None);
        let outcome = done(apply(&world.app, &parse(&table(SHOP)).unwrap(), &owner(), Run::Real).await.unwrap());
        assert!(matches!(&outcome, ApplyOutcome::Refused(problem) if problem.contains("was removed")), "{outcome:?}");
        let nameless = table(SHOP).replace(&format!("id = \"{SHOP}\"\n"), "");
        let outcome = done(apply(&world.app, &parse(&nameless).unwrap(), &owner(), Run::Real).await.unwrap());
        let ApplyOutcome::Done { changes, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(changes[0].what, "created");
        assert_ne!(changes[0].id, SHOP);
        assert_eq!(keys::rotate(&world.app, &owner(), &brand(SHOP), false).await.unwrap(), Verdict::NotThere);
        let left = keys::take_out(&world.app, &owner(), &keys[0].id, Leaves::Compromised, false, Run::Real).await.unwrap();
        assert_eq!(left, Verdict::Done(Left::Done { replaced_by: None }));
        other.stop().await;
        world.stop().await;
    }

    async fn a_dry_run_of_an_apply_file_says_what_would_change_and_changes_nothing(db: Database) {
        let world = World::start(&db).await;
        world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await;
        world.tokens(CLUB, "user-2", "joe", &["orders:read", "orders:cancel"]).await;
        let before = db.contents().await;
        let more = "skip_consent = true\nsigning_alg = \"RS256\"\n";
        let table = brand_table(CLUB, "Book Club", "{ builtin = \"demo\" }", Some((&world.brand_login, more)));
        let fewer = table.lines().filter(|line| !line.contains("orders:read")).collect::<Vec<_>>().join("\n");
        let plain = brand_table(PLAIN, "Plain Store", "{ builtin = \"demo\" }", None);
        let file = parse(&format!("{fewer}\n{plain}")).unwrap();
        let outcome = done(apply(&world.app, &file, &owner(), Run::Dry).await.unwrap());
        let ApplyOutcome::Done { changes, narrowed, ended } = &outcome else { panic!("{outcome:?}") };
        assert_eq!((*narrowed, *ended), (1, 1));
        assert_eq!((changes[0].what, changes[0].fields.join(" ")), ("changed", "delegation.scopes".to_owned()));
        assert_eq!((changes[1].what, changes[1].fields.len()), ("unchanged", 0));
        assert_eq!(db.contents().await, before);
        assert_eq!(done(apply(&world.app, &file, &owner(), Run::Real).await.unwrap()), outcome);
        let live = GrantFilter { state: Some(GrantStanding::Live), ..GrantFilter::default() };
        let page = done(grants::list(&world.app, &owner(), &live, &first::<GrantSort>()).await.unwrap());
        assert_eq!(page.items.len(), 1);
        let any = PersonalAgentFilter::default();
        let agents = personal_agents::list(&world.app, &owner(), &any, &first::<PersonalAgentSort>()).await.unwrap();
        assert_eq!(done(agents).items.iter().map(|agent| agent.live_grants).collect::<Vec<_>>(), [0, 1]);
        world.stop().await;
    }
}
