//! A runner that comes back at the instant at which its turn is taken over: one of the two has it, and what was stored stays.

use assent::domain::conversation::{Admission, Reservation};
use assent::domain::id::MessageId;
use assent::store::{Completed, ContextChoice, Reserved, StepUpCode, StepUpDone, StepUpStored, TurnDone};
use futures_util::future::join;

use crate::support::build::{LEASE, NOW, REQUEST, caller, message, reserve, scopes, shop};
use crate::support::database::{Database, on_both_databases};

const ROUNDS: usize = 30;

/// A turn whose lease is over, and its runner's reservation.
async fn overdue(db: &Database, round: usize) -> (MessageId, Reservation) {
    let first = message(&format!("m-{round}"));
    let context = ContextChoice::New(db.build.context());
    let reservation = db.running(&reserve(&shop().id, &caller(), context, &first, None, NOW)).await;
    (first, reservation)
}

/// Takes the turn over once its lease is over.
async fn take_over(db: &Database, first: &MessageId, reservation: &Reservation) -> Reserved {
    let context = ContextChoice::Existing(reservation.context);
    db.reserve_turn(&reserve(&shop().id, &caller(), context, first, None, NOW.plus(LEASE))).await.unwrap()
}

fn done<'a>(reservation: &'a Reservation, brand: &'a assent::domain::id::BrandId) -> TurnDone<'a> {
    TurnDone { reservation, brand, reply: "{}", receipt: None, close: false, request: &REQUEST, now: NOW.plus(LEASE) }
}

on_both_databases! {
    async fn a_reply_that_is_stored_as_its_turn_is_taken_over_is_replayed_or_nothing(db: Database) {
        db.with_directory().await;
        let brand = shop().id;
        for round in 0..ROUNDS {
            let (first, reservation) = overdue(&db, round).await;
            let done = done(&reservation, &brand);
            match join(db.complete_turn(&done), take_over(&db, &first, &reservation)).await {
                (Ok(Completed::Stored), Reserved::Other(Admission::Replay(reply))) => assert_eq!(reply, "{}"),
                (Ok(Completed::Superseded), Reserved::Run(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn a_step_up_that_is_stored_as_its_turn_is_taken_over_is_given_again_or_nothing(db: Database) {
        db.with_directory().await;
        let (brand, missing) = (shop().id, scopes("refunds:issue"));
        for round in 0..ROUNDS {
            let (first, reservation) = overdue(&db, round).await;
            let device = db.build.device_id();
            let code = StepUpCode::Pending(device);
            let step_up = StepUpDone { turn: done(&reservation, &brand), missing: &missing, code };
            match join(db.complete_step_up(&step_up), take_over(&db, &first, &reservation)).await {
                (Ok(StepUpStored::Stored), Reserved::Other(Admission::StepUpAgain { device: stored, .. })) => {
                    assert_eq!(stored, device);
                }
                (Ok(StepUpStored::Superseded), Reserved::Run(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}
