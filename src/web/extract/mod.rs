//! Readers of what a request carries. Each reads one thing strictly and says what was wrong with it.

pub mod bearer;
pub mod body;
pub mod client_address;
pub mod cookie;
pub mod pa_auth;
pub mod strict_form;
