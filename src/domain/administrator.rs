//! Administrators: what a role may do, and at which Brands.
//!
//! A role is looked at first and the Brand afterwards: who may not change anything is told so whatever the object is, and
//! an object of a Brand out of reach is not there at all.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::{BrandId, InvalidId};

/// What an administrator, or an API key, may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Auditor,
    /// Reads, and changes grants, Brands, personal agents and keys.
    Operator,
    /// All that an operator does, and administrators, API keys, and erasing what the audit log holds.
    Owner,
}

impl Role {
    /// All of them, the one that may least first.
    pub const ALL: [Self; 3] = [Self::Auditor, Self::Operator, Self::Owner];

    /// As it is stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auditor => "auditor",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A role that there is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is none of owner, operator and auditor")]
pub struct UnknownRole;

impl FromStr for Role {
    type Err = UnknownRole;
    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(UnknownRole)
    }
}

/// At which Brands a role holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    /// At all of them, those to come included, and over what belongs to the Provider as a whole.
    All,
    /// At these alone; at none when the set is empty.
    Brands(BTreeSet<BrandId>),
}

impl Reach {
    /// Whether it holds at `brand`.
    pub fn covers(&self, brand: &BrandId) -> bool {
        match self {
            Self::All => true,
            Self::Brands(brands) => brands.contains(brand),
        }
    }

    /// Whether it holds wherever `other` does.
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Brands(own), Self::Brands(theirs)) => theirs.is_subset(own),
            (Self::Brands(_), Self::All) => false,
        }
    }

    /// As it is stored: `*`, or ids with a space between them.
    pub fn to_text(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Brands(brands) => brands.iter().map(BrandId::as_str).collect::<Vec<_>>().join(" "),
        }
    }

    /// Reads what [`Reach::to_text`] writes.
    ///
    /// # Errors
    /// [`InvalidId`] when something in it is no Brand's id.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if text == "*" {
            return Ok(Self::All);
        }
        text.split_ascii_whitespace().map(BrandId::parse).collect::<Result<_, _>>().map(Self::Brands)
    }
}

/// What somebody may do and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// What.
    pub role: Role,
    /// Where.
    pub reach: Reach,
}

/// Why somebody may not do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// The role does not allow it (403).
    Role,
    /// It belongs to a Brand out of reach, as if it were not there (404).
    Reach,
}

impl Access {
    /// Whether it can do all there is to do: one administrator at least must have this.
    pub fn is_everything(&self) -> bool {
        *self == Self::EVERYTHING
    }

    /// Of whoever can run the program on the Provider's machine.
    pub const EVERYTHING: Self = Self { role: Role::Owner, reach: Reach::All };

    /// May it read what belongs to `brand`, or to the Provider as a whole where that is `None`?
    ///
    /// # Errors
    /// [`Denied::Reach`].
    pub fn read(&self, brand: Option<&BrandId>) -> Result<(), Denied> {
        let is_covered = match brand {
            Some(brand) => self.reach.covers(brand),
            None => self.reach == Reach::All,
        };
        if is_covered { Ok(()) } else { Err(Denied::Reach) }
    }

    /// May it change what belongs to `brand`, or to the Provider as a whole where that is `None`?
    ///
    /// # Errors
    /// [`Denied`].
    pub fn change(&self, brand: Option<&BrandId>) -> Result<(), Denied> {
        self.at_least(Role::Operator)?;
        self.read(brand)
    }

    /// May it erase what a row of the audit log of `brand`, or of the Provider, holds? That cannot be undone, and may be what
    /// the eraser did: it is for owners.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn erase(&self, brand: Option<&BrandId>) -> Result<(), Denied> {
        self.at_least(Role::Owner)?;
        self.read(brand)
    }

    /// May it make, change and remove administrators and API keys whose access is `theirs`? Nobody gives what they have not.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn administer(&self, theirs: &Self) -> Result<(), Denied> {
        self.at_least(Role::Owner)?;
        self.see(theirs)
    }

    /// May it see that there is an administrator or an API key whose access is `theirs`?
    ///
    /// # Errors
    /// [`Denied::Reach`].
    pub fn see(&self, theirs: &Self) -> Result<(), Denied> {
        if self.reach.includes(&theirs.reach) { Ok(()) } else { Err(Denied::Reach) }
    }

    /// Is the role this one or a higher one?
    ///
    /// # Errors
    /// [`Denied::Role`].
    pub fn at_least(&self, role: Role) -> Result<(), Denied> {
        if self.role >= role { Ok(()) } else { Err(Denied::Role) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brand(last: char) -> BrandId {
        BrandId::parse(format!("01M3R53Q5SZQ6FQSMSDBSSREA{last}")).unwrap()
    }

    fn at(role: Role, brands: &[char]) -> Access {
        Access { role, reach: Reach::Brands(brands.iter().map(|last| brand(*last)).collect()) }
    }

    // case 77
    #[test]
    fn the_role_is_told_before_the_reach() {
        for (role, outcome) in [(Role::Auditor, Denied::Role), (Role::Operator, Denied::Reach)] {
            assert_eq!(at(role, &['A']).change(Some(&brand('B'))), Err(outcome));
            assert_eq!(at(role, &['A']).read(Some(&brand('B'))), Err(Denied::Reach));
        }
        assert_eq!(at(Role::Operator, &['A']).change(Some(&brand('A'))), Ok(()));
        assert_eq!(at(Role::Auditor, &['A']).change(Some(&brand('A'))), Err(Denied::Role));
        assert_eq!(at(Role::Auditor, &['A']).read(Some(&brand('A'))), Ok(()));
    }

    #[test]
    fn what_belongs_to_the_provider_is_for_those_of_all_brands() {
        assert_eq!(at(Role::Owner, &['A', 'B']).read(None), Err(Denied::Reach));
        assert_eq!(Access { role: Role::Auditor, reach: Reach::All }.read(None), Ok(()));
        assert_eq!(Access { role: Role::Auditor, reach: Reach::All }.change(None), Err(Denied::Role));
        assert_eq!(Access::EVERYTHING.change(None), Ok(()));
    }

    #[test]
    fn nobody_gives_away_what_they_have_not() {
        let of_a = at(Role::Owner, &['A']);
        assert_eq!(of_a.administer(&at(Role::Owner, &['A'])), Ok(()));
        assert_eq!(of_a.administer(&at(Role::Auditor, &['A', 'B'])), Err(Denied::Reach));
        assert_eq!(of_a.administer(&Access { role: Role::Auditor, reach: Reach::All }), Err(Denied::Reach));
        assert_eq!(at(Role::Operator, &['A']).administer(&at(Role::Auditor, &['A'])), Err(Denied::Role));
        assert_eq!(Access::EVERYTHING.administer(&Access::EVERYTHING), Ok(()));
    }

    #[test]
    fn role_and_reach_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.name().parse(), Ok(role));
        }
        assert_eq!("Owner".parse::<Role>(), Err(UnknownRole));
        for reach in [Reach::All, at(Role::Owner, &['A', 'B']).reach, at(Role::Owner, &[]).reach] {
            assert_eq!(Reach::parse(&reach.to_text()), Ok(reach));
        }
        assert!(Reach::parse("* x").is_err());
    }
}
