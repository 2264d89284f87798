use serde_json::json;

use super::*;
use crate::clock::Timestamp;
use crate::domain::audit::{Actor, RequestId};
use crate::domain::id::BrandId;
use crate::secret::Secret;

const BRAND: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";

fn key() -> AuditKey {
    AuditKey::new(Secret::new([7; 32]))
}

fn sealed(mut row: Recorded, previous: &str) -> Recorded {
    row.digest = row.computed_digest(previous).to_hex();
    row.seal = Some(key().seal(Sealed::Row, &row.brand, row.sequence, &row.digest).unwrap());
    row
}

/// A chain of `count` rows, and its head with its seal.
fn chain(count: i64) -> (Vec<Recorded>, Head, String) {
    let mut rows: Vec<Recorded> = Vec::new();
    for sequence in 1..=count {
        let entry = Entry {
            brand: Some(BrandId::parse(BRAND).unwrap()),
            at: Timestamp::from_seconds(sequence),
            actor: Actor::User("jane".to_owned()),
            action: if sequence == 1 { Action::BrandApplied } else { Action::SignedIn },
            subject: if sequence == 1 { BRAND.to_owned() } else { "s".to_owned() },
            request: RequestId("r".to_owned()),
            payload: json!({ "n": sequence }),
        };
        let payload = entry.payload.to_string();
        let digest = Entry::payload_digest(&payload).to_hex();
        let previous = rows.last().map_or(String::new(), |row| row.digest.clone());
        rows.push(sealed(entry.recorded(sequence, Some(payload), digest, None), &previous));
    }
    let digest = rows.last().map_or(String::new(), |row| row.digest.clone());
    let seal = key().seal(Sealed::Head, BRAND, count, &digest).unwrap();
    (rows, Head { chain: BRAND.to_owned(), sequence: count, digest }, seal)
}

fn walked(rows: &[Recorded], head: Option<(&Head, Option<&str>)>, expected: &[Head]) -> Vec<Report> {
    let key = key();
    let mut walk = Walk::new(&key, BRAND, expected);
    for row in rows {
        walk.step(&Step { row: row.clone(), erasure_is_said: row.subject == "said", bound_is_there: true }).unwrap();
    }
    let head = head.map(|(head, seal)| HeadFound::There(head.clone(), seal.map(str::to_owned)));
    walk.end(&head.unwrap_or(HeadFound::None)).unwrap();
    walk.reports()
}

/// What is wrong: the rows and the problem's name.
fn wrong(reports: &[Report]) -> Vec<(Option<(i64, i64)>, &'static str)> {
    let finding = |report: &Report| match report {
        Report::Wrong(finding) => Some((finding.rows, finding.problem.name())),
        Report::Erased { .. } | Report::Walked(_) => None,
    };
    reports.iter().filter_map(finding).collect()
}

fn of(rows: &[Recorded], head: &Head, seal: &str) -> Vec<(Option<(i64, i64)>, &'static str)> {
    wrong(&walked(rows, Some((head, Some(seal))), &[]))
}

#[test]
fn an_untouched_chain_is_walked_to_its_head() {
    let (rows, head, seal) = chain(5);
    assert_eq!(walked(&rows, Some((&head, Some(&seal))), std::slice::from_ref(&head)), [Report::Walked(head)]);
}

#[test]
fn the_row_that_was_changed_is_named_and_no_other() {
    let (rows, head, seal) = chain(5);
    for at in 1..5 {
        let place = rows[at].sequence;
        let one = |change: fn(&mut Recorded)| {
            let mut rows = rows.clone();
            change(&mut rows[at]);
            of(&rows, &head, &seal)
        };
        let named = |problem| vec![(Some((place, place)), problem)];
        assert_eq!(one(|row| row.subject = "x".to_owned()), named("changed"));
        assert_eq!(one(|row| row.at = Timestamp::from_millis(1)), named("changed"));
        assert_eq!(one(|row| row.bound_id = Some(String::new())), named("changed"));
        assert_eq!(one(|row| row.payload = Some("{}".to_owned())), named("payload_changed"));
        assert_eq!(one(|row| row.payload = None), named("erased_unsaid"));
        // The newest row's digest stands in the head too.
        let with_head = |problem| {
            if at == 4 { vec![(Some((place, place)), problem), (None, "head_changed")] } else { named(problem) }
        };
        assert_eq!(one(|row| row.digest = "x".to_owned()), with_head("changed"));
        let next = if at == 4 { vec![] } else { vec![(Some((place + 1, place + 1)), "unchecked")] };
        assert_eq!(one(|row| row.seal = Some("x".to_owned())), [named("seal_wrong"), next].concat());
        assert_eq!(one(|row| row.seal = None), named("unsealed"));
    }
}

#[test]
fn whoever_computes_all_digests_anew_still_has_no_seal() {
    let (mut rows, mut head, seal) = chain(5);
    rows[2].subject = "x".to_owned();
    for at in 2..5 {
        let previous = rows[at - 1].digest.clone();
        rows[at].digest = rows[at].computed_digest(&previous).to_hex();
    }
    head.digest.clone_from(&rows[4].digest);
    assert_eq!(of(&rows, &head, &seal), [(Some((3, 5)), "seal_wrong"), (None, "head_seal_wrong")]);
}

#[test]
fn rows_that_were_removed_are_named_the_newest_and_the_first_too() {
    let (rows, head, seal) = chain(5);
    let without = |removed: &[i64]| {
        let left: Vec<_> = rows.iter().filter(|row| !removed.contains(&row.sequence)).cloned().collect();
        of(&left, &head, &seal)
    };
    assert_eq!(without(&[3]), [(Some((3, 3)), "missing"), (Some((4, 4)), "unchecked")]);
    assert_eq!(without(&[2, 3, 4]), [(Some((2, 4)), "missing"), (Some((5, 5)), "unchecked")]);
    assert_eq!(without(&[5]), [(Some((5, 5)), "missing")]);
    assert_eq!(without(&[4, 5]), [(Some((4, 5)), "missing")]);
    let first = without(&[1]);
    assert!(first.contains(&(Some((1, 1)), "missing")) && first.contains(&(Some((2, 2)), "beginning")), "{first:?}");
    assert_eq!(without(&[1, 2, 3, 4, 5]), [(Some((1, 5)), "missing")]);
}

#[test]
fn a_head_that_was_set_back_or_lost_shows() {
    let (rows, head, seal) = chain(5);
    let back = Head { sequence: 4, digest: rows[3].digest.clone(), ..head.clone() };
    assert_eq!(of(&rows, &back, &seal), [(Some((5, 5)), "beyond_head"), (None, "head_seal_wrong")]);
    // A row's own seal is no head's.
    assert_eq!(of(&rows[..4], &back, rows[3].seal.as_deref().unwrap()), [(None, "head_seal_wrong")]);
    assert_eq!(wrong(&walked(&rows, None, &[])), [(None, "no_head")]);
    assert_eq!(wrong(&walked(&rows, Some((&head, None)), &[])), [(None, "head_unsealed")]);
}

#[test]
fn two_rows_in_each_others_place_are_named() {
    let (mut rows, head, seal) = chain(6);
    rows.swap(2, 3);
    rows[2].sequence = 3;
    rows[3].sequence = 4;
    let found = of(&rows, &head, &seal);
    assert!(found.contains(&(Some((3, 4)), "seal_wrong")), "{found:?}");
    assert!(found.iter().all(|(rows, _)| rows.is_some_and(|(first, last)| first >= 3 && last <= 5)), "{found:?}");
}

#[test]
fn a_head_that_was_printed_earlier_is_held_against_the_chain() {
    let (rows, head, seal) = chain(5);
    let earlier = |sequence, digest: &str| Head { sequence, digest: digest.to_owned(), ..head.clone() };
    let found = |expected: Head| wrong(&walked(&rows, Some((&head, Some(&seal))), &[expected]));
    assert_eq!(found(earlier(3, &rows[2].digest)), []);
    assert_eq!(found(earlier(3, &rows[1].digest)), [(Some((3, 3)), "not_as_expected")]);
    assert_eq!(found(earlier(7, "x")), [(Some((7, 7)), "ends_before_expected")]);
    // Rows and head rolled back together: nothing inside shows it.
    let (rows, head, seal) = chain(3);
    assert_eq!(of(&rows, &head, &seal), []);
}

#[test]
fn rows_from_before_there_were_seals_are_named_unless_somebody_has_kept_their_head() {
    let (mut rows, head, _) = chain(4);
    for row in &mut rows {
        row.seal = None;
    }
    assert_eq!(wrong(&walked(&rows, Some((&head, None)), &[])), [(Some((1, 4)), "unsealed"), (None, "head_unsealed")]);
    let kept = std::slice::from_ref(&head);
    assert_eq!(wrong(&walked(&rows, Some((&head, None)), kept)), []);
    rows[1].subject = "x".to_owned();
    assert!(wrong(&walked(&rows, Some((&head, None)), kept)).contains(&(Some((2, 2)), "changed")));
}

#[test]
fn an_erased_row_is_named_as_erased_and_is_not_wrong() {
    let (mut rows, _, _) = chain(1);
    let mut said = rows[0].clone();
    said.sequence = 2;
    said.subject = "said".to_owned();
    said.payload = None;
    rows.push(sealed(said, &rows[0].digest.clone()));
    let digest = rows[1].digest.clone();
    let head = Head { chain: BRAND.to_owned(), sequence: 2, digest };
    let seal = key().seal(Sealed::Head, BRAND, 2, &head.digest).unwrap();
    let reports = walked(&rows, Some((&head, Some(&seal))), &[]);
    assert_eq!(reports, [Report::Erased { chain: BRAND.to_owned(), rows: (2, 2) }, Report::Walked(head)]);
}

#[test]
fn rows_at_no_place_of_a_chain_are_named_and_disturb_nothing() {
    let (rows, head, seal) = chain(3);
    let at = |place: i64| Recorded { sequence: place, ..rows[1].clone() };
    let added = [vec![at(i64::MIN), at(-1), at(0)], rows.clone()].concat();
    let found = of(&added, &head, &seal);
    assert_eq!(found, [(Some((i64::MIN, i64::MIN)), "out_of_place"), (Some((-1, 0)), "out_of_place")]);
    let added = [rows.clone(), vec![at(i64::MAX)]].concat();
    let found = of(&added, &head, &seal);
    assert!(found.contains(&(Some((4, i64::MAX)), "beyond_head")), "{found:?}");
    assert!(found.contains(&(Some((i64::MAX, i64::MAX)), "seal_wrong")), "{found:?}");
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_the_next_cannot_be_checked() {
    let (rows, head, seal) = chain(4);
    let key = key();
    for (place, expected) in
        [(2, vec![(Some((2, 2)), "unreadable"), (Some((3, 3)), "unchecked")]), (4, vec![(Some((4, 4)), "unreadable")])]
    {
        let mut walk = Walk::new(&key, BRAND, []);
        for row in &rows {
            if row.sequence == place {
                walk.unreadable(place);
            } else {
                walk.step(&Step { row: row.clone(), erasure_is_said: false, bound_is_there: true }).unwrap();
            }
        }
        walk.end(&HeadFound::There(head.clone(), Some(seal.clone()))).unwrap();
        assert_eq!(wrong(&walk.reports()), expected);
    }
}
