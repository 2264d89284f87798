//! Pure rules: functions of their inputs and of `now`. Nothing here does I/O, reads a clock or draws a random number.

pub mod account;
pub mod addresses;
pub mod administrator;
pub mod assertion;
pub mod audit;
pub mod brand;
pub mod check;
pub mod consent;
pub mod conversation;
pub mod device;
pub mod event;
pub mod grant;
pub mod id;
pub mod origin_issuer;
pub mod page;
pub mod personal_agent;
pub mod refresh;
pub mod resource_server_key;
pub mod samples;
pub mod scope;
pub mod signing_key;
pub mod user_code;
