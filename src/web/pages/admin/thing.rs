//! The page of one thing: what is known of it, and what can be done with it.

use askama::Template;

use super::parts::{Block, Holds, Link};
use super::{Frame, console_page};
use crate::web::pages::Page as _;

/// The page of one thing.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/thing.html")]
pub struct ThingPage {
    /// What stands around it.
    pub frame: Frame,
    /// What it is.
    pub title: String,
    /// Where it is one of many.
    pub back: Option<Link>,
    /// Its parts.
    pub blocks: Vec<Block>,
    /// What can be done with it by whoever looks.
    pub deeds: Vec<Link>,
}

console_page!(ThingPage, |page| page.title.clone());

impl ThingPage {
    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let mut states = super::key::samples();
        states.extend(super::receipt::samples());
        states.extend(super::audit::samples());
        states.extend(super::brand::samples());
        states.extend(super::administrator::samples());
        states
    }
}
