//! The walk along a chain: what is wrong with which row, of a log that somebody may have written into by hand.
//!
//! Whoever has not the key can make no seal. So a row's digest is believed when its seal says so, and its columns when they
//! give that digest after the digest of the row before: a row is blamed for what is wrong with it, and none for its neighbour.

use std::collections::BTreeMap;
use std::fmt;

use super::recorded::Recorded;
use super::seal::{AuditKey, SealFailed, Sealed};
use super::{Action, Entry};

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The rows are not there.
    Missing,
    /// A column is not what was written.
    Changed,
    /// The payload is not what was written.
    PayloadChanged,
    /// The payload was erased, and no row of the chain says by whom.
    ErasedUnsaid,
    /// What the row says cannot be checked, since the row before it is missing or changed.
    Unchecked,
    /// The row is from before there were seals.
    Unsealed,
    /// The seal is not one that was made here.
    SealWrong,
    /// The chain went on here from a head without a seal, or with a wrong one: rows may have been cut off before.
    SealBroken,
    /// The chain does not begin with the making of its Brand: an earlier one was removed.
    Beginning,
    /// What the row vouches for, a receipt or a decision's evidence, is gone.
    BoundGone(String),
    /// The Brand has no chain.
    NoChain,
    /// The chain has rows and no head.
    NoHead,
    /// The head has no seal yet.
    HeadUnsealed,
    /// The head's seal is not one that was made here.
    HeadSealWrong,
    /// The head's digest is not that of the newest row.
    HeadChanged,
    /// The rows stand beyond the chain's head.
    BeyondHead,
    /// At the place of a head that was printed earlier stands another row.
    NotAsExpected,
    /// A chain ends before the place of a head that was printed earlier.
    EndsBeforeExpected,
    /// Something that no row of the log vouches for: it was added or changed by hand, or its row removed.
    Unvouched(Thing, String),
    /// Something whose columns are not the ones that its row vouches for.
    NotAsVouched(Thing, String),
    /// A grant whose state contradicts the log.
    GrantState(String),
}

/// What a row can vouch for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thing {
    /// A receipt.
    Receipt,
    /// The evidence of a decision, by its code's id.
    Evidence,
    /// A grant.
    Grant,
    /// A signing key.
    Key,
    /// A personal agent.
    PersonalAgent,
}

impl Thing {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Evidence => "evidence",
            Self::Grant => "grant",
            Self::Key => "signing_key",
            Self::PersonalAgent => "personal_agent",
        }
    }
}

impl Problem {
    /// A short name, for machines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Changed => "changed",
            Self::PayloadChanged => "payload_changed",
            Self::ErasedUnsaid => "erased_unsaid",
            Self::Unchecked => "unchecked",
            Self::Unsealed => "unsealed",
            Self::SealWrong => "seal_wrong",
            Self::SealBroken => "seal_broken",
            Self::Beginning => "beginning",
            Self::BoundGone(_) => "bound_gone",
            Self::NoChain => "no_chain",
            Self::NoHead => "no_head",
            Self::HeadUnsealed => "head_unsealed",
            Self::HeadSealWrong => "head_seal_wrong",
            Self::HeadChanged => "head_changed",
            Self::BeyondHead => "beyond_head",
            Self::NotAsExpected => "not_as_expected",
            Self::EndsBeforeExpected => "ends_before_expected",
            Self::Unvouched(..) => "unvouched",
            Self::NotAsVouched(..) => "not_as_vouched",
            Self::GrantState(_) => "grant_state",
        }
    }

    /// The id of what it is about, where that is no row of the log.
    pub fn subject(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Unvouched(thing, id) | Self::NotAsVouched(thing, id) => Some((thing.name(), id)),
            Self::GrantState(id) => Some((Thing::Grant.name(), id)),
            Self::BoundGone(id) => Some(("bound", id)),
            _ => None,
        }
    }
}

/// In whole words. What stands in the database is escaped.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Missing => "not there",
            Self::Changed => "changed: its columns are not the ones that were written",
            Self::PayloadChanged => "changed: its payload is not the one that was written",
            Self::ErasedUnsaid => "its payload was erased, and no row says by whom",
            Self::Unchecked => "cannot be checked, since the row before it is missing or changed",
            Self::Unsealed => "not sealed: it is from before there were seals, or its seal was removed",
            Self::SealWrong => "its seal is not one that was made under this master key",
            Self::SealBroken => {
                "the chain went on here from a head that was not sealed: what stood before may have been changed, and \
                 later rows removed"
            }
            Self::Beginning => "the chain does not begin with the making of its Brand: it was removed and begun anew",
            Self::BoundGone(id) => return write!(f, "what it vouches for, {}, is gone", id.escape_debug()),
            Self::NoChain => "the Brand is there and its chain is not: it was removed",
            Self::NoHead => "the chain has rows and no head: it was removed",
            Self::HeadUnsealed => "the head is not sealed yet: the next row will seal it, and say so",
            Self::HeadSealWrong => "the head was changed: its seal is not one that was made under this master key",
            Self::HeadChanged => "the head was changed: its digest is not that of the newest row",
            Self::BeyondHead => "beyond the chain's head: added by hand, or the head was set back",
            Self::NotAsExpected => "not the row whose digest was printed earlier",
            Self::EndsBeforeExpected => "was there when the head was printed earlier, and is not now",
            Self::Unvouched(thing, id) => {
                let id = id.escape_debug();
                return write!(f, "{} {id}: no row vouches for it", thing.name());
            }
            Self::NotAsVouched(thing, id) => {
                let id = id.escape_debug();
                return write!(f, "{} {id}: changed: it is not what its row vouches for", thing.name());
            }
            Self::GrantState(id) => {
                return write!(f, "grant {}: it is live or ended, and the log says otherwise", id.escape_debug());
            }
        };
        f.write_str(words)
    }
}

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
    stored: String,
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
            stored: String::new(),
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
        if place > self.last + 1 {
            self.note(Noted::Wrong(Problem::Missing), self.last + 1, place - 1);
            self.believed = None;
        }
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
        self.stored.clone_from(&row.digest);
        self.close(place);
        Ok(())
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

    /// Ends the walk at a chain whose head is `head`, with its seal, if there is one.
    ///
    /// # Errors
    /// [`SealFailed`].
    pub fn end(&mut self, head: Option<(&Head, Option<&str>)>) -> Result<(), SealFailed> {
        self.close(i64::MAX);
        let last = self.last;
        match head {
            None if last > 0 => self.wrong_of_chain(Problem::NoHead),
            None => {}
            Some((head, seal)) => {
                if head.sequence > last {
                    self.note(Noted::Wrong(Problem::Missing), last + 1, head.sequence);
                }
                if head.sequence < last {
                    self.note(Noted::Wrong(Problem::BeyondHead), head.sequence + 1, last);
                }
                self.close(i64::MAX);
                match seal {
                    None if head.sequence <= self.vouched => {}
                    None => self.wrong_of_chain(Problem::HeadUnsealed),
                    Some(seal) => {
                        if !self.key.is_seal(seal, Sealed::Head, &self.chain, head.sequence, &head.digest)? {
                            self.wrong_of_chain(Problem::HeadSealWrong);
                        }
                    }
                }
                if head.sequence == last && head.digest != self.stored {
                    self.wrong_of_chain(Problem::HeadChanged);
                }
            }
        }
        for expected in std::mem::take(&mut self.expected).into_keys().filter(|expected| *expected > last) {
            self.note(Noted::Wrong(Problem::EndsBeforeExpected), expected, expected);
        }
        self.close(i64::MAX);
        if last > 0 {
            let (chain, digest) = (self.chain.clone(), self.stored.clone());
            self.reports.push(Report::Walked(Head { chain, sequence: last, digest }));
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

    /// Tells the runs that do not reach `place`, in their order.
    fn close(&mut self, place: i64) {
        let (mut closed, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|(_, _, last)| *last < place);
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
