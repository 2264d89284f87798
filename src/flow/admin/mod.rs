//! What administrators do.

pub mod apply;
pub mod check;
pub mod grants;
