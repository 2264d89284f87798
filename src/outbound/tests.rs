//! Exchanges over real sockets, with servers and certificate authorities of their own.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use futures_util::future::BoxFuture;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

use super::*;

const HOST: &str = "keys.example";

/// A server on loopback that answers each connection with the same bytes.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

/// What a server does with a connection once the request's head has been read.
type Behaviour = fn(&mut dyn Stream, head: &str);

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn answer(stream: &mut dyn Stream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
    let _ = stream.flush();
}

fn head_of(stream: &mut dyn Stream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn serve(tls: Option<SslAcceptor>, behaviour: Behaviour) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server { address: listener.local_addr().unwrap(), connections: Arc::default() };
    let connections = Arc::clone(&server.connections);
    thread::spawn(move || {
        for tcp in listener.incoming() {
            connections.fetch_add(1, Ordering::SeqCst);
            let mut tcp: TcpStream = tcp.unwrap();
            match &tls {
                None => {
                    let head = head_of(&mut tcp);
                    behaviour(&mut tcp, &head);
                }
                Some(acceptor) => {
                    if let Ok(mut stream) = acceptor.accept(tcp) {
                        let head = head_of(&mut stream);
                        behaviour(&mut stream, &head);
                        let _ = stream.shutdown();
                    }
                }
            }
        }
    });
    server
}

impl Server {
    fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// An `http:` URL by loopback address.
    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// A client that finds every name at this server, and lets [`HOST`] be private.
    fn client(&self, ca_file: Option<&Path>) -> Outbound {
        let config = OutboundConfig {
            private_hosts: vec![HOST.to_owned()],
            ca_file: ca_file.map(Path::to_owned),
            ..OutboundConfig::default()
        };
        Outbound::new(&config, Arc::new(vec![self.address])).unwrap()
    }
}

/// A client for development, where plain HTTP to loopback is allowed.
fn lenient() -> Outbound {
    let config = OutboundConfig { allow_private: true, ..OutboundConfig::default() };
    Outbound::new(&config, Arc::new(SystemResolver)).unwrap()
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

struct Authority {
    certificate: X509,
    key: PKey<Private>,
}

fn certificate(subject: &str, (begins, ends): (i64, i64), issuer: Option<&Authority>) -> Authority {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", subject).unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder
        .set_serial_number(&BigNum::from_u32(ends.unsigned_abs() as u32).unwrap().to_asn1_integer().unwrap())
        .unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(issuer.map_or(&name, |issuer| issuer.certificate.subject_name())).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(begins).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(ends).unwrap()).unwrap();
    if issuer.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    }
    let names = SubjectAlternativeName::new().dns(subject).build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
    Authority { certificate: builder.build(), key }
}

const IN_2020: i64 = 1_600_000_000;
const IN_2021: i64 = 1_610_000_000;
const IN_2098: i64 = 4_050_000_000;
const IN_2099: i64 = 4_070_908_800;
const NOW: (i64, i64) = (IN_2020, IN_2099);

fn tls(leaf: &Authority) -> Option<SslAcceptor> {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_private_key(&leaf.key).unwrap();
    acceptor.set_certificate(&leaf.certificate).unwrap();
    Some(acceptor.build())
}

fn ok(stream: &mut dyn Stream, _head: &str) {
    answer(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
}

/// Who signed a server's certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signer {
    InCaFile,
    Unknown,
    Itself,
}

/// What comes of calling `https://keys.example/` where the certificate names `subject`, has this life and this signer.
async fn called_with(subject: &str, life: (i64, i64), signer: Signer) -> Result<Vec<u8>, OutboundError> {
    let authority = certificate("Test authority", NOW, None);
    let other = certificate("Another authority", NOW, None);
    let server = serve(tls(&certificate(subject, life, (signer != Signer::Itself).then_some(&authority))), ok);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let mut pem = other.certificate.to_pem().unwrap();
    if signer == Signer::InCaFile {
        pem.extend(authority.certificate.to_pem().unwrap());
    }
    fs::write(&file, pem).unwrap();
    let outcome = server.client(Some(&file)).get_json(&url("https://keys.example/jwks.json?canary")).await;
    assert_eq!(server.count(), 1);
    outcome
}

// case 15: with TLS
#[tokio::test]
async fn a_certificate_of_an_added_authority_is_accepted() {
    assert_eq!(called_with(HOST, NOW, Signer::InCaFile).await, Ok(b"{}".to_vec()));
}

// case 15: with TLS
#[tokio::test]
async fn a_certificate_of_another_name_time_or_authority_is_refused() {
    let refused = OutboundError::Failed {
        host: HOST.to_owned(),
        reason: "the TLS handshake failed, or the certificate is not trusted",
    };
    for (subject, life, signer) in [
        ("other.example", NOW, Signer::InCaFile),
        ("www.keys.example", NOW, Signer::InCaFile),
        (HOST, (IN_2020, IN_2021), Signer::InCaFile),
        (HOST, (IN_2098, IN_2099), Signer::InCaFile),
        (HOST, NOW, Signer::Unknown),
        (HOST, NOW, Signer::Itself),
    ] {
        assert_eq!(called_with(subject, life, signer).await, Err(refused.clone()), "{subject} {life:?}");
    }
}

#[test]
fn a_ca_file_that_adds_nothing_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let config = OutboundConfig { ca_file: Some(file.clone()), ..OutboundConfig::default() };
    let setup = || Outbound::new(&config, Arc::new(SystemResolver)).err();
    assert_eq!(setup(), Some(OutboundError::Setup("ca_file cannot be read")));
    fs::write(&file, "no certificate").unwrap();
    assert_eq!(setup(), Some(OutboundError::Setup("ca_file holds no PEM certificate")));
    fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    assert!(matches!(setup(), Some(OutboundError::Setup(_))));
}

// case 15
#[tokio::test]
async fn a_name_at_a_private_address_is_never_connected_to() {
    let server = serve(None, ok);
    let outcome = server.client(None).get_json(&url("https://rebound.example/jwks.json")).await;
    assert_eq!(outcome, Err(OutboundError::NotPublic { host: "rebound.example".to_owned() }));
    let literal = url(&format!("https://{}/", server.address));
    let outcome = server.client(None).get_json(&literal).await;
    assert_eq!(outcome, Err(OutboundError::NotPublic { host: "127.0.0.1".to_owned() }));
    assert_eq!(server.count(), 0);
}

/// Each answer once, then the last one for good; how often it was asked.
struct Changing(Vec<Vec<SocketAddr>>, AtomicUsize);

impl Resolver for Changing {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        let asked = self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(self.0[asked.min(self.0.len() - 1)].clone())))
    }
}

// case 15: rebinding
#[tokio::test]
async fn a_name_that_changes_its_answer_is_connected_to_where_it_was_checked() {
    let server = serve(None, ok);
    // A block of the global unicast range that nobody was given: public by its number, and never reached.
    let nowhere: SocketAddr = "[3000::1]:443".parse().unwrap();
    let mapped = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), server.address.port());
    for first in [vec![nowhere], vec![server.address, nowhere, mapped]] {
        let resolver = Arc::new(Changing(vec![first, vec![server.address]], AtomicUsize::new(0)));
        let outbound = Outbound::new(&OutboundConfig::default(), Arc::<Changing>::clone(&resolver)).unwrap();
        let mut request = Request::get(url("https://rebound.example/"));
        request.timeout = Some(Duration::from_millis(200));
        let outcome = outbound.exchange(request).await.err().unwrap();
        assert!(matches!(outcome, OutboundError::Failed { .. } | OutboundError::TimedOut { .. }), "{outcome}");
        assert_eq!(resolver.1.load(Ordering::SeqCst), 1, "what is checked is what is connected to");
        let outcome = outbound.get_json(&url("https://rebound.example/")).await;
        assert_eq!(outcome, Err(OutboundError::NotPublic { host: "rebound.example".to_owned() }));
    }
    assert_eq!(server.count(), 0);
}

// case 15
#[tokio::test]
async fn plain_http_is_not_spoken_even_to_a_private_host() {
    let server = serve(None, ok);
    let outcome = server.client(None).get_json(&url("http://keys.example/jwks.json")).await;
    assert!(matches!(outcome, Err(OutboundError::Refused { .. })), "{outcome:?}");
    assert_eq!(server.count(), 0);
}

// case 14
#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    static ELSEWHERE: OnceLock<String> = OnceLock::new();
    let elsewhere = serve(None, ok);
    ELSEWHERE.set(elsewhere.url("/else").to_string()).unwrap();
    let server = serve(None, |stream, head| {
        let status = &head["GET /".len()..][..3];
        let to = if head.contains("?same") { "/else" } else { ELSEWHERE.get().unwrap() };
        let head = format!("HTTP/1.1 {status} X\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        answer(stream, head.as_bytes());
    });
    for status in [300, 301, 302, 303, 307, 308] {
        for path in [format!("/{status}"), format!("/{status}?same")] {
            let response = lenient().exchange(Request::get(server.url(&path))).await.unwrap();
            assert_eq!(response.status, status);
            assert!(response.header("Location").unwrap().ends_with("/else"));
            let outcome = lenient().get_json(&server.url(&path)).await;
            assert_eq!(outcome, Err(OutboundError::Status { host: "127.0.0.1".to_owned(), status }));
        }
    }
    assert_eq!((server.count(), elsewhere.count()), (24, 0));
}

// case 14
#[tokio::test]
async fn a_body_is_cut_off_above_its_bound_and_whole_at_it() {
    let server = serve(None, |stream, _| {
        answer(stream, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for _ in 0..4 {
            answer(stream, b"5\r\nabcde\r\n");
        }
        answer(stream, b"0\r\n\r\n");
    });
    let mut request = Request::get(server.url("/"));
    request.max_bytes = Some(20);
    assert_eq!(lenient().exchange(request.clone()).await.unwrap().body, b"abcde".repeat(4));
    request.max_bytes = Some(19);
    let outcome = lenient().exchange(request).await.err();
    assert_eq!(outcome, Some(OutboundError::TooLarge { host: "127.0.0.1".to_owned() }));
}

// case 14
#[tokio::test]
async fn an_endless_body_is_cut_off_at_the_bound() {
    let server = serve(None, |stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b' '; 4096]).is_ok() {}
    });
    let outcome = lenient().get_json(&server.url("/")).await;
    assert_eq!(outcome, Err(OutboundError::TooLarge { host: "127.0.0.1".to_owned() }));
}

// case 14
#[tokio::test]
async fn a_dripping_body_does_not_outlast_the_time_of_the_exchange() {
    let server = serve(None, |stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        while stream.write_all(b" ").is_ok() {
            thread::park_timeout(Duration::from_millis(10));
        }
    });
    let mut request = Request::get(server.url("/"));
    request.timeout = Some(Duration::from_millis(150));
    let outcome = lenient().exchange(request).await.err();
    assert_eq!(outcome, Some(OutboundError::TimedOut { host: "127.0.0.1".to_owned() }));
}

// case 14
#[tokio::test]
async fn a_compressed_body_is_neither_asked_for_nor_unpacked() {
    let server = serve(None, |stream, head| {
        assert!(!head.to_ascii_lowercase().contains("accept-encoding"), "{head}");
        answer(stream, b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\nconnection: close\r\n\r\n");
        answer(stream, b"\x1f\x8b\x08");
    });
    assert_eq!(lenient().get_json(&server.url("/")).await, Ok(vec![0x1f, 0x8b, 8]));
}

#[tokio::test]
async fn a_request_goes_out_as_it_was_made_and_all_headers_come_back() {
    let server = serve(None, |stream, head| {
        let text = format!(
            "HTTP/1.1 401 X\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{head}",
            head.len()
        );
        answer(stream, text.as_bytes());
    });
    let request = Request::post(server.url("/p?q=1"), "application/json", "{}")
        .header("Host", "auth.brand.example")
        .header("Authorization", "one")
        .header("Authorization", "two");
    let response = lenient().exchange(request).await.unwrap();
    assert_eq!(response.status, 401);
    assert_eq!(response.headers_named("Set-Cookie"), ["a=1", "b=2"]);
    let head = String::from_utf8(response.body).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("post /p?q=1 http/1.1\r\n"), "{head}");
    for line in ["host: auth.brand.example", "authorization: one", "authorization: two", "content-length: 2"] {
        assert_eq!(head.matches(&format!("\r\n{line}\r\n")).count(), 1, "{line} in {head}");
    }
}

#[tokio::test]
async fn a_header_that_would_split_the_request_is_not_sent() {
    let server = serve(None, ok);
    let request = Request::get(server.url("/")).header("x", "a\r\nb: c");
    assert!(matches!(lenient().exchange(request).await.err(), Some(OutboundError::Refused { .. })));
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn an_error_names_the_host_and_nothing_of_the_path_or_query() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = lenient().get_json(&url(&format!("http://{closed}/canary?canary=1#canary"))).await.unwrap_err();
    assert_eq!(error.to_string(), "127.0.0.1: could not connect");
    assert!(!format!("{error:?}").contains("canary"));
}

#[test]
fn json_is_told_by_its_media_type_whatever_its_parameters() {
    let typed = |types: &[&str]| {
        let headers = types.iter().map(|&value| ("content-type".to_owned(), value.to_owned())).collect();
        Response { status: 200, headers, body: Vec::new() }.is_json()
    };
    assert!(typed(&["application/json"]) && typed(&["Application/JSON ; charset=utf-8"]));
    assert!(!typed(&[]) && !typed(&["text/html"]) && !typed(&["application/json+x"]));
    assert!(!typed(&["application/json", "text/html"]));
}

#[tokio::test]
async fn a_dedicated_client_keeps_the_rules() {
    let server = serve(None, ok);
    let outcome = server.client(None).dedicated().unwrap().get_json(&url("https://rebound.example/")).await;
    assert_eq!(outcome, Err(OutboundError::NotPublic { host: "rebound.example".to_owned() }));
    assert_eq!(lenient().dedicated().unwrap().get_json(&server.url("/")).await, Ok(b"{}".to_vec()));
    assert_eq!(server.count(), 1);
}
