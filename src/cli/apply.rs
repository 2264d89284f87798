//! `assent apply FILE`: creates and changes Brands and personal agents, and says what that meant for live grants.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::failure::Failure;
use super::{command_line, input, with_app};
use crate::flow::admin::apply::{ApplyOutcome, Change, apply, parse};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file, or `-` for standard input.
    file: PathBuf,
    /// One JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Path, arguments: &Arguments, out: &mut impl Write) -> Result<(), Failure> {
    let text = input::read(&arguments.file)?;
    let refused = |problem: String| Failure::Said(format!("{}: {}", arguments.file.display(), problem.trim_end()));
    let file = parse(&text).map_err(refused)?;
    with_app(config, async |app| {
        let (actor, request) = command_line(app);
        match apply(app, &file, &actor, &request).await? {
            ApplyOutcome::Refused(problem) => Err(refused(format!("{problem}; nothing was changed"))),
            ApplyOutcome::Done { changes, narrowed, ended } if arguments.json => {
                let change = |Change { kind, id, name, what }: &Change| json!({ "what": what, "kind": kind, "id": id, "name": name });
                let changes: Vec<_> = changes.iter().map(change).collect();
                writeln!(out, "{}", json!({ "changes": changes, "grantsNarrowed": narrowed, "grantsEnded": ended }))?;
                Ok(())
            }
            ApplyOutcome::Done { changes, narrowed, ended } => {
                for Change { kind, id, name, what } in &changes {
                    writeln!(out, "{what} {kind} {id} {name}")?;
                }
                writeln!(out, "live grants: {narrowed} narrowed, {ended} ended")?;
                Ok(())
            }
        }
    })
}
