//! What stands around every page of an administrator who is logged in: where they are, what they may look for and at, who they
//! are, and the way out.

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
    /// What Users allowed.
    Grants,
    /// Who may call.
    PersonalAgents,
    /// The own account.
    Account,
}

impl Section {
    /// Those that the navigation leads to, in its order.
    pub const ALL: [Self; 9] = [
        Self::Overview,
        Self::Grants,
        Self::PersonalAgents,
        Self::Brands,
        Self::Keys,
        Self::Receipts,
        Self::Audit,
        Self::Administrators,
        Self::Account,
    ];

    /// Its address.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Brands => "/brands",
            Self::Keys => "/keys",
            Self::Receipts => "/receipts",
            Self::Audit => "/audit",
            Self::Administrators => "/administrators",
            Self::Grants => "/grants",
            Self::PersonalAgents => "/personal-agents",
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
            Self::Grants => "Grants",
            Self::PersonalAgents => "Personal agents",
            Self::Account => "Your account",
        }
    }

    /// Whether somebody with this access sees anything there.
    pub fn is_for(self, access: &Access) -> bool {
        match self {
            Self::Overview | Self::Grants | Self::Brands | Self::Keys => true,
            Self::Receipts | Self::Audit | Self::Administrators | Self::Account => true,
            Self::PersonalAgents => access.read(None).is_ok(),
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
    pub section: Option<Section>,
    /// Where they may go.
    pub sections: Vec<Section>,
    /// What was looked for.
    pub search: String,
}

impl Frame {
    /// The frame of a page in `section`, or in none, for the administrator `name`.
    pub fn new(name: &str, access: &Access, form_token: &str, section: Option<Section>) -> Self {
        let reach = match &access.reach {
            Reach::All => "all Brands".to_owned(),
            Reach::Brands(brands) if brands.len() == 1 => "1 Brand".to_owned(),
            Reach::Brands(brands) => format!("{} Brands", brands.len()),
        };
        Self {
            name: name.to_owned(),
            access: format!("{} of {reach}", access.role),
            form_token: form_token.to_owned(),
            section,
            sections: Section::ALL.into_iter().filter(|section| section.is_for(access)).collect(),
            search: String::new(),
        }
    }

    pub(super) fn is_in(&self, section: Section) -> bool {
        self.section == Some(section)
    }

    /// An owner of all Brands.
    pub fn sample() -> Self {
        Self::new("anna", &Access::EVERYTHING, "c2FtcGxlLW9mLWEtZm9ybS10b2tlbi0wMTIzNDU2Nzg", None)
    }

    /// The same in `section`.
    pub fn sample_in(section: Section) -> Self {
        Self { section: Some(section), ..Self::sample() }
    }
}
