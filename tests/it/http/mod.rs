//! The Provider over HTTP, from the outside, on both databases.

mod applying;
mod assertion;
mod consent;
mod decision;
mod delegation;
mod device_authorization;
mod forms;
mod hostile;
mod killed;
mod kinds;
mod leaks;
mod limits;
mod messages;
mod open_registration;
mod pa_jwt;
mod polling;
mod receipts;
mod refresh;
mod revocation;
mod routes;
mod sign_in_again;
mod step_up;
mod storage_faults;
mod turn;
mod whole_flow;
