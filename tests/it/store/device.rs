//! Device authorizations: made within bounds, found by either code.

use assent::domain::audit::Action;
use assent::domain::device::{DeviceAuthorization, LIFE, STEP_UP_REUSE};
use assent::domain::grant::EndedBy;
use assent::store::{Created, NewDeviceAuthorization};
use futures_util::future::join_all;

use crate::support::build::{NOW, after, bank, caller_of, entry, jane, scopes, shop};
use crate::support::database::on_both_databases;

on_both_databases! {
    async fn a_request_is_found_by_its_id_and_by_both_of_its_codes(db: Database) {
        db.with_directory().await;
        let device = db.build.device();
        let (device_code, user_code) = db.store_device(&device).await;
        assert_eq!(db.device(device.id).await.unwrap().as_ref(), Some(&device));
        assert_eq!(db.device_by_device_code(device_code).await.unwrap().as_ref(), Some(&device));
        assert_eq!(db.device_by_user_code(&device.brand, user_code, NOW).await.unwrap().as_ref(), Some(&device));
    }

    // case 30
    async fn a_code_is_found_in_its_own_slot_and_at_its_own_brand_only(db: Database) {
        db.with_directory().await;
        let (device_code, user_code) = db.store_device(&db.build.device()).await;
        assert_eq!(db.device_by_device_code(user_code).await.unwrap(), None);
        assert_eq!(db.device_by_user_code(&shop().id, device_code, NOW).await.unwrap(), None);
        assert_eq!(db.device_by_user_code(&bank().id, user_code, NOW).await.unwrap(), None);
        assert_eq!(db.device(db.build.device_id()).await.unwrap(), None);
    }

    async fn a_step_up_carries_the_brand_user_of_its_grant(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let step_up = db.build.step_up(&grant, "refunds:issue");
        let (_, user_code) = db.store_device(&step_up).await;
        assert_eq!(db.device_by_user_code(&shop().id, user_code, NOW).await.unwrap(), Some(step_up));
    }

    // case 56
    async fn a_step_up_is_not_found_by_its_user_code_once_its_grant_ended_or_expired(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let (_, user_code) = db.store_device(&db.build.step_up(&grant, "refunds:issue")).await;
        assert_eq!(db.device_by_user_code(&shop().id, user_code, grant.expires_at).await.unwrap(), None);
        assert!(db.end_grant(&grant.id, EndedBy::PersonalAgent, &entry(Action::GrantEnded)).await.unwrap());
        assert_eq!(db.device_by_user_code(&shop().id, user_code, NOW).await.unwrap(), None);
    }

    async fn a_pending_step_up_is_found_again_for_just_its_scopes_while_it_lives_long_enough(db: Database) {
        db.with_directory().await;
        let (device, grant) = db.approved_by(&jane()).await;
        let step_up = db.build.step_up(&grant, "refunds:issue");
        db.store_device(&step_up).await;
        let found = |wanted, at| {
            let (db, grant) = (&db, &grant);
            async move { db.pending_step_up(&grant.id, &scopes(wanted), at).await.unwrap() }
        };
        let latest = step_up.expires_at;
        assert_eq!(found("refunds:issue", latest.plus(STEP_UP_REUSE)).await, None);
        assert_eq!(found("refunds:issue", latest).await, Some(step_up));
        assert_eq!(found("orders:read refunds:issue", NOW).await, None);
        assert_eq!(found(&device.requested.to_string(), NOW).await, None);
    }

    // case 23
    async fn of_forty_requests_at_the_same_instant_twenty_get_a_code(db: Database) {
        db.with_directory().await;
        let devices: Vec<DeviceAuthorization> = (0..40).map(|_| db.build.device()).collect();
        let created = join_all(devices.iter().map(|device| {
            let new = NewDeviceAuthorization {
                most_live: 20,
                device,
                device_code: Some(db.build.digest()),
                user_code: db.build.digest(),
            };
            let db = &db;
            async move { db.create_device_authorization(&new).await.unwrap() }
        }))
        .await;
        let refused = created.iter().filter(|created| **created == Created::TooMany { until: NOW.plus(LIFE) }).count();
        assert_eq!(created.iter().filter(|created| **created == Created::Created).count(), 20);
        assert_eq!(refused, 20);
        assert_eq!(db.count("SELECT id FROM device_authorization").await, 20);
    }

    // case 23
    async fn only_pending_requests_of_the_same_caller_at_the_same_brand_count(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        db.store_device(&db.build.step_up(&grant, "refunds:issue")).await;
        db.store_device(&DeviceAuthorization { caller: caller_of("somebody-else"), ..db.build.device() }).await;
        db.store_device(&DeviceAuthorization { brand: bank().id, ..db.build.device() }).await;
        for _ in 0..20 {
            db.requested().await;
        }
        let before = db.contents().await;
        let twenty_first = db.build.device();
        let new = NewDeviceAuthorization {
            most_live: 20,
            device: &twenty_first,
            device_code: Some(db.build.digest()),
            user_code: db.build.digest(),
        };
        let refused = db.create_device_authorization(&new).await.unwrap();
        assert_eq!(refused, Created::TooMany { until: NOW.plus(LIFE) });
        assert_eq!(db.contents().await, before);
        let later = DeviceAuthorization { created_at: after(600), expires_at: after(1200), ..db.build.device() };
        db.store_device(&later).await;
    }

    async fn a_step_up_is_made_beyond_the_twenty(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        for _ in 0..20 {
            db.requested().await;
        }
        db.store_device(&db.build.step_up(&grant, "refunds:issue")).await;
    }

    async fn a_user_code_stands_once_in_a_brand(db: Database) {
        db.with_directory().await;
        let (_, user_code) = db.store_device(&db.build.device()).await;
        let before = db.contents().await;
        let twin = db.build.device();
        let new = NewDeviceAuthorization { device: &twin, device_code: Some(db.build.digest()), user_code, most_live: 20 };
        assert_eq!(db.create_device_authorization(&new).await.unwrap(), Created::UserCodeTaken);
        assert_eq!(db.contents().await, before);
        let elsewhere = DeviceAuthorization { brand: bank().id, ..twin };
        let new = NewDeviceAuthorization { device: &elsewhere, device_code: Some(db.build.digest()), user_code, most_live: 20 };
        assert_eq!(db.create_device_authorization(&new).await.unwrap(), Created::Created);
    }
}
