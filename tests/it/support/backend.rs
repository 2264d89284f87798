//! A Brand's agent as a test scripts it: one answer for every turn, and a record of the turns.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How the backend answers.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    pub(crate) after: Duration,
}

impl Script {
    pub(crate) fn json(body: Value) -> Self {
        Self { status: 200, content_type: "application/json", body: body.to_string(), after: Duration::ZERO }
    }

    /// The connection ends without an answer.
    pub(crate) fn hang_up() -> Self {
        Self { status: 0, ..Self::text("") }
    }

    pub(crate) fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::json(serde_json::json!({ "parts": [{ "text": text }] }))
    }
}

/// One request as the backend saw it.
#[derive(Clone, Debug)]
pub(crate) struct SeenTurn {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl SeenTurn {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The backend.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    seen: Arc<Mutex<Vec<SeenTurn>>>,
    answered: Arc<AtomicUsize>,
}

impl Backend {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let backend = Self {
            address: listener.local_addr().unwrap(),
            script: Arc::new(Mutex::new(Script::text("Hello."))),
            seen: Arc::default(),
            answered: Arc::default(),
        };
        let serving = backend.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serving.clone().answer(socket));
            }
        });
        backend
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/turns", self.address)
    }

    /// Answers like this from now on.
    pub(crate) fn answer_with(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// The turns so far.
    pub(crate) fn seen(&self) -> Vec<SeenTurn> {
        self.seen.lock().unwrap().clone()
    }

    /// The turns so far, once there are `count` of them.
    pub(crate) async fn seen_at_least(&self, count: usize) -> Vec<SeenTurn> {
        for _ in 0..1000 {
            let seen = self.seen();
            if seen.len() >= count {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{} turns after five seconds, {count} expected", self.seen().len());
    }

    /// Returns once so many answers have left.
    pub(crate) async fn answered_at_least(&self, count: usize) {
        while self.answered.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn answer(self, mut socket: TcpStream) {
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 * 1024];
        let end = loop {
            match socket.read(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            }
            if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().filter_map(|line| line.split_once(": "));
        let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length.next().map_or(0, |(_, value)| value.parse().unwrap());
        while bytes.len() < end + length {
            match socket.read(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            }
        }
        let script = self.script.lock().unwrap().clone();
        let turn = SeenTurn { head, body: bytes[end..].to_vec() };
        let heard = turn.header("authorization").unwrap_or_default().replace("Bearer ", "");
        self.seen.lock().unwrap().push(turn);
        tokio::time::sleep(script.after).await;
        let Script { status, content_type, body, .. } = script;
        let body = body.replace("{heard}", &heard);
        if status == 0 {
            return;
        }
        let head = format!("HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {}", body.len());
        let _ = socket.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).await;
        self.answered.fetch_add(1, Ordering::SeqCst);
    }
}
