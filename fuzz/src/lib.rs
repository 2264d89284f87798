//! What must hold of each input path, whatever bytes arrive. A fuzzer calls these functions with bytes of its own
//! making; `tests/it/corpus.rs` calls them with every file of `corpus/`, so that what was found once stays found.
//!
//! None of them may panic; and each compares what was accepted with a second, plainer reading of the same bytes.

mod bodies;
mod files;
mod keys;
mod tokens;

pub use bodies::{a2a_body, strict_form};
pub use files::apply_file;
pub use keys::jwks;
pub use tokens::{assertion, compact_jwt};

/// What an input path is checked by.
pub type Check = fn(&[u8]);

/// Every input path, under the name of its target and of its folder in `corpus/`.
pub const CHECKS: [(&str, Check); 6] = [
    ("a2a_body", a2a_body),
    ("apply_file", apply_file),
    ("assertion", assertion),
    ("compact_jwt", compact_jwt),
    ("jwks", jwks),
    ("strict_form", strict_form),
];
