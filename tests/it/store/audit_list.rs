//! The audit log a page at a time: what is within reach, what fits, and no row twice or left out.

use std::collections::BTreeSet;

use assent::clock::Timestamp;
use assent::domain::administrator::Reach;
use assent::domain::audit::recorded::Recorded;
use assent::domain::audit::{Action, Actor, Chain, Entry, RequestId};
use assent::domain::id::BrandId;
use assent::store::{AuditCursor, AuditFilter};

use crate::support::build::{after, bank, entry, shop};
use crate::support::database::{Database, on_both_databases};

/// Whether a row is one that a filter is for.
type Fits = fn(&Recorded) -> bool;

/// Rows of three chains, several of them at one instant.
async fn written(db: &Database) {
    let chains = [Some(shop().id), Some(bank().id), None];
    let actions = [Action::SignedIn, Action::GrantCreated, Action::GrantEnded, Action::TokensIssued];
    for n in 0..24_u64 {
        let at = usize::try_from(n).unwrap();
        let actor = if n % 2 == 0 { Actor::User("jane".to_owned()) } else { Actor::Administrator("root".to_owned()) };
        let row = Entry {
            brand: chains[at % 3].clone(),
            at: after(n / 4),
            actor,
            subject: format!("subject-{}", n % 5),
            request: RequestId(format!("request-{}", n % 7)),
            ..entry(actions[at % 4])
        };
        db.record(&row).await.unwrap();
    }
}

async fn all(db: &Database, reach: &Reach, filter: &AuditFilter) -> Vec<Recorded> {
    db.audit_page(reach, filter, None, 100).await.unwrap()
}

fn only(brands: &[BrandId]) -> Reach {
    Reach::Brands(brands.iter().cloned().collect::<BTreeSet<_>>())
}

on_both_databases! {
    async fn pages_of_any_size_hold_each_row_once_and_the_newest_first(db: Database) {
        written(&db).await;
        let whole = all(&db, &Reach::All, &AuditFilter::default()).await;
        assert_eq!(whole.len(), 24);
        assert!(whole.is_sorted_by(|one, other| (one.at, &one.brand, one.sequence) > (other.at, &other.brand, other.sequence)));
        for size in [1, 5, 24] {
            let (mut rows, mut cursor) = (Vec::new(), None::<AuditCursor>);
            loop {
                let page = db.audit_page(&Reach::All, &AuditFilter::default(), cursor.as_ref(), size).await.unwrap();
                let Some(last) = page.last() else { break };
                cursor = Some(AuditCursor::after(last).unwrap().to_string().parse().unwrap());
                rows.extend(page);
            }
            assert_eq!(rows, whole, "{size}");
        }
    }

    async fn a_page_goes_on_where_it_ended_though_rows_were_written_meanwhile(db: Database) {
        written(&db).await;
        let first = db.audit_page(&Reach::All, &AuditFilter::default(), None, 10).await.unwrap();
        let whole = all(&db, &Reach::All, &AuditFilter::default()).await;
        db.record(&Entry { at: after(1000), ..entry(Action::SignedIn) }).await.unwrap();
        let cursor = AuditCursor::after(&first[9]).unwrap();
        let rest = db.audit_page(&Reach::All, &AuditFilter::default(), Some(&cursor), 100).await.unwrap();
        assert_eq!([first, rest].concat(), whole);
    }

    async fn a_filter_lets_through_what_fits_all_of_it(db: Database) {
        written(&db).await;
        let whole = all(&db, &Reach::All, &AuditFilter::default()).await;
        let none = AuditFilter::default();
        let text = |text: &str| Some(text.to_owned());
        let filters: [(AuditFilter, Fits); 8] = [
            (AuditFilter { chain: Some(Chain::Brand(shop().id)), ..none.clone() }, |row| row.brand == shop().id.as_str()),
            (AuditFilter { chain: Some(Chain::Provider), ..none.clone() }, |row| row.brand.is_empty()),
            (AuditFilter { actor: text("jane"), ..none.clone() }, |row| row.actor == "jane"),
            (AuditFilter { action: text("grant_ended"), ..none.clone() }, |row| row.action == "grant_ended"),
            (AuditFilter { subject: text("subject-3"), ..none.clone() }, |row| row.subject == "subject-3"),
            (AuditFilter { request: text("request-6"), ..none.clone() }, |row| row.request == "request-6"),
            (
                AuditFilter { since: Some(after(2)), until: Some(after(4)), ..none.clone() },
                |row| (after(2)..after(4)).contains(&row.at),
            ),
            (
                AuditFilter { actor: text("root"), action: text("grant_created"), ..none.clone() },
                |row| row.actor == "root" && row.action == "grant_created",
            ),
        ];
        for (filter, fits) in filters {
            let expected: Vec<Recorded> = whole.iter().filter(|row| fits(row)).cloned().collect();
            assert!(!expected.is_empty() && expected.len() < whole.len(), "{filter:?}");
            assert_eq!(all(&db, &Reach::All, &filter).await, expected, "{filter:?}");
        }
    }

    async fn only_chains_within_reach_are_listed(db: Database) {
        written(&db).await;
        let chains = |rows: Vec<Recorded>| rows.into_iter().map(|row| row.brand).collect::<BTreeSet<_>>();
        let none = AuditFilter::default();
        let (shop, bank) = (shop().id, bank().id);
        let of_shop = BTreeSet::from([shop.to_string()]);
        assert_eq!(chains(all(&db, &only(std::slice::from_ref(&shop)), &none).await), of_shop);
        let both = BTreeSet::from([shop.to_string(), bank.to_string()]);
        assert_eq!(chains(all(&db, &only(&[shop.clone(), bank.clone()]), &none).await), both);
        assert_eq!(all(&db, &only(&[]), &none).await, []);
        for chain in [Chain::Provider, Chain::Brand(bank)] {
            let filter = AuditFilter { chain: Some(chain), ..none.clone() };
            assert_eq!(all(&db, &only(std::slice::from_ref(&shop)), &filter).await, []);
        }
    }
}

#[test]
fn a_cursor_is_read_as_it_is_written_and_nothing_else_is_one() {
    for chain in [Chain::Provider, Chain::Brand(shop().id)] {
        let cursor = AuditCursor { at: Timestamp::from_millis(-5), sequence: 7, chain };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }
    for wrong in ["", "1", "1.2", "x.2.provider", "1.x.provider", "1.2.brand", "1.2.provider.", "1.2."] {
        assert!(wrong.parse::<AuditCursor>().is_err(), "{wrong}");
    }
}
