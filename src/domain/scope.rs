//! Scopes: what a Brand's agent may do for a User (PACT §5.2), and how they travel (RFC 6749 §3.3).
//!
//! A [`ScopeSet`] keeps the Brand's order, so that two sets of the same ids are written alike.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scope's id: one `scope-token` of RFC 6749 §3.3, at most 128 characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 128, "pattern" = r"^[!#-\[\]-~]+$", "examples" = ["orders:read"]))]
pub struct ScopeId(String);

/// A scope id that is not a `scope-token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a scope id is 1 to 128 printable ASCII characters without space, quote or backslash (RFC 6749 §3.3)")]
pub struct InvalidScopeId;

impl ScopeId {
    /// Checks and wraps `value`.
    ///
    /// # Errors
    /// [`InvalidScopeId`] when it is not a `scope-token`.
    pub fn parse(value: impl Into<String>) -> Result<Self, InvalidScopeId> {
        let value = value.into();
        let token = |byte: u8| byte == 0x21 || (0x23..=0x5b).contains(&byte) || (0x5d..=0x7e).contains(&byte);
        if value.is_empty() || value.len() > 128 || !value.bytes().all(token) {
            return Err(InvalidScopeId);
        }
        Ok(Self(value))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ScopeId {
    type Error = InvalidScopeId;
    fn try_from(value: String) -> Result<Self, InvalidScopeId> {
        Self::parse(value)
    }
}

impl From<ScopeId> for String {
    fn from(id: ScopeId) -> Self {
        id.0
    }
}

/// Scope ids without repeats, in an order that is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScopeSet(Vec<ScopeId>);

impl ScopeSet {
    /// No scope at all.
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Splits `text` at its spaces; repeats collapse (RFC 6749 §3.3).
    ///
    /// # Errors
    /// [`InvalidScopeId`] when one of the words is not a `scope-token`.
    pub fn parse(text: &str) -> Result<Self, InvalidScopeId> {
        text.split(' ').filter(|word| !word.is_empty()).map(ScopeId::parse).collect()
    }

    /// Whether there is no scope.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many scopes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The ids in order.
    pub fn iter(&self) -> impl Iterator<Item = &ScopeId> {
        self.0.iter()
    }

    /// Whether `id` is among them.
    pub fn contains(&self, id: &ScopeId) -> bool {
        self.0.contains(id)
    }

    /// Whether every scope of `self` is also in `other`.
    pub fn is_subset_of(&self, other: &Self) -> bool {
        self.0.iter().all(|id| other.contains(id))
    }

    /// The scopes of `self` that are also in `other`, in the order of `self`.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|id| other.contains(id)).cloned().collect())
    }

    /// The scopes of `self` that are not in `other`, in the order of `self`.
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|id| !other.contains(id)).cloned().collect())
    }

    /// The scopes of both, those of `self` first.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).cloned().collect()
    }
}

impl FromIterator<ScopeId> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = ScopeId>>(ids: I) -> Self {
        let mut set = Self::empty();
        for id in ids {
            if !set.contains(&id) {
                set.0.push(id);
            }
        }
        set
    }
}

/// The ids separated by single spaces: the form of `scope` on the wire and in storage.
impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, id) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(id.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    // case 19
    #[test]
    fn repeated_ids_and_repeated_spaces_collapse() {
        assert_eq!(set("  orders:read   orders:cancel orders:read ").to_string(), "orders:read orders:cancel");
    }

    // case 19
    #[test]
    fn only_scope_tokens_are_scope_ids() {
        for wrong in ["", "a b", "a\"b", "a\\b", "ü", "a\tb", "a\0"] {
            assert!(ScopeId::parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(ScopeId::parse("x".repeat(129)).is_err());
    }

    // case 19
    #[test]
    fn sets_are_compared_by_whole_ids() {
        assert!(!set("orders").is_subset_of(&set("orders:read")));
        assert!(set("b a").is_subset_of(&set("a b c")));
        assert_eq!(set("c a b").intersection(&set("a b")).to_string(), "a b");
        assert_eq!(set("a b c").without(&set("b")).to_string(), "a c");
        assert_eq!(set("a b").union(&set("b c")).to_string(), "a b c");
    }
}
