//! What the tests stand on: databases that are made and removed, a Provider with everyone around it, and values with
//! defaults.

pub(crate) mod backend;
pub(crate) mod build;
mod carried;
pub(crate) mod client;
pub(crate) mod console;
pub(crate) mod contents;
pub(crate) mod database;
pub(crate) mod faults;
pub(crate) mod flow;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod origin;
pub(crate) mod process;
pub(crate) mod tls;
pub(crate) mod world;
