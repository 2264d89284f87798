//! A certificate authority of the tests, and a resolver that says of each name what a test wants.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;

use assent::outbound::Resolver;
use futures_util::future::BoxFuture;
use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

pub(crate) const IN_2020: i64 = 1_600_000_000;
pub(crate) const IN_2021: i64 = 1_610_000_000;
pub(crate) const IN_2098: i64 = 4_050_000_000;
pub(crate) const IN_2099: i64 = 4_070_908_800;

/// One who signs certificates.
pub(crate) struct Authority {
    certificate: X509,
    key: PKey<Private>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let (certificate, key) = certificate(name, (IN_2020, IN_2099), None);
        Self { certificate, key }
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        self.certificate.to_pem().unwrap()
    }

    /// TLS of a server whose certificate names `host` and is good from `begins` until `ends`.
    pub(crate) fn server(&self, host: &str, (begins, ends): (i64, i64)) -> SslAcceptor {
        acceptor(&certificate(host, (begins, ends), Some(self)))
    }
}

/// TLS of a server that vouches for itself.
pub(crate) fn self_signed(host: &str) -> SslAcceptor {
    acceptor(&certificate(host, (IN_2020, IN_2099), None))
}

fn acceptor((certificate, key): &(X509, PKey<Private>)) -> SslAcceptor {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_private_key(key).unwrap();
    acceptor.set_certificate(certificate).unwrap();
    acceptor.build()
}

fn certificate(host: &str, (begins, ends): (i64, i64), issuer: Option<&Authority>) -> (X509, PKey<Private>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", host).unwrap();
    let name = name.build();
    let mut serial = BigNum::new().unwrap();
    serial.rand(64, MsbOption::ONE, false).unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(issuer.map_or(&name, |issuer| issuer.certificate.subject_name())).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(begins).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(ends).unwrap()).unwrap();
    if issuer.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    }
    let names = SubjectAlternativeName::new().dns(host).build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

/// What each name resolves to, answer by answer: the last one is repeated.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<SocketAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// From now on `host` resolves to these.
    pub(crate) fn set(&self, host: &str, answers: &[&[SocketAddr]]) {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        self.answers.lock().unwrap().insert(host.to_owned(), answers);
    }

    /// The names that were resolved, one by one.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(host).map(|left| if left.len() > 1 { left.remove(0) } else { left[0].clone() });
        Box::pin(std::future::ready(answer.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
}
