//! Peers that drip, that send nothing, and that are many.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;

/// Short deadlines for heads and bodies, and one for silence that no test waits for.
const HASTY: &str = "[http]\nheaders_within_seconds = 1\nbody_within_seconds = 1\nkeep_alive_seconds = 60";
/// Longer than a head may take under [`HASTY`], and shorter than any other deadline.
const SOON: Duration = Duration::from_secs(5);

fn request(target: &str, more: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {PROVIDER}\r\n{more}\r\n")
}

/// Reads one answer without a body.
async fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

/// Sends one byte of `bytes` after another until the other side has ended the connection; whether it did so soon.
async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    let (mut read, mut write) = stream.split();
    let mut rest = Vec::new();
    let dripping = async {
        for byte in bytes.iter().cycle() {
            if write.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = async {
        tokio::select! { () = dripping => {}, _ = read.read_to_end(&mut rest) => {} }
    };
    timeout(SOON, ended).await.is_ok()
}

// case 79: the first head
#[tokio::test]
async fn slow_headers_end_the_connection() {
    let served = Served::with(HASTY).await;
    let got = timeout(SOON, served.raw(b"GET /healthz HTTP/1.1\r\nHost: provider.exam")).await.unwrap();
    assert_eq!(Answer::parse(&got).status, 408);
    assert_eq!(served.get(PROVIDER, "/healthz").await.status, 200);
    served.stop().await;
}

// case 79: a later head
#[tokio::test]
async fn a_later_head_that_drips_ends_the_connection_too() {
    let served = Served::with(HASTY).await;
    for (listener, host) in [(served.running.public, PROVIDER), (served.running.admin, "localhost")] {
        let mut stream = TcpStream::connect(listener).await.unwrap();
        for _ in 0..3 {
            stream.write_all(request("/x", "").replace(PROVIDER, host).as_bytes()).await.unwrap();
            assert!(answer(&mut stream).await.starts_with("HTTP/1.1 404 "));
        }
        stream.write_all(b"GET /x HTTP/1.1\r\nX: ").await.unwrap();
        assert!(drip(&mut stream, b"a").await);
    }
    served.stop().await;
}

// case 79: a later head that stops
#[tokio::test]
async fn a_later_head_that_breaks_off_ends_the_connection_too() {
    let served = Served::with(HASTY).await;
    let mut stream = TcpStream::connect(served.running.public).await.unwrap();
    stream.write_all(request("/x", "").as_bytes()).await.unwrap();
    answer(&mut stream).await;
    stream.write_all(b"GET").await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"");
    served.stop().await;
}

// case 79: a later head that is in time
#[tokio::test]
async fn a_quiet_connection_stays_and_its_next_request_is_answered() {
    let served = Served::with(HASTY).await;
    let mut stream = TcpStream::connect(served.running.public).await.unwrap();
    for silent in [0, 1500, 1500] {
        // Longer than a head may take: silence is none.
        sleep(Duration::from_millis(silent)).await;
        stream.write_all(b"GET /x HTTP/1.1\r\n").await.unwrap();
        sleep(Duration::from_millis(200)).await;
        stream.write_all(format!("Host: {PROVIDER}\r\n\r\n").as_bytes()).await.unwrap();
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 404 "));
    }
    served.stop().await;
}

// case 79: silence
#[tokio::test]
async fn a_connection_that_stays_quiet_is_ended_after_the_keep_alive() {
    let served = Served::with("[http]\nkeep_alive_seconds = 1").await;
    let mut stream = TcpStream::connect(served.running.public).await.unwrap();
    stream.write_all(request("/x", "").as_bytes()).await.unwrap();
    answer(&mut stream).await;
    let mut rest = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"");
    served.stop().await;
}

// case 79: bodies
#[tokio::test]
async fn a_body_that_drips_is_given_up_whether_anybody_reads_it_or_not() {
    let served = Served::with(HASTY).await;
    let consent = format!("/a2a/{SHOP}/oauth/consent");
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    // A form is read; nobody reads the body of a request to a route that is not there, or of one without a JWT.
    let message = format!("/a2a/{SHOP}/message:send");
    for (target, status) in [(consent.as_str(), "408"), ("/x", "404"), (message.as_str(), "401"), ("/healthz", "405")] {
        for framing in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
            let mut stream = TcpStream::connect(served.running.public).await.unwrap();
            let head = format!("POST {target} HTTP/1.1\r\nHost: {PROVIDER}\r\n{form}{framing}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(if framing.contains("chunked") { b"1\r\na\r\n" } else { b"a" }).await.unwrap();
            let head = timeout(SOON, answer(&mut stream)).await.unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {framing}: {head}");
            let drops = if framing.contains("chunked") { &b"1\r\na\r\n"[..] } else { b"a" };
            assert!(drip(&mut stream, drops).await, "{target} {framing}");
        }
    }
    assert_eq!(served.get(PROVIDER, "/healthz").await.status, 200);
    served.stop().await;
}

// case 79: a body that nobody reads and that stops
#[tokio::test]
async fn a_body_that_nobody_reads_and_that_stops_ends_the_connection() {
    let served = Served::with("[http]\nheaders_within_seconds = 1\nkeep_alive_seconds = 1").await;
    let mut stream = TcpStream::connect(served.running.public).await.unwrap();
    let head = format!("POST /x HTTP/1.1\r\nHost: {PROVIDER}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(answer(&mut stream).await.starts_with("HTTP/1.1 404 "));
    let mut rest = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"");
    served.stop().await;
}

// case 79: many
#[tokio::test]
async fn idle_connections_keep_nobody_out() {
    let served = Served::start().await;
    let mut idle = Vec::new();
    for _ in 0..500 {
        idle.push(TcpStream::connect(served.running.public).await.unwrap());
    }
    let got = timeout(SOON, served.get(PROVIDER, &format!("/a2a/{SHOP}/oauth/jwks.json"))).await.unwrap();
    assert_eq!(got.status, 200);
    for mut stream in idle.drain(..) {
        stream.write_all(request("/x", "Connection: close\r\n").as_bytes()).await.unwrap();
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 404 "));
    }
    served.stop().await;
}

// case 79: at the bound
#[tokio::test]
async fn at_the_bound_a_connection_waits_until_one_that_drips_was_ended() {
    let served = Served::with(&format!("{HASTY}\n[limits]\nconnections = 1")).await;
    let workers = std::thread::available_parallelism().unwrap().get();
    let mut dripping = Vec::new();
    // A worker notes that it is full only once it has taken one: some more wait in its queue.
    for _ in 0..4 * workers {
        let mut stream = TcpStream::connect(served.running.public).await.unwrap();
        stream.write_all(b"GET /x HT").await.unwrap();
        dripping.push(stream);
    }
    let got = timeout(4 * SOON, served.get(PROVIDER, "/healthz")).await.unwrap();
    assert_eq!(got.status, 200);
    served.stop().await;
}
