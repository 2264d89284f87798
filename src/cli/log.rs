//! Logs, on standard error: text for people, JSON lines for a server.

use std::io;

use tracing_subscriber::EnvFilter;

use super::failure::Failure;

/// Logs as text, for people, what `filter` lets pass.
pub(super) fn text(filter: &str) -> Result<(), Failure> {
    let log = tracing_subscriber::fmt().with_env_filter(parsed(filter)?).with_writer(io::stderr).with_ansi(false);
    log.try_init().map_err(|error| Failure::Said(format!("the log cannot start: {error}")))
}

/// Logs as JSON, one object per line, what `filter` lets pass.
pub(super) fn json(filter: &str) -> Result<(), Failure> {
    let log = tracing_subscriber::fmt().with_env_filter(parsed(filter)?).with_writer(io::stderr);
    let log = log.json().flatten_event(true).with_span_list(false);
    log.try_init().map_err(|error| Failure::Said(format!("the log cannot start: {error}")))
}

/// Refuses a filter that cannot be read, by the name of its key.
fn parsed(filter: &str) -> Result<EnvFilter, Failure> {
    EnvFilter::try_new(filter).map_err(|error| {
        Failure::Said(format!("configuration: log: {error}; expected a filter such as info or info,assent=debug"))
    })
}
