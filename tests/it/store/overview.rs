//! The numbers an operator asks for first, at the Brands within reach.

use std::collections::BTreeSet;
use std::time::Duration;

use assent::domain::administrator::Reach;
use assent::domain::audit::Action;
use assent::domain::device::Decision;
use assent::store::{Decide, Decided, GrantCount};

use crate::support::build::{NOW, after, bank, entry_at, jane, shop, user};
use crate::support::database::on_both_databases;

on_both_databases! {
    async fn live_grants_pending_codes_and_decisions_are_counted_by_the_hour(db: Database) {
        db.with_directory().await;
        db.approved_by(&jane()).await;
        db.approved_by(&user("joe-1")).await;
        db.requested().await;
        let device = db.requested().await;
        let later = after(300);
        let decided = db
            .decide(&Decide {
                decision: &Decision::Deny,
                page_grant: None,
                grant: &db.build.grant(&user("ann-1")),
                evidence: &db.build.evidence(&device, &user("ann-1")),
                entry: &entry_at(Action::RequestDenied, later),
            })
            .await;
        assert_eq!(decided.unwrap(), Decided::Done);
        let of_shop = Reach::Brands(BTreeSet::from([shop().id]));
        for reach in [Reach::All, of_shop] {
            let now = db.overview(&reach, later).await.unwrap();
            assert_eq!((now.live, now.pending_codes), (GrantCount { grants: 2, brands: 1 }, 1));
            assert_eq!(now.hours.len(), 24);
            let last = now.hours[23];
            assert_eq!((last.from, last.approved, last.denied), (NOW, 2, 1));
            assert!(now.hours[..23].iter().all(|hour| hour.approved + hour.denied == 0));
            assert!(now.hours.windows(2).all(|two| two[1].from.since(two[0].from) == Duration::from_secs(3600)));
        }
        let elsewhere = db.overview(&Reach::Brands(BTreeSet::from([bank().id])), later).await.unwrap();
        assert_eq!((elsewhere.live.grants, elsewhere.pending_codes), (0, 0));
        assert!(elsewhere.hours.iter().all(|hour| hour.approved + hour.denied == 0));
        let tomorrow = db.overview(&Reach::All, after(86_399)).await.unwrap();
        assert_eq!((tomorrow.hours[0].approved, tomorrow.pending_codes), (2, 0));
        let too_late = db.overview(&Reach::All, after(86_400)).await.unwrap();
        assert!(too_late.hours.iter().all(|hour| hour.approved == 0));
    }
}
