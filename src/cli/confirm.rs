//! What destroys something is confirmed: by an answer on the terminal, or by `--yes` where there is none.

use std::io::{self, IsTerminal as _, Write as _};

use super::failure::Failure;

/// What every command takes that destroys something.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Confirm {
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
    /// Say what would be done, and do nothing, whatever else is given.
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Confirm {
    /// Asks whoever sits at the terminal to type `answer`.
    ///
    /// # Errors
    /// [`Failure::Usage`] when nobody can be asked, and [`Failure::Said`] when the answer is another.
    pub(super) fn ask(self, what: &str, answer: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::Usage(format!(
                "{what} Nobody can be asked, since standard input is no terminal: give --yes to do it, or --dry-run to \
                 see what it would do. Nothing was done."
            )));
        }
        eprint!("{what} Type {answer} to go on: ");
        io::stderr().flush()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        if line.trim() == answer { Ok(()) } else { Err(Failure::Said("not confirmed; nothing was done".to_owned())) }
    }
}
