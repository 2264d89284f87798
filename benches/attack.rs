//! Everybody who means harm, each from an address of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assent::crypto::signer::{Signer, generate_key};
use assent::domain::brand::SigningAlg;
use assent::entropy::Entropy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};

use super::provider::{BRAND, Outcome, Provider, pa_jwt};

pub(crate) const UNKNOWN_KEYS: u32 = 10_000;
const IDLE: usize = 500;
const DRIPPING: usize = 100;
/// How many send random bytes, and how many changed requests, one after the other.
const SCRIBBLERS: usize = 4;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// How often each status was answered.
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) connections: u64,
    /// Connections that the server closed.
    pub(crate) closed: u64,
    pub(crate) unknown_keys: u32,
}

/// An attack under way.
pub(crate) struct Attack {
    tasks: JoinSet<()>,
    tally: Arc<Mutex<Tally>>,
}

/// One who attacks.
#[derive(Clone)]
struct Attacker {
    server: SocketAddr,
    entropy: Entropy,
    tally: Arc<Mutex<Tally>>,
    requests: Arc<Vec<Vec<u8>>>,
    host: String,
}

impl Attack {
    /// Begins everything at once; the unknown keys are spread over `lasting`.
    pub(crate) async fn begin(provider: &Provider, lasting: Duration) -> Outcome<Self> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let jwt = provider.pa_jwt("mallory")?;
        let attacker = Attacker {
            server: (Ipv4Addr::LOCALHOST, provider.port).into(),
            entropy: Entropy::seeded(7),
            tally: Arc::clone(&tally),
            requests: Arc::new(requests(&host(provider), &jwt)),
            host: host(provider),
        };
        let mut tasks = JoinSet::new();
        for _ in 0..IDLE {
            let attacker = attacker.clone();
            tasks.spawn(async move { attacker.idle().await });
        }
        for number in 0..DRIPPING {
            let attacker = attacker.clone();
            tasks.spawn(async move { attacker.drip(number % 2 == 0).await });
        }
        for number in 0..SCRIBBLERS {
            let attacker = attacker.clone();
            tasks.spawn(async move { attacker.scribble(number % 2 == 0).await });
        }
        let tokens = unknown_keys()?;
        tasks.spawn(async move { attacker.present(&tokens, lasting * 9 / 10 / UNKNOWN_KEYS).await });
        Ok(Self { tasks, tally })
    }

    pub(crate) async fn end(mut self) -> Tally {
        self.tasks.shutdown().await;
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn host(provider: &Provider) -> String {
    format!("127.0.0.1:{}", provider.port)
}

/// Requests that are served, for changing.
fn requests(host: &str, jwt: &str) -> Vec<Vec<u8>> {
    let with_body = |path: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /a2a/{BRAND}{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {jwt}\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    };
    let form = "application/x-www-form-urlencoded";
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"contextId":"x"}}"#;
    vec![
        with_body("/message:send", "application/json", message),
        with_body("/oauth/device_authorization", form, "scope=orders%3Aread&client_id=x"),
        with_body("/oauth/token", form, "grant_type=refresh_token&refresh_token=rt_AAAAAAAAAAAAAAAAAAAA"),
        with_body("/oauth/revoke", form, "token=rt_AAAAAAAAAAAAAAAAAAAA"),
        with_body("/oauth/consent", form, "assertion=eyJhbGciOiJFUzI1NiJ9.e30.AAAA"),
        with_body("/oauth/consent/decision", form, "session=abc&decision=allow&scope=orders%3Aread"),
        format!("GET /a2a/{BRAND}/oauth/consent?user_code=WDJB-MJHT HTTP/1.1\r\nHost: {host}\r\nCookie: a=b\r\n\r\n")
            .into_bytes(),
        format!("GET /a2a/{BRAND}/tasks?pageSize=5 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {jwt}\r\n\r\n")
            .into_bytes(),
    ]
}

/// Tokens that differ from good ones in their key alone, of which the server has never heard.
fn unknown_keys() -> Outcome<Vec<String>> {
    let key = generate_key(SigningAlg::Es256, "unknown")?;
    let stem = key.private_jwk.expose().replace("\"unknown\"", "\"KID\"");
    let tokens = (0..UNKNOWN_KEYS).map(|number| {
        let signer = Signer::from_private_jwk(&stem.replace("KID", &format!("unknown-{number}")))?;
        pa_jwt(&signer, "mallory")
    });
    tokens.collect()
}

impl Attacker {
    fn random(&self, below: u32) -> u32 {
        u32::from_le_bytes(self.entropy.bytes()) % below.max(1)
    }

    fn note(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A connection from a random address of 127.0.0.0/8; waits where the system gives none.
    async fn connect(&self) -> TcpStream {
        loop {
            let from = Ipv4Addr::from_bits(0x7f00_0002 + self.random(0x00ff_fff0));
            let connecting = async {
                let socket = TcpSocket::new_v4()?;
                socket.bind((from, 0).into())?;
                socket.connect(self.server).await
            };
            if let Ok(Ok(stream)) = timeout(Duration::from_secs(5), connecting).await {
                self.note(|tally| tally.connections += 1);
                return stream;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Reads until the server closes, or for so long, and notes the first answer.
    async fn listen(&self, stream: &mut TcpStream, patience: Duration) {
        let mut answer = Vec::new();
        let closed = timeout(patience, stream.read_to_end(&mut answer)).await.is_ok();
        let status = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        self.note(|tally| {
            tally.closed += u64::from(closed);
            if let Some(status) = status {
                *tally.statuses.entry(status).or_default() += 1;
            }
        });
    }

    /// Opens a connection, says nothing, and opens the next when it is closed.
    async fn idle(&self) {
        loop {
            let mut stream = self.connect().await;
            self.listen(&mut stream, Duration::MAX).await;
        }
    }

    /// Sends a header or a body a byte at a time, until the connection is closed.
    async fn drip(&self, header: bool) {
        loop {
            let mut stream = self.connect().await;
            let host = &self.host;
            let head = if header {
                format!("GET / HTTP/1.1\r\nHost: {host}\r\nX-Drip: ")
            } else {
                format!(
                    "POST /a2a/{BRAND}/oauth/consent HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9000\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n"
                )
            };
            let mut rest = head.as_bytes();
            loop {
                if stream.write_all(rest).await.is_err() {
                    break;
                }
                rest = b"a";
                if timeout(Duration::from_millis(500), stream.readable()).await.is_ok() {
                    break;
                }
            }
            self.listen(&mut stream, Duration::from_secs(2)).await;
        }
    }

    /// Sends random bytes, or a request with some bytes changed.
    async fn scribble(&self, random: bool) {
        loop {
            let mut bytes = if random {
                (0..self.random(4000) / 16).flat_map(|_| self.entropy.bytes::<16>()).collect()
            } else {
                let which = self.random(u32::try_from(self.requests.len()).unwrap_or(1));
                self.requests.get(usize::try_from(which).unwrap_or_default()).cloned().unwrap_or_default()
            };
            for _ in 0..self.random(4) {
                let at = self.random(u32::try_from(bytes.len()).unwrap_or(1));
                if let Some(byte) = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at)) {
                    [*byte] = self.entropy.bytes();
                }
            }
            let mut stream = self.connect().await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            self.listen(&mut stream, Duration::from_secs(2)).await;
        }
    }

    /// Sends a message with each token, one each `pace`, without waiting for the answers.
    async fn present(&self, tokens: &[String], pace: Duration) {
        let mut waiting = JoinSet::new();
        // Made up for where the attacker itself is late: all of them are sent.
        let mut ticks = interval(pace);
        for token in tokens {
            ticks.tick().await;
            let (attacker, host) = (self.clone(), &self.host);
            let request = format!(
                "POST /a2a/{BRAND}/message:send HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
                 Content-Length: 2\r\nConnection: close\r\n\r\n{{}}"
            );
            waiting.spawn(async move {
                let mut stream = attacker.connect().await;
                let _ = stream.write_all(request.as_bytes()).await;
                attacker.note(|tally| tally.unknown_keys += 1);
                attacker.listen(&mut stream, Duration::from_secs(10)).await;
            });
            while waiting.try_join_next().is_some() {}
        }
        waiting.join_all().await;
    }
}
