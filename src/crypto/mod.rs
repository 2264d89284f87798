//! Signing, verifying, sealing and hashing: the only user of josekit, argon2 and OpenSSL. No I/O happens here.
//!
//! josekit does the mathematics; every rule about what a token may look like is written out in these modules, with `now`
//! as an argument. Each kind of token has one module with its signer and its verifier, and each verifier refuses every
//! other kind. Key generation and ECDSA draw their random numbers from OpenSSL; everything else draws from
//! [`crate::entropy`].

pub mod args_hash;
pub mod assertion;
mod claims;
pub mod codes;
pub mod delegation_token;
pub mod evidence;
pub mod jwks;
pub mod jws;
pub mod pa_jwt;
pub mod password;
pub mod receipt;
pub mod ring;
pub mod seal;
pub mod security_event;
pub mod signer;
pub mod totp;
pub mod turn_token;

#[cfg(test)]
mod kinds;

/// The cryptographic library could not do a step that does not depend on anybody's input. Names the step and no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cryptographic library failed to {step}")]
pub struct CryptoFailure {
    step: &'static str,
}

impl CryptoFailure {
    const fn at(step: &'static str) -> Self {
        Self { step }
    }
}
