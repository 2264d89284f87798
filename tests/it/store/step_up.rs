//! Step-ups: given again until their scopes are there, with a link that works, and never a code that nobody was told.

use assent::domain::conversation::{Admission, Reservation};
use assent::domain::device::DeviceAuthorization;
use assent::domain::grant::Grant;
use assent::domain::id::{ContextId, Digest};
use assent::store::{
    ContextChoice, NewDeviceAuthorization, RenewStepUp, Reserved, StepUpCode, StepUpDone, StepUpStored, TurnDone,
};
use futures_util::future::{join, join_all};

use super::conversation::{done, receipt};
use crate::support::build::{LEASE, NOW, authority, caller, jane, message, reserve, scopes, shop};
use crate::support::database::{Database, on_both_databases};

/// A code that is about to be made.
struct Fresh {
    device: DeviceAuthorization,
    user_code: Digest,
}

impl Fresh {
    fn new(db: &Database, grant: &Grant) -> Self {
        Self { device: db.build.step_up(grant, "refunds:issue"), user_code: db.build.digest() }
    }

    fn new_device(&self) -> NewDeviceAuthorization<'_> {
        NewDeviceAuthorization { device: &self.device, device_code: None, user_code: self.user_code, most_live: 20 }
    }
}

/// A turn whose step-up was stored with a code that is no longer there, and that code.
async fn lapsed(db: &Database, grant: &Grant) -> (ContextId, Reservation, assent::domain::id::DeviceAuthorizationId) {
    let (brand, caller, first, lacking) = (shop().id, caller(), message("m-1"), authority(grant));
    let context = db.build.context();
    let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&lacking), NOW);
    let reservation = db.running(&begin).await;
    let (missing, old) = (scopes("refunds:issue"), db.build.device_id());
    let turn = done(&reservation, &brand, "old link");
    let step_up = StepUpDone { turn, missing: &missing, code: StepUpCode::Pending(old) };
    assert_eq!(db.complete_step_up(&step_up).await.unwrap(), StepUpStored::Stored);
    (context, reservation, old)
}

on_both_databases! {
    // case 62
    async fn a_step_up_is_stored_with_its_code_or_neither_is(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, lacking) = (shop().id, caller(), message("m-1"), authority(&grant));
        let (context, missing) = (db.build.context(), scopes("refunds:issue"));
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&lacking), NOW);
        let slow = db.running(&begin).await;
        let late = NOW.plus(LEASE);
        let take_over = reserve(&brand, &caller, ContextChoice::Existing(context), &first, Some(&lacking), late);
        let quick = db.running(&take_over).await;
        let before = db.contents().await;
        let fresh = Fresh::new(&db, &grant);
        let new = fresh.new_device();
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&slow, &brand, "slow") };
        let outlived = StepUpDone { turn, missing: &missing, code: StepUpCode::New(&new) };
        assert_eq!(db.complete_step_up(&outlived).await.unwrap(), StepUpStored::Superseded);
        let (_, taken) = db.store_device(&db.build.step_up(&grant, "orders:cancel")).await;
        let with_taken = db.contents().await;
        let letters = NewDeviceAuthorization { user_code: taken, ..fresh.new_device() };
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&quick, &brand, "quick") };
        let clash = StepUpDone { turn, missing: &missing, code: StepUpCode::New(&letters) };
        assert_eq!(db.complete_step_up(&clash).await.unwrap(), StepUpStored::UserCodeTaken);
        assert_eq!(db.contents().await, with_taken);
        assert_ne!(before, with_taken);
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&quick, &brand, "quick") };
        let good = StepUpDone { turn, missing: &missing, code: StepUpCode::New(&new) };
        assert_eq!(db.complete_step_up(&good).await.unwrap(), StepUpStored::Stored);
        assert_eq!(db.device(fresh.device.id).await.unwrap(), Some(fresh.device.clone()));
        assert_eq!(db.receipts(&grant.id).await.unwrap(), ["jws"]);
    }

    // case 62
    async fn a_caller_with_as_many_codes_as_it_may_have_gets_no_step_up_either(db: Database) {
        db.with_directory().await;
        let (brand, caller, first, missing) = (shop().id, caller(), message("m-1"), scopes("orders:read"));
        let begin = reserve(&brand, &caller, ContextChoice::New(db.build.context()), &first, None, NOW);
        let reservation = db.running(&begin).await;
        let one = db.requested().await;
        let before = db.contents().await;
        let device = db.build.device();
        let device_code = Some(db.build.digest());
        let new = NewDeviceAuthorization { device: &device, device_code, user_code: db.build.digest(), most_live: 1 };
        let step_up = StepUpDone {
            turn: done(&reservation, &brand, "step-up"),
            missing: &missing,
            code: StepUpCode::New(&new),
        };
        let expected = StepUpStored::TooMany { until: one.expires_at };
        assert_eq!(db.complete_step_up(&step_up).await.unwrap(), expected);
        assert_eq!(db.contents().await, before);
    }

    // case 62
    async fn a_step_up_is_given_again_until_its_scopes_are_there_and_then_the_message_runs(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, lacking) = (shop().id, caller(), message("m-1"), authority(&grant));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, Some(&lacking), NOW);
        let reservation = db.running(&begin).await;
        let (missing, device) = (scopes("refunds:issue"), db.build.device_id());
        let turn = TurnDone { receipt: receipt(&db, &grant, "jws"), ..done(&reservation, &brand, "step-up") };
        let code = StepUpCode::Pending(device);
        let stored = db.complete_step_up(&StepUpDone { turn, missing: &missing, code }).await.unwrap();
        assert_eq!(stored, StepUpStored::Stored);
        assert_eq!(db.receipts(&grant.id).await.unwrap(), ["jws"]);
        let before = db.contents().await;
        let again = db.reserve_turn(&reserve(&brand, &caller, here, &first, Some(&lacking), NOW)).await.unwrap();
        let expected = Admission::StepUpAgain { reply: "step-up".to_owned(), missing, device };
        assert_eq!(again, Reserved::Other(expected));
        let without = db.reserve_turn(&reserve(&brand, &caller, here, &first, None, NOW)).await.unwrap();
        assert_eq!(without, Reserved::Other(Admission::Repeated));
        assert_eq!(db.contents().await, before);
        let allow = "UPDATE delegation_grant SET scopes = 'orders:read orders:cancel refunds:issue', version = version + 1";
        db.statement(allow).await.unwrap();
        let having = assent::domain::conversation::Authority {
            scopes: scopes("orders:read orders:cancel refunds:issue"),
            ..lacking
        };
        let anew = db.running(&reserve(&brand, &caller, here, &first, Some(&having), NOW)).await;
        assert_eq!((anew.fence, anew.step_ups), (2, 1));
        db.answered(&done(&anew, &brand, "refunded")).await;
        let replay = db.reserve_turn(&reserve(&brand, &caller, here, &first, Some(&having), NOW)).await.unwrap();
        assert_eq!(replay, Reserved::Other(Admission::Replay("refunded".to_owned())));
    }

    // case 62
    async fn a_step_up_without_delegation_is_given_again_until_a_token_has_its_scopes(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        let context = db.build.context();
        let here = ContextChoice::Existing(context);
        let begin = reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW);
        let reservation = db.running(&begin).await;
        let (missing, device) = (scopes("orders:read"), db.build.device_id());
        let turn = done(&reservation, &brand, "step-up");
        let code = StepUpCode::Pending(device);
        let stored = db.complete_step_up(&StepUpDone { turn, missing: &missing, code }).await.unwrap();
        assert_eq!(stored, StepUpStored::Stored);
        let before = db.contents().await;
        let again = db.reserve_turn(&reserve(&brand, &caller, here, &first, None, NOW)).await.unwrap();
        let expected = Admission::StepUpAgain { reply: "step-up".to_owned(), missing, device };
        assert_eq!(again, Reserved::Other(expected));
        assert_eq!(db.contents().await, before);
        let having = authority(&db.approved_by(&jane()).await.1);
        let anew = db.running(&reserve(&brand, &caller, here, &first, Some(&having), NOW)).await;
        assert_eq!((anew.fence, anew.step_ups), (2, 1));
    }

    // case 62
    async fn of_requests_that_renew_a_link_at_once_one_makes_a_code(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, first, lacking) = (shop().id, caller(), message("m-1"), authority(&grant));
        let (context, _, old) = lapsed(&db, &grant).await;
        let missing = scopes("refunds:issue");
        let fresh: Vec<Fresh> = (0..20).map(|_| Fresh::new(&db, &grant)).collect();
        let renewals = join_all(fresh.iter().map(async |fresh| {
            let new = fresh.new_device();
            let code = StepUpCode::New(&new);
            let renew = RenewStepUp { context, message: &first, old, code, missing: &missing, reply: "new link" };
            db.renew_step_up(&renew).await.unwrap()
        }))
        .await;
        let mut made = Vec::new();
        for (fresh, stored) in fresh.iter().zip(&renewals) {
            let is_there = db.device(fresh.device.id).await.unwrap().is_some();
            assert_eq!(is_there, *stored == StepUpStored::Stored, "{stored:?}");
            if is_there {
                made.push(fresh.device.id);
            }
        }
        let [new] = made[..] else { panic!("{renewals:?}") };
        let here = ContextChoice::Existing(context);
        let again = db.reserve_turn(&reserve(&brand, &caller, here, &first, Some(&lacking), NOW)).await.unwrap();
        let expected = Admission::StepUpAgain { reply: "new link".to_owned(), missing: missing.clone(), device: new };
        assert_eq!(again, Reserved::Other(expected));
    }

    async fn only_the_step_up_that_was_read_is_renewed(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (first, other, missing) = (message("m-1"), message("m-2"), scopes("refunds:issue"));
        let (context, _, old) = lapsed(&db, &grant).await;
        let before = db.contents().await;
        let fresh = Fresh::new(&db, &grant);
        let new = fresh.new_device();
        let code = StepUpCode::New(&new);
        let renew = |context, message, old| RenewStepUp { context, message, old, code, missing: &missing, reply: "late" };
        for renew in [
            renew(context, &first, db.build.device_id()),
            renew(db.build.context(), &first, old),
            renew(context, &other, old),
        ] {
            assert_eq!(db.renew_step_up(&renew).await.unwrap(), StepUpStored::Superseded);
        }
        assert_eq!(db.contents().await, before);
    }

    // case 62: a token that suffices runs the message while another still asks for the link
    async fn a_link_that_is_renewed_as_its_message_runs_anew_leaves_no_code_behind(db: Database) {
        db.with_directory().await;
        for round in 0..10 {
            let jane = crate::support::build::user(&format!("jane-{round}"));
            let (_, grant) = db.approved_by(&jane).await;
            let (brand, caller, first, missing) = (shop().id, caller(), message("m-1"), scopes("refunds:issue"));
            let (context, _, old) = lapsed(&db, &grant).await;
            let fresh = Fresh::new(&db, &grant);
            let new = fresh.new_device();
            let code = StepUpCode::New(&new);
            let renew = RenewStepUp { context, message: &first, old, code, missing: &missing, reply: "late" };
            let having = assent::domain::conversation::Authority {
                scopes: scopes("orders:read orders:cancel refunds:issue"),
                ..authority(&grant)
            };
            let allow = "UPDATE delegation_grant SET scopes = 'orders:read orders:cancel refunds:issue'";
            db.statement(allow).await.unwrap();
            let here = ContextChoice::Existing(context);
            let runs = reserve(&brand, &caller, here, &first, Some(&having), NOW);
            let (renewed, ran) = join(db.renew_step_up(&renew), db.reserve_turn(&runs)).await;
            assert!(matches!(ran.unwrap(), Reserved::Run(_)));
            let is_there = db.device(fresh.device.id).await.unwrap().is_some();
            assert_eq!(is_there, renewed.unwrap() == StepUpStored::Stored);
        }
    }
}
