//! Grants: found by their owner, ended once, and nothing is minted under one that has ended.

use assent::domain::audit::Action;
use assent::domain::conversation::Admission;
use assent::domain::grant::{EndedBy, Grant, GrantState};
use assent::domain::id::Caller;
use assent::store::{ContextChoice, Redeem, Redeemed, Reserved, Rotate, Rotated};
use futures_util::future::{join, join_all};

use crate::support::build::{
    NOW, after, authority, bank, caller, caller_of, entry, entry_at, jane, message, other_agent, reserve, shop, user,
};
use crate::support::database::on_both_databases;

on_both_databases! {
    async fn a_grant_is_found_by_its_id_and_by_its_owner_while_it_lives(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        assert_eq!(db.grant(&grant.id).await.unwrap().as_ref(), Some(&grant));
        assert_eq!(db.grant(&db.build.grant(&jane()).id).await.unwrap(), None);
        let shop = shop().id;
        let last = grant.expires_at.minus(std::time::Duration::from_millis(1));
        assert_eq!(db.live_grant(&shop, &jane(), &caller(), last).await.unwrap().as_ref(), Some(&grant));
        assert_eq!(db.live_grant(&shop, &jane(), &caller(), grant.expires_at).await.unwrap(), None);
        assert_eq!(db.live_grant(&bank().id, &jane(), &caller(), NOW).await.unwrap(), None);
        assert_eq!(db.live_grant(&shop, &user("joe-1"), &caller(), NOW).await.unwrap(), None);
        assert_eq!(db.live_grant(&shop, &jane(), &caller_of("another"), NOW).await.unwrap(), None);
        let foreign = Caller { issuer: other_agent().issuer, ..caller() };
        assert_eq!(db.live_grant(&shop, &jane(), &foreign, NOW).await.unwrap(), None);
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        assert_eq!(db.live_grant(&shop, &jane(), &caller(), NOW).await.unwrap(), None);
    }

    // case 57
    async fn a_grant_is_ended_once_by_whoever_comes_first(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let ended = entry(Action::GrantEnded);
        let ends = join_all((0..20).map(|_| db.end_grant(&grant.id, EndedBy::Administrator, &ended))).await;
        assert_eq!(ends.into_iter().filter(|ended| *ended.as_ref().unwrap()).count(), 1);
        assert_eq!(db.audit_actions("subject-1").await.unwrap(), ["grant_created", "grant_ended"]);
        let after = db.grant(&grant.id).await.unwrap().unwrap();
        assert_eq!(after.state, GrantState::Ended { at: NOW, by: EndedBy::Administrator });
        assert_eq!(after.version, grant.version + 1);
    }

    // case 57
    async fn ending_what_is_not_live_changes_and_records_nothing(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let ended = entry(Action::GrantEnded);
        assert!(db.end_grant(&grant.id, EndedBy::User, &ended).await.unwrap());
        let before = db.contents().await;
        assert!(!db.end_grant(&grant.id, EndedBy::PersonalAgent, &ended).await.unwrap());
        assert!(!db.end_grant(&db.build.grant(&jane()).id, EndedBy::User, &ended).await.unwrap());
        assert_eq!(db.contents().await, before);
    }

    async fn every_way_to_end_a_grant_can_be_stored_and_read(db: Database) {
        db.with_directory().await;
        let ways =
            [EndedBy::User, EndedBy::PersonalAgent, EndedBy::Administrator, EndedBy::BrandChange, EndedBy::Expiry];
        for by in ways {
            let (_, grant) = db.approved_by(&jane()).await;
            assert!(db.end_grant(&grant.id, by, &entry(Action::GrantEnded)).await.unwrap());
            assert_eq!(db.grant(&grant.id).await.unwrap().unwrap().state, GrantState::Ended { at: NOW, by });
        }
    }

    async fn the_database_itself_refuses_a_second_live_grant_of_one_owner(db: Database) {
        db.with_directory().await;
        let (_, _grant) = db.approved_by(&jane()).await;
        let before = db.contents().await;
        let refused = db
            .statement(
                "INSERT INTO delegation_grant (id, brand_id, brand_user, pa_issuer, pa_sub, scopes, version, created_at,
                    decided_at, expires_at, state)
                SELECT 'a2agrant_01M3R53Q5SZQ6FQSMSDBSSREZZ', brand_id, brand_user, pa_issuer, pa_sub, scopes, version,
                    created_at, decided_at, expires_at, state FROM delegation_grant",
            )
            .await;
        assert!(refused.unwrap_err().to_lowercase().contains("unique"));
        assert_eq!(db.contents().await, before);
    }

    async fn the_same_agent_under_another_sub_is_noticed_while_that_grant_lives(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let other = caller_of("another");
        let acts = |caller: Caller, at| {
            let db = &db;
            async move { db.acts_under_another_sub(&shop().id, &jane(), &caller, at).await.unwrap() }
        };
        assert!(acts(other.clone(), NOW).await);
        assert!(!acts(caller(), NOW).await);
        assert!(!acts(Caller { issuer: other_agent().issuer, ..other.clone() }, NOW).await);
        assert!(!acts(other.clone(), grant.expires_at).await);
        assert!(!db.acts_under_another_sub(&shop().id, &user("joe-1"), &other, NOW).await.unwrap());
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        assert!(!acts(other, NOW).await);
    }

    // case 56
    async fn no_token_is_issued_after_the_grant_ended(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let new = db.build.tokens(&grant);
        let (refreshed, ended) = (entry(Action::TokensRefreshed), entry(Action::GrantEnded));
        let rotation = Rotate { presented: tokens.refresh, family, tokens: &new, entry: &refreshed };
        let (rotated, end) =
            join(db.rotate(&rotation), db.end_grant(&grant.id, EndedBy::User, &ended)).await;
        assert!(end.unwrap());
        let actions = db.audit_actions("subject-1").await.unwrap();
        match rotated.unwrap() {
            // The chain is in the order of the commits.
            Rotated::Done => assert_eq!(actions[2..], ["tokens_refreshed", "grant_ended"]),
            Rotated::GrantGone => assert_eq!(actions[2..], ["grant_ended"]),
            other => panic!("{other:?}"),
        }
        let again = Rotate { presented: new.refresh, family, tokens: &db.build.tokens(&grant), entry: &refreshed };
        assert_eq!(db.rotate(&again).await.unwrap(), Rotated::GrantGone);
    }

    // case 56
    async fn no_code_is_redeemed_after_the_grant_ended(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        let (issued, ended) = (entry(Action::TokensIssued), entry(Action::GrantEnded));
        let tokens: Vec<_> = (0..10).map(|_| db.build.tokens(&grant)).collect();
        let polls = join_all(tokens.iter().map(|tokens| {
            let redeem = Redeem { device: device.id, family: db.build.family(), tokens, entry: &issued };
            let db = &db;
            async move { db.redeem(&redeem).await.unwrap() }
        }));
        let (polls, end) = join(polls, db.end_grant(&grant.id, EndedBy::User, &ended)).await;
        assert!(end.unwrap());
        let actions = db.audit_actions("subject-1").await.unwrap();
        match polls.iter().filter(|poll| **poll == Redeemed::Done).count() {
            1 => assert_eq!(actions[1..], ["tokens_issued", "grant_ended"]),
            0 => assert_eq!(actions[1..], ["grant_ended"]),
            more => panic!("redeemed {more} times"),
        }
    }

    // case 56
    async fn no_turn_runs_under_a_grant_after_it_ended(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&authority), NOW);
        let ended = entry(Action::GrantEnded);
        let (reserved, end) =
            join(db.reserve_turn(&begin), db.end_grant(&grant.id, EndedBy::User, &ended)).await;
        assert!(end.unwrap());
        assert!(matches!(reserved.unwrap(), Reserved::Run(_) | Reserved::GrantGone));
        let before = db.contents().await;
        let fresh = ContextChoice::New(db.build.context());
        let late = reserve(&brand, &caller, fresh, &second, Some(&authority), NOW);
        assert_eq!(db.reserve_turn(&late).await.unwrap(), Reserved::GrantGone);
        assert_eq!(db.contents().await, before);
    }

    // case 56
    async fn the_contexts_of_a_grant_are_closed_once_it_ended(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&authority), NOW)).await;
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let (_, successor) = db.approved_by(&jane()).await;
        let authority = crate::support::build::authority(&successor);
        for authority in [None, Some(&authority)] {
            let before = db.contents().await;
            let go_on = reserve(&brand, &caller, ContextChoice::Existing(context), &second, authority, NOW);
            assert_eq!(db.reserve_turn(&go_on).await.unwrap(), Reserved::Other(Admission::Closed));
            assert_eq!(db.contents().await, before);
        }
    }

    async fn ending_at_an_instant_is_stored_with_that_instant(db: Database) {
        db.with_directory().await;
        let (_, grant): (_, Grant) = db.approved_by(&jane()).await;
        let ended = entry_at(Action::GrantEnded, after(5));
        assert!(db.end_grant(&grant.id, EndedBy::PersonalAgent, &ended).await.unwrap());
        let state = db.grant(&grant.id).await.unwrap().unwrap().state;
        assert_eq!(state, GrantState::Ended { at: after(5), by: EndedBy::PersonalAgent });
    }
}
