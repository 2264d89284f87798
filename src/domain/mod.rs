//! Pure rules: functions of their inputs and of `now`. Nothing here does I/O, reads a clock or draws a random number.

pub mod assertion;
pub mod brand;
pub mod id;
pub mod personal_agent;
pub mod samples;
pub mod scope;
pub mod signing_key;
pub mod user_code;
