//! Every function of the store, on SQLite and on PostgreSQL.

mod administrator;
mod audit;
mod audit_list;
mod audit_verify;
mod consent;
mod conversation;
mod decision;
mod device;
mod directory;
mod directory_list;
mod faults;
mod grant;
mod grant_list;
mod idempotency;
mod migrations;
mod overview;
mod refresh;
mod registration;
mod step_up;
mod sweep;
mod takeover;
