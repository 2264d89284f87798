//! How much was done, of each kind and with each outcome, so that a run in which nothing happened is seen.

use std::collections::BTreeMap;
use std::fmt;

use super::operations::Operation;
use super::order::Done;

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sequences: usize,
    steps: usize,
    operations: usize,
    outcomes: BTreeMap<&'static str, BTreeMap<(bool, &'static str), usize>>,
}

impl Tally {
    pub(crate) fn count(&mut self, done: &[Done]) {
        self.steps += 1;
        self.operations += done.len();
        for (act, answer) in done {
            *self.outcomes.entry(act.kind()).or_default().entry(answer.outcome()).or_default() += 1;
        }
    }

    /// Fails where a kind of operation never succeeded or was never refused.
    pub(crate) fn assert_is_not_vacuous(&self) {
        for kind in Operation::KINDS {
            let outcomes = self.outcomes.get(kind).cloned().unwrap_or_default();
            for (wished, word) in [(true, "succeeded"), (false, "was refused")] {
                assert!(outcomes.keys().any(|(success, _)| *success == wished), "no '{kind}' {word}:\n{self}");
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} sequences, {} steps, {} operations", self.sequences, self.steps, self.operations)?;
        for (kind, outcomes) in &self.outcomes {
            let total: usize = outcomes.values().sum();
            write!(f, "  {total:>7} {kind}:")?;
            for wished in [true, false] {
                let mut alike: Vec<_> = outcomes.iter().filter(|((success, _), _)| *success == wished).collect();
                alike.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
                let words: Vec<String> = alike.iter().map(|((_, label), count)| format!("{label} {count}")).collect();
                write!(f, "{}{}", if wished { " " } else { " | refused: " }, words.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
