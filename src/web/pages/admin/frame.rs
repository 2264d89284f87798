//! What stands around every page of an administrator who is logged in: where they are, who they are, and the way out.

use crate::domain::administrator::{Access, Reach};

/// A part of the console.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// How things stand.
    Overview,
    /// Brands and their resource-server keys.
    Brands,
    /// The Brands' keys.
    Keys,
    /// Receipts.
    Receipts,
    /// The audit log.
    Audit,
    /// Administrators and API keys.
    Administrators,
    /// The own account.
    Account,
}

impl Section {
    /// Those that the navigation leads to, in its order.
    pub const ALL: [Self; 7] =
        [Self::Overview, Self::Brands, Self::Keys, Self::Receipts, Self::Audit, Self::Administrators, Self::Account];

    /// Its address.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Brands => "/brands",
            Self::Keys => "/keys",
            Self::Receipts => "/receipts",
            Self::Audit => "/audit",
            Self::Administrators => "/administrators",
            Self::Account => "/account",
        }
    }

    /// What it is called.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Brands => "Brands",
            Self::Keys => "Keys",
            Self::Receipts => "Receipts",
            Self::Audit => "Audit log",
            Self::Administrators => "Administrators",
            Self::Account => "Your account",
        }
    }
}

/// What stands around a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who is logged in.
    pub name: String,
    /// What they may do, and where.
    pub access: String,
    /// What each form carries.
    pub form_token: String,
    /// Where this is.
    pub section: Section,
}

impl Frame {
    /// The frame of a page in `section` for the administrator `name`.
    pub fn new(name: &str, access: &Access, form_token: &str, section: Section) -> Self {
        let reach = match &access.reach {
            Reach::All => "all Brands".to_owned(),
            Reach::Brands(brands) if brands.len() == 1 => "1 Brand".to_owned(),
            Reach::Brands(brands) => format!("{} Brands", brands.len()),
        };
        let access = format!("{} of {reach}", access.role);
        Self { name: name.to_owned(), access, form_token: form_token.to_owned(), section }
    }

    /// The same around a page elsewhere.
    #[must_use]
    pub fn at(self, section: Section) -> Self {
        Self { section, ..self }
    }

    /// An owner of all Brands.
    pub fn sample() -> Self {
        Self::new("anna", &Access::EVERYTHING, "c2FtcGxlLW9mLWEtZm9ybS10b2tlbi0wMTIzNDU2Nzg", Section::Account)
    }
}
