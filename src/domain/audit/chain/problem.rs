//! What the verification of the audit log can find wrong, with its name for machines and its words for people.

use std::fmt;

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
    /// Cells of the head hold what its columns cannot hold.
    HeadUnreadable,
    /// The head has no seal yet.
    HeadUnsealed,
    /// The head's seal is not one that was made here.
    HeadSealWrong,
    /// The head's digest is not that of the newest row.
    HeadChanged,
    /// The rows stand beyond the chain's head.
    BeyondHead,
    /// The rows stand at places where no chain has any: before the first, or at none at all.
    OutOfPlace,
    /// Cells of the row hold what its columns cannot hold.
    Unreadable,
    /// At the place of a head that was printed earlier stands another row.
    NotAsExpected,
    /// A chain ends before the place of a head that was printed earlier.
    EndsBeforeExpected,
    /// Something that no row of the log vouches for: it was added or changed by hand, or its row removed.
    Unvouched(Thing, String),
    /// Something whose columns are not the ones that its row vouches for.
    NotAsVouched(Thing, String),
    /// Something whose state contradicts the log: it is live, and the log says that it ended, or the other way round.
    AtOdds(Thing, String),
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
    /// A key of a Brand's own account API.
    ResourceServerKey,
    /// A personal agent.
    PersonalAgent,
    /// An administrator, by name.
    Administrator,
    /// A key of the administrators' API.
    ApiKey,
}

impl Thing {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receipt => "receipt",
            Self::Evidence => "evidence",
            Self::Grant => "grant",
            Self::Key => "signing_key",
            Self::ResourceServerKey => "resource_server_key",
            Self::PersonalAgent => "personal_agent",
            Self::Administrator => "administrator",
            Self::ApiKey => "api_key",
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
            Self::HeadUnreadable => "head_unreadable",
            Self::HeadUnsealed => "head_unsealed",
            Self::HeadSealWrong => "head_seal_wrong",
            Self::HeadChanged => "head_changed",
            Self::BeyondHead => "beyond_head",
            Self::OutOfPlace => "out_of_place",
            Self::Unreadable => "unreadable",
            Self::NotAsExpected => "not_as_expected",
            Self::EndsBeforeExpected => "ends_before_expected",
            Self::Unvouched(..) => "unvouched",
            Self::NotAsVouched(..) => "not_as_vouched",
            Self::AtOdds(..) => "at_odds",
        }
    }

    /// The id of what it is about, where that is no row of the log.
    pub fn subject(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Unvouched(thing, id) | Self::NotAsVouched(thing, id) | Self::AtOdds(thing, id) => {
                Some((thing.name(), id))
            }
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
            Self::HeadUnreadable => "the head was changed: a cell holds what its column cannot hold",
            Self::HeadUnsealed => "the head is not sealed yet: the next row will seal it, and say so",
            Self::HeadSealWrong => "the head was changed: its seal is not one that was made under this master key",
            Self::HeadChanged => "the head was changed: its digest is not that of the newest row",
            Self::BeyondHead => "beyond the chain's head: added by hand, or the head was set back",
            Self::OutOfPlace => "at no place of a chain, which begins with 1: added by hand",
            Self::Unreadable => "changed: a cell holds what its column cannot hold",
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
            Self::AtOdds(thing, id) => {
                let id = id.escape_debug();
                return write!(f, "{} {id}: it is live or ended, and the log says otherwise", thing.name());
            }
        };
        f.write_str(words)
    }
}
