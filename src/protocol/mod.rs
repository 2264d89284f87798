//! Serde types of the wire, and the strict way to read JSON.
//!
//! Shapes only: no rule lives here, and nothing here knows where a value came from or where it goes.

pub mod a2a;
pub mod admin;
pub mod agent;
pub mod card;
pub mod claims;
pub mod discovery;
pub mod event;
pub mod evidence;
pub mod json;
pub mod oauth;
