//! Redemption and rotation: each code and each token is spent once.

use assent::domain::audit::Action;
use assent::domain::device::DeviceState;
use assent::domain::grant::{EndedBy, Grant};
use assent::domain::id::{DeviceAuthorizationId, Digest, FamilyId};
use assent::domain::personal_agent::PersonalAgent;
use assent::domain::samples;
use assent::store::{Apply, NewTokens, Redeem, Redeemed, Rotate, Rotated};
use futures_util::future::{join, join_all};

use crate::support::build::{NOW, after, change, entry, entry_at, jane, scopes, shop, user};
use crate::support::database::{Database, on_both_databases};

async fn redeem(db: &Database, device: DeviceAuthorizationId, tokens: &NewTokens) -> Redeemed {
    let entry = entry(Action::TokensIssued);
    db.redeem(&Redeem { device, family: db.build.family(), tokens, entry: &entry }).await.unwrap()
}

async fn rotate(db: &Database, presented: Digest, family: FamilyId, tokens: &NewTokens) -> Rotated {
    let entry = entry_at(Action::TokensRefreshed, after(60));
    db.rotate(&Rotate { presented, family, tokens, entry: &entry }).await.unwrap()
}

/// The shop without delegation, or its personal agent disabled.
fn withdrawals() -> [Apply; 2] {
    let identity_only = assent::domain::brand::Brand { delegation: None, ..shop() };
    let disabled = PersonalAgent { enabled: false, ..samples::personal_agent() };
    [
        Apply { personal_agents: vec![disabled], ..change(1) },
        Apply { brands: vec![identity_only], personal_agents: vec![samples::personal_agent()], ..change(2) },
    ]
}

on_both_databases! {
    async fn a_redeemed_code_begins_a_family(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        let tokens = db.build.tokens(&grant);
        assert_eq!(redeem(&db, device.id, &tokens).await, Redeemed::Done);
        let token = db.refresh_token(tokens.refresh).await.unwrap().unwrap();
        assert_eq!((token.grant, token.used_at, token.family_revoked_at), (grant.id.clone(), None, None));
        let state = db.device(device.id).await.unwrap().unwrap().state;
        let granted = grant.scopes.clone();
        assert_eq!(state, DeviceState::Redeemed { grant: grant.id.clone(), granted, at: NOW });
        assert_eq!(db.grant(&grant.id).await.unwrap().unwrap().last_used_at, Some(NOW));
        assert_eq!(db.audit_actions("subject-1").await.unwrap(), ["grant_created", "tokens_issued"]);
        assert_eq!(db.refresh_token(db.build.digest()).await.unwrap(), None);
    }

    // case 27
    async fn a_spent_code_is_refused(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        assert_eq!(redeem(&db, device.id, &db.build.tokens(&grant)).await, Redeemed::Done);
        let before = db.contents().await;
        assert_eq!(redeem(&db, device.id, &db.build.tokens(&grant)).await, Redeemed::Spent);
        assert_eq!(db.contents().await, before);
    }

    async fn a_code_that_is_pending_or_of_another_grant_is_not_redeemed(db: Database) {
        db.with_directory().await;
        let (device, _) = db.approved_by(&jane()).await;
        let (_, other) = db.approved_by(&user("joe-1")).await;
        let pending = db.requested().await;
        let before = db.contents().await;
        assert_eq!(redeem(&db, device.id, &db.build.tokens(&other)).await, Redeemed::Spent);
        assert_eq!(redeem(&db, pending.id, &db.build.tokens(&other)).await, Redeemed::Spent);
        assert_eq!(db.contents().await, before);
    }

    // case 27
    async fn of_fifty_polls_at_the_same_instant_one_gets_tokens(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        let tokens: Vec<NewTokens> = (0..50).map(|_| db.build.tokens(&grant)).collect();
        let outcomes = join_all(tokens.iter().map(|tokens| redeem(&db, device.id, tokens))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Redeemed::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Redeemed::Spent).count(), 49);
        assert_eq!(db.count("SELECT id FROM refresh_family").await, 1);
        assert_eq!(db.count("SELECT digest FROM refresh_token").await, 1);
        assert_eq!(db.count("SELECT digest FROM audit WHERE action = 'tokens_issued'").await, 1);
    }

    async fn tokens_that_were_made_for_an_older_grant_are_not_issued(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        let older = Grant { version: grant.version - 1, ..grant.clone() };
        let before = db.contents().await;
        assert_eq!(redeem(&db, device.id, &db.build.tokens(&older)).await, Redeemed::Stale);
        assert_eq!(db.contents().await, before);
        let tokens = db.build.tokens(&grant);
        assert_eq!(redeem(&db, device.id, &tokens).await, Redeemed::Done);
        let family = db.refresh_token(tokens.refresh).await.unwrap().unwrap().family;
        let before = db.contents().await;
        assert_eq!(rotate(&db, tokens.refresh, family, &db.build.tokens(&older)).await, Rotated::Stale);
        assert_eq!(db.contents().await, before);
    }

    // cases 29, 56
    async fn nothing_is_issued_under_a_grant_that_ended_or_expired(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let (device, _) = db.approved_by(&user("joe-1")).await;
        let late = entry_at(Action::TokensRefreshed, grant.expires_at);
        let new = db.build.tokens(&grant);
        let before = db.contents().await;
        let rotation = Rotate { presented: tokens.refresh, family, tokens: &new, entry: &late };
        assert_eq!(db.rotate(&rotation).await.unwrap(), Rotated::GrantGone);
        let redemption = Redeem { device: device.id, family: db.build.family(), tokens: &new, entry: &late };
        assert_eq!(db.redeem(&redemption).await.unwrap(), Redeemed::GrantGone);
        assert_eq!(db.contents().await, before);
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let before = db.contents().await;
        assert_eq!(rotate(&db, tokens.refresh, family, &new).await, Rotated::GrantGone);
        assert_eq!(redeem(&db, device.id, &new).await, Redeemed::GrantGone);
        assert_eq!(db.contents().await, before);
    }

    // case 29
    async fn nothing_is_issued_once_the_personal_agent_is_disabled_or_the_brand_delegates_no_more(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let (device, other) = db.approved_by(&user("joe-1")).await;
        for withdrawal in withdrawals() {
            db.apply(&withdrawal).await.unwrap();
            let before = db.contents().await;
            assert_eq!(rotate(&db, tokens.refresh, family, &db.build.tokens(&grant)).await, Rotated::GrantGone);
            assert_eq!(redeem(&db, device.id, &db.build.tokens(&other)).await, Redeemed::GrantGone);
            assert_eq!(db.contents().await, before);
        }
    }

    async fn a_rotated_token_is_used_and_its_successor_is_live(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let new = NewTokens { scopes: scopes("orders:read"), ..db.build.tokens(&grant) };
        assert_eq!(rotate(&db, tokens.refresh, family, &new).await, Rotated::Done);
        let used = db.refresh_token(tokens.refresh).await.unwrap().unwrap();
        assert_eq!((used.family, used.used_at), (family, Some(after(60))));
        let live = db.refresh_token(new.refresh).await.unwrap().unwrap();
        assert_eq!((live.family, live.used_at), (family, None));
        assert_eq!(db.grant(&grant.id).await.unwrap().unwrap().last_used_at, Some(after(60)));
    }

    // case 52
    async fn a_used_token_is_not_rotated_again(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        assert_eq!(rotate(&db, tokens.refresh, family, &db.build.tokens(&grant)).await, Rotated::Done);
        let before = db.contents().await;
        assert_eq!(rotate(&db, tokens.refresh, family, &db.build.tokens(&grant)).await, Rotated::Spent);
        assert_eq!(rotate(&db, db.build.digest(), family, &db.build.tokens(&grant)).await, Rotated::Spent);
        assert_eq!(db.contents().await, before);
    }

    // case 53
    async fn of_fifty_refreshes_of_one_token_at_the_same_instant_one_has_a_successor(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let new: Vec<NewTokens> = (0..50).map(|_| db.build.tokens(&grant)).collect();
        let outcomes = join_all(new.iter().map(|new| rotate(&db, tokens.refresh, family, new))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Rotated::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Rotated::Spent).count(), 49);
        assert_eq!(db.count("SELECT digest FROM refresh_token WHERE used_at IS NULL").await, 1);
        assert_eq!(db.count("SELECT digest FROM refresh_token").await, 2);
    }

    // case 52
    async fn a_family_is_given_up_once_and_its_tokens_are_not_rotated_any_more(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let alarm = entry(Action::RefreshReuse);
        let alarms = join_all((0..20).map(|_| db.revoke_family(family, &alarm))).await;
        assert_eq!(alarms.into_iter().filter(|raised| *raised.as_ref().unwrap()).count(), 1);
        assert_eq!(db.count("SELECT digest FROM audit WHERE action = 'refresh_reuse'").await, 1);
        let token = db.refresh_token(tokens.refresh).await.unwrap().unwrap();
        assert_eq!(token.family_revoked_at, Some(NOW));
        let before = db.contents().await;
        assert_eq!(rotate(&db, tokens.refresh, family, &db.build.tokens(&grant)).await, Rotated::Spent);
        assert!(!db.revoke_family(family, &alarm).await.unwrap());
        assert!(!db.revoke_family(db.build.family(), &alarm).await.unwrap());
        assert_eq!(db.contents().await, before);
    }

    // case 52
    async fn giving_up_one_family_leaves_the_others_of_the_grant_alone(db: Database) {
        db.with_directory().await;
        let (grant, family, _) = db.redeemed_by(&jane()).await;
        let device = db.requested().await;
        let page_grant = (grant.id.clone(), grant.version);
        let decision = assent::domain::device::Decision::Approve(grant.scopes.clone());
        let decided = db
.decide(&assent::store::Decide {
            decision: &decision,
            page_grant: Some(&page_grant),
            grant: &grant,
            evidence: &db.build.evidence(&device, &jane()),
            entry: &entry(Action::GrantChanged),
        })
.await;
        assert_eq!(decided.unwrap(), assent::store::Decided::Done);
        let grant = db.grant(&grant.id).await.unwrap().unwrap();
        let second = db.build.tokens(&grant);
        assert_eq!(redeem(&db, device.id, &second).await, Redeemed::Done);
        assert!(db.revoke_family(family, &entry(Action::RefreshReuse)).await.unwrap());
        let living = db.refresh_token(second.refresh).await.unwrap().unwrap();
        assert_eq!(rotate(&db, second.refresh, living.family, &db.build.tokens(&grant)).await, Rotated::Done);
    }

    // case 52
    async fn no_token_is_rotated_after_its_family_was_given_up(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let new = db.build.tokens(&grant);
        let alarm = entry(Action::RefreshReuse);
        let (rotated, revoked) =
            join(rotate(&db, tokens.refresh, family, &new), db.revoke_family(family, &alarm)).await;
        assert!(revoked.unwrap());
        let actions = db.audit_actions("subject-1").await.unwrap();
        match rotated {
            // The chain is in the order of the commits.
            Rotated::Done => assert_eq!(actions[2..], ["tokens_refreshed", "refresh_reuse"]),
            Rotated::Spent => assert_eq!(actions[2..], ["refresh_reuse"]),
            other => panic!("{other:?}"),
        }
        assert_eq!(rotate(&db, new.refresh, family, &db.build.tokens(&grant)).await, Rotated::Spent);
    }
}
