//! `assent evidence`: exports all that is kept of a grant, and verifies such an export, offline.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::{command_line, input, with_app};
use crate::crypto::evidence::{Problem, check};
use crate::crypto::jwks::KeySet;
use crate::domain::id::{GrantId, InvalidId};
use crate::flow::admin::Verdict;
use crate::flow::admin::evidence::{Exported, export};
use crate::protocol::json;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The grant's id.
    #[arg(required = true, value_parser = grant_id)]
    grant: Option<GrantId>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Verify an export, offline; fails when anything in it was changed.
    Verify(Verify),
}

#[derive(Debug, clap::Args)]
struct Verify {
    /// The export, or `-` for standard input.
    file: PathBuf,
    /// The Brand's JWKS, as its `jwks_uri` serves it. Without it, the keys inside the export are taken.
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    /// The interface URL of the Brand that must have signed it.
    #[arg(long, value_name = "URL")]
    brand: Option<String>,
}

fn grant_id(text: &str) -> Result<GrantId, InvalidId> {
    GrantId::parse(text)
}

pub(super) fn run(config: &Path, arguments: Arguments, out: &mut impl Write) -> Result<(), Failure> {
    match (arguments.command, arguments.grant) {
        (Some(Command::Verify(arguments)), _) => verify(&arguments, out),
        (None, Some(grant)) => made(config, &grant, out),
        // clap asks for one of the two.
        (None, None) => Ok(()),
    }
}

fn made(config: &Path, grant: &GrantId, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        match export(app, &by, grant).await? {
            Verdict::Done(Exported::Done { document, warnings }) => {
                for warning in warnings {
                    eprintln!("warning: {warning}");
                }
                writeln!(out, "{}", serde_json::to_string_pretty(&document).map_err(crate::flow::Fault::from)?)?;
                Ok(())
            }
            Verdict::Done(Exported::Altered(problems)) => Err(Failure::Said(format!(
                "nothing was exported, since the record was altered (see `assent audit verify`): {}",
                problems.join("; ")
            ))),
            Verdict::Done(Exported::NoKey) => Err(Failure::Said(
                "nothing was exported: the Brand was removed and all its keys are compromised, so none can sign for it"
                    .to_owned(),
            )),
            Verdict::Forbidden => Err(Failure::Said("it is not allowed".to_owned())),
            Verdict::NotThere => Err(Failure::Said(format!("there is no grant {grant}"))),
        }
    })
}

fn verify(arguments: &Verify, out: &mut impl Write) -> Result<(), Failure> {
    let keys = arguments.jwks.as_ref().map(|file| {
        let keys = input::read(file)?;
        KeySet::parse_own(keys.as_bytes()).map_err(|error| Failure::Said(format!("{}: {error}", file.display())))
    });
    let keys = keys.transpose()?;
    let file = arguments.file.display();
    let document = json::parse(input::read(&arguments.file)?.as_bytes());
    let document = document.map_err(|error| Failure::Said(format!("{file}: is not JSON: {error}")))?;
    if keys.is_none() {
        eprintln!(
            "note: verified with the keys inside the export, which prove only that it holds together; \
             get the Brand's jwks.json another way and give it with --jwks"
        );
    }
    let problems = check(&document, keys.as_ref(), arguments.brand.as_deref());
    if !problems.is_empty() {
        let problems: Vec<&str> = problems.iter().map(Problem::text).collect();
        return Err(Failure::Said(format!("{file}: not valid evidence: {}", problems.join("; "))));
    }
    let text =
        |pointer: &str| document.pointer(pointer).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let count = |pointer: &str| document.pointer(pointer).and_then(|value| value.as_array()).map_or(0, Vec::len);
    writeln!(
        out,
        "valid evidence of grant {} at {}, made {}: {} decisions, {} tokens, {} receipts, {} audit rows",
        text("/grant/id"),
        text("/brand/interface_url"),
        text("/made_at"),
        count("/decisions"),
        count("/tokens"),
        count("/receipts"),
        count("/audit"),
    )?;
    Ok(())
}
