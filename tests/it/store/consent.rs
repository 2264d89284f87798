//! Signing in: an assertion is spent once, and only for what it opens.

use assent::domain::audit::Action;
use assent::domain::device::{DeviceAuthorization, DeviceState};
use assent::domain::grant::EndedBy;
use assent::domain::id::{BrandId, BrandUser};
use assent::store::{BrowserSession, ConsentPage, Opens, SignIn, SignedIn};
use futures_util::future::join_all;

use crate::support::build::{NOW, after, bank, entry, jane, scopes, shop, user};
use crate::support::database::{Database, on_both_databases};

/// Signs in with the assertion `jti` and shows a page.
async fn sign_in(db: &Database, jti: &str, session: &BrowserSession, page: &ConsentPage) -> SignedIn {
    db.sign_in(&SignIn {
        jti: (jti, after(600)),
        session: (db.build.digest(), session),
        opens: Opens::Page(db.build.digest(), page),
        entry: &entry(Action::SignedIn),
    })
    .await
    .unwrap()
}

/// Signs in for `device` as `brand_user`.
async fn sign_in_for(db: &Database, jti: &str, device: &DeviceAuthorization, brand_user: &BrandUser) -> SignedIn {
    sign_in(db, jti, &db.build.session(device, brand_user), &db.build.page(device, brand_user, None)).await
}

on_both_databases! {
    async fn signing_in_opens_a_session_and_a_page_at_one_brand(db: Database) {
        db.with_directory().await;
        let (device, grant) = (db.requested().await, db.approved_by(&jane()).await.1);
        let session = db.build.session(&device, &jane());
        let page = db.build.page(&device, &jane(), Some(&grant));
        let (session_digest, page_digest) = (db.build.digest(), db.build.digest());
        let sign_in = SignIn {
            jti: ("assertion-1", after(600)),
            session: (session_digest, &session),
            opens: Opens::Page(page_digest, &page),
            entry: &entry(Action::SignedIn),
        };
        assert_eq!(db.sign_in(&sign_in).await.unwrap(), SignedIn::Done);
        let shop = shop().id;
        assert_eq!(db.browser_session(&shop, session_digest, NOW).await.unwrap(), Some(session.clone()));
        assert_eq!(db.consent_page(&shop, page_digest).await.unwrap(), Some(page));
        assert_eq!(db.browser_session(&shop, page_digest, NOW).await.unwrap(), None);
        assert_eq!(db.consent_page(&shop, session_digest).await.unwrap(), None);
        assert_eq!(db.browser_session(&bank().id, session_digest, NOW).await.unwrap(), None);
        assert_eq!(db.consent_page(&bank().id, page_digest).await.unwrap(), None);
        assert_eq!(db.browser_session(&shop, session_digest, session.expires_at).await.unwrap(), None);
    }

    async fn a_brand_user_has_a_session_from_signing_in_until_it_expires(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let has = |brand: BrandId, brand_user: BrandUser, at| {
            let db = &db;
            async move { db.has_browser_session(&brand, &brand_user, at).await.unwrap() }
        };
        assert!(!has(shop().id, jane(), NOW).await);
        assert_eq!(sign_in_for(&db, "assertion-1", &device, &jane()).await, SignedIn::Done);
        assert!(has(shop().id, jane(), after(899)).await);
        assert!(!has(shop().id, jane(), after(900)).await);
        assert!(!has(shop().id, user("joe-1"), NOW).await);
        assert!(!has(bank().id, jane(), NOW).await);
    }

    async fn a_page_that_is_shown_again_is_kept_as_it_was_shown(db: Database) {
        db.with_directory().await;
        let page = db.build.page(&db.requested().await, &jane(), None);
        let digest = db.build.digest();
        db.open_consent_page(digest, &page).await.unwrap();
        assert_eq!(db.consent_page(&shop().id, digest).await.unwrap(), Some(page));
    }

    // case 33
    async fn of_fifty_sign_ins_with_one_assertion_one_is_accepted(db: Database) {
        db.with_directory().await;
        let device = db.requested().await;
        let jane = jane();
        let outcomes = join_all((0..50).map(|_| sign_in_for(&db, "assertion-1", &device, &jane))).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == SignedIn::Done).count(), 1);
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == SignedIn::Replayed).count(), 49);
        assert_eq!(db.count("SELECT digest FROM browser_session").await, 1);
        assert_eq!(db.count("SELECT digest FROM consent_page").await, 1);
        assert_eq!(db.count("SELECT digest FROM audit WHERE action = 'signed_in'").await, 1);
    }

    // case 33
    async fn a_replayed_assertion_changes_nothing(db: Database) {
        db.with_directory().await;
        let (first, second) = (db.requested().await, db.requested().await);
        assert_eq!(sign_in_for(&db, "assertion-1", &first, &jane()).await, SignedIn::Done);
        let before = db.contents().await;
        assert_eq!(sign_in_for(&db, "assertion-1", &second, &user("joe-1")).await, SignedIn::Replayed);
        assert_eq!(db.contents().await, before);
    }

    // case 33
    async fn the_same_jti_of_two_brands_is_accepted_at_both(db: Database) {
        db.with_directory().await;
        let at_bank = DeviceAuthorization { brand: bank().id, ..db.build.device() };
        db.store_device(&at_bank).await;
        let at_shop = db.requested().await;
        assert_eq!(sign_in_for(&db, "assertion-1", &at_shop, &jane()).await, SignedIn::Done);
        assert_eq!(sign_in_for(&db, "assertion-1", &at_bank, &jane()).await, SignedIn::Done);
    }

    // case 38
    async fn an_assertion_is_not_spent_for_a_code_that_was_decided_or_expired(db: Database) {
        db.with_directory().await;
        let (decided, _) = db.approved_by(&jane()).await;
        let expired = DeviceAuthorization { expires_at: NOW, ..db.build.device() };
        db.store_device(&expired).await;
        let open = db.requested().await;
        let before = db.contents().await;
        assert_eq!(sign_in_for(&db, "assertion-1", &decided, &jane()).await, SignedIn::Stale);
        assert_eq!(sign_in_for(&db, "assertion-1", &expired, &jane()).await, SignedIn::Stale);
        assert_eq!(db.contents().await, before);
        assert_eq!(sign_in_for(&db, "assertion-1", &open, &jane()).await, SignedIn::Done);
    }

    // case 38
    async fn an_assertion_is_not_spent_for_a_step_up_whose_grant_ended(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let step_up = db.build.step_up(&grant, "refunds:issue");
        db.store_device(&step_up).await;
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let before = db.contents().await;
        assert_eq!(sign_in_for(&db, "assertion-1", &step_up, &jane()).await, SignedIn::Stale);
        assert_eq!(db.contents().await, before);
    }

    // case 47
    async fn signing_in_approves_a_request_that_the_grant_covers_and_leaves_the_grant_as_it_is(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        let (session, evidence) = (db.build.session(&device, &jane()), db.build.evidence(&device, &jane()));
        let granted = scopes("orders:read");
        let sign_in = SignIn {
            jti: ("assertion-1", after(600)),
            session: (db.build.digest(), &session),
            opens: Opens::Approval {
                grant: &grant,
                granted: &granted,
                evidence: &evidence,
                entry: &entry(Action::RequestApproved),
            },
            entry: &entry(Action::SignedIn),
        };
        assert_eq!(db.sign_in(&sign_in).await.unwrap(), SignedIn::Done);
        let state = db.device(device.id).await.unwrap().unwrap().state;
        assert_eq!(state, DeviceState::Approved { grant: grant.id.clone(), granted, at: NOW });
        let after = db.grant(&grant.id).await.unwrap().unwrap();
        assert_eq!((after.scopes, after.version), (grant.scopes, grant.version));
        assert_eq!((after.expires_at, after.last_used_at), (grant.expires_at, Some(NOW)));
        assert_eq!(
            db.rows("SELECT granted FROM consent_evidence WHERE decision = 'approved_without_page'").await,
            ["granted=orders:read"]
        );
        assert_eq!(
            db.audit_actions("subject-1").await.unwrap(),
            ["grant_created", "signed_in", "request_approved"]
        );
    }

    // case 38
    async fn an_assertion_is_not_spent_when_the_grant_changed_or_ended_since_it_was_read(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let device = db.requested().await;
        let (session, evidence) = (db.build.session(&device, &jane()), db.build.evidence(&device, &jane()));
        let approval_entry = entry(Action::RequestApproved);
        let approve = |grant| {
            let opens =
                Opens::Approval { grant, granted: &device.requested, evidence: &evidence, entry: &approval_entry };
            let session = (db.build.digest(), &session);
            let db = &db;
            async move {
                let entry = entry(Action::SignedIn);
                db.sign_in(&SignIn { jti: ("assertion-1", after(600)), session, opens, entry: &entry }).await.unwrap()
            }
        };
        let older = assent::domain::grant::Grant { version: grant.version - 1, ..grant.clone() };
        let before = db.contents().await;
        assert_eq!(approve(&older).await, SignedIn::Stale);
        assert_eq!(db.contents().await, before);
        assert!(db.end_grant(&grant.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let before = db.contents().await;
        assert_eq!(approve(&grant).await, SignedIn::GrantGone);
        assert_eq!(db.contents().await, before);
        assert_eq!(db.count("SELECT jti FROM assertion_jti").await, 0);
    }
}
