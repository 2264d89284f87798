//! Seals of the audit log: HMAC-SHA-256 (RFC 2104) under a key of its own, which the database does not hold.
//!
//! A row's seal and a head's are made under different labels: a row that was once the newest gives nobody the seal with
//! which the chain could be cut off behind it.

use openssl::hash::MessageDigest;
use openssl::memcmp;
use openssl::pkey::PKey;
use openssl::sign::Signer;

use super::super::id::Digest;
use super::recorded::lengthened;
use crate::secret::Secret;

/// The key that seals audit rows.
#[derive(Clone, Debug)]
pub struct AuditKey(Secret<[u8; 32]>);

/// OpenSSL could not compute a seal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the cryptographic library failed to seal an audit row")]
pub struct SealFailed;

/// What a seal is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sealed {
    /// One row.
    Row,
    /// The head of a chain: how long it is, and its latest digest.
    Head,
}

impl Sealed {
    const fn label(self) -> &'static str {
        match self {
            Self::Row => "audit row",
            Self::Head => "audit head",
        }
    }
}

impl AuditKey {
    /// Wraps a key that is used for nothing else.
    pub const fn new(key: Secret<[u8; 32]>) -> Self {
        Self(key)
    }

    /// The seal of what stands at place `sequence` of a chain with this digest, in hexadecimal. The chain is a Brand's, or
    /// the Provider's own where `brand` is empty.
    ///
    /// # Errors
    /// [`SealFailed`].
    pub fn seal(&self, what: Sealed, brand: &str, sequence: i64, digest: &str) -> Result<String, SealFailed> {
        let mac = || -> Result<[u8; 32], openssl::error::ErrorStack> {
            let key = PKey::hmac(self.0.expose())?;
            let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
            for field in [what.label(), brand, &sequence.to_string(), digest] {
                signer.update(lengthened(field).as_bytes())?;
            }
            let mut mac = [0; 32];
            signer.sign(&mut mac)?;
            Ok(mac)
        };
        mac().map(|mac| Digest::new(mac).to_hex()).map_err(|_| SealFailed)
    }

    /// Whether `seal` is the one that [`AuditKey::seal`] makes, compared in constant time.
    ///
    /// # Errors
    /// [`SealFailed`].
    pub fn is_seal(
        &self,
        seal: &str,
        what: Sealed,
        brand: &str,
        sequence: i64,
        digest: &str,
    ) -> Result<bool, SealFailed> {
        let expected = self.seal(what, brand, sequence, digest)?;
        Ok(expected.len() == seal.len() && memcmp::eq(expected.as_bytes(), seal.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_depends_on_the_key_the_purpose_and_every_field() {
        let key = |byte| AuditKey::new(Secret::new([byte; 32]));
        let seal = key(1).seal(Sealed::Row, "brand", 7, "digest").unwrap();
        let is =
            |key: AuditKey, what, brand, sequence, digest| key.is_seal(&seal, what, brand, sequence, digest).unwrap();
        assert!(is(key(1), Sealed::Row, "brand", 7, "digest"));
        assert!(!is(key(2), Sealed::Row, "brand", 7, "digest"));
        assert!(!is(key(1), Sealed::Head, "brand", 7, "digest"));
        assert!(!is(key(1), Sealed::Row, "", 7, "digest"));
        assert!(!is(key(1), Sealed::Row, "brand", 77, "digest"));
        assert!(!is(key(1), Sealed::Row, "brand", 7, "digest2"));
        assert!(!key(1).is_seal("", Sealed::Row, "brand", 7, "digest").unwrap());
    }
}
