//! Where a password comes from: a file, standard input, or the terminal, where it is typed twice and not shown.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use crate::cli::failure::Failure;
use crate::cli::input;
use crate::secret::Secret;

/// The first line of `file`, or of standard input where there is none.
pub(super) fn read(file: Option<&Path>) -> Result<Secret<String>, Failure> {
    if file.is_none() && io::stdin().is_terminal() {
        return typed();
    }
    let text = Secret::new(input::read(file.unwrap_or_else(|| Path::new("-")))?);
    let line = text.expose().lines().next().unwrap_or_default().to_owned();
    if line.is_empty() {
        let place = file.map_or_else(|| "standard input".to_owned(), |file| file.display().to_string());
        return Err(Failure::Said(format!("{place}: the first line is empty, expected a password")));
    }
    Ok(Secret::new(line))
}

fn typed() -> Result<Secret<String>, Failure> {
    let ask = |prompt: &str| rpassword::prompt_password(prompt).map(Secret::new).map_err(Failure::file("terminal"));
    let (password, again) = (ask("Password: ")?, ask("The same again: ")?);
    if password.expose() != again.expose() {
        return Err(Failure::Said("the two are not the same; nothing was done".to_owned()));
    }
    Ok(password)
}
