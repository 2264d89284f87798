//! Grants in lists: each page follows the last whatever is added, and many end together, each once.

use std::collections::BTreeSet;
use std::time::Duration;

use assent::clock::Timestamp;
use assent::domain::administrator::Reach;
use assent::domain::audit::{Action, Entry};
use assent::domain::device::{Decision, DeviceAuthorization};
use assent::domain::grant::{EndedBy, Grant, GrantState, expiry};
use assent::domain::id::{BrandId, Caller, GrantId};
use assent::domain::page::{ByTime, Direction, Paging};
use assent::store::{
    ContextChoice, Decide, Decided, GrantCount, GrantFilter, GrantSort, GrantStanding, ReceiptFilter, TurnDone,
};
use futures_util::future::join_all;
use serde_json::Value;

use super::conversation::done;
use crate::support::build::{
    NOW, after, authority, bank, caller, entry, entry_at, jane, message, other_agent, reserve, scopes, shop, user,
};
use crate::support::database::{Database, on_both_databases};

/// A grant that a User made so many seconds after the beginning, by whatever way.
async fn made(db: &Database, grant: Grant) -> Grant {
    let device = DeviceAuthorization { brand: grant.brand.clone(), caller: grant.caller.clone(), ..db.build.device() };
    db.store_device(&device).await;
    let decided = db
        .decide(&Decide {
            decision: &Decision::Approve(grant.scopes.clone()),
            page_grant: None,
            grant: &grant,
            evidence: &db.build.evidence(&device, &grant.brand_user),
            entry: &entry_at(Action::GrantCreated, NOW),
        })
        .await;
    assert_eq!(decided.unwrap(), Decided::Done);
    grant
}

/// The grant of this User at this Brand, for this personal agent, made so many seconds after the beginning.
async fn grant_of(db: &Database, brand: BrandId, name: &str, seconds: u64) -> Grant {
    let made_at = after(seconds);
    let times = Grant {
        created_at: made_at,
        decided_at: made_at,
        expires_at: expiry(made_at, 30),
        ..db.build.grant(&user(name))
    };
    made(db, Grant { brand, ..times }).await
}

fn first(sort: GrantSort, direction: Direction, size: u16) -> Paging<GrantSort> {
    Paging::new(sort, direction, size, None).unwrap()
}

fn newest(size: u16) -> Paging<GrantSort> {
    first(GrantSort::Created, Direction::Descending, size)
}

/// All ids of the list, page by page.
async fn paged(
    db: &Database,
    filter: &GrantFilter,
    reach: &Reach,
    paging: Paging<GrantSort>,
    size: u16,
) -> Vec<GrantId> {
    let (mut ids, mut paging) = (Vec::new(), paging);
    loop {
        let page = db.grants(filter, reach, &paging, NOW).await.unwrap();
        assert!(page.items.len() <= usize::from(size));
        ids.extend(page.items.into_iter().map(|grant| grant.id));
        let Some(next) = page.next else { return ids };
        paging = Paging::new(paging.sort, paging.direction, size, Some(&next)).unwrap();
    }
}

fn ids(grants: &[&Grant]) -> Vec<GrantId> {
    grants.iter().map(|grant| grant.id.clone()).collect()
}

async fn live(db: &Database, filter: &GrantFilter) -> i64 {
    let live = GrantFilter { state: Some(GrantStanding::Live), ..filter.clone() };
    db.count_grants(&live, &Reach::All, NOW).await.unwrap().grants
}

on_both_databases! {
    async fn grants_are_listed_and_counted_by_each_part_of_the_filter_and_of_the_brands_in_reach(db: Database) {
        db.with_directory().await;
        let ended = grant_of(&db, shop().id, "jane-4471", 0).await;
        assert!(db.end_grant(&ended.id, EndedBy::User, &entry(Action::GrantEnded)).await.unwrap());
        let janes = grant_of(&db, shop().id, "jane-4471", 1).await;
        let joes = grant_of(&db, bank().id, "joe-1", 2).await;
        let foreign = Caller { issuer: other_agent().issuer, ..caller() };
        let old = Grant { caller: foreign.clone(), created_at: NOW.minus(Duration::from_secs(9)), expires_at: NOW, ..db.build.grant(&jane()) };
        // Made before it expired, which the database did not see.
        let old = made(&db, Grant { expires_at: after(60), ..old }).await;
        db.statement("UPDATE delegation_grant SET expires_at = 1 WHERE pa_issuer = 'https://other.example.com'").await.unwrap();
        let any = GrantFilter::default;
        let only = |brand: BrandId| Reach::Brands(BTreeSet::from([brand]));
        for (filter, reach, expected) in [
            (any(), Reach::All, vec![&joes, &janes, &ended, &old]),
            (any(), only(bank().id), vec![&joes]),
            (any(), Reach::Brands(BTreeSet::from([shop().id, bank().id])), vec![&joes, &janes, &ended, &old]),
            (any(), Reach::Brands(BTreeSet::new()), vec![]),
            (GrantFilter { brand: Some(shop().id), ..any() }, Reach::All, vec![&janes, &ended, &old]),
            (GrantFilter { brand: Some(shop().id), ..any() }, only(bank().id), vec![]),
            (GrantFilter { brand_user: Some(jane()), ..any() }, Reach::All, vec![&janes, &ended, &old]),
            (GrantFilter { brand_user: Some(jane()), ..any() }, only(bank().id), vec![]),
            (GrantFilter { issuer: Some(foreign.issuer.clone()), ..any() }, Reach::All, vec![&old]),
            (GrantFilter { issuer: Some(caller().issuer), brand: Some(bank().id), ..any() }, Reach::All, vec![&joes]),
            (GrantFilter { state: Some(GrantStanding::Live), ..any() }, Reach::All, vec![&joes, &janes]),
            (GrantFilter { state: Some(GrantStanding::Expired), ..any() }, Reach::All, vec![&old]),
            (GrantFilter { state: Some(GrantStanding::Ended), ..any() }, Reach::All, vec![&ended]),
            (GrantFilter { since: Some(after(1)), ..any() }, Reach::All, vec![&joes, &janes]),
            (GrantFilter { until: Some(after(1)), ..any() }, Reach::All, vec![&ended, &old]),
        ] {
            let expected = ids(&expected);
            assert_eq!(paged(&db, &filter, &reach, newest(1), 1).await, expected, "{filter:?} {reach:?}");
            let count = db.count_grants(&filter, &reach, NOW).await.unwrap();
            let by_brand = db.count_grants_by_brand(&filter, &reach, NOW).await.unwrap();
            assert_eq!(count.grants, i64::try_from(expected.len()).unwrap(), "{filter:?} {reach:?}");
            assert_eq!(count.brands, i64::try_from(by_brand.len()).unwrap());
            assert_eq!(by_brand.iter().map(|(_, grants)| grants).sum::<i64>(), count.grants);
        }
    }

    async fn pages_go_on_where_the_last_ended_whatever_was_added_by_each_column_and_from_both_ends(db: Database) {
        db.with_directory().await;
        let mut all = Vec::new();
        for n in 0..7_u64 {
            // Two at a time, so that the id decides.
            all.push(grant_of(&db, shop().id, &format!("user-{n}"), n / 2).await);
        }
        db.statement("UPDATE delegation_grant SET last_used_at = created_at WHERE brand_user <> 'user-3'").await.unwrap();
        for sort in [GrantSort::Created, GrantSort::Expires, GrantSort::Used] {
            for direction in [Direction::Ascending, Direction::Descending] {
                let place = |grant: &Grant| {
                    let never = sort == GrantSort::Used && grant.brand_user == user("user-3");
                    (if never { Timestamp::from_millis(0) } else { grant.created_at }, grant.id.clone())
                };
                let mut expected: Vec<_> = all.iter().map(place).collect();
                expected.sort();
                if direction == Direction::Descending {
                    expected.reverse();
                }
                let expected: Vec<_> = expected.into_iter().map(|(_, id)| id).collect();
                for size in [1, 2, 3, 7, 1000] {
                    let found = paged(&db, &GrantFilter::default(), &Reach::All, first(sort, direction, size), size).await;
                    assert_eq!(found, expected, "{sort:?} {direction:?} {size}");
                }
            }
        }
        // Newer ones come before the page that is read, older ones after it: nothing is repeated, nothing is left out.
        let any = GrantFilter::default();
        let page = db.grants(&any, &Reach::All, &newest(3), NOW).await.unwrap();
        grant_of(&db, shop().id, "newest", 100).await;
        let seen: Vec<_> = page.items.iter().map(|grant| grant.id.clone()).collect();
        let next = Paging::new(GrantSort::Created, Direction::Descending, 3, page.next.as_deref()).unwrap();
        let rest = paged(&db, &any, &Reach::All, next, 3).await;
        let mut expected: Vec<_> = all.iter().map(|grant| (grant.created_at, grant.id.clone())).collect();
        expected.sort();
        expected.reverse();
        let expected: Vec<_> = expected.into_iter().map(|(_, id)| id).collect();
        assert_eq!([seen, rest].concat(), expected);
    }

    // case 78
    async fn many_end_in_batches_with_an_audit_row_each_and_what_was_broken_off_goes_on(db: Database) {
        db.with_directory().await;
        for n in 0..7 {
            grant_of(&db, shop().id, &format!("user-{n}"), n).await;
        }
        let other = grant_of(&db, bank().id, "jane-4471", 0).await;
        let all = GrantFilter::default();
        let ended = entry(Action::GrantEnded);
        let first = db.end_grants(&shop().id, &all, None, 3, EndedBy::Administrator, &ended).await.unwrap();
        assert_eq!((first.ended, live(&db, &all).await), (3, 5));
        // The program ended here; the same again finds the rest.
        let (mut after, mut more) = (None, 0);
        loop {
            let batch =
                db.end_grants(&shop().id, &all, after.as_ref(), 3, EndedBy::Administrator, &ended).await.unwrap();
            more += batch.ended;
            let Some(last) = batch.last else { break };
            after = Some(last);
        }
        assert_eq!(more, 4);
        let again = db.end_grants(&shop().id, &all, None, 3, EndedBy::Administrator, &ended).await.unwrap();
        assert_eq!((again.ended, again.last), (0, None));
        assert_eq!(db.grant(&other.id).await.unwrap(), Some(other));
        let rows = db.rows("SELECT subject FROM audit WHERE action = 'grant_ended'").await;
        let subjects: BTreeSet<_> = rows.iter().collect();
        assert_eq!((rows.len(), subjects.len()), (7, 7));
        let state = "SELECT ended_by, ended_at FROM delegation_grant WHERE state = 'ended'";
        let expected = format!("ended_by=administrator ended_at={}", NOW.millis());
        assert!(db.rows(state).await.iter().all(|row| *row == expected));
    }

    async fn the_audit_row_of_every_end_says_what_the_grant_allowed(db: Database) {
        db.with_directory().await;
        let one = grant_of(&db, shop().id, "jane-4471", 0).await;
        let shown = grant_of(&db, shop().id, "omar-0007", 0).await;
        let together = grant_of(&db, shop().id, "li-0815", 0).await;
        let ended = |grant: &Grant| Entry { subject: grant.id.to_string(), ..entry(Action::GrantEnded) };
        assert!(db.end_grant(&one.id, EndedBy::PersonalAgent, &ended(&one)).await.unwrap());
        assert!(db.end_grant_as_shown(&shown.id, shown.version, &ended(&shown)).await.unwrap());
        let all = GrantFilter::default();
        db.end_grants(&shop().id, &all, None, 9, EndedBy::Administrator, &entry(Action::GrantEnded)).await.unwrap();
        let rows = db.rows("SELECT payload FROM audit WHERE action = 'grant_ended' ORDER BY sequence").await;
        assert_eq!(rows.len(), 3);
        for (row, grant) in rows.iter().zip([one, shown, together]) {
            let payload: Value = serde_json::from_str(row.strip_prefix("payload=").unwrap()).unwrap();
            assert_eq!((&payload["before"], &payload["after"]), (&grant.to_audit(), &Value::Null), "{row}");
        }
    }

    // case 78
    async fn revocations_of_the_same_grants_at_once_leave_one_audit_row_for_each(db: Database) {
        db.with_directory().await;
        for n in 0..40 {
            grant_of(&db, shop().id, &format!("user-{n}"), n).await;
        }
        let (all, ended, brand) = (GrantFilter::default(), entry(Action::GrantEnded), shop().id);
        let batches = join_all((0..8).map(|_| db.end_grants(&brand, &all, None, 100, EndedBy::Administrator, &ended)));
        let one = db.grants(&all, &Reach::All, &newest(1), NOW).await.unwrap().items.remove(0);
        let (batches, single) = tokio::join!(batches, db.end_grant(&one.id, EndedBy::User, &ended));
        let together: usize = batches.into_iter().map(|batch| batch.unwrap().ended).sum();
        assert_eq!(together + usize::from(single.unwrap()), 40);
        assert_eq!(db.count("SELECT sequence FROM audit WHERE action = 'grant_ended'").await, 40);
        assert_eq!(live(&db, &all).await, 0);
    }

    async fn a_batch_that_fails_leaves_its_grants_as_they_were(db: Database) {
        db.with_directory().await;
        for name in ["jane-4471", "joe-1"] {
            grant_of(&db, shop().id, name, 0).await;
        }
        let before = db.contents().await;
        db.statement("ALTER TABLE audit RENAME TO away").await.unwrap();
        let (all, ended) = (GrantFilter::default(), entry(Action::GrantEnded));
        assert!(db.end_grants(&shop().id, &all, None, 9, EndedBy::Administrator, &ended).await.is_err());
        db.statement("ALTER TABLE away RENAME TO audit").await.unwrap();
        assert_eq!(db.contents().await, before);
        let batch = db.end_grants(&shop().id, &all, None, 9, EndedBy::Administrator, &ended).await;
        assert_eq!(batch.unwrap().ended, 2);
    }

    async fn what_happened_under_a_grant_is_told_page_by_page(db: Database) {
        db.with_directory().await;
        let (grant, family, tokens) = db.redeemed_by(&jane()).await;
        let second = db.build.tokens(&grant);
        let refreshed = entry_at(Action::TokensRefreshed, after(60));
        let rotate = assent::store::Rotate { presented: tokens.refresh, family, tokens: &second, entry: &refreshed };
        assert_eq!(db.rotate(&rotate).await.unwrap(), assent::store::Rotated::Done);
        let newest = |size, cursor: Option<&str>| Paging::new(ByTime, Direction::Descending, size, cursor).unwrap();
        let page = db.grant_tokens(&grant.id, &newest(1, None)).await.unwrap();
        assert_eq!((page.items[0].token, page.items[0].issued_at), (second.token, after(60)));
        assert_eq!((&page.items[0].scopes, page.items[0].refreshed_at), (&grant.scopes, None));
        let page = db.grant_tokens(&grant.id, &newest(1, page.next.as_deref())).await.unwrap();
        assert_eq!((page.items[0].token, page.items[0].refreshed_at), (tokens.token, Some(after(60))));
        assert_eq!((page.items[0].family, page.next), (family, None));

        let decisions = db.grant_decisions(&grant.id).await.unwrap();
        assert_eq!(decisions.len(), 1);
        assert_eq!((decisions[0].decision.as_str(), &decisions[0].granted), ("approved", &scopes("orders:read orders:cancel")));

        let (brand, caller, authority) = (shop().id, caller(), authority(&grant));
        for n in 0..3 {
            let id = message(&format!("m-{n}"));
            let choice = ContextChoice::New(db.build.context());
            let reservation = db.running(&reserve(&brand, &caller, choice, &id, Some(&authority), after(n))).await;
            let receipt = Some((&grant.id, db.build.receipt(), "jws"));
            let turn = TurnDone { receipt, now: after(n), ..done(&reservation, &brand, "done") };
            db.answered(&turn).await;
        }
        let any = ReceiptFilter::default;
        let only_bank = Reach::Brands(BTreeSet::from([bank().id]));
        for (filter, reach, expected) in [
            (any(), Reach::All, vec!["m-2", "m-1", "m-0"]),
            (any(), only_bank, vec![]),
            (ReceiptFilter { grant: Some(grant.id.clone()), ..any() }, Reach::All, vec!["m-2", "m-1", "m-0"]),
            (ReceiptFilter { brand: Some(bank().id), ..any() }, Reach::All, vec![]),
            (ReceiptFilter { brand: Some(shop().id), since: Some(after(1)), ..any() }, Reach::All, vec!["m-2", "m-1"]),
            (ReceiptFilter { until: Some(after(1)), brand_user: Some(jane()), ..any() }, Reach::All, vec!["m-0"]),
            (ReceiptFilter { issuer: Some(other_agent().issuer), ..any() }, Reach::All, vec![]),
        ] {
            let (mut found, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let page = db.receipt_records(&filter, &reach, &newest(2, cursor.as_deref())).await.unwrap();
                found.extend(page.items.into_iter().map(|receipt| receipt.message));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "{filter:?}");
        }
    }

    async fn an_expired_grant_is_not_ended_with_the_live_ones(db: Database) {
        db.with_directory().await;
        let grant = grant_of(&db, shop().id, "jane-4471", 0).await;
        let late = entry_at(Action::GrantEnded, grant.expires_at);
        let before = db.contents().await;
        let batch = db.end_grants(&shop().id, &GrantFilter::default(), None, 9, EndedBy::Administrator, &late).await;
        assert_eq!(batch.unwrap().ended, 0);
        assert_eq!(db.contents().await, before);
        assert_eq!(db.grant(&grant.id).await.unwrap().unwrap().state, GrantState::Live);
        assert_eq!(db.count_grants(&GrantFilter::default(), &Reach::All, NOW).await.unwrap(), GrantCount { grants: 1, brands: 1 });
    }
}
