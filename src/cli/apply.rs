//! `assent apply FILE`: creates and changes Brands and personal agents, and says what that meant for live grants.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::listing::{done, line};
use super::table::printable;
use super::{command_line, input, with_app};
use crate::flow::admin::Run;
use crate::flow::admin::apply::{ApplyOutcome, Change, apply, parse};
use crate::protocol::admin::AppliedJson;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file, or `-` for standard input.
    file: PathBuf,
    /// Say what would change, and under how many live grants, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// One JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(config: &Path, arguments: &Arguments, out: &mut impl Write) -> Result<(), Failure> {
    let text = input::read(&arguments.file)?;
    let refused = |problem: String| Failure::Said(format!("{}: {}", arguments.file.display(), problem.trim_end()));
    let file = parse(&text).map_err(refused)?;
    let run = if arguments.dry_run { Run::Dry } else { Run::Real };
    with_app(config, async |app| {
        let outcome = apply(app, &file, &command_line(app), run).await?;
        let (changes, narrowed, ended) = match done(outcome, "such thing")? {
            ApplyOutcome::Refused(problem) => return Err(refused(format!("{problem}; nothing was changed"))),
            ApplyOutcome::Done { changes, narrowed, ended } => (changes, narrowed, ended),
        };
        if arguments.json {
            return line(
                out,
                &AppliedJson {
                    changes: changes.into_iter().map(Into::into).collect(),
                    grants_narrowed: narrowed,
                    grants_ended: ended,
                    dry_run: arguments.dry_run,
                },
            );
        }
        let (would, grants) =
            if arguments.dry_run { ("would be ", "live grants would be") } else { ("", "live grants") };
        for Change { kind, id, name, what, fields } in &changes {
            let would = if *what == "unchanged" { "" } else { would };
            let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
            writeln!(out, "{would}{what} {kind} {id} {}{fields}", printable(name))?;
        }
        writeln!(out, "{grants}: {narrowed} narrowed, {ended} ended")?;
        Ok(())
    })
}
