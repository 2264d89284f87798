//! `assent token`: a key and JWTs of a personal agent (PACT §3.2), so that requests can be tried from a shell.
//!
//! A private key goes into a new file that only its owner can read, never to standard output and never over a file that
//! is there.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::Failure;
use super::input;
use crate::clock::Clock;
use crate::crypto::pa_jwt;
use crate::crypto::signer::{Signer, generate_key};
use crate::domain::brand::SigningAlg;
use crate::domain::id::{InvalidId, Issuer, KeyId, PaSub};
use crate::entropy::Entropy;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make an ES256 key pair: the private JWK into FILE, the JWKS that publishes it to standard output.
    Key {
        /// A file that is not there yet.
        file: PathBuf,
        /// The key's name in the JWKS; a random one by default.
        #[arg(long, value_parser = key_id)]
        kid: Option<KeyId>,
    },
    /// Sign a personal-agent JWT.
    Sign(Sign),
}

#[derive(Debug, clap::Args)]
pub(super) struct Sign {
    /// The private JWK.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The personal agent's issuer.
    #[arg(long, value_parser = issuer)]
    iss: Issuer,
    /// Who the personal agent calls for: stable and opaque.
    #[arg(long, value_parser = sub)]
    sub: PaSub,
    /// The audience that the Provider assigned.
    #[arg(long)]
    aud: String,
    /// For how many seconds it is accepted.
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=300))]
    lifetime: u64,
}

fn key_id(text: &str) -> Result<KeyId, InvalidId> {
    KeyId::parse(text)
}

fn issuer(text: &str) -> Result<Issuer, InvalidId> {
    Issuer::parse(text)
}

fn sub(text: &str) -> Result<PaSub, InvalidId> {
    PaSub::parse(text)
}

pub(super) fn run(command: Command, out: &mut impl Write) -> Result<(), Failure> {
    match command {
        Command::Key { file, kid } => key(&file, kid, out),
        Command::Sign(arguments) => sign(&arguments, out),
    }
}

fn key(file: &Path, kid: Option<KeyId>, out: &mut impl Write) -> Result<(), Failure> {
    let kid = kid.unwrap_or_else(|| KeyId::from_ulid(Entropy::operating_system().ulid(Clock::system().now())));
    let pair = generate_key(SigningAlg::Es256, kid.as_str())?;
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let written = created.and_then(|mut created| writeln!(created, "{}", pair.private_jwk.expose()));
    written.map_err(Failure::file(file))?;
    writeln!(out, "{{\"keys\":[{}]}}", pair.public_jwk)?;
    Ok(())
}

fn sign(arguments: &Sign, out: &mut impl Write) -> Result<(), Failure> {
    let Sign { key, iss, sub, aud, lifetime } = arguments;
    let signer = Signer::from_private_jwk(input::read(key)?.trim())
        .map_err(|error| Failure::Said(format!("{}: {error}", key.display())))?;
    let lifetime = Duration::from_secs(*lifetime);
    let now = Clock::system().now();
    writeln!(out, "{}", pa_jwt::sign(&signer, iss.as_str(), sub.as_str(), aud, now, lifetime)?)?;
    Ok(())
}
