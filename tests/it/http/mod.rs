//! The Provider over HTTP, from the outside, on both databases.

mod whole_flow;
