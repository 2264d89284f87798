//! The invariants in themselves, without the model: read off the answers and the rows alone.

use std::collections::{BTreeMap, BTreeSet};

use super::act::{Act, Answer, Text};
use super::operations::Mask;
use super::order::Done;
use super::rows::Row;
use super::state::Model;

/// What the answers of a sequence have promised so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    redeemed: BTreeSet<usize>,
    /// What was decided on each code: what was granted, nothing where it was denied.
    decided: BTreeMap<usize, Mask>,
    /// Grants whose end was answered.
    ended: BTreeSet<Text>,
    /// The reply to each message of each context.
    replies: BTreeMap<(Text, u8), Text>,
    rows: Vec<Row>,
}

impl Ledger {
    /// Keeps what was stored after a step, to be compared after the next one.
    pub(crate) fn keep(&mut self, rows: Vec<Row>) {
        self.rows = rows;
    }

    /// Enters a step. `model` is as it was before; indexes of the acts are into it.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub(crate) fn enter(&mut self, model: &Model, done: &[Done], rows: &[Row]) -> Result<(), String> {
        if let Some(row) = rows.iter().find(|row| row.kind == "two leaves") {
            return Err(format!("a refresh family has two live leaves: {row:?}"));
        }
        if done.iter().all(|(act, answer)| is_plain_refusal(act, answer)) && !self.rows.is_empty() && self.rows != rows
        {
            let changed = rows.iter().filter(|row| !self.rows.contains(row));
            return Err(format!("everything was refused and something changed: {:?}", changed.collect::<Vec<_>>()));
        }
        for (act, answer) in done {
            self.once_per_code(model, act, answer)?;
            self.nothing_after_the_end(answer)?;
            self.one_reply(act, answer)?;
        }
        // What ended in this very step may have been used in it before.
        let ended = done.iter().filter_map(|(act, answer)| ended(model, act, answer));
        self.ended.extend(ended);
        Ok(())
    }

    fn once_per_code(&mut self, model: &Model, act: &Act, answer: &Answer) -> Result<(), String> {
        let decision = match (act, answer) {
            (Act::Decide { page, ticked, .. }, Answer::Decided { granted, .. }) => {
                if granted & !(model.pages[*page].shown & ticked) != 0 {
                    return Err(format!("more was granted than was shown and ticked: {act:?} {answer:?}"));
                }
                Some((model.pages[*page].device, *granted))
            }
            (Act::SignIn { device, .. }, Answer::Approved { granted, .. }) => Some((*device, *granted)),
            (Act::Poll { device, .. }, Answer::Tokens(tokens)) => {
                if !self.redeemed.insert(*device) {
                    return Err(format!("a code gave tokens twice: {act:?}"));
                }
                // A poll may find what is decided in the same step.
                let granted = self.decided.get(device).copied().unwrap_or(0b111);
                if tokens.scopes & !granted != 0 {
                    return Err(format!("tokens for more than was granted: {act:?} {answer:?}"));
                }
                None
            }
            _ => None,
        };
        match decision {
            Some((device, granted)) if self.decided.insert(device, granted).is_some() => {
                Err(format!("a code was decided twice: {act:?}"))
            }
            _ => Ok(()),
        }
    }

    fn nothing_after_the_end(&self, answer: &Answer) -> Result<(), String> {
        let grant = match answer {
            Answer::Tokens(tokens) => Some(&tokens.grant),
            Answer::Reply { authority, .. } | Answer::Turn { authority, .. } | Answer::Reserved { authority, .. } => {
                authority.as_ref().map(|authority| &authority.grant)
            }
            _ => None,
        };
        match grant {
            Some(grant) if self.ended.contains(grant) => {
                Err(format!("a grant whose end was answered still gives something: {answer:?}"))
            }
            _ => Ok(()),
        }
    }

    fn one_reply(&mut self, act: &Act, answer: &Answer) -> Result<(), String> {
        let (Act::Send(turn), Answer::Reply { reply, step_up: None, context, .. }) = (act, answer) else {
            return Ok(());
        };
        let first = self.replies.entry((Text::clone(context), turn.message)).or_insert_with(|| Text::clone(reply));
        if first != reply {
            return Err(format!("a message has two replies: {first} and {reply}"));
        }
        Ok(())
    }
}

/// A refusal that may change nothing at all. A used refresh token is refused too, and its family ends.
const fn is_plain_refusal(act: &Act, answer: &Answer) -> bool {
    matches!(answer, Answer::Refused(_) | Answer::Turn { .. }) && !matches!(act, Act::Refresh { .. })
}

/// The grant that has ended now, by what was answered.
fn ended(model: &Model, act: &Act, answer: &Answer) -> Option<Text> {
    let grant = match (act, answer) {
        (Act::Decide { page, .. }, Answer::Decided { ended: true, .. }) => {
            model.pages[*page].grant.map(|(grant, _)| grant)
        }
        (Act::EndGrant { grant }, Answer::Done(_) | Answer::Refused(_)) => Some(*grant),
        (Act::RevokeRefresh { token, from }, Answer::Done(_)) => {
            let grant = model.families[model.refreshes[*token].family].grant;
            (!from.elsewhere && model.grants[grant].caller == from.caller).then_some(grant)
        }
        (Act::RevokeAccess { access, from }, Answer::Done(_)) => {
            let access = &model.accesses[*access];
            let own = !from.elsewhere && model.grants[access.grant].caller == from.caller;
            (own && model.now < access.expires).then_some(access.grant)
        }
        _ => None,
    };
    model.grants[grant?].id.clone()
}
