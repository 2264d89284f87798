//! `assent pages --out DIR`: every page in every state, as files that a browser opens from disk.

use std::io::Write;
use std::path::PathBuf;

use super::failure::Failure;
use crate::web::pages::write_samples;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The directory; it is created when it is not there.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), Failure> {
    let count = write_samples(&arguments.out).map_err(Failure::file(&arguments.out))?;
    writeln!(out, "{count} pages written to {}", arguments.out.display())?;
    Ok(())
}
