//! Every function of the store, on SQLite and on PostgreSQL.

mod administrator;
mod audit;
mod consent;
mod conversation;
mod decision;
mod device;
mod directory;
mod faults;
mod grant;
mod migrations;
mod refresh;
mod registration;
mod step_up;
mod sweep;
mod takeover;
