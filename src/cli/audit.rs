//! `assent audit`: reads the audit log, verifies it, and erases personal data from it.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::confirm::Confirm;
use super::failure::Failure;
use super::{command_line, input, with_app};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Head, Report};
use crate::domain::audit::recorded::Recorded;
use crate::domain::id::InvalidId;
use crate::flow::admin::Verdict;
use crate::flow::admin::audit::{self, AuditPage};
use crate::store::{AuditCursor, AuditFilter, Erased};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The rows that fit, newest first.
    List(List),
    /// Hold every row, receipt and decision against the log's seals; fails when anything is wrong.
    Verify(Verify),
    /// Erase a row's payload; the row, its digests and who erased it stay.
    Erase(Erase),
}

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Of this Brand's chain, by its id, or of `provider`.
    #[arg(long, value_name = "ID", value_parser = chain)]
    brand: Option<Chain>,
    /// By this Brand user, personal agent or administrator.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Such as `grant_ended`.
    #[arg(long)]
    action: Option<String>,
    /// About this id: a grant, a code, a Brand, a personal agent, a key.
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// During this request, as the server's log and `X-Request-Id` name it.
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Not before this time: `2026-09-30`, or `2026-09-30T12:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    since: Option<Timestamp>,
    /// Before this time.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<Timestamp>,
    /// At most so many.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Go on where an earlier list ended.
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    after: Option<AuditCursor>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// This Brand's chain alone, by its id, or `provider`.
    #[arg(long, value_name = "ID", value_parser = chain)]
    brand: Option<Chain>,
    /// The output of an earlier `audit verify`: the chains must still hold the heads that it printed.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// One JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Erase {
    /// The chain: a Brand's id, or `provider`.
    #[arg(value_name = "BRAND", value_parser = chain)]
    chain: Chain,
    /// The row's place in it.
    #[arg(value_parser = clap::value_parser!(i64).range(1..))]
    sequence: i64,
    #[command(flatten)]
    confirm: Confirm,
}

fn chain(text: &str) -> Result<Chain, InvalidId> {
    text.parse()
}

fn cursor(text: &str) -> Result<AuditCursor, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn instant(text: &str) -> Result<Timestamp, &'static str> {
    let whole = if text.contains('T') { text.to_owned() } else { format!("{text}T00:00:00Z") };
    let at = OffsetDateTime::parse(&whole, &Rfc3339).map_err(|_| "expected 2026-09-30 or 2026-09-30T12:00:00Z")?;
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).map(Timestamp::from_millis).map_err(|_| "is too far away")
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| match command {
        Command::List(arguments) => list(app, arguments, out).await,
        Command::Verify(arguments) => verify(app, &arguments, out).await,
        Command::Erase(arguments) => erase(app, &arguments, out).await,
    })
}

/// What whoever runs the program may always have.
fn done<T>(verdict: Verdict<T>, what: impl Display) -> Result<T, Failure> {
    match verdict {
        Verdict::Done(done) => Ok(done),
        Verdict::NotThere => Err(Failure::Said(format!("there is no {what}"))),
        Verdict::Forbidden => Err(Failure::Said("it is not allowed".to_owned())),
    }
}

async fn list(app: &App, arguments: List, out: &mut impl Write) -> Result<(), Failure> {
    let List { brand, actor, action, subject, request, since, until, limit, after, json } = arguments;
    let filter = AuditFilter { chain: brand, actor, action, subject, request, since, until };
    let page = audit::list(app, &command_line(app), &filter, after.as_ref(), limit).await?;
    let AuditPage { rows, next } = done(page, "such chain")?;
    for row in &rows {
        writeln!(out, "{}", if json { as_json(row).to_string() } else { as_line(row) })?;
    }
    if let Some(next) = next {
        eprintln!("there is more: go on with --after {next}");
    }
    Ok(())
}

/// A chain as people know it. What stands in a column of an altered row is escaped.
fn named(column: &str) -> String {
    Chain::from_column(column).map_or_else(|_| column.escape_debug().to_string(), |chain| chain.to_string())
}

fn as_json(row: &Recorded) -> Value {
    let payload = row.payload.as_deref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
    json!({
        "chain": named(&row.brand), "sequence": row.sequence, "at": row.at.to_rfc3339(),
        "actor": { "kind": row.actor_kind, "name": row.actor },
        "action": row.action, "subject": row.subject, "request": row.request,
        "erased": row.payload.is_none(), "payload": payload, "digest": row.digest,
    })
}

fn as_line(row: &Recorded) -> String {
    let shown = |text: &str| text.escape_debug().to_string();
    let actor = if row.actor.is_empty() { String::new() } else { format!(" {}", shown(&row.actor)) };
    format!(
        "{} {} {} {}{actor} {} {} {}",
        row.at.to_rfc3339(),
        named(&row.brand),
        row.sequence,
        shown(&row.actor_kind),
        shown(&row.action),
        shown(&row.subject),
        row.payload.as_deref().unwrap_or("(erased)"),
    )
}

async fn verify(app: &App, arguments: &Verify, out: &mut impl Write) -> Result<(), Failure> {
    let expected = match &arguments.expect {
        Some(file) => {
            heads(&input::read(file)?).map_err(|problem| Failure::Said(format!("{}: {problem}", file.display())))?
        }
        None => Vec::new(),
    };
    let (mut wrong, mut written) = (0_usize, Ok(()));
    let mut tell = |report: Report| {
        wrong += usize::from(matches!(report, Report::Wrong(_)));
        if written.is_ok() {
            let line = if arguments.json { report_as_json(&report).to_string() } else { report_as_line(&report) };
            written = writeln!(out, "{line}");
        }
    };
    let verdict = audit::verify(app, &command_line(app), arguments.brand.as_ref(), &expected, &mut tell).await?;
    done(verdict, "such chain")?;
    written?;
    match wrong {
        0 => Ok(()),
        1 => Err(Failure::Said("the audit log: 1 thing is wrong".to_owned())),
        wrong => Err(Failure::Said(format!("the audit log: {wrong} things are wrong"))),
    }
}

fn report_as_json(report: &Report) -> Value {
    match report {
        Report::Walked(Head { chain, sequence, digest }) => {
            json!({ "what": "head", "chain": named(chain), "sequence": sequence, "digest": digest })
        }
        Report::Erased { chain, rows: (first, last) } => {
            json!({ "what": "erased", "chain": named(chain), "first": first, "last": last })
        }
        Report::Wrong(Finding { chain, rows, problem }) => {
            let mut line = json!({ "what": "wrong", "chain": named(chain), "problem": problem.name() });
            if let Some(line) = line.as_object_mut() {
                if let Some((first, last)) = rows {
                    line.insert("first".to_owned(), json!(first));
                    line.insert("last".to_owned(), json!(last));
                }
                if let Some((kind, id)) = problem.subject() {
                    line.insert("about".to_owned(), json!({ "kind": kind, "id": id }));
                }
                line.insert("text".to_owned(), json!(problem.to_string()));
            }
            line
        }
    }
}

fn report_as_line(report: &Report) -> String {
    let run = |(first, last): &(i64, i64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    match report {
        Report::Walked(Head { chain, sequence, digest }) => {
            format!("head    {} {sequence} {}", named(chain), digest.escape_debug())
        }
        Report::Erased { chain, rows } => format!("erased  {} {}", named(chain), run(rows)),
        Report::Wrong(Finding { chain, rows: Some(rows), problem }) => {
            format!("wrong   {} {} {problem}", named(chain), run(rows))
        }
        Report::Wrong(Finding { chain, rows: None, problem }) => format!("wrong   {} {problem}", named(chain)),
    }
}

/// The heads in the output of an earlier verification, in either of its forms.
fn heads(text: &str) -> Result<Vec<Head>, String> {
    let mut heads = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let is_head = line.starts_with("head ") || line.contains("\"what\":\"head\"");
        if is_head {
            heads.push(head(line).ok_or_else(|| format!("line {}: is no head of a chain", index + 1))?);
        }
    }
    if heads.is_empty() {
        return Err("holds no head of a chain; expected the output of `assent audit verify`".to_owned());
    }
    Ok(heads)
}

fn head(line: &str) -> Option<Head> {
    let (chain, sequence, digest) = if line.starts_with('{') {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
        (text("chain")?, line.get("sequence")?.as_i64()?, text("digest")?)
    } else {
        let mut words = line.split_ascii_whitespace().skip(1);
        (words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.to_owned())
    };
    let chain: Chain = chain.parse().ok()?;
    Some(Head { chain: chain.column().to_owned(), sequence, digest })
}

async fn erase(app: &App, arguments: &Erase, out: &mut impl Write) -> Result<(), Failure> {
    let Erase { chain, sequence, confirm } = arguments;
    let (row, by) = (format!("row {sequence} of {chain}"), command_line(app));
    if done(audit::would_erase(app, &by, chain, *sequence).await?, &row)? == Erased::Already {
        writeln!(out, "the payload of {row} was erased before")?;
        return Ok(());
    }
    if confirm.dry_run {
        writeln!(out, "the payload of {row} would be erased")?;
        return Ok(());
    }
    confirm.ask(&format!("The payload of {row} will be gone for good."), &sequence.to_string())?;
    match done(audit::erase(app, &by, chain, *sequence).await?, &row)? {
        Erased::Already => writeln!(out, "the payload of {row} was erased before")?,
        Erased::Done | Erased::NotThere => writeln!(out, "the payload of {row} is erased")?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_printed_in_either_form() {
        let brand = "01M3R53Q5SZQ6FQSMSDBSSREAA";
        let head = |chain: &str, sequence| Head { chain: chain.to_owned(), sequence, digest: "ab".repeat(32) };
        let all = [head("", 3), head(brand, 57)];
        let reports = all.clone().map(Report::Walked);
        for write in [report_as_line as fn(&Report) -> String, |report| report_as_json(report).to_string()] {
            let text = format!("erased  {brand} 3\n{}\n{}\n", write(&reports[0]), write(&reports[1]));
            assert_eq!(heads(&text).unwrap(), all);
        }
        assert!(heads("erased  provider 3\n").is_err());
        assert!(heads("head    provider x y\n").is_err());
        assert!(heads("head    nobody 1 y\n").is_err());
    }

    #[test]
    fn times_are_days_or_instants() {
        assert_eq!(instant("2026-01-01"), Ok(Timestamp::from_seconds(1_767_225_600)));
        assert_eq!(instant("2026-01-01T01:00:00.5+01:00"), Ok(Timestamp::from_millis(1_767_225_600_500)));
        assert!(instant("yesterday").is_err());
    }
}
