//! The program as a process of its own, which can be killed as a power cut would.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::database::Database;
use super::world::configuration;

/// `assent serve` at work.
pub(crate) struct Process {
    pub(crate) public: SocketAddr,
    child: Child,
    _directory: TempDir,
}

impl Process {
    /// Starts it and waits until it listens.
    pub(crate) async fn start(db: &Database) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("assent.toml"), configuration(db)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_assent"));
        command.arg("serve").current_dir(directory.path()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ASSENT_")) {
            command.env_remove(name);
        }
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (found, public) = oneshot::channel();
        thread::spawn(move || {
            let mut found = Some(found);
            // To the end, or the program would wait for somebody to read its log.
            for line in log.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                if let Some(found) = event["public"].as_str().and_then(|public| found.take().zip(public.parse().ok())) {
                    let _ = found.0.send(found.1);
                }
            }
        });
        Self { public: public.await.expect("the program listens"), child, _directory: directory }
    }

    /// SIGKILL: it does nothing more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
