//! What a grant allowed from which row of the audit log on, as the decisions and rows of an export say.
//!
//! The order of the chain is the order in which things were done; the times come from the clocks of several nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::clock::Timestamp;
use crate::domain::scope::ScopeSet;
use crate::protocol::evidence::{AuditPart, DecisionPart, Document};

/// A turn is judged by the scopes of when it was sent, and may take so long: 300 s for the slowest agent, a margin, and 30 s
/// by which the clocks of two nodes may differ.
const LONGEST_TURN: Duration = Duration::from_secs(340);

/// What a grant allowed since when, oldest first.
pub(super) struct History(Vec<Event>);

struct Event {
    place: i64,
    at: Timestamp,
    what: What,
}

/// What a grant allows.
pub(super) enum What {
    /// These.
    Allows(ScopeSet),
    /// Some of what it allowed before: a change of the Brand took the rest, and its row's payload was erased.
    Narrowed,
    /// Nothing: it has ended.
    Ended,
}

impl History {
    pub(super) fn of(document: &Document) -> Self {
        let decided: BTreeMap<&str, &DecisionPart> =
            document.decisions.iter().map(|decision| (decision.device.as_str(), decision)).collect();
        let event = |row: &AuditPart| {
            let what = match row.bound_id.as_deref().and_then(|id| decided.get(id)) {
                Some(decision) => match decision.decision.as_str() {
                    "approved" => What::Allows(ScopeSet::parse(&decision.granted).unwrap_or_default()),
                    "withdrawn" => What::Ended,
                    _ => return None,
                },
                None if row.action == "grant_ended" => What::Ended,
                None if row.action == "grant_changed" => left(row).map_or(What::Narrowed, What::Allows),
                None => return None,
            };
            Some(Event { place: row.sequence, at: row.at.0, what })
        };
        Self(document.audit.iter().filter_map(event).collect())
    }

    /// What the grant allows in the end; `None` when nothing ever made it.
    pub(super) fn last(&self) -> Option<&What> {
        self.0.last().map(|event| &event.what)
    }

    /// The latest scopes that are known.
    pub(super) fn latest(&self) -> ScopeSet {
        let allows = |event: &Event| match &event.what {
            What::Allows(scopes) => Some(scopes.clone()),
            What::Narrowed | What::Ended => None,
        };
        self.0.iter().rev().find_map(allows).unwrap_or_default()
    }

    /// All that a token can carry whose row is at `place`.
    pub(super) fn at(&self, place: i64) -> ScopeSet {
        let known = |event: &&Event| !matches!(event.what, What::Narrowed);
        match self.before(place).iter().rev().find(known).map(|event| &event.what) {
            Some(What::Allows(scopes)) => scopes.clone(),
            Some(What::Narrowed | What::Ended) | None => ScopeSet::empty(),
        }
    }

    /// All that a turn can have been allowed when it was sent that was answered at `at`, in the row at `place`.
    pub(super) fn of_turn(&self, place: i64, at: Timestamp) -> ScopeSet {
        let (since, before) = (at.minus(LONGEST_TURN), self.before(place));
        let is_begun = |event: &Event| event.at <= since && !matches!(event.what, What::Narrowed);
        let begun = before.iter().rposition(is_begun).unwrap_or_default();
        before.iter().skip(begun).fold(ScopeSet::empty(), |all, event| match &event.what {
            What::Allows(scopes) => all.union(scopes),
            What::Narrowed | What::Ended => all,
        })
    }

    fn before(&self, place: i64) -> &[Event] {
        let count = self.0.iter().take_while(|event| event.place < place).count();
        self.0.get(..count).unwrap_or_default()
    }
}

/// What a change of the Brand left of the grant, as its row says.
fn left(row: &AuditPart) -> Option<ScopeSet> {
    let payload: Value = serde_json::from_str(row.payload.as_deref()?).ok()?;
    ScopeSet::parse(payload.pointer("/after/scopes")?.as_str()?).ok()
}
