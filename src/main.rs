//! The `assent` program.

fn main() {}
