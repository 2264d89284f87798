//! Brands, personal agents and keys: one revision at a time, and grants follow what a Brand offers.

use assent::domain::audit::Action;
use assent::domain::brand::{Brand, SigningAlg};
use assent::domain::device::Decision;
use assent::domain::grant::{EndedBy, Grant, GrantState};
use assent::domain::id::KeyId;
use assent::domain::personal_agent::PersonalAgent;
use assent::domain::samples;
use assent::domain::signing_key::{KeyState, SealedKey};
use assent::store::{Applied, Apply, Decide, Decided};
use futures_util::future::join_all;
use url::Url;

use crate::support::build::{NOW, after, bank, change, entry, jane, other_agent, scopes, shop, shop_without, user};
use crate::support::database::on_both_databases;

fn key(kid: &str, state: KeyState) -> SealedKey {
    SealedKey {
        id: KeyId::parse(kid).unwrap(),
        brand: shop().id,
        alg: SigningAlg::Es256,
        public_jwk: "{\"kty\":\"EC\"}".to_owned(),
        sealed_private: "a.b.c.d.e".to_owned(),
        state,
        created_at: NOW,
    }
}

fn with_origin(brand: Brand, origin: &str) -> Brand {
    let mut brand = brand;
    brand.delegation.as_mut().unwrap().auth_origin = Some(Url::parse(origin).unwrap());
    brand
}

on_both_databases! {
    async fn an_empty_directory_has_revision_zero(db: Database) {
        assert_eq!(db.directory_revision().await.unwrap(), 0);
        let rows = db.directory().await.unwrap();
        assert_eq!((rows.revision, rows.brands.len(), rows.personal_agents.len(), rows.keys.len()), (0, 0, 0, 0));
    }

    async fn what_was_applied_is_read_back_as_it_was(db: Database) {
        db.with_directory().await;
        let keys = vec![
            key("k-1", KeyState::Live { signs_from: after(86_400) }),
            key("k-2", KeyState::Retired { at: NOW }),
            SealedKey { alg: SigningAlg::Rs256, ..key("k-3", KeyState::Compromised { at: NOW }) },
        ];
        let audit = vec![entry(Action::KeyCreated)];
        let done = db.apply(&Apply { keys: keys.clone(), audit, ..change(1) }).await.unwrap();
        assert_eq!(done, Applied::Done { narrowed: 0, ended: 0 });
        let rows = db.directory().await.unwrap();
        assert_eq!((rows.revision, db.directory_revision().await.unwrap()), (2, 2));
        assert_eq!(rows.brands, [shop(), bank()]);
        assert_eq!(rows.personal_agents, [other_agent(), samples::personal_agent()]);
        assert_eq!(rows.keys, keys);
        assert_eq!(db.audit_actions("subject-1").await.unwrap(), ["key_created"]);
    }

    async fn what_is_applied_again_is_replaced(db: Database) {
        db.with_directory().await;
        let renamed = Brand { name: "New Shop".to_owned(), delegation: None, ..shop() };
        let disabled = PersonalAgent { enabled: false, ..samples::personal_agent() };
        let changed =
            Apply { brands: vec![renamed.clone()], personal_agents: vec![disabled.clone()], ..change(1) };
        db.apply(&changed).await.unwrap();
        let rows = db.directory().await.unwrap();
        assert_eq!(rows.brands, [renamed, bank()]);
        assert_eq!(rows.personal_agents, [other_agent(), disabled]);
    }

    async fn a_change_of_an_older_directory_is_refused(db: Database) {
        db.with_directory().await;
        let before = db.contents().await;
        for revision in [0, 2] {
            let changed = Apply { brands: vec![shop_without("orders:read")], ..change(revision) };
            assert_eq!(db.apply(&changed).await.unwrap(), Applied::Stale);
        }
        assert_eq!(db.contents().await, before);
    }

    async fn of_twenty_changes_of_one_revision_one_is_done(db: Database) {
        db.with_directory().await;
        let changed = Apply { brands: vec![shop()], audit: vec![entry(Action::BrandApplied)], ..change(1) };
        let outcomes = join_all((0..20).map(|_| db.apply(&changed))).await;
        let done = outcomes.iter().filter(|outcome| !matches!(outcome, Ok(Applied::Stale))).count();
        assert_eq!(done, 1);
        assert_eq!(db.directory_revision().await.unwrap(), 2);
        assert_eq!(db.audit_actions("subject-1").await.unwrap(), ["brand_applied"]);
    }

    async fn a_removed_scope_leaves_the_live_grants_that_had_it(db: Database) {
        db.with_directory().await;
        let (_, janes) = db.approved_by(&jane()).await;
        let (_, joes) = db.approved_by(&user("joe-1")).await;
        let device = db.requested().await;
        let (decision, page_grant) = (Decision::Approve(scopes("orders:cancel")), (joes.id.clone(), joes.version));
        let decided = db
            .decide(&Decide {
                decision: &decision,
                page_grant: Some(&page_grant),
                grant: &joes,
                evidence: &db.build.evidence(&device, &user("joe-1")),
                entry: &entry(Action::GrantChanged),
            })
            .await;
        assert_eq!(decided.unwrap(), Decided::Done);
        let changed = Apply { brands: vec![shop_without("orders:cancel")], at: after(9), ..change(1) };
        assert_eq!(db.apply(&changed).await.unwrap(), Applied::Done { narrowed: 1, ended: 1 });
        let left = db.grant(&janes.id).await.unwrap().unwrap();
        assert_eq!((left.scopes, left.version), (scopes("orders:read"), janes.version + 1));
        assert_eq!(left.expires_at, janes.expires_at);
        let ended = db.grant(&joes.id).await.unwrap().unwrap();
        assert_eq!(ended.state, GrantState::Ended { at: after(9), by: EndedBy::BrandChange });
        assert_eq!(db.audit_actions(janes.id.as_str()).await.unwrap(), ["grant_changed"]);
        assert_eq!(db.audit_actions(joes.id.as_str()).await.unwrap(), ["grant_ended"]);
    }

    async fn a_new_scope_or_other_order_leaves_grants_as_they_are(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let mut brand = shop();
        brand.delegation.as_mut().unwrap().scopes.reverse();
        let done = db.apply(&Apply { brands: vec![brand, bank()], ..change(1) }).await.unwrap();
        assert_eq!(done, Applied::Done { narrowed: 0, ended: 0 });
        assert_eq!(db.grant(&grant.id).await.unwrap(), Some(grant));
    }

    // case 29
    async fn removing_delegation_ends_the_brands_grants_and_no_others(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let at_bank = Grant { brand: bank().id, ..db.build.grant(&jane()) };
        let device = assent::domain::device::DeviceAuthorization { brand: bank().id, ..db.build.device() };
        db.store_device(&device).await;
        let decision = Decision::Approve(at_bank.scopes.clone());
        let decided = db
            .decide(&Decide {
                decision: &decision,
                page_grant: None,
                grant: &at_bank,
                evidence: &db.build.evidence(&device, &jane()),
                entry: &entry(Action::GrantCreated),
            })
            .await;
        assert_eq!(decided.unwrap(), Decided::Done);
        let identity_only = Brand { delegation: None, ..shop() };
        let done = db.apply(&Apply { brands: vec![identity_only], ..change(1) }).await.unwrap();
        assert_eq!(done, Applied::Done { narrowed: 0, ended: 1 });
        let state = db.grant(&grant.id).await.unwrap().unwrap().state;
        assert_eq!(state, GrantState::Ended { at: NOW, by: EndedBy::BrandChange });
        assert_eq!(db.grant(&at_bank.id).await.unwrap(), Some(at_bank));
    }

    async fn two_brands_cannot_have_one_auth_origin(db: Database) {
        db.with_directory().await;
        let origin = "https://auth.shop.example";
        db.apply(&Apply { brands: vec![with_origin(shop(), origin)], ..change(1) }).await.unwrap();
        let before = db.contents().await;
        let twice = Apply { brands: vec![with_origin(bank(), "https://AUTH.shop.example:443/")], ..change(2) };
        let refused = db.apply(&twice).await.unwrap_err();
        assert!(!refused.is_passing(), "{refused}");
        assert_eq!(db.contents().await, before);
    }

    async fn a_change_that_fails_half_way_leaves_nothing(db: Database) {
        db.with_directory().await;
        let keys = vec![key("k-1", KeyState::Retired { at: NOW }), key("k-1", KeyState::Retired { at: NOW })];
        let brands = vec![shop_without("orders:read")];
        let before = db.contents().await;
        assert!(db.apply(&Apply { brands, keys, ..change(1) }).await.is_err());
        assert_eq!(db.contents().await, before);
    }
}
