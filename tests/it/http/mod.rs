//! The Provider over HTTP, from the outside, on both databases.

mod assertion;
mod consent;
mod decision;
mod delegation;
mod messages;
mod receipts;
mod routes;
mod step_up;
mod turn;
mod whole_flow;
