//! The page that says what was done. Where something secret was made, it is the only page that ever shows it.

use askama::Template;

use super::parts::{Block, Holds, Link};
use super::{Frame, console_page};
use crate::web::pages::Page as _;

/// Something secret that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// What it is.
    pub label: &'static str,
    /// The thing itself.
    pub secret: String,
}

/// The page that says what was done.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/done.html")]
pub struct DonePage {
    /// What stands around it.
    pub frame: Frame,
    /// What was done.
    pub title: String,
    /// What it means.
    pub says: Vec<String>,
    /// Whether all is well; otherwise it stands out.
    pub is_good: bool,
    /// What is shown now and never again.
    pub shown: Option<Shown>,
    /// What it was done to, or found.
    pub blocks: Vec<Block>,
    /// Where to go on.
    pub links: Vec<Link>,
}

console_page!(DonePage, |page| page.title.clone());

impl DonePage {
    /// Something that was done and leaves nothing more to show.
    pub fn new(frame: Frame, title: impl Into<String>, says: &[&str], links: Vec<Link>) -> Self {
        let says = says.iter().map(|says| (*says).to_owned()).collect();
        Self { frame, title: title.into(), says, is_good: true, shown: None, blocks: Vec::new(), links }
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let mut states = super::key::done_samples();
        states.extend(super::audit::done_samples());
        states.extend(super::brand_form::done_samples());
        states.extend(super::resource_server_key::done_samples());
        states.extend(super::administrator_form::done_samples());
        states.extend(super::api_key::done_samples());
        states
    }
}
