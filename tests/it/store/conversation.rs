//! Contexts and turns: one run per message, one stored reply, and only the latest runner may store.

use assent::domain::conversation::{Admission, Reservation};
use assent::domain::grant::Grant;
use assent::domain::id::{Caller, GrantId, ReceiptId};
use assent::store::{Completed, ContextChoice, Reserved, TurnDone};
use futures_util::future::join_all;

use crate::support::build::{
    IDLE, LEASE, NOW, REQUEST, after, authority, bank, caller, caller_of, jane, message, reserve, scopes, shop, user,
};
use crate::support::database::{Database, on_both_databases};

/// An answer without a receipt that leaves the context open.
pub(super) fn done<'a>(
    reservation: &'a Reservation,
    brand: &'a assent::domain::id::BrandId,
    reply: &'a str,
) -> TurnDone<'a> {
    TurnDone { reservation, brand, reply, receipt: None, close: false, request: &REQUEST, now: NOW }
}

pub(super) fn receipt<'a>(db: &Database, grant: &'a Grant, jws: &'a str) -> Option<(&'a GrantId, ReceiptId, &'a str)> {
    Some((&grant.id, db.build.receipt(), jws))
}

on_both_databases! {
    // case 68
    async fn a_stored_reply_is_given_again_byte_for_byte(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        let reservation = db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW)).await;
        assert_eq!((reservation.context, reservation.fence, reservation.step_ups), (context, 1, 0));
        let reply = "{\"parts\" : [\"ü\u{1f600}\\u0000\"]}\n";
        db.answered(&done(&reservation, &brand, reply)).await;
        let before = db.contents().await;
        let again = reserve(&brand, &caller, ContextChoice::Existing(context), &first, None, NOW);
        let replay = Reserved::Other(Admission::Replay(reply.to_owned()));
        assert_eq!(db.reserve_turn(&again).await.unwrap(), replay);
        assert_eq!(db.contents().await, before);
    }

    async fn a_turn_runs_with_the_scopes_that_the_grant_has_when_it_is_reserved(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, held) = (shop().id, caller(), message("m-1"), authority(&grant));
        assert!(held.scopes.len() > 1);
        db.statement("UPDATE delegation_grant SET scopes = 'orders:read', version = version + 1").await.unwrap();
        let context = ContextChoice::New(db.build.context());
        let reservation = db.running(&reserve(&brand, &caller, context, &first, Some(&held), NOW)).await;
        assert_eq!(reservation.scopes, scopes("orders:read"));
    }

    // case 56
    async fn a_context_ends_with_a_grant_that_somebody_ended_and_not_with_one_that_expired(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, held) = (shop().id, caller(), authority(&grant));
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&held), NOW)).await;
        let next = reserve(&brand, &caller, ContextChoice::Existing(context), &second, None, NOW);
        db.statement("UPDATE delegation_grant SET state = 'ended', ended_at = 1, ended_by = 'user'").await.unwrap();
        assert_eq!(db.reserve_turn(&next).await.unwrap(), Reserved::Other(Admission::Closed));
        db.statement("UPDATE delegation_grant SET ended_by = 'expiry'").await.unwrap();
        assert!(matches!(db.reserve_turn(&next).await.unwrap(), Reserved::Run(_)));
    }

    // case 68
    async fn of_twenty_requests_with_one_message_id_one_runs(db: Database) {
        db.with_directory().await;
        let (brand, caller) = (shop().id, caller());
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW)).await;
        let again = reserve(&brand, &caller, ContextChoice::Existing(context), &second, None, NOW);
        let outcomes = join_all((0..20).map(|_| db.reserve_turn(&again))).await;
        let outcomes: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Reserved::Run(_))).count(), 1);
        let refused = outcomes.iter().filter(|outcome| **outcome == Reserved::Other(Admission::Repeated)).count();
        assert_eq!(refused, 19);
    }

    // case 70
    async fn of_twenty_takeovers_at_the_same_instant_one_runs(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW)).await;
        let late = NOW.plus(LEASE);
        let again = reserve(&brand, &caller, ContextChoice::Existing(context), &first, None, late);
        let outcomes = join_all((0..20).map(|_| db.reserve_turn(&again))).await;
        let runs: Vec<_> =
            outcomes.into_iter().map(Result::unwrap).filter(|outcome| matches!(outcome, Reserved::Run(_))).collect();
        assert_eq!(runs.len(), 1);
    }

    // case 68
    async fn a_message_that_still_runs_is_refused_until_its_lease_is_over(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW)).await;
        let at = |now| reserve(&brand, &caller, ContextChoice::Existing(context), &first, None, now);
        let before = db.contents().await;
        let last = NOW.plus(LEASE).minus(std::time::Duration::from_millis(1));
        assert_eq!(db.reserve_turn(&at(last)).await.unwrap(), Reserved::Other(Admission::Repeated));
        assert_eq!(db.contents().await, before);
        assert_eq!(db.running(&at(NOW.plus(LEASE))).await.fence, 2);
    }

    // case 70
    async fn a_superseded_runner_can_neither_store_nor_release(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, authority) = (shop().id, caller(), message("m-1"), authority(&grant));
        let context = db.build.context();
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&authority), NOW);
        let slow = db.running(&begin).await;
        let late = NOW.plus(LEASE);
        let take_over = reserve(&brand, &caller, ContextChoice::Existing(context), &first, Some(&authority), late);
        let quick = db.running(&take_over).await;
        let before = db.contents().await;
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), close: true, ..done(&slow, &brand, "slow") };
        assert_eq!(db.complete_turn(&turn).await.unwrap(), Completed::Superseded);
        db.release_turn(&slow).await.unwrap();
        assert_eq!(db.contents().await, before);
        db.answered(&done(&quick, &brand, "quick")).await;
        let before = db.contents().await;
        assert_eq!(db.complete_turn(&done(&quick, &brand, "twice")).await.unwrap(), Completed::Superseded);
        assert_eq!(db.contents().await, before);
    }

    // case 70
    async fn a_runner_and_its_successor_that_meet_leave_one_of_their_replies(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        for _ in 0..10 {
            let context = db.build.context();
            let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW);
            let slow = db.running(&begin).await;
            let late = NOW.plus(LEASE);
            let take_over = reserve(&brand, &caller, ContextChoice::Existing(context), &first, None, late);
            let slow_done = done(&slow, &brand, "slow");
            let (taken, stored) =
                futures_util::future::join(db.reserve_turn(&take_over), db.complete_turn(&slow_done)).await;
            match (taken.unwrap(), stored.unwrap()) {
                (Reserved::Run(quick), Completed::Superseded) => db.answered(&done(&quick, &brand, "quick")).await,
                (Reserved::Other(Admission::Replay(reply)), Completed::Stored) => assert_eq!(reply, "slow"),
                (Reserved::Other(Admission::Repeated), Completed::Stored) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    // case 63
    async fn a_released_message_runs_again(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW);
        let failed = db.running(&begin).await;
        db.release_turn(&failed).await.unwrap();
        let before = db.contents().await;
        assert_eq!(db.complete_turn(&done(&failed, &brand, "late")).await.unwrap(), Completed::Superseded);
        assert_eq!(db.contents().await, before);
        let again = db.running(&reserve(&brand, &caller, ContextChoice::Existing(context), &first, None, NOW)).await;
        assert_eq!((again.fence, again.step_ups), (2, 0));
    }

    // case 67
    async fn unknown_and_foreign_contexts_are_one_and_the_same(db: Database) {
        db.with_directory().await;
        let (brand, owner, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        db.running(&reserve(&brand, &owner, ContextChoice::New(context), &first, None, NOW)).await;
        let (bank, stranger) = (bank().id, caller_of("another"));
        let foreign = Caller { issuer: crate::support::build::other_agent().issuer, ..owner.clone() };
        let here = ContextChoice::Existing(context);
        let nowhere = ContextChoice::Existing(db.build.context());
        let second = message("m-2");
        let before = db.contents().await;
        for attempt in [
            reserve(&brand, &owner, nowhere, &second, None, NOW),
            reserve(&bank, &owner, here, &second, None, NOW),
            reserve(&brand, &stranger, here, &second, None, NOW),
            reserve(&brand, &foreign, here, &second, None, NOW),
        ] {
            assert_eq!(db.reserve_turn(&attempt).await.unwrap(), Reserved::UnknownContext);
        }
        assert_eq!(db.contents().await, before);
    }

    // case 61
    async fn a_context_that_ran_under_delegation_belongs_to_that_brand_user(db: Database) {
        db.with_directory().await;
        let (brand, caller) = (shop().id, caller());
        let (janes, joes) = (db.approved_by(&jane()).await.1, db.approved_by(&user("joe-1")).await.1);
        let (as_jane, as_joe) = (authority(&janes), authority(&joes));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let (m1, m2, m3, m4) = (message("m-1"), message("m-2"), message("m-3"), message("m-4"));
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &m1, None, NOW)).await;
        db.running(&reserve(&brand, &caller, here, &m2, Some(&as_jane), NOW)).await;
        let before = db.contents().await;
        let refused = db.reserve_turn(&reserve(&brand, &caller, here, &m3, Some(&as_joe), NOW)).await.unwrap();
        assert_eq!(refused, Reserved::Other(Admission::OtherUser));
        assert_eq!(db.contents().await, before);
        db.running(&reserve(&brand, &caller, here, &m3, None, NOW)).await;
        db.running(&reserve(&brand, &caller, here, &m4, Some(&as_jane), NOW)).await;
        let bound = db.rows("SELECT brand_user FROM context").await;
        assert_eq!(bound, ["brand_user=jane-4471"]);
    }

    // case 61
    async fn of_two_brand_users_who_bind_a_context_at_the_same_instant_one_does(db: Database) {
        db.with_directory().await;
        let (brand, caller) = (shop().id, caller());
        let (janes, joes) = (db.approved_by(&jane()).await.1, db.approved_by(&user("joe-1")).await.1);
        let (as_jane, as_joe) = (authority(&janes), authority(&joes));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let (m1, m2, m3) = (message("m-1"), message("m-2"), message("m-3"));
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &m1, None, NOW)).await;
        let (first, second) = (
            reserve(&brand, &caller, here, &m2, Some(&as_jane), NOW),
            reserve(&brand, &caller, here, &m3, Some(&as_joe), NOW),
        );
        let (first, second) = futures_util::future::join(db.reserve_turn(&first), db.reserve_turn(&second)).await;
        let other = Reserved::Other(Admission::OtherUser);
        match (first.unwrap(), second.unwrap()) {
            (Reserved::Run(_), refused) | (refused, Reserved::Run(_)) => assert_eq!(refused, other),
            neither => panic!("{neither:?}"),
        }
        assert_eq!(db.count("SELECT message_id FROM turn").await, 2);
    }

    async fn a_reply_under_delegation_is_given_again_to_the_same_grant_only(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let (grant, joes) = (db.approved_by(&jane()).await.1, db.approved_by(&user("joe-1")).await.1);
        let (as_jane, as_joe) = (authority(&grant), authority(&joes));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&as_jane), NOW);
        let reservation = db.running(&begin).await;
        // Even where no receipt came with it.
        db.answered(&done(&reservation, &brand, "private")).await;
        let before = db.contents().await;
        for (authority, refusal) in [(None, Admission::Repeated), (Some(&as_joe), Admission::OtherUser)] {
            let again = reserve(&brand, &caller, here, &first, authority, NOW);
            assert_eq!(db.reserve_turn(&again).await.unwrap(), Reserved::Other(refusal));
        }
        let again = reserve(&brand, &caller, here, &first, Some(&as_jane), NOW);
        let replay = Reserved::Other(Admission::Replay("private".to_owned()));
        assert_eq!(db.reserve_turn(&again).await.unwrap(), replay);
        assert_eq!(db.contents().await, before);
    }

    async fn a_closed_context_refuses_new_messages_and_still_gives_stored_replies(db: Database) {
        db.with_directory().await;
        let (brand, caller) = (shop().id, caller());
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW);
        let reservation = db.running(&begin).await;
        db.answered(&TurnDone { close: true, ..done(&reservation, &brand, "goodbye") }).await;
        let before = db.contents().await;
        let here = ContextChoice::Existing(context);
        let refused = db.reserve_turn(&reserve(&brand, &caller, here, &second, None, NOW)).await.unwrap();
        assert_eq!(refused, Reserved::Other(Admission::Closed));
        let replay = db.reserve_turn(&reserve(&brand, &caller, here, &first, None, NOW)).await.unwrap();
        assert_eq!(replay, Reserved::Other(Admission::Replay("goodbye".to_owned())));
        assert_eq!(db.contents().await, before);
    }

    async fn a_context_that_was_silent_for_too_long_is_closed(db: Database) {
        db.with_directory().await;
        let (brand, caller) = (shop().id, caller());
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW);
        let reservation = db.running(&begin).await;
        db.answered(&TurnDone { now: after(10), ..done(&reservation, &brand, "hello") }).await;
        let silent = after(10).plus(IDLE);
        let refused = db.reserve_turn(&reserve(&brand, &caller, here, &second, None, silent)).await.unwrap();
        assert_eq!(refused, Reserved::Other(Admission::Closed));
        let last = silent.minus(std::time::Duration::from_millis(1));
        db.running(&reserve(&brand, &caller, here, &second, None, last)).await;
    }

    async fn a_receipt_is_kept_with_the_reply_that_carries_it(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        let context = db.build.context();
        let mut choice = ContextChoice::New(context);
        for (n, jws) in ["jws-0", "jws-1", "jws-2"].into_iter().enumerate() {
            let at = after(u64::try_from(n).unwrap());
            let message = message(&format!("m-{n}"));
            let reservation = db.running(&reserve(&brand, &caller, choice, &message, Some(&authority), at)).await;
            let turn = TurnDone { receipt: receipt(&db, &grant, jws), now: at, ..done(&reservation, &brand, "done") };
            db.answered(&turn).await;
            choice = ContextChoice::Existing(context);
        }
        assert_eq!(db.receipts(&grant.id).await.unwrap(), ["jws-0", "jws-1", "jws-2"]);
        let other = db.approved_by(&user("joe-1")).await.1;
        assert_eq!(db.receipts(&other.id).await.unwrap(), [""; 0]);
    }

    async fn a_receipt_is_kept_also_when_the_grant_ended_during_the_turn(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, authority) = (shop().id, caller(), message("m-1"), authority(&grant));
        let choice = ContextChoice::New(db.build.context());
        let reservation = db.running(&reserve(&brand, &caller, choice, &first, Some(&authority), NOW)).await;
        let ended = crate::support::build::entry(assent::domain::audit::Action::GrantEnded);
        assert!(db.end_grant(&grant.id, assent::domain::grant::EndedBy::User, &ended).await.unwrap());
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&reservation, &brand, "done") };
        db.answered(&turn).await;
        assert_eq!(db.receipts(&grant.id).await.unwrap(), ["jws"]);
    }

    // case 70
    async fn a_reply_whose_receipt_cannot_be_kept_is_not_stored(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        let (first, second) = (message("m-1"), message("m-2"));
        let context = db.build.context();
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&authority), NOW);
        let one = db.running(&begin).await;
        let kept = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&one, &brand, "one") };
        let taken = kept.receipt.unwrap().1;
        db.answered(&kept).await;
        let here = ContextChoice::Existing(context);
        let reservation = db.running(&reserve(&brand, &caller, here, &second, Some(&authority), NOW)).await;
        let before = db.contents().await;
        let clash = TurnDone { receipt: Some((&grant.id, taken, "jws")), ..done(&reservation, &brand, "two") };
        assert!(db.complete_turn(&clash).await.is_err());
        assert_eq!(db.contents().await, before);
    }
}
