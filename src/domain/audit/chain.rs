//! The walk along a chain: what is wrong with which row, of a log that somebody may have written into by hand.
//!
//! Whoever has not the key can make no seal. So a row's digest is believed when its seal says so, and its columns when they
//! give that digest after the digest of the row before: a row is blamed for what is wrong with it, and none for its neighbour.

mod problem;

use std::collections::BTreeMap;

pub use self::problem::{Problem, Thing};
use super::recorded::Recorded;
use super::seal::{AuditKey, SealFailed, Sealed};
use super::{Action, Entry};

/// Something that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// In which chain, as its column says.
    pub chain: String,
    /// The first and the last row of which it is true, where it is about rows.
    pub rows: Option<(i64, i64)>,
    /// What.
    pub problem: Problem,
}

/// How long a chain is, and its newest digest: what an auditor keeps, to hold the log against later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// Which chain, as its column says.
    pub chain: String,
    /// Its length.
    pub sequence: i64,
    /// The digest of its newest row.
    pub digest: String,
}

/// What stands for a chain's head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeadFound {
    /// Nothing.
    None,
    /// A row that cannot be read.
    Unreadable,
    /// The head, with its seal.
    There(Head, Option<String>),
}

/// What a walk tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// Something is wrong.
    Wrong(Finding),
    /// These rows' payloads were erased, as other rows of the chain say.
    Erased {
        /// In which chain, as its column says.
        chain: String,
        /// The first and the last of them.
        rows: (i64, i64),
    },
    /// A chain was walked to its end.
    Walked(Head),
}

/// A row on the walk, and what was found beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The row.
    pub row: Recorded,
    /// Whether a later row of the chain says that its payload was erased.
    pub erasure_is_said: bool,
    /// Whether what it vouches for is there; true where that is nothing.
    pub bound_is_there: bool,
}

/// What is true of a run of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Noted {
    Wrong(Problem),
    Erased,
}

/// A walk along one chain, row by row in their order.
#[derive(Debug)]
pub struct Walk<'a> {
    key: &'a AuditKey,
    chain: String,
    expected: BTreeMap<i64, String>,
    /// The place of the latest head that was printed earlier: what stands up to it is held against that.
    vouched: i64,
    last: i64,
    /// The digest that stands in the latest row, where that can be read.
    stored: Option<String>,
    /// The digest of the latest row, where it is beyond doubt.
    believed: Option<String>,
    open: Vec<(Noted, i64, i64)>,
    reports: Vec<Report>,
}

impl<'a> Walk<'a> {
    /// At the beginning of `chain`, of which these heads were printed earlier.
    pub fn new<'h>(key: &'a AuditKey, chain: &str, expected: impl IntoIterator<Item = &'h Head>) -> Self {
        let own = expected.into_iter().filter(|head| head.chain == chain);
        let expected: BTreeMap<i64, String> = own.map(|head| (head.sequence, head.digest.clone())).collect();
        Self {
            key,
            chain: chain.to_owned(),
            vouched: expected.keys().next_back().copied().unwrap_or_default(),
            expected,
            last: 0,
            stored: Some(String::new()),
            believed: Some(String::new()),
            open: Vec::new(),
            reports: Vec::new(),
        }
    }

    /// The place of the latest row.
    pub const fn last(&self) -> i64 {
        self.last
    }

    /// What there is to tell so far. Runs that may go on are told later.
    pub fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// [`SealFailed`].
    pub fn step(&mut self, step: &Step) -> Result<(), SealFailed> {
        let row = &step.row;
        let place = row.sequence;
        // A chain has none there, so such a row is none of the chain's, whatever it says.
        if place < 1 {
            self.wrong(Problem::OutOfPlace, place);
            return Ok(());
        }
        self.miss_until(place);
        if self.last == 0 && !row.brand.is_empty() && !is_beginning(row) {
            self.wrong(Problem::Beginning, place);
        }
        let computed = self.believed.as_deref().map(|previous| row.computed_digest(previous).to_hex());
        let believed = self.believed(row, computed.as_deref())?;
        match (&believed, &computed) {
            (Some(believed), Some(computed)) if *believed != row.digest || believed != computed => {
                self.wrong(Problem::Changed, place);
            }
            (Some(_), Some(_)) => {}
            (Some(_), None) => self.wrong(Problem::Unchecked, place),
            (None, computed) => {
                match &row.seal {
                    None if place <= self.vouched => {}
                    None => self.wrong(Problem::Unsealed, place),
                    Some(_) => self.wrong(Problem::SealWrong, place),
                }
                if computed.as_ref().is_some_and(|computed| *computed != row.digest) {
                    self.wrong(Problem::Changed, place);
                }
            }
        }
        // Of rows from before there were seals, the chain itself is all there is to go by.
        self.believed = match (believed, computed) {
            (None, Some(computed)) if row.seal.is_none() && computed == row.digest => Some(computed),
            (believed, _) => believed,
        };
        self.look_at_payload(step);
        self.look_at_meaning(step);
        if let Some(expected) = self.expected.remove(&place)
            && expected != row.digest
        {
            self.wrong(Problem::NotAsExpected, place);
        }
        self.last = place;
        self.stored = Some(row.digest.clone());
        self.close(Some(place));
        Ok(())
    }

    /// Takes a row at `place` that cannot be read.
    pub fn unreadable(&mut self, place: i64) {
        if place < 1 {
            return self.wrong(Problem::OutOfPlace, place);
        }
        self.miss_until(place);
        self.wrong(Problem::Unreadable, place);
        self.expected.remove(&place);
        self.believed = None;
        self.stored = None;
        self.last = place;
        self.close(Some(place));
    }

    /// Notes the rows between the latest one and `place`.
    fn miss_until(&mut self, place: i64) {
        if place - 1 > self.last {
            self.note(Noted::Wrong(Problem::Missing), self.last + 1, place - 1);
            self.believed = None;
        }
    }

    /// The digest that the row's seal was made for, if it was made for the stored one or for the one that its columns give.
    fn believed(&self, row: &Recorded, computed: Option<&str>) -> Result<Option<String>, SealFailed> {
        let Some(seal) = &row.seal else { return Ok(None) };
        for digest in [Some(row.digest.as_str()), computed].into_iter().flatten() {
            if self.key.is_seal(seal, Sealed::Row, &self.chain, row.sequence, digest)? {
                return Ok(Some(digest.to_owned()));
            }
        }
        Ok(None)
    }

    fn look_at_payload(&mut self, step: &Step) {
        let row = &step.row;
        let problem = match &row.payload {
            Some(payload) if Entry::payload_digest(payload).to_hex() == row.payload_digest => return,
            Some(_) => Noted::Wrong(Problem::PayloadChanged),
            None if step.erasure_is_said => Noted::Erased,
            None => Noted::Wrong(Problem::ErasedUnsaid),
        };
        self.note(problem, row.sequence, row.sequence);
    }

    fn look_at_meaning(&mut self, step: &Step) {
        let row = &step.row;
        if row.action == Action::SealBroken.name() {
            // The first seal of a chain that somebody has looked at before says nothing against it.
            let is_vouched = row.sequence <= self.vouched.saturating_add(1);
            if !(is_vouched && row.payload.as_deref().is_some_and(|payload| payload.contains("\"missing\""))) {
                self.wrong(Problem::SealBroken, row.sequence);
            }
        }
        if !step.bound_is_there {
            let id = row.bound_id.clone().unwrap_or_default();
            self.wrong(Problem::BoundGone(id), row.sequence);
        }
    }

    /// Ends the walk of a chain that has this head.
    ///
    /// # Errors
    /// [`SealFailed`].
    pub fn end(&mut self, head: &HeadFound) -> Result<(), SealFailed> {
        self.close(None);
        let last = self.last;
        match head {
            HeadFound::None if last > 0 => self.wrong_of_chain(Problem::NoHead),
            HeadFound::None => {}
            HeadFound::Unreadable => self.wrong_of_chain(Problem::HeadUnreadable),
            HeadFound::There(head, seal) => {
                if head.sequence > last {
                    self.note(Noted::Wrong(Problem::Missing), last + 1, head.sequence);
                }
                if head.sequence < last {
                    self.note(Noted::Wrong(Problem::BeyondHead), head.sequence.saturating_add(1), last);
                }
                self.close(None);
                match seal {
                    None if head.sequence <= self.vouched => {}
                    None => self.wrong_of_chain(Problem::HeadUnsealed),
                    Some(seal) => {
                        if !self.key.is_seal(seal, Sealed::Head, &self.chain, head.sequence, &head.digest)? {
                            self.wrong_of_chain(Problem::HeadSealWrong);
                        }
                    }
                }
                if head.sequence == last && self.stored.as_ref().is_some_and(|stored| *stored != head.digest) {
                    self.wrong_of_chain(Problem::HeadChanged);
                }
            }
        }
        for expected in std::mem::take(&mut self.expected).into_keys().filter(|expected| *expected > last) {
            self.note(Noted::Wrong(Problem::EndsBeforeExpected), expected, expected);
        }
        self.close(None);
        if last > 0
            && let Some(digest) = self.stored.clone()
        {
            self.reports.push(Report::Walked(Head { chain: self.chain.clone(), sequence: last, digest }));
        }
        Ok(())
    }

    /// Something about the chain as a whole.
    pub fn wrong_of_chain(&mut self, problem: Problem) {
        self.reports.push(Report::Wrong(Finding { chain: self.chain.clone(), rows: None, problem }));
    }

    fn wrong(&mut self, problem: Problem, place: i64) {
        self.note(Noted::Wrong(problem), place, place);
    }

    /// Notes something of the rows from `first` to `last`, as more of the same where it is.
    fn note(&mut self, noted: Noted, first: i64, last: i64) {
        match self.open.iter_mut().find(|(open, _, end)| *open == noted && end.checked_add(1) == Some(first)) {
            Some((_, _, end)) => *end = last,
            None => self.open.push((noted, first, last)),
        }
    }

    /// Tells the runs that do not reach `place`, or all of them, in their order.
    fn close(&mut self, place: Option<i64>) {
        let is_closed = |last: i64| place.is_none_or(|place| last < place);
        let (mut closed, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|(_, _, last)| is_closed(*last));
        self.open = open;
        closed.sort_by_key(|(_, first, _)| *first);
        for (noted, first, last) in closed {
            let (chain, rows) = (self.chain.clone(), (first, last));
            self.reports.push(match noted {
                Noted::Wrong(problem) => Report::Wrong(Finding { chain, rows: Some(rows), problem }),
                Noted::Erased => Report::Erased { chain, rows },
            });
        }
    }
}

/// Whether a row is the first of its Brand: the Brand was made by it, and was not there before.
fn is_beginning(row: &Recorded) -> bool {
    let before = row.payload.as_deref().and_then(|payload| serde_json::from_str::<serde_json::Value>(payload).ok());
    let was_there = before.is_some_and(|payload| payload.get("before").is_some_and(|before| !before.is_null()));
    row.action.starts_with("brand_") && row.subject == row.brand && !was_there
}

#[cfg(test)]
mod tests;
