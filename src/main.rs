//! The `assent` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    assent::cli::main()
}
