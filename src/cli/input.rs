//! Files that are named as arguments.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::failure::Failure;

/// The text of `file`, or of standard input for `-`.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    if file == Path::new("-") {
        let mut text = String::new();
        return match io::stdin().read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(error) => Err(Failure::File { path: "standard input".into(), error }),
        };
    }
    fs::read_to_string(file).map_err(Failure::file(file))
}
