//! Bounds on how often something may be tried, kept in memory per node.

mod guesses;
mod polls;

pub use guesses::{GuessBudget, Guesser};
pub use polls::{Pace, PollPacing};

/// All of a node's bounds.
#[derive(Debug, Default)]
pub struct Limits {
    /// The pace of polls for pending codes.
    pub polls: PollPacing,
    /// Wrong user codes.
    pub guesses: GuessBudget,
}
