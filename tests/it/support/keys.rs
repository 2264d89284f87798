//! A web server for key sets: what it serves can be changed, and it counts who asks.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Serves one body at every path.
#[derive(Clone, Debug)]
pub(crate) struct KeyServer {
    pub(crate) address: SocketAddr,
    body: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(crate) async fn start(body: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server =
            Self { address: listener.local_addr().unwrap(), body: Arc::new(Mutex::new(body)), asked: Arc::default() };
        tokio::spawn(server.clone().serve(listener));
        server
    }

    async fn serve(self, listener: TcpListener) {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (body, asked) = (self.body.lock().unwrap().clone(), Arc::clone(&self.asked));
            tokio::spawn(async move {
                let mut request = Vec::new();
                let mut chunk = [0; 4096];
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    match socket.read(&mut chunk).await {
                        Ok(0) | Err(_) => return,
                        Ok(read) => request.extend_from_slice(&chunk[..read]),
                    }
                }
                asked.fetch_add(1, Ordering::SeqCst);
                let length = body.len();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
                let _ = socket.write_all(format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes()).await;
            });
        }
    }

    /// How many requests there were.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Serves another body from now on.
    pub(crate) fn serve_instead(&self, body: String) {
        *self.body.lock().unwrap() = body;
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/jwks.json", self.address)
    }
}
