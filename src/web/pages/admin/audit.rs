//! A row of the audit log, the form that erases its personal data, and what a verification found.

use serde_json::Value as Json;

use super::form::{Button, Field};
use super::parts::{Block, Holds, Link, Table, Value, counted, fact, path, with_query};
use super::{DonePage, FormPage, Frame, Section, ThingPage, sampled};
use crate::domain::administrator::Access;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Head, Report};
use crate::domain::audit::recorded::Recorded;

/// A chain as people know it. What stands in a column of an altered row is escaped.
pub fn chain_name(column: &str) -> String {
    Chain::from_column(column).map_or_else(|_| column.escape_debug().to_string(), |chain| chain.to_string())
}

/// Who did it: which one, and of which kind.
pub fn actor(row: &Recorded) -> String {
    if row.actor.is_empty() { row.actor_kind.clone() } else { format!("{} ({})", row.actor, row.actor_kind) }
}

/// The address of a row.
pub fn row_path(row: &Recorded) -> String {
    path(&["audit", &chain_name(&row.brand), &row.sequence.to_string()])
}

/// The page of a row.
pub fn row_page(frame: Frame, access: &Access, row: &Recorded) -> ThingPage {
    let facts = vec![
        fact("Chain", Value::id(chain_name(&row.brand))),
        fact("Row", Value::text(row.sequence)),
        fact("At", Value::instant(row.at)),
        fact("By", Value::text(actor(row))),
        fact("Action", Value::text(&row.action)),
        fact("About", Value::id(&row.subject)),
        fact("During the request", Value::id(&row.request)),
        fact("Digest", Value::id(&row.digest)),
        fact("Digest of what changed", Value::id(&row.payload_digest)),
        fact("Vouches for", row.bound_id.clone().map_or(Value::Nothing, Value::Id)),
    ];
    let mut blocks = vec![Block::new("What it is", Holds::Facts(facts))];
    let mut deeds = vec![
        Link::new("All about this id", with_query("/audit", &[("subject", &row.subject)])),
        Link::new("All of this request", with_query("/audit", &[("request", &row.request)])),
    ];
    match &row.payload {
        Some(payload) => {
            blocks.extend(changes(payload));
            if Chain::from_column(&row.brand).is_ok_and(|chain| access.erase(chain.brand()).is_ok()) {
                deeds.push(Link::new("Erase its personal data", format!("{}/erase", row_path(row))));
            }
        }
        None => {
            let said = "Its personal data was erased. The row, its digests and who erased it stay.";
            blocks.push(Block::new("What changed", Holds::Text(said.to_owned())));
        }
    }
    ThingPage { frame, title: "Audit row".to_owned(), back: Some(Link::new("Audit log", "/audit")), blocks, deeds }
}

/// What a row says has changed: before and after, and whatever else.
fn changes(payload: &str) -> Vec<Block> {
    let pretty = |value: &Json| serde_json::to_string_pretty(value).unwrap_or_default();
    let Ok(Json::Object(mut fields)) = serde_json::from_str::<Json>(payload) else {
        return vec![Block::new("What changed", Holds::Text(payload.to_owned()))];
    };
    let mut blocks = Vec::new();
    for (name, heading) in [("before", "Before"), ("after", "After")] {
        if let Some(value) = fields.remove(name) {
            let text = if value.is_null() { "There was none.".to_owned() } else { pretty(&value) };
            blocks.push(Block::new(heading, Holds::Text(text)));
        }
    }
    if !fields.is_empty() {
        blocks.push(Block::new("What it says", Holds::Text(pretty(&Json::Object(fields)))));
    }
    blocks
}

/// The form that erases the personal data of a row.
pub fn erase_form(frame: Frame, row: &Recorded) -> FormPage {
    FormPage {
        frame,
        title: "Erase the personal data of an audit row".to_owned(),
        wrong: None,
        says: vec![
            "What changed, before and after, is gone for good: nobody brings it back.".to_owned(),
            "The row, its digests and its place stay, the chain still verifies, and another row says who erased it."
                .to_owned(),
        ],
        facts: vec![
            fact("Chain", Value::id(chain_name(&row.brand))),
            fact("Row", Value::text(row.sequence)),
            fact("At", Value::instant(row.at)),
            fact("By", Value::text(actor(row))),
            fact("Action", Value::text(&row.action)),
            fact("About", Value::id(&row.subject)),
        ],
        fields: vec![Field::typed(format!("Type the row's number, {}, to go on", row.sequence))],
        hidden: Vec::new(),
        action: format!("{}/erase", row_path(row)),
        buttons: vec![Button { step: "", label: "Erase it for good" }],
        cancel: Link::new("Back to the row", row_path(row)),
    }
}

/// What became of an erasure.
pub fn erased_page(frame: Frame, chain: &Chain, sequence: i64, just_now: bool) -> DonePage {
    let (title, says) = if just_now {
        ("The personal data is erased", "The row stays, and another says who erased it.")
    } else {
        ("It was erased before", "Nothing was done.")
    };
    let row = path(&["audit", &chain.to_string(), &sequence.to_string()]);
    DonePage::new(frame, title, &[says], vec![Link::new("The row", row), Link::new("Audit log", "/audit")])
}

/// The form that verifies the log. It changes nothing.
pub fn verify_form(frame: Frame) -> FormPage {
    FormPage {
        frame,
        title: "Verify the audit log".to_owned(),
        wrong: None,
        says: vec![
            "Every row of every chain within your reach is held against its seal and the row before it, and every receipt, \
             decision, grant and key against the row that vouches for it."
                .to_owned(),
            "Nothing is changed. It reads the whole log: of a million rows, it takes about a minute.".to_owned(),
        ],
        facts: Vec::new(),
        fields: Vec::new(),
        hidden: Vec::new(),
        action: "/audit/verify".to_owned(),
        buttons: vec![Button { step: "", label: "Verify" }],
        cancel: Link::new("Audit log", "/audit"),
    }
}

/// What a verification found.
pub fn verified_page(frame: Frame, reports: &[Report]) -> DonePage {
    let (mut heads, mut erased, mut wrong, mut rows) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let run = |(first, last): (i64, i64)| if first == last { first.to_string() } else { format!("{first}–{last}") };
    let row_of = |chain: &str, (first, last): (i64, i64)| {
        Value::Link(Link::new(run((first, last)), path(&["audit", &chain_name(chain), &first.to_string()])))
    };
    for report in reports {
        match report {
            Report::Walked(Head { chain, sequence, digest }) => {
                rows += sequence;
                let digest = digest.escape_debug().to_string();
                heads.push(vec![Value::id(chain_name(chain)), Value::text(sequence), Value::Id(digest)]);
            }
            Report::Erased { chain, rows } => {
                erased.push(vec![Value::id(chain_name(chain)), row_of(chain, *rows)]);
            }
            Report::Wrong(Finding { chain, rows, problem }) => {
                let rows = rows.map_or(Value::Nothing, |rows| row_of(chain, rows));
                wrong.push(vec![Value::id(chain_name(chain)), rows, Value::text(problem)]);
            }
        }
    }
    let (rows, chains) = (counted(rows, "row"), counted(i64::try_from(heads.len()).unwrap_or(i64::MAX), "chain"));
    let is_good = wrong.is_empty();
    let (title, says) = if is_good {
        (
            "The audit log verifies",
            format!("All {rows} of {chains} verify, with the receipts and decisions they vouch for."),
        )
    } else {
        let things = counted(i64::try_from(wrong.len()).unwrap_or(i64::MAX), "thing");
        ("The audit log does not verify", format!("Of {rows} of {chains}, {things} below cannot be as written."))
    };
    let mut blocks = Vec::new();
    if !is_good {
        let table = Table { columns: vec!["Chain", "Rows", "What is wrong"], rows: wrong, empty: "" };
        let mut found = Block::new("What is wrong", Holds::Table(table));
        found.hint = "Somebody wrote to the database by hand, or it was restored from an older copy. Keep a copy of it as it \
                      is, and compare it with a backup.";
        blocks.push(found);
    }
    let table = Table { columns: vec!["Chain", "Rows", "Digest of the newest"], rows: heads, empty: "There is none." };
    let mut walked = Block::new("Chains", Holds::Table(table));
    walked.hint = "Rows that were cut off at the end show only against a head that was kept elsewhere: keep the output of \
                   assent audit verify, and give it back with --expect.";
    blocks.push(walked);
    if !erased.is_empty() {
        let table = Table { columns: vec!["Chain", "Rows"], rows: erased, empty: "" };
        let mut block = Block::new("Erased rows", Holds::Table(table));
        block.hint = "Their personal data was erased, as other rows say. They verify.";
        blocks.push(block);
    }
    let links = vec![Link::new("Audit log", "/audit")];
    DonePage { frame, title: title.to_owned(), says: vec![says], is_good, shown: None, blocks, links }
}

/// The page in each state, by name.
pub(super) fn samples() -> Vec<(&'static str, ThingPage)> {
    let payload = r#"{"before":{"user":"jane","scopes":["orders:read"]},"after":null,"together":true}"#;
    let page =
        |access: &Access, payload| row_page(Frame::sample_in(Section::Audit), access, &sampled::audit_row(payload));
    vec![
        ("audit-row", page(&Access::EVERYTHING, Some(payload))),
        ("audit-row-to-an-auditor", page(&sampled::auditor(), Some(payload))),
        ("audit-row-erased", page(&Access::EVERYTHING, None)),
    ]
}

/// The form, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Audit);
    vec![("erase", erase_form(frame(), &sampled::audit_row(Some("{}")))), ("verify", verify_form(frame()))]
}

/// What was done and found, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    use crate::domain::audit::chain::Problem;
    let (frame, row) = (|| Frame::sample_in(Section::Audit), sampled::audit_row(None));
    let chain = row.brand.clone();
    let head = Report::Walked(Head { chain: chain.clone(), sequence: 57, digest: row.digest });
    let provider = Report::Walked(Head { chain: String::new(), sequence: 1, digest: row.payload_digest });
    let erased = Report::Erased { chain: chain.clone(), rows: (3, 4) };
    let wrong = Report::Wrong(Finding { chain, rows: Some((12, 12)), problem: Problem::PayloadChanged });
    vec![
        ("erased", erased_page(frame(), &Chain::Provider, 57, true)),
        ("erased-before", erased_page(frame(), &Chain::Provider, 57, false)),
        ("verified", verified_page(frame(), &[provider, erased, head.clone()])),
        ("not-verified", verified_page(frame(), &[wrong, head])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_says_how_much_it_covers_or_names_the_row() {
        let pages = done_samples();
        let page = |name: &str| pages.iter().find(|(state, _)| *state == name).unwrap().1.clone();
        let good = page("verified");
        assert!(good.is_good);
        assert!(good.says[0].starts_with("All 58 rows of 2 chains verify"), "{}", good.says[0]);
        let bad = page("not-verified");
        assert!(!bad.is_good);
        let html = askama::Template::render(&bad).unwrap();
        assert!(html.contains("/audit/01M3R53Q5SZQ6FQSMSDBSSREAA/12\"") && html.contains("its payload is not the one"));
    }

    #[test]
    fn before_and_after_stand_apart_and_what_is_no_json_as_it_is() {
        let headings = |payload: &str| changes(payload).iter().map(|block| block.heading).collect::<Vec<_>>();
        assert_eq!(headings(r#"{"before":1,"after":{"a":2},"by":"x"}"#), ["Before", "After", "What it says"]);
        assert_eq!(headings(r#"{"after":{}}"#), ["After"]);
        assert_eq!(headings("no json"), ["What changed"]);
    }
}
