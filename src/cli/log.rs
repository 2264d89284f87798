//! Logs, on standard error: text for people, JSON lines for a server.

use std::io;

use tracing_subscriber::EnvFilter;

use super::failure::Failure;
use crate::server::NOT_HTTP;

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
    EnvFilter::try_new(format!("{NOT_HTTP},{filter}")).map_err(|error| {
        Failure::Said(format!("configuration: log: {error}; expected a filter such as info or info,assent=debug"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_http_are_logged_only_for_whoever_asks_for_them() {
        assert!(parsed("info").unwrap().to_string().contains(NOT_HTTP));
        assert!(parsed("trace,assent=debug").unwrap().to_string().contains(NOT_HTTP));
        let asked = parsed(&format!("info,{}", NOT_HTTP.replace("off", "error"))).unwrap().to_string();
        assert!(asked.contains(&NOT_HTTP.replace("off", "error")) && !asked.contains(NOT_HTTP), "{asked}");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_refused_by_its_key() {
        assert!(parsed("info,=").is_err_and(|failure| matches!(failure, Failure::Said(text) if text.contains("log"))));
    }
}
