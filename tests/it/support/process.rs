//! The program as a process of its own, which can be killed as a power cut would.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
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

/// The program in a place with this database's configuration.
pub(crate) struct Program(TempDir);

impl Program {
    pub(crate) fn new(db: &Database) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("assent.toml"), configuration(db)).unwrap();
        Self(place)
    }

    /// Where it runs.
    pub(crate) fn place(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ASSENT_")) {
            command.env_remove(name);
        }
        command.output().unwrap()
    }

    pub(crate) fn assent(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.run(env!("CARGO_BIN_EXE_assent"), arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The same without any network, where this machine lets us take it away.
    pub(crate) fn offline(&self, arguments: &[&str]) -> (i32, String, String) {
        if !self.run("unshare", &["-n", "true"]).status.success() {
            return self.assent(arguments);
        }
        let output = self.run("unshare", &[&["-n", env!("CARGO_BIN_EXE_assent")][..], arguments].concat());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}
