//! Sweeping: what expired goes in batches, everything else and all evidence stays.

use assent::domain::audit::Action;
use assent::domain::device::DeviceAuthorization;
use assent::store::{BrowserSession, ConsentPage, ContextChoice, Opens, Reserved, SignIn, SignedIn, TurnDone};
use futures_util::future::join_all;

use crate::support::build::{NOW, REQUEST, after, authority, caller, entry, jane, message, reserve, shop};
use crate::support::database::{Database, on_both_databases};

/// Signs in for `device`, with everything that is made then expiring at the end of second `end`.
async fn sign_in(db: &Database, jti: &str, device: &DeviceAuthorization, end: u64) {
    let session = BrowserSession { expires_at: after(end), ..db.build.session(device, &jane()) };
    let page = ConsentPage { expires_at: after(end), ..db.build.page(device, &jane(), None) };
    let signed_in = db
        .sign_in(&SignIn {
            jti: (jti, after(end)),
            session: (db.build.digest(), &session),
            opens: Opens::Page(db.build.digest(), &page),
            entry: &entry(Action::SignedIn),
        })
        .await;
    assert_eq!(signed_in.unwrap(), SignedIn::Done);
}

on_both_databases! {
    async fn just_what_expired_leaves(db: Database) {
        db.with_directory().await;
        for (n, end) in [100, 200, 300].into_iter().enumerate() {
            let device = DeviceAuthorization { expires_at: after(end), ..db.build.device() };
            db.store_device(&device).await;
            sign_in(&db, &format!("assertion-{n}"), &device, end).await;
        }
        let before = db.contents().await;
        assert_eq!(db.sweep(after(100), 100, after(100)).await.unwrap(), 0);
        assert_eq!(db.contents().await, before);
        assert_eq!(db.sweep(after(201), 100, after(201)).await.unwrap(), 8);
        for sql in [
            "SELECT * FROM assertion_jti WHERE forget_at = 1767225900000",
            "SELECT * FROM browser_session WHERE expires_at = 1767225900000",
            "SELECT * FROM consent_page WHERE expires_at = 1767225900000",
            "SELECT * FROM device_authorization WHERE expires_at = 1767225900000",
        ] {
            assert_eq!(db.count(sql).await, 1, "{sql}");
        }
        assert_eq!(db.count("SELECT jti FROM assertion_jti").await, 1);
        assert_eq!(db.sweep(after(201), 100, after(201)).await.unwrap(), 0);
    }

    async fn a_batch_is_bounded_and_begins_with_the_oldest(db: Database) {
        db.with_directory().await;
        for end in [300, 100, 200] {
            let device = DeviceAuthorization { expires_at: after(end), ..db.build.device() };
            db.store_device(&device).await;
        }
        assert_eq!(db.sweep(after(1000), 2, after(1000)).await.unwrap(), 2);
        assert_eq!(
            db.rows("SELECT expires_at FROM device_authorization").await,
            [format!("expires_at={}", after(300).millis())]
        );
        assert_eq!(db.sweep(after(1000), 2, after(1000)).await.unwrap(), 1);
    }

    async fn each_batch_is_one_audit_row_and_a_sweep_that_finds_nothing_is_none(db: Database) {
        db.with_directory().await;
        let old = DeviceAuthorization { expires_at: after(100), ..db.build.device() };
        let older = DeviceAuthorization { expires_at: after(99), ..db.build.device() };
        for device in [&old, &older] {
            db.store_device(device).await;
        }
        sign_in(&db, "assertion-1", &old, 50).await;
        let (brand, caller, first, context) = (shop().id, caller(), message("m-1"), db.build.context());
        db.running(&reserve(&brand, &caller, ContextChoice::New(context), &first, None, NOW)).await;
        for _ in 0..3 {
            db.sweep(after(101), 1, after(200)).await.unwrap();
            db.sweep_contexts(after(101), 1, after(200)).await.unwrap();
        }
        let rows = db.rows("SELECT subject, payload, actor_kind, at FROM audit WHERE action = 'swept' ORDER BY sequence").await;
        let row = |table: &str| {
            format!(
                "subject={table} payload={{\"removed\":1,\"expired_before\":\"{}\"}} actor_kind=assent at={}",
                after(101).to_rfc3339(),
                after(200).millis()
            )
        };
        let tables = ["assertion_jti", "browser_session", "consent_page", "device_authorization", "context", "device_authorization"];
        assert_eq!(rows, tables.map(row));
    }

    async fn grants_tokens_and_evidence_outlive_the_codes_they_came_from(db: Database) {
        db.with_directory().await;
        let (grant, _, tokens) = db.redeemed_by(&jane()).await;
        let step_up = db.build.step_up(&grant, "refunds:issue");
        db.store_device(&step_up).await;
        let evidence = db.rows("SELECT * FROM consent_evidence").await;
        let audit = db.rows("SELECT * FROM audit WHERE brand_id <> '' ORDER BY sequence").await;
        assert_eq!(db.sweep(after(400 * 86_400), 100, after(400 * 86_400)).await.unwrap(), 2);
        assert_eq!(db.count("SELECT id FROM device_authorization").await, 0);
        assert_eq!(db.rows("SELECT * FROM consent_evidence").await, evidence);
        assert_eq!(db.rows("SELECT * FROM audit WHERE brand_id <> '' ORDER BY sequence").await, audit);
        assert!(db.grant(&grant.id).await.unwrap().is_some());
        assert!(db.refresh_token(tokens.refresh).await.unwrap().is_some());
    }

    async fn silent_contexts_leave_with_their_turns_and_their_receipts_stay(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        let (old, young) = (db.build.context(), db.build.context());
        for (context, at) in [(old, NOW), (young, after(100))] {
            for id in ["m-1", "m-2"] {
                let choice =
                    if id == "m-1" { ContextChoice::New(context) } else { ContextChoice::Existing(context) };
                let message = message(id);
                let reservation = db.running(&reserve(&brand, &caller, choice, &message, Some(&authority), at)).await;
                let receipt = Some((&grant.id, db.build.receipt(), "jws"));
                let turn = TurnDone { reservation: &reservation, brand: &brand, reply: "ok", receipt, close: false, request: &REQUEST, now: at };
                db.answered(&turn).await;
            }
        }
        assert_eq!(db.sweep_contexts(NOW, 100, NOW).await.unwrap(), 0);
        assert_eq!(db.sweep_contexts(after(100), 100, after(100)).await.unwrap(), 1);
        assert_eq!(db.rows("SELECT id FROM context").await, [format!("id={young}")]);
        assert_eq!(db.count("SELECT fence FROM turn").await, 2);
        assert_eq!(db.receipts(&grant.id).await.unwrap(), ["jws"; 4]);
        let first = message("m-1");
        let gone = reserve(&brand, &caller, ContextChoice::Existing(old), &first, Some(&authority), after(100));
        assert_eq!(db.reserve_turn(&gone).await.unwrap(), Reserved::UnknownContext);
    }

    async fn contexts_leave_in_batches(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        for n in 0..5 {
            let choice = ContextChoice::New(db.build.context());
            db.running(&reserve(&brand, &caller, choice, &first, None, after(n / 2))).await;
        }
        assert_eq!(db.sweep_contexts(after(100), 2, after(100)).await.unwrap(), 2);
        assert_eq!(db.sweep_contexts(after(100), 2, after(100)).await.unwrap(), 2);
        assert_eq!(db.sweep_contexts(after(100), 2, after(100)).await.unwrap(), 1);
        assert_eq!(db.count("SELECT fence FROM turn").await, 0);
    }

    async fn sweepers_that_meet_remove_each_row_once(db: Database) {
        db.with_directory().await;
        let (brand, caller, first) = (shop().id, caller(), message("m-1"));
        for n in 0..20 {
            let device = DeviceAuthorization { expires_at: after(n), ..db.build.device() };
            db.store_device(&device).await;
            let choice = ContextChoice::New(db.build.context());
            db.running(&reserve(&brand, &caller, choice, &first, None, after(n))).await;
        }
        let swept = join_all((0..8).map(|_| db.sweep(after(1000), 5, after(1000)))).await;
        assert_eq!(swept.into_iter().map(Result::unwrap).sum::<u64>(), 20);
        let swept = join_all((0..8).map(|_| db.sweep_contexts(after(1000), 5, after(1000)))).await;
        assert_eq!(swept.into_iter().map(Result::unwrap).sum::<u64>(), 20);
    }
}
