//! Whether some order of a step's operations explains every answer and everything that is stored afterwards.
//!
//! An operation that changes nothing takes its turn as soon as its answer is what the model gives. The others are tried in
//! the order in which they were finished; where that leads nowhere, in every order that the answers leave open, beginning
//! with what leaves most of the rest explicable.

use super::act::{Act, Answer};
use super::explain::{Stage, Verdict};
use super::rows::Row;
use super::state::Model;

/// How many instants are looked at, first in the order of the answers and then with care, before a step counts as
/// inexplicable.
const PATIENCE: [usize; 2] = [40, 4_000];

/// An operation and what was answered to it.
pub(crate) type Done = (Act, Answer);

struct Search<'a> {
    done: &'a [Done],
    rows: &'a [Row],
    /// The model at the beginning and after each change.
    path: Vec<Model>,
    patience: usize,
    careful: bool,
    /// Why the most promising order fails, and how much of it could not be explained.
    nearest: (usize, Vec<String>),
}

/// The model after `done`, in an order that explains it.
///
/// # Errors
/// What is wrong with the most promising order.
pub(crate) fn explain(before: &Model, done: &[Done], rows: &[Row]) -> Result<Model, Vec<String>> {
    let nearest = (usize::MAX, vec!["no order was tried".to_owned()]);
    let path = vec![before.clone()];
    let mut search = Search { done, rows, path, patience: PATIENCE[0], careful: false, nearest };
    let waiting: Vec<_> = (0..done.len()).map(|index| (index, Stage::Start)).collect();
    if let Some(model) = search.go(waiting.clone()) {
        return Ok(model);
    }
    search.path.truncate(1);
    (search.patience, search.careful) = (PATIENCE[1], true);
    search.go(waiting).ok_or(search.nearest.1)
}

impl Search<'_> {
    fn go(&mut self, waiting: Vec<(usize, Stage)>) -> Option<Model> {
        self.patience = self.patience.checked_sub(1)?;
        let mut next = Vec::new();
        let mut left = Vec::new();
        for (index, stage) in waiting {
            let judged = self.judge(index, &stage);
            if matches!(judged, Some((_, Verdict::Same))) {
                continue;
            }
            if let Some(judged) = judged {
                next.push((left.len(), judged));
            }
            left.push((index, stage));
        }
        if left.is_empty() {
            return self.compare();
        }
        if next.is_empty() {
            let unexplained = left.iter().map(|(index, stage)| format!("{:?} at {stage:?}", self.done[*index]));
            self.note(1000 * left.len(), unexplained.collect());
        }
        if self.careful && next.len() > 1 {
            next.sort_by_cached_key(|(place, (model, _))| self.harm(*place, model, &left));
        }
        for (place, (model, verdict)) in next {
            let mut rest = left.clone();
            match verdict {
                Verdict::Began(stage) => rest[place].1 = stage,
                _ => drop(rest.remove(place)),
            }
            self.path.push(model);
            if let Some(found) = self.go(rest) {
                return Some(found);
            }
            self.path.pop();
        }
        None
    }

    /// What the model makes of an answer now, or with a look at an earlier instant of the step.
    fn judge(&self, index: usize, stage: &Stage) -> Option<(Model, Verdict)> {
        let (act, answer) = &self.done[index];
        let now = self.path.last()?;
        for seen in self.path.iter().rev() {
            let mut model = now.clone();
            match model.explain(seen, act, answer, stage) {
                Verdict::No => {}
                verdict => return Some((model, verdict)),
            }
        }
        None
    }

    /// How many of the others cannot be explained just after what comes next.
    fn harm(&mut self, place: usize, model: &Model, left: &[(usize, Stage)]) -> usize {
        self.path.push(model.clone());
        let others = left.iter().enumerate().filter(|(other, _)| *other != place);
        let harmed = others.filter(|(_, (index, stage))| self.judge(*index, stage).is_none()).count();
        self.path.pop();
        harmed
    }

    fn compare(&mut self) -> Option<Model> {
        for (act, answer) in self.done {
            if !self.path.iter().any(|model| gives_authority(model, act, answer)) {
                self.note(500, vec![format!("no instant gives this authority: {act:?} {answer:?}")]);
                return None;
            }
        }
        let mut model = self.path.last()?.clone();
        match model.compare(self.rows) {
            Ok(()) => Some(model),
            Err(lines) => {
                self.note(lines.len(), lines);
                None
            }
        }
    }

    fn note(&mut self, distance: usize, lines: Vec<String>) {
        if distance < self.nearest.0 {
            self.nearest = (distance, lines);
        }
    }
}

/// Whether the delegation token of a message gave what it was seen to give.
fn gives_authority(model: &Model, act: &Act, answer: &Answer) -> bool {
    let (Act::Send(turn) | Act::Reserve(turn)) = act else { return true };
    let given = match answer {
        Answer::Reply { authority, .. } | Answer::Turn { authority, .. } | Answer::Reserved { authority, .. } => {
            authority
        }
        Answer::Refused("no authority") => return model.acting(turn).is_none(),
        _ => return true,
    };
    match (turn.access, given) {
        (None, None) => true,
        (Some(_), Some(given)) => model.acting(turn).is_some_and(|(grant, scopes)| {
            model.grants[grant].id.as_ref() == Some(&given.grant) && scopes == given.scopes
        }),
        _ => false,
    }
}
