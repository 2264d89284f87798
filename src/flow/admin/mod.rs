//! What administrators do, whichever surface they use: console, JSON API or command line.
//!
//! Each flow takes [`By`], who asks, and judges it itself: no surface can forget to.

pub mod apply;
pub mod check;
pub mod grants;

use crate::domain::administrator::{Access, Denied};
use crate::domain::audit::{Actor, RequestId};

/// Who asks for something, and in the course of what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct By {
    /// As it stands in the audit log.
    pub actor: Actor,
    /// What they may do, and at which Brands.
    pub access: Access,
    /// During which request.
    pub request: RequestId,
}

/// What became of something that an administrator asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict<T> {
    /// It was done, or read.
    Done(T),
    /// The role does not allow it; nothing was done.
    Forbidden,
    /// There is no such thing, or it belongs to a Brand out of reach; the two are not told apart.
    NotThere,
}

impl<T> From<Denied> for Verdict<T> {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Role => Self::Forbidden,
            Denied::Reach => Self::NotThere,
        }
    }
}
