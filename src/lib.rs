//! Assent: the OAuth 2.0 device-code authorization server of PACT Delegated, with its Identity-profile A2A front end.
//!
//! A layer imports what stands below it and nothing above:
//!
//! ```text
//! cli → demo → server → web → flow → app → directory → agent → outbound
//!     → store, crypto, limits, text → protocol → domain → config, clock, entropy, metrics, secret
//! ```
//!
//! `store` and `crypto` do not know each other. `tests/it/architecture.rs` reads every `crate::` path and fails on any
//! other arrow.

#![forbid(unsafe_code)]

pub mod agent;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod demo;
pub mod directory;
pub mod domain;
pub mod entropy;
pub mod flow;
pub mod limits;
pub mod metrics;
pub mod outbound;
pub mod protocol;
pub mod secret;
pub mod server;
pub mod store;
pub mod text;
pub mod web;
