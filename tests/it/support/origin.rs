//! A web server that misbehaves as a test tells it, path by path, and counts who comes: threads and blocking sockets, so
//! that the same code speaks TLS.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use openssl::ssl::SslAcceptor;
use serde_json::json;

use super::world::Party;

/// What is answered at a path.
#[derive(Clone)]
pub(crate) enum Reply {
    /// The whole answer, head and body.
    Whole(Vec<u8>),
    /// This beginning, then a byte now and then without end.
    Drip(Vec<u8>),
    /// This beginning, then bytes without end.
    Endless(Vec<u8>),
    /// Nothing, while the connection stays open.
    Silence,
}

impl Reply {
    pub(crate) fn of(status: &str, content_type: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        Self::Whole([head.as_bytes(), body].concat())
    }

    pub(crate) fn json(body: impl ToString) -> Self {
        Self::of("200 OK", "application/json", body.to_string().as_bytes())
    }

    pub(crate) fn html() -> Self {
        Self::of("200 OK", "text/html", b"<!DOCTYPE html><title>Welcome</title>")
    }

    pub(crate) fn redirect(status: &str, to: &str) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        Self::Whole(head.into_bytes())
    }

    /// The head of a JSON answer that could be long, and no body.
    pub(crate) fn head() -> Vec<u8> {
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10485760\r\n\r\n".to_vec()
    }
}

#[derive(Default)]
struct Shared {
    replies: Mutex<HashMap<String, Reply>>,
    paths: Mutex<Vec<String>>,
    connections: AtomicUsize,
    written: AtomicUsize,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

/// Where an OpenID configuration is published.
pub(crate) const CONFIGURATION: &str = "/.well-known/openid-configuration";
pub(crate) const KEYS: &str = "/jwks.json";

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Origin {
    /// A server that answers 404 until it is told otherwise.
    pub(crate) fn start(tls: Option<SslAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = Self { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = Arc::clone(&origin.shared);
        thread::spawn(move || {
            for tcp in listener.incoming() {
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                shared.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || match tls {
                    None => shared.serve(&mut tcp.unwrap()),
                    Some(tls) => {
                        if let Ok(mut stream) = tls.accept(tcp.unwrap()) {
                            shared.serve(&mut stream);
                            let _ = stream.shutdown();
                        }
                    }
                });
            }
        });
        origin
    }

    /// A personal agent's server: its OpenID configuration and its keys.
    pub(crate) fn of_personal_agent() -> (Self, Party) {
        let origin = Self::start(None);
        let party = Party::new(&origin.url(""));
        origin.reply(CONFIGURATION, Reply::json(origin.configuration()));
        origin.reply(KEYS, Reply::json(party.jwks()));
        (origin, party)
    }

    /// An honest OpenID configuration, with more members than anybody reads.
    pub(crate) fn configuration(&self) -> serde_json::Value {
        json!({
            "issuer": self.url(""), "jwks_uri": self.url(KEYS), "op_name": "<script>canary</script>",
            "subject_types_supported": ["public"],
        })
    }

    /// What it answers at `path` from now on.
    pub(crate) fn reply(&self, path: &str, reply: Reply) {
        self.shared.replies.lock().unwrap().insert(path.to_owned(), reply);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many bytes of endless answers were taken from it.
    pub(crate) fn written(&self) -> usize {
        self.shared.written.load(Ordering::SeqCst)
    }

    /// How many requests there were for `path`.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.shared.paths.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

impl Shared {
    fn serve(&self, stream: &mut dyn Stream) {
        let Some(path) = path_of(stream) else { return };
        let reply = self.replies.lock().unwrap().get(&path).cloned();
        self.paths.lock().unwrap().push(path);
        match reply.unwrap_or_else(|| Reply::of("404 Not Found", "text/plain", b"nothing here")) {
            Reply::Whole(bytes) => {
                let _ = stream.write_all(&bytes);
                let _ = stream.flush();
            }
            Reply::Drip(beginning) => {
                let _ = stream.write_all(&beginning);
                while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
                    thread::park_timeout(Duration::from_millis(20));
                }
            }
            Reply::Endless(beginning) => {
                let _ = stream.write_all(&beginning);
                while let Ok(written) = stream.write(&[b' '; 16_384]) {
                    self.written.fetch_add(written, Ordering::SeqCst);
                }
            }
            Reply::Silence => {
                let _ = stream.read(&mut [0; 1]);
            }
        }
    }
}

/// Reads a request to its end; `None` when it does not arrive.
fn path_of(stream: &mut dyn Stream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    let head = String::from_utf8(head).ok()?.to_ascii_lowercase();
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split("\r\n").next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    head.split(' ').nth(1).map(str::to_owned)
}
