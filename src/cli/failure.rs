//! Why a command failed, in words for whoever typed it.

use std::io;
use std::path::PathBuf;

use crate::app::StartError;
use crate::config::InvalidConfig;
use crate::crypto::CryptoFailure;
use crate::demo::DemoError;
use crate::flow::Fault;
use crate::store::StoreError;

/// Why a command failed. Its text is printed once, after `assent: `.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Crypto(#[from] CryptoFailure),
    #[error(transparent)]
    Demo(#[from] DemoError),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// A listener, named by its key.
    #[error("{0}")]
    Server(io::Error),
    #[error("the runtime cannot start: {0}")]
    Runtime(io::Error),
    /// The command cannot be carried out as it was typed: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Anything else, in whole words.
    #[error("{0}")]
    Said(String),
}

impl Failure {
    /// `error` while `path` was read or written.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}
