//! Personal agents and Brands in lists: searched, counted, and removed for good.

use std::collections::BTreeSet;

use assent::domain::administrator::Reach;
use assent::domain::brand::Brand;
use assent::domain::grant::{EndedBy, GrantState};
use assent::domain::id::Issuer;
use assent::domain::page::{Direction, Paging, Sort};
use assent::domain::personal_agent::PersonalAgent;
use assent::domain::samples;
use assent::store::{Applied, Apply, BrandFilter, BrandSort, PersonalAgentFilter, PersonalAgentSort};

use crate::support::build::{NOW, after, bank, change, jane, other_agent, shop, user};
use crate::support::database::{Database, on_both_databases};

async fn agents(
    db: &Database,
    filter: &PersonalAgentFilter,
    sort: PersonalAgentSort,
    direction: Direction,
) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let paging = Paging::new(sort, direction, 2, cursor.as_deref()).unwrap();
        let page = db.personal_agents(filter, &paging, NOW).await.unwrap();
        found.extend(page.items.into_iter().map(|record| record.agent.name));
        cursor = page.next;
        if cursor.is_none() {
            return found;
        }
    }
}

async fn brands(db: &Database, filter: &BrandFilter, reach: &Reach, direction: Direction) -> Vec<String> {
    let mut orders = Vec::new();
    for sort in BrandSort::ALL {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let paging = Paging::new(*sort, direction, 1, cursor.as_deref()).unwrap();
            let page = db.brands(filter, reach, &paging, NOW).await.unwrap();
            found.extend(page.items.into_iter().map(|record| record.brand.name));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        orders.push(found);
    }
    let last = orders.pop().unwrap();
    let (mut one, mut other) = (orders.pop().unwrap(), last.clone());
    one.sort();
    other.sort();
    assert_eq!(one, other, "both orders list the same");
    last
}

on_both_databases! {
    async fn personal_agents_are_found_by_the_beginning_of_a_word_of_their_name_or_of_their_issuer(db: Database) {
        let agent = |issuer: &str, name: &str, enabled| PersonalAgent {
            issuer: Issuer::parse(issuer).unwrap(),
            name: name.to_owned(),
            enabled,
            ..samples::personal_agent()
        };
        for (n, agent) in [
            agent("https://c.example", "Alpha Helper", true),
            agent("https://b.example", "Beta 100%_sure!", true),
            agent("https://a.example", "gamma", false),
        ].into_iter().enumerate() {
            let seconds = u64::try_from(n).unwrap();
            let unit = Apply { personal_agents: vec![agent], at: after(seconds), ..change(i64::try_from(n).unwrap()) };
            db.apply(&unit).await.unwrap();
        }
        let find = async |search: &str| {
            let filter = PersonalAgentFilter { search: Some(search.to_owned()), enabled: None };
            agents(&db, &filter, PersonalAgentSort::Created, Direction::Ascending).await
        };
        let (alpha, beta, gamma) = ("Alpha Helper", "Beta 100%_sure!", "gamma");
        assert_eq!(find("").await, [alpha, beta, gamma]);
        assert_eq!(find("ALPHA h").await, [alpha]);
        assert_eq!(find("help").await, [alpha]);
        assert_eq!(find("elper").await, [""; 0]);
        assert_eq!(find("https://b").await, [beta]);
        assert_eq!(find("A.exam").await, [gamma]);
        assert_eq!(find("100%_s").await, [beta]);
        for wildcard in ["%", "_", "100_", "!"] {
            assert_eq!(find(wildcard).await, [""; 0], "{wildcard}");
        }
        let any = PersonalAgentFilter::default();
        let newest = agents(&db, &any, PersonalAgentSort::Created, Direction::Descending).await;
        assert_eq!(newest, [gamma, beta, alpha]);
        let disabled = PersonalAgentFilter { enabled: Some(false), search: None };
        assert_eq!(agents(&db, &disabled, PersonalAgentSort::Name, Direction::Ascending).await, [gamma]);
        // How names are ordered is the database's; that each stands once, from both ends, is ours.
        let mut by_name = agents(&db, &any, PersonalAgentSort::Name, Direction::Descending).await;
        by_name.reverse();
        assert_eq!(agents(&db, &any, PersonalAgentSort::Name, Direction::Ascending).await, by_name);
        assert_eq!(by_name.iter().collect::<BTreeSet<_>>().len(), 3);
    }

    async fn a_personal_agent_and_a_brand_are_shown_with_the_grants_that_live(db: Database) {
        db.with_directory().await;
        let (_, janes) = db.approved_by(&jane()).await;
        db.approved_by(&user("joe-1")).await;
        let issuer = samples::personal_agent().issuer;
        let shown = async |at| db.personal_agent(&issuer, at).await.unwrap().unwrap();
        assert_eq!((shown(NOW).await.live_grants, shown(NOW).await.brands), (2, 1));
        assert_eq!(shown(janes.expires_at).await.live_grants, 0);
        let paging = Paging::new(PersonalAgentSort::Name, Direction::Ascending, 9, None).unwrap();
        let listed = db.personal_agents(&PersonalAgentFilter::default(), &paging, NOW).await.unwrap().items;
        assert!(listed.contains(&shown(NOW).await));
        assert_eq!(db.personal_agent(&other_agent().issuer, NOW).await.unwrap().unwrap().live_grants, 0);
        assert_eq!(db.personal_agent(&Issuer::parse("nobody").unwrap(), NOW).await.unwrap(), None);
        let paging = Paging::new(BrandSort::Name, Direction::Descending, 9, None).unwrap();
        let listed = db.brands(&BrandFilter::default(), &Reach::All, &paging, NOW).await.unwrap().items;
        let counts: Vec<_> = listed.iter().map(|record| (record.brand.clone(), record.live_grants)).collect();
        assert_eq!(counts, [(shop(), 2), (bank(), 0)]);
    }

    async fn brands_are_found_by_name_or_id_within_reach(db: Database) {
        db.with_directory().await;
        let find = async |search: Option<&str>, reach: &Reach| {
            let filter = BrandFilter { search: search.map(str::to_owned), ..BrandFilter::default() };
            brands(&db, &filter, reach, Direction::Ascending).await
        };
        let only = |brand: Brand| Reach::Brands(BTreeSet::from([brand.id]));
        assert_eq!(find(None, &Reach::All).await, ["Example Shop", "Example Bank"]);
        assert_eq!(find(Some("BANK"), &Reach::All).await, ["Example Bank"]);
        assert_eq!(find(Some(&shop().id.as_str().to_lowercase()), &Reach::All).await, ["Example Shop"]);
        assert_eq!(find(Some("ank"), &Reach::All).await, [""; 0]);
        assert_eq!(find(None, &only(bank())).await, ["Example Bank"]);
        assert_eq!(find(Some("shop"), &only(bank())).await, [""; 0]);
    }

    async fn a_removed_brand_is_served_no_more_and_its_rows_and_id_stay(db: Database) {
        db.with_directory().await;
        let (_, grant) = db.approved_by(&jane()).await;
        let last = Brand { delegation: None, ..shop() };
        let unit = Apply { brands: vec![last.clone()], removed: vec![shop().id], at: after(5), ..change(1) };
        assert_eq!(db.apply(&unit).await.unwrap(), Applied::Done { narrowed: 0, ended: 1 });
        let directory = db.directory().await.unwrap();
        assert_eq!((directory.brands.as_slice(), directory.removed), ([bank()].as_slice(), BTreeSet::from([shop().id])));
        let state = db.grant(&grant.id).await.unwrap().unwrap().state;
        assert_eq!(state, GrantState::Ended { at: after(5), by: EndedBy::BrandChange });
        let paging = Paging::new(BrandSort::Name, Direction::Ascending, 9, None).unwrap();
        let removed = BrandFilter { removed: Some(true), ..BrandFilter::default() };
        let found = db.brands(&removed, &Reach::All, &paging, NOW).await.unwrap().items;
        assert_eq!((found.len(), &found[0].brand, found[0].removed_at), (1, &last, Some(after(5))));
        // Even a change that was computed without knowing of it does not bring it back.
        db.apply(&Apply { brands: vec![shop()], at: after(6), ..change(2) }).await.unwrap();
        let found = db.brands(&removed, &Reach::All, &paging, NOW).await.unwrap().items;
        assert_eq!((&found[0].brand, found[0].removed_at), (&last, Some(after(5))));
        let served = BrandFilter { removed: Some(false), ..BrandFilter::default() };
        assert_eq!(brands(&db, &served, &Reach::All, Direction::Ascending).await, ["Example Bank"]);
    }
}
