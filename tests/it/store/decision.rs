//! Decisions: the first one counts, and the code, the grant and the evidence follow together.

use assent::domain::administrator::Reach;
use assent::domain::audit::Action;
use assent::domain::device::{Decision, DeviceAuthorization, DeviceState};
use assent::domain::grant::{EndedBy, Grant, GrantState};
use assent::domain::id::{BrandUser, GrantId};
use assent::store::{Apply, Decide, Decided, GrantFilter, GrantStanding};
use futures_util::future::{join, join_all};

use crate::support::build::{NOW, after, change, entry, entry_at, jane, scopes, shop, shop_without, user};
use crate::support::database::{Database, on_both_databases};

/// Decides `device` as the owner of `grant`, from a page that showed `page_grant`.
async fn decide(
    db: &Database,
    device: &DeviceAuthorization,
    decision: Decision,
    page_grant: Option<&(GrantId, i64)>,
    grant: &Grant,
) -> Decided {
    let evidence = db.build.evidence(device, &grant.brand_user);
    let entry = entry_at(Action::GrantChanged, grant.decided_at);
    db.decide(&Decide { decision: &decision, page_grant, grant, evidence: &evidence, entry: &entry }).await.unwrap()
}

fn allow(text: &str) -> Decision {
    Decision::Approve(scopes(text))
}

/// What a page that shows this grant remembers of it.
fn seen(grant: &Grant) -> (GrantId, i64) {
    (grant.id.clone(), grant.version)
}

async fn live_grants_of(db: &Database, brand_user: &BrandUser) -> usize {
    let filter = GrantFilter {
        brand_user: Some(brand_user.clone()),
        state: Some(GrantStanding::Live),
        ..GrantFilter::default()
    };
    let live = db.count_grants(&filter, &Reach::All, NOW).await.unwrap();
    usize::try_from(live.grants).unwrap()
}

on_both_databases! {
    async fn allowing_makes_a_grant_closes_the_code_and_keeps_the_evidence(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        assert_eq!(db.grant(&grant.id).await.unwrap().as_ref(), Some(&grant));
        let state = db.device(device.id).await.unwrap().unwrap().state;
        let expected = DeviceState::Approved { grant: grant.id.clone(), granted: grant.scopes.clone(), at: NOW };
        assert_eq!(state, expected);
        let kept = db.rows("SELECT brand_user, pa_sub, decision, granted, language, shown FROM consent_evidence").await;
        assert_eq!(kept.len(), 1);
        assert!(kept[0].starts_with(
            "brand_user=jane-4471 pa_sub=user-7f3a decision=approved granted=orders:read orders:cancel language=en"
        ));
        assert!(kept[0].contains("Cancel an order that has not shipped"), "{kept:?}");
        assert_eq!(db.audit_actions("subject-1").await.unwrap(), ["grant_created"]);
    }

    async fn allowing_again_makes_the_new_choice_the_whole_grant_and_restarts_its_life(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        let renewed = Grant { decided_at: after(60), expires_at: after(90 * 86_400), ..db.build.grant(&jane()) };
        let done = decide(&db, &device, allow("orders:cancel refunds:issue"), Some(&seen(&grant)), &renewed).await;
        assert_eq!(done, Decided::Done);
        let now = db.grant(&grant.id).await.unwrap().unwrap();
        assert_eq!(now.scopes, scopes("orders:cancel refunds:issue"));
        assert_eq!((now.version, now.created_at), (grant.version + 1, grant.created_at));
        assert_eq!((now.decided_at, now.expires_at), (renewed.decided_at, renewed.expires_at));
        assert_eq!(db.count("SELECT id FROM delegation_grant").await, 1);
    }

    async fn a_step_up_extends_its_grant(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let step_up = db.build.step_up(&grant, "refunds:issue");
        db.store_device(&step_up).await;
        let all = "orders:read orders:cancel refunds:issue";
        assert_eq!(decide(&db, &step_up, allow(all), Some(&seen(&grant)), &grant).await, Decided::Done);
        assert_eq!(db.grant(&grant.id).await.unwrap().unwrap().scopes, scopes(all));
    }

    // case 56
    async fn a_step_up_whose_grant_ended_or_expired_cannot_be_decided(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let step_up = DeviceAuthorization { expires_at: after(40 * 86_400), ..db.build.step_up(&grant, "refunds:issue") };
        db.store_device(&step_up).await;
        let late = Grant { decided_at: grant.expires_at, ..db.build.grant(&jane()) };
        let before = db.contents().await;
        assert_eq!(decide(&db, &step_up, allow("refunds:issue"), None, &late).await, Decided::CodeClosed);
        assert_eq!(db.contents().await, before);
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let before = db.contents().await;
        let fresh = db.build.grant(&jane());
        assert_eq!(decide(&db, &step_up, allow("refunds:issue"), None, &fresh).await, Decided::CodeClosed);
        assert_eq!(db.contents().await, before);
    }

    async fn denying_leaves_the_grant_that_was_shown_as_it_was(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        assert_eq!(decide(&db, &device, Decision::Deny, Some(&seen(&grant)), &grant).await, Decided::Done);
        assert_eq!(db.grant(&grant.id).await.unwrap(), Some(grant));
        assert_eq!(db.device(device.id).await.unwrap().unwrap().state, DeviceState::Denied { at: NOW });
        assert_eq!(db.count("SELECT * FROM consent_evidence WHERE decision = 'denied' AND grant_id IS NULL").await, 1);
    }

    // case 42
    async fn allowing_nothing_denies_the_request_and_ends_the_grant_that_was_shown(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        assert_eq!(decide(&db, &device, Decision::Withdraw, Some(&seen(&grant)), &grant).await, Decided::Done);
        let state = db.grant(&grant.id).await.unwrap().unwrap().state;
        assert_eq!(state, GrantState::Ended { at: NOW, by: EndedBy::User });
        assert_eq!(db.device(device.id).await.unwrap().unwrap().state, DeviceState::Denied { at: NOW });
        let kept = db.rows("SELECT granted FROM consent_evidence WHERE decision = 'withdrawn'").await;
        assert_eq!(kept, ["granted="]);
    }

    // case 42
    async fn allowing_nothing_where_there_is_no_grant_denies_the_request(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let done = decide(&db, &device, Decision::Withdraw, None, &db.build.grant(&jane())).await;
        assert_eq!(done, Decided::Done);
        assert_eq!(db.count("SELECT id FROM delegation_grant").await, 0);
        assert_eq!(db.device(device.id).await.unwrap().unwrap().state, DeviceState::Denied { at: NOW });
    }

    // cases 43, 44
    async fn a_code_that_was_decided_or_expired_is_not_decided_again(db: Database) {
        db.with_directory().await;
        let (decided, _) = db.approved_by(&jane()).await;
        let expired = DeviceAuthorization { expires_at: NOW, ..db.build.device() };
        db.store_device(&expired).await;
        let before = db.contents().await;
        for device in [&decided, &expired] {
            for decision in [allow("orders:read"), Decision::Deny, Decision::Withdraw] {
                // Whoever decides: the same User from the same page, or somebody without a grant.
                for owner in [db.build.grant(&jane()), db.build.grant(&user("joe-1"))] {
                    assert_eq!(decide(&db, device, decision.clone(), None, &owner).await, Decided::CodeClosed);
                }
            }
        }
        assert_eq!(db.contents().await, before);
    }

    // case 42
    async fn nothing_is_decided_when_the_grant_is_not_the_one_that_was_shown(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        let older = (grant.id.clone(), grant.version - 1);
        let another = (db.build.grant(&jane()).id, grant.version);
        let before = db.contents().await;
        for page_grant in [None, Some(&older), Some(&another)] {
            for decision in [allow("orders:read"), Decision::Deny, Decision::Withdraw] {
                let fresh = db.build.grant(&jane());
                assert_eq!(decide(&db, &device, decision, page_grant, &fresh).await, Decided::GrantChanged);
            }
        }
        assert_eq!(db.contents().await, before);
    }

    // case 43
    async fn of_allow_and_deny_at_the_same_instant_one_counts(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let grant = db.build.grant(&jane());
        let (allowed, denied) = join(
            decide(&db, &device, allow("orders:read orders:cancel"), None, &grant),
            decide(&db, &device, Decision::Deny, None, &grant),
        )
        .await;
        let state = db.device(device.id).await.unwrap().unwrap().state;
        match (allowed, denied) {
            (Decided::Done, Decided::CodeClosed) => {
                assert!(matches!(state, DeviceState::Approved { .. }));
                assert_eq!(live_grants_of(&db, &jane()).await, 1);
            }
            (Decided::CodeClosed, Decided::Done) => {
                assert_eq!(state, DeviceState::Denied { at: NOW });
                assert_eq!(live_grants_of(&db, &jane()).await, 0);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(db.count("SELECT * FROM consent_evidence").await, 1);
    }

    // case 43
    async fn of_fifty_people_who_allow_one_request_at_the_same_instant_one_does(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let grants: Vec<Grant> = (0..50).map(|n| db.build.grant(&user(&format!("user-{n}")))).collect();
        let outcomes = join_all(grants.iter().map(|grant| decide(&db, &device, allow("orders:read"), None, grant))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Decided::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Decided::CodeClosed).count(), 49);
        assert_eq!(db.count("SELECT id FROM delegation_grant").await, 1);
        assert_eq!(db.count("SELECT * FROM consent_evidence").await, 1);
    }

    // case 42
    async fn pages_of_one_owner_that_allow_at_the_same_instant_make_one_grant(db: Database) {
        db.with_directory().await;
        let mut pages = Vec::new();
        for _ in 0..10 {
            pages.push((db.requested().await, db.build.grant(&jane())));
        }
        let decided = pages.iter().map(|(device, grant)| decide(&db, device, allow("orders:read"), None, grant));
        let outcomes = join_all(decided).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Decided::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Decided::GrantChanged).count(), 9);
        assert_eq!(live_grants_of(&db, &jane()).await, 1);
        assert_eq!(db.count("SELECT id FROM device_authorization WHERE state = 'pending'").await, 9);
    }

    async fn an_expired_grant_makes_room_for_a_new_one(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let then = grant.expires_at;
        let device = DeviceAuthorization { expires_at: then.plus(assent::domain::device::LIFE), ..db.build.device() };
        db.store_device(&device).await;
        let fresh = Grant { created_at: then, decided_at: then, expires_at: after(60 * 86_400), ..db.build.grant(&jane()) };
        assert_eq!(decide(&db, &device, allow("orders:read orders:cancel"), None, &fresh).await, Decided::Done);
        let state = db.grant(&grant.id).await.unwrap().unwrap().state;
        assert_eq!(state, GrantState::Ended { at: then, by: EndedBy::Expiry });
        assert_eq!(db.live_grant(&shop().id, &jane(), &grant.caller, then).await.unwrap(), Some(fresh));
        // The log says so, by nobody's doing; the Brand is not told, since the last event said when.
        assert_eq!(db.audit_actions(grant.id.as_str()).await.unwrap().last().unwrap(), "grant_ended");
        let of_old = format!("SELECT what FROM event WHERE what = 'ended' AND grant_id = '{}'", grant.id);
        assert_eq!(db.count(of_old.leak()).await, 0);
        let row = db.rows("SELECT actor_kind, payload FROM audit WHERE action = 'grant_ended'").await;
        assert!(row.len() == 1 && row[0].contains("assent") && row[0].contains(r#""by":"expiry""#), "{row:?}");
    }

    // case 42
    async fn a_scope_that_the_brand_no_longer_offers_cannot_be_allowed(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        db.apply(&Apply { brands: vec![shop_without("orders:cancel")], ..change(1) }).await.unwrap();
        let grant = db.build.grant(&jane());
        let before = db.contents().await;
        let refused = decide(&db, &device, allow("orders:read orders:cancel"), None, &grant).await;
        assert_eq!(refused, Decided::GrantChanged);
        assert_eq!(db.contents().await, before);
        let left = Grant { scopes: scopes("orders:read"), ..grant };
        assert_eq!(decide(&db, &device, allow("orders:read"), None, &left).await, Decided::Done);
    }

    // case 42
    async fn no_decision_brings_a_scope_back_that_is_removed_at_the_same_instant(db: Database) {
        db.with_directory().await;
        let mut pages = Vec::new();
        for n in 0..10 {
            let grant = db.build.grant(&user(&format!("user-{n}")));
            pages.push((db.requested().await, grant));
        }
        let all = "orders:read orders:cancel";
        let decisions = join_all(pages.iter().map(|(device, grant)| decide(&db, device, allow(all), None, grant)));
        let removal = Apply { brands: vec![shop_without("orders:cancel")], ..change(1) };
        let (_, applied) = join(decisions, db.apply(&removal)).await;
        applied.unwrap();
        assert_eq!(
            db.rows("SELECT id FROM delegation_grant WHERE state = 'live' AND scopes <> 'orders:read'").await,
            [""; 0]
        );
    }
}
