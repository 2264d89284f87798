//! Who may make, change and remove administrators and API keys; and what an API key is good for.

use std::time::Duration;

use assent::domain::administrator::{Access, Role};
use assent::domain::audit::{Chain, RequestId};
use assent::domain::id::BrandId;
use assent::flow::admin::administrators::{self, Change, Changed, Created};
use assent::flow::admin::api_keys::{self, MadeApiKey, NewApiKey};
use assent::flow::admin::session::authenticate_api_key;
use assent::flow::admin::{By, Verdict, audit};
use assent::store::Erased;

use crate::support::console::{PASSWORD, access, by, name, secret};
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, CLUB, SHOP, World};

const DAY: Duration = Duration::from_secs(86_400);

async fn key(world: &World, by: &By, access: Access) -> Box<NewApiKey> {
    match api_keys::create(&world.app, by, "deploy", access, DAY).await.unwrap() {
        Verdict::Done(MadeApiKey::Made(made)) => made,
        other => panic!("{other:?}"),
    }
}

on_both_databases! {
    // case 77
    async fn an_owner_of_some_brands_is_the_owner_of_no_other_and_who_is_no_owner_is_told_so(db: Database) {
        let world = World::start(&db).await;
        world.administrator("root", Access::EVERYTHING).await;
        world.administrator("of-shop", access(Role::Auditor, &[SHOP])).await;
        world.administrator("of-club", access(Role::Auditor, &[CLUB])).await;
        let all = by(Access::EVERYTHING);
        let key_of_club = key(&world, &all, access(Role::Auditor, &[CLUB])).await.key.id;
        let before = db.contents().await;
        let disable = async |by: &By, who: &str| administrators::change(&world.app, by, &name(who), &Change::Disable).await.unwrap();
        for role in [Role::Auditor, Role::Operator] {
            let by = by(access(role, &[SHOP]));
            for who in ["of-shop", "of-club", "root", "nobody"] {
                assert_eq!(disable(&by, who).await, Verdict::Forbidden, "{role} {who}");
            }
            let made = administrators::create(&world.app, &by, &name("new"), access(role, &[SHOP]), &secret(PASSWORD)).await;
            assert_eq!(made.unwrap(), Verdict::Forbidden);
            assert!(matches!(api_keys::create(&world.app, &by, "x", access(role, &[SHOP]), DAY).await, Ok(Verdict::Forbidden)));
            assert_eq!(api_keys::revoke(&world.app, &by, &key_of_club).await.unwrap(), Verdict::Forbidden);
        }
        let of_shop = by(access(Role::Owner, &[SHOP, AIRLINE]));
        for who in ["of-club", "root", "nobody"] {
            assert_eq!(disable(&of_shop, who).await, Verdict::NotThere, "{who}");
            assert!(matches!(administrators::show(&world.app, &of_shop, &name(who)).await, Ok(Verdict::NotThere)));
        }
        let widened = Change::Access(access(Role::Owner, &[]));
        let change = administrators::change(&world.app, &of_shop, &name("of-shop"), &widened).await.unwrap();
        assert_eq!(change, Verdict::NotThere, "nobody gives what they have not");
        assert_eq!(api_keys::revoke(&world.app, &of_shop, &key_of_club).await.unwrap(), Verdict::NotThere);
        assert!(matches!(api_keys::show(&world.app, &of_shop, &key_of_club).await, Ok(Verdict::NotThere)));
        assert_eq!(api_keys::list(&world.app, &of_shop).await.unwrap(), []);
        let seen: Vec<String> =
            administrators::list(&world.app, &of_shop).await.unwrap().iter().map(|account| account.name.to_string()).collect();
        assert_eq!(seen, ["of-shop"]);
        let nowhere = administrators::create(&world.app, &all, &name("new"), access(Role::Auditor, &["01M3R53Q5SZQ6FQSMSDBSSREAZ"]), &secret(PASSWORD)).await;
        assert!(matches!(nowhere, Ok(Verdict::Done(Created::NoBrand(_)))));
        assert_eq!(db.contents().await, before);
        assert_eq!(disable(&of_shop, "of-shop").await, Verdict::Done(Changed::Done));
        assert_eq!(disable(&of_shop, "of-shop").await, Verdict::Done(Changed::AsBefore));
        world.stop().await;
    }

    // case 77
    async fn the_last_owner_of_all_brands_stays(db: Database) {
        let world = World::start(&db).await;
        let all = by(Access::EVERYTHING);
        world.administrator("root", Access::EVERYTHING).await;
        world.administrator("of-shop", access(Role::Owner, &[SHOP])).await;
        world.administrator("disabled", Access::EVERYTHING).await;
        let change = async |who: &str, it: &Change| administrators::change(&world.app, &all, &name(who), it).await.unwrap();
        let would =
            async |who: &str, it: &Change| administrators::would_change(&world.app, &all, &name(who), it).await.unwrap();
        let outcome_of = |it: &Change| match it {
            Change::Access(access) if access.role == Role::Owner => Changed::AsBefore,
            _ => Changed::Done,
        };
        assert_eq!(change("disabled", &Change::Disable).await, Verdict::Done(Changed::Done));
        let before = db.contents().await;
        for it in [
            Change::Remove,
            Change::Disable,
            Change::Access(access(Role::Operator, &[])),
            Change::Access(access(Role::Owner, &[SHOP])),
        ] {
            assert_eq!(change("root", &it).await, Verdict::Done(Changed::LastOwner), "{it:?}");
            assert_eq!(would("root", &it).await, Verdict::Done(Changed::LastOwner), "{it:?}");
            assert_eq!(would("of-shop", &it).await, Verdict::Done(outcome_of(&it)), "{it:?}");
        }
        assert_eq!(would("root", &Change::NoSecondFactor).await, Verdict::Done(Changed::AsBefore));
        assert_eq!(would("nobody", &Change::Remove).await, Verdict::NotThere);
        assert_eq!(db.contents().await, before);
        assert_eq!(change("disabled", &Change::Enable).await, Verdict::Done(Changed::Done));
        assert_eq!(change("root", &Change::Remove).await, Verdict::Done(Changed::Done));
        assert_eq!(change("root", &Change::Remove).await, Verdict::NotThere);
        let actions = db.audit_actions("root").await.unwrap();
        assert_eq!(actions, ["administrator_created", "administrator_removed"]);
        world.stop().await;
    }

    // case 77
    async fn what_the_audit_log_holds_is_erased_by_owners_alone_each_of_their_brands(db: Database) {
        let world = World::start(&db).await;
        world.administrator("bert", access(Role::Auditor, &[SHOP])).await;
        let (shop, provider) = (Chain::Brand(BrandId::parse(SHOP).unwrap()), Chain::Provider);
        let before = db.contents().await;
        for (who, chain, verdict) in [
            (access(Role::Auditor, &[]), &provider, Verdict::Forbidden),
            (access(Role::Operator, &[]), &provider, Verdict::Forbidden),
            (access(Role::Operator, &[SHOP]), &shop, Verdict::Forbidden),
            (access(Role::Owner, &[SHOP]), &provider, Verdict::NotThere),
            (access(Role::Owner, &[CLUB]), &shop, Verdict::NotThere),
        ] {
            assert_eq!(audit::would_erase(&world.app, &by(who.clone()), chain, 1).await.unwrap(), verdict, "{who:?}");
            assert_eq!(audit::erase(&world.app, &by(who.clone()), chain, 1).await.unwrap(), verdict, "{who:?}");
        }
        assert_eq!(db.contents().await, before);
        let owner = by(access(Role::Owner, &[SHOP]));
        assert_eq!(audit::erase(&world.app, &owner, &shop, 1).await.unwrap(), Verdict::Done(Erased::Done));
        world.stop().await;
    }

    async fn what_is_changed_stands_in_the_audit_log_with_who_did_it_and_what_was_before(db: Database) {
        let world = World::start(&db).await;
        world.administrator("root", Access::EVERYTHING).await;
        world.administrator("bert", access(Role::Auditor, &[SHOP])).await;
        let change_it = Change::Access(access(Role::Operator, &[]));
        administrators::change(&world.app, &by(Access::EVERYTHING), &name("bert"), &change_it).await.unwrap();
        let rows = db.rows("SELECT actor, payload FROM audit WHERE action = 'administrator_changed'").await;
        assert_eq!(rows, [format!(
            "actor=somebody payload={{\"before\":{{\"role\":\"auditor\",\"reach\":\"{SHOP}\",\"enabled\":true,\"secondFactor\":false}},\
             \"after\":{{\"role\":\"operator\",\"reach\":\"*\",\"enabled\":true,\"secondFactor\":false}}}}"
        )]);
        let all = db.rows("SELECT payload FROM audit").await.concat();
        assert!(!all.contains("argon2"));
        world.stop().await;
    }

    async fn an_api_key_is_good_until_it_is_revoked_or_has_run_out_on_every_node(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let all = by(Access::EVERYTHING);
        let (first, second) = (key(&world, &all, access(Role::Auditor, &[SHOP])).await, key(&world, &all, Access::EVERYTHING).await);
        assert!(first.secret.expose().starts_with("assent_key_"));
        let stored = db.rows("SELECT * FROM api_key").await.concat();
        assert!(!stored.contains(first.secret.expose().as_str()));
        let request = RequestId("request-2".to_owned());
        let caller = async |world: &World, bearer: &str| authenticate_api_key(&world.app, bearer, &request).await.unwrap();
        let found = caller(&other, first.secret.expose()).await.unwrap();
        assert_eq!((&found.key, &found.by.access), (&first.key.id, &first.key.access));
        assert_eq!(found.by.actor.name(), format!("api key {}", first.key.id));
        assert_eq!(found.by.request, request);
        for wrong in ["", "assent_key_", &first.secret.expose()[1..], first.key.id.as_str()] {
            assert!(caller(&world, wrong).await.is_none(), "{wrong}");
        }
        assert_eq!(api_keys::revoke(&world.app, &all, &first.key.id).await.unwrap(), Verdict::Done(true));
        assert_eq!(api_keys::revoke(&world.app, &all, &first.key.id).await.unwrap(), Verdict::Done(false));
        assert!(caller(&other, first.secret.expose()).await.is_none());
        world.advance(86_399);
        assert!(caller(&other, second.secret.expose()).await.is_some());
        world.advance(1);
        assert!(caller(&other, second.secret.expose()).await.is_none());
        assert_eq!(db.audit_actions(first.key.id.as_str()).await.unwrap(), ["api_key_created", "api_key_revoked"]);
        other.stop().await;
        world.stop().await;
    }

    async fn the_use_of_a_key_is_noted_once_in_a_quarter_of_an_hour(db: Database) {
        let world = World::start(&db).await;
        let made = key(&world, &by(Access::EVERYTHING), Access::EVERYTHING).await;
        let request = RequestId("request-2".to_owned());
        let mut noted = Vec::new();
        for seconds in [0, 10, 889, 1] {
            world.advance(seconds);
            authenticate_api_key(&world.app, made.secret.expose(), &request).await.unwrap().unwrap();
            let used = db.api_key(&made.key.id).await.unwrap().unwrap().last_used_at.unwrap();
            noted.push(used.since(made.key.created_at).as_secs());
        }
        assert_eq!(noted, [0, 0, 0, 900]);
        world.stop().await;
    }

    async fn a_key_has_a_name_and_an_end(db: Database) {
        let world = World::start(&db).await;
        let (all, long) = (by(Access::EVERYTHING), "x".repeat(101));
        let before = db.contents().await;
        for (name, life) in [("", DAY), (" ", DAY), (long.as_str(), DAY), ("a\nb", DAY), ("x", Duration::ZERO), ("x", DAY * 367)] {
            let made = api_keys::create(&world.app, &all, name, Access::EVERYTHING, life).await.unwrap();
            assert!(matches!(made, Verdict::Done(MadeApiKey::Invalid(_))), "{name} {life:?}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
