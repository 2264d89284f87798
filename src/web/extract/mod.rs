//! Readers of what a request carries. Each reads one thing strictly and says what was wrong with it.

pub mod api_key;
pub mod bearer;
pub mod body;
pub mod client_address;
pub mod cookie;
pub mod csrf;
pub mod own_page;
pub mod pa_auth;
pub mod query;
pub mod resource_server;
pub mod session;
pub mod strict_form;
