//! `assent receipt verify`: a receipt (PACT §5.6) held against a Brand's JWKS, offline.
//!
//! Refuses what [`crate::crypto::receipt`] refuses, and a reply whose `claims` are not the ones that were signed.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failure::Failure;
use super::input;
use crate::crypto::jwks::KeySet;
use crate::crypto::receipt;
use crate::protocol::json;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Verify a receipt and print its claims.
    Verify(Verify),
}

#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// The Brand's JWKS, as its `jwks_uri` serves it.
    #[arg(long, value_name = "FILE")]
    jwks: PathBuf,
    /// The interface URL of the Brand that must have signed it; any Brand of the JWKS by default.
    #[arg(long, value_name = "URL")]
    brand: Option<String>,
    /// A compact JWS, a file that holds one or a whole reply to `message:send`, or `-` for standard input.
    receipt: String,
}

/// Where a reply holds its receipt, as RFC 6901 pointers.
const PLACES: [&str; 2] = ["/message/metadata/pact.receipt", "/task/metadata/pact.receipt"];

pub(super) fn run(Command::Verify(arguments): Command, out: &mut impl Write) -> Result<(), Failure> {
    let keys = input::read(&arguments.jwks)?;
    let keys = KeySet::parse_own(keys.as_bytes())
        .map_err(|error| Failure::Said(format!("{}: {error}", arguments.jwks.display())))?;
    let (jws, beside) = taken_apart(text(&arguments.receipt)?.trim())?;
    let claims = receipt::verify(&jws, &keys, arguments.brand.as_deref()).map_err(|refused| {
        let place = arguments.brand.as_deref().map(|brand| format!(" of {brand}")).unwrap_or_default();
        Failure::Said(format!("not a valid receipt{place}: {refused}"))
    })?;
    let signed = json::parse(serde_json::to_string(&claims).map_err(crate::flow::Fault::from)?.as_bytes());
    let signed = signed.map_err(|error| Failure::Said(format!("not a valid receipt: {error}")))?;
    if beside.is_some_and(|beside| beside != signed) {
        return Err(Failure::Said(
            "not a valid receipt: the claims beside the jws are not the ones that were signed".to_owned(),
        ));
    }
    writeln!(out, "{signed}")?;
    Ok(())
}

fn text(argument: &str) -> Result<Cow<'_, str>, Failure> {
    let path = Path::new(argument);
    if argument == "-" || path.is_file() {
        return Ok(Cow::Owned(input::read(path)?));
    }
    // No file name that anyone types by mistake has the form of a compact JWS.
    if argument.matches('.').count() == 2 && !argument.contains('/') {
        return Ok(Cow::Borrowed(argument));
    }
    Err(Failure::Said(format!("{argument}: neither a file nor a compact JWS")))
}

/// The compact JWS, and the claims beside it where there are any.
fn taken_apart(text: &str) -> Result<(String, Option<Value>), Failure> {
    if !text.starts_with('{') {
        return Ok((text.to_owned(), None));
    }
    let reply =
        json::parse(text.as_bytes()).map_err(|error| Failure::Said(format!("the reply is not JSON: {error}")))?;
    let receipt = PLACES.iter().find_map(|place| reply.pointer(place));
    let receipt =
        receipt.ok_or_else(|| Failure::Said("the reply has no receipt: no pact.receipt in its metadata".to_owned()))?;
    match (receipt.get("jws").and_then(Value::as_str), receipt.get("claims")) {
        (Some(jws), Some(claims)) => Ok((jws.to_owned(), Some(claims.clone()))),
        _ => Err(Failure::Said("the reply's receipt lacks jws or claims".to_owned())),
    }
}
