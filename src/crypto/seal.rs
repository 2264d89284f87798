//! Sealing: what must be stored but not be readable in a dump, as a compact JWE (RFC 7516 §7.1, `dir`, A256GCM).
//!
//! A seal is bound to the row it stands in. Refuses to open one that was moved to another row, made under another master
//! key, or altered, and says which. A truncated tag and `zip` cannot occur: the header must be, byte for byte, the one
//! that would be written now, and IV and tag have their full length.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use josekit::jwe::JweContentEncryption as _;
use josekit::jwe::enc::A256GCM;
use openssl::md::Md;
use openssl::pkey::Id;
use openssl::pkey_ctx::PkeyCtx;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::CryptoFailure;
use crate::domain::audit::seal::AuditKey;
use crate::entropy::Entropy;
use crate::protocol::json;
use crate::secret::Secret;

/// 12 bytes (RFC 7518 §5.3) in base64url.
const IV_CHARACTERS: usize = 16;

/// 16 bytes (RFC 7518 §5.3) in base64url.
const TAG_CHARACTERS: usize = 22;

/// What one installation's stored secrets are readable under. Holds only keys derived from the 32 bytes that were given
/// (HKDF-SHA-256, RFC 5869), one per purpose, so that no key has two.
#[derive(Clone)]
pub struct MasterKey {
    sealing: Secret<[u8; 32]>,
    user_code: Secret<[u8; 32]>,
    audit: AuditKey,
    fingerprint: String,
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MasterKey({})", self.fingerprint)
    }
}

/// Why a text is no master key. Tells nothing of it but its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMasterKey {
    /// Not base64.
    #[error("the master key is not base64; make one with `head -c 32 /dev/urandom | base64`")]
    Encoding,
    /// Not 32 bytes.
    #[error("the master key has {0} bytes, expected 32; make one with `head -c 32 /dev/urandom | base64`")]
    Length(usize),
    /// The keys could not be derived.
    #[error(transparent)]
    Library(#[from] CryptoFailure),
}

/// Why a sealed value was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Made under another master key.
    #[error(
        "it was sealed under the master key {sealed_with}, but this is {present}; \
         start with the master key that this database was made with"
    )]
    WrongMasterKey {
        /// The fingerprint of the key it was sealed with.
        sealed_with: String,
        /// The fingerprint of the key that tried.
        present: String,
    },
    /// Made for another row.
    #[error("it was sealed for another row; restore the row from a backup")]
    Moved,
    /// Not a value that was sealed here, or changed since.
    #[error("it is not what was sealed; restore the row from a backup")]
    Altered,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    enc: String,
    /// The master key's fingerprint.
    kid: String,
    /// The row.
    ctx: String,
}

impl MasterKey {
    /// Reads 32 bytes in base64, plain or url-safe, with or without padding and surrounding white space.
    ///
    /// # Errors
    /// [`InvalidMasterKey`].
    pub fn parse(text: &str) -> Result<Self, InvalidMasterKey> {
        let text = text.trim();
        let alphabet = if text.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let bytes = GeneralPurpose::new(alphabet, config).decode(text).map_err(|_| InvalidMasterKey::Encoding)?;
        let bytes = Zeroizing::new(bytes);
        if bytes.len() != 32 {
            return Err(InvalidMasterKey::Length(bytes.len()));
        }
        let derive = |purpose: &str| derived(&bytes, purpose);
        let [a, b, c, d, e, f, ..] = *derive("fingerprint")?.expose();
        let fingerprint = format!("{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}{f:02x}");
        let audit = AuditKey::new(derive("audit")?);
        Ok(Self { sealing: derive("sealing")?, user_code: derive("user code")?, audit, fingerprint })
    }

    /// Tells two master keys apart and tells nothing else of them.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The key for the MACs of user codes.
    pub(super) const fn user_code_key(&self) -> &Secret<[u8; 32]> {
        &self.user_code
    }

    /// The key that seals the audit log.
    pub const fn audit_key(&self) -> &AuditKey {
        &self.audit
    }

    fn header(&self, bound_to: &str) -> Result<String, CryptoFailure> {
        let header = Header {
            alg: "dir".to_owned(),
            enc: "A256GCM".to_owned(),
            kid: self.fingerprint.clone(),
            ctx: bound_to.to_owned(),
        };
        let header = serde_json::to_vec(&header).map_err(|_| CryptoFailure::at("write a header"))?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(header))
    }

    /// Seals `plaintext` for the row that `bound_to` names.
    ///
    /// # Errors
    /// [`CryptoFailure`] when OpenSSL fails.
    pub fn seal(&self, plaintext: &[u8], bound_to: &str, entropy: &Entropy) -> Result<String, CryptoFailure> {
        let header = self.header(bound_to)?;
        let iv: [u8; 12] = entropy.bytes();
        let sealed = A256GCM.encrypt(self.sealing.expose(), Some(&iv), plaintext, header.as_bytes());
        let Ok((ciphertext, Some(tag))) = sealed else {
            return Err(CryptoFailure::at("seal"));
        };
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Ok(format!("{header}..{}.{}.{}", encode(&iv), encode(&ciphertext), encode(&tag)))
    }

    /// Opens what was sealed for the row that `bound_to` names.
    ///
    /// # Errors
    /// [`SealError`] says what is wrong and what to do.
    pub fn open(&self, sealed: &str, bound_to: &str) -> Result<Secret<Vec<u8>>, SealError> {
        let mut segments = sealed.splitn(6, '.');
        let (Some(header), Some(""), Some(iv), Some(ciphertext), Some(tag), None) =
            (segments.next(), segments.next(), segments.next(), segments.next(), segments.next(), segments.next())
        else {
            return Err(SealError::Altered);
        };
        if self.header(bound_to).map_err(|_| SealError::Altered)? != header {
            return Err(self.why_header_differs(header, bound_to));
        }
        if iv.len() != IV_CHARACTERS || tag.len() != TAG_CHARACTERS {
            return Err(SealError::Altered);
        }
        let decode = |segment: &str| BASE64_URL_SAFE_NO_PAD.decode(segment).map_err(|_| SealError::Altered);
        let (iv, ciphertext, tag) = (decode(iv)?, decode(ciphertext)?, decode(tag)?);
        A256GCM
            .decrypt(self.sealing.expose(), Some(&iv), &ciphertext, header.as_bytes(), Some(&tag))
            .map(Secret::new)
            .map_err(|_| SealError::Altered)
    }

    /// For the message only: nothing in this header has been verified.
    fn why_header_differs(&self, header: &str, bound_to: &str) -> SealError {
        let header = BASE64_URL_SAFE_NO_PAD.decode(header).ok();
        match header.and_then(|header| json::parse_as::<Header>(&header).ok()) {
            Some(header) if header.kid != self.fingerprint && header.kid.chars().all(|c| c.is_ascii_hexdigit()) => {
                SealError::WrongMasterKey { sealed_with: header.kid, present: self.fingerprint.clone() }
            }
            Some(header) if header.ctx != bound_to => SealError::Moved,
            _ => SealError::Altered,
        }
    }
}

fn derived(master: &[u8], purpose: &str) -> Result<Secret<[u8; 32]>, CryptoFailure> {
    let mut key = [0; 32];
    let derive = || -> Result<usize, openssl::error::ErrorStack> {
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_md(Md::sha256())?;
        context.set_hkdf_key(master)?;
        context.set_hkdf_salt(b"assent master key")?;
        context.add_hkdf_info(purpose.as_bytes())?;
        context.derive(Some(&mut key))
    };
    match { derive }() {
        Ok(32) => Ok(Secret::new(key)),
        _ => Err(CryptoFailure::at("derive a key")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn master() -> MasterKey {
        MasterKey::parse(TEXT).unwrap()
    }

    #[test]
    fn a_sealed_value_opens_in_its_own_row_and_is_not_readable_outside() {
        let entropy = Entropy::seeded(1);
        let sealed = master().seal(b"canary", "row/1", &entropy).unwrap();
        assert_eq!(master().open(&sealed, "row/1").unwrap().expose(), b"canary");
        assert_ne!(sealed, master().seal(b"canary", "row/1", &entropy).unwrap());
        assert!(!sealed.contains(&BASE64_URL_SAFE_NO_PAD.encode("canary")));
        assert!(master().open(&master().seal(b"", "row/1", &entropy).unwrap(), "row/1").unwrap().expose().is_empty());
    }

    #[test]
    fn josekit_opens_what_is_sealed_here() {
        let sealed = master().seal(b"canary", "row/1", &Entropy::seeded(1)).unwrap();
        let decrypter = josekit::jwe::Dir.decrypter_from_bytes(master().sealing.expose()).unwrap();
        let (plaintext, header) = josekit::jwe::deserialize_compact(&sealed, &decrypter).unwrap();
        assert_eq!(plaintext, b"canary");
        assert_eq!(header.claim("ctx"), Some(&serde_json::Value::from("row/1")));
    }

    #[test]
    fn a_moved_value_and_a_wrong_master_key_are_told_apart() {
        let sealed = master().seal(b"canary", "row/1", &Entropy::seeded(1)).unwrap();
        assert_eq!(master().open(&sealed, "row/2").unwrap_err(), SealError::Moved);
        let other = MasterKey::parse(&TEXT.replace("AAEC", "BAEC")).unwrap();
        let wrong = other.open(&sealed, "row/1").unwrap_err();
        assert!(matches!(wrong, SealError::WrongMasterKey { .. }));
        assert!(wrong.to_string().contains(master().fingerprint()));
        assert!(wrong.to_string().contains("start with the master key"));
    }

    #[test]
    fn every_altered_bit_is_noticed() {
        let sealed = master().seal(b"canary", "row/1", &Entropy::seeded(1)).unwrap();
        for place in 0..sealed.len() {
            for bit in 0..7 {
                let mut bytes = sealed.clone().into_bytes();
                bytes[place] ^= 1 << bit;
                let altered = String::from_utf8(bytes).unwrap();
                assert!(master().open(&altered, "row/1").is_err(), "{altered}");
            }
        }
    }

    #[test]
    fn short_tags_and_compression_are_refused() {
        let sealed = master().seal(b"canary", "row/1", &Entropy::seeded(1)).unwrap();
        let shorter = |by: usize| sealed[..sealed.len() - by].to_owned();
        for cut in 1..=TAG_CHARACTERS {
            assert_eq!(master().open(&shorter(cut), "row/1").unwrap_err(), SealError::Altered);
        }
        let header =
            format!(r#"{{"alg":"dir","enc":"A256GCM","zip":"DEF","kid":"{}","ctx":"row/1"}}"#, master().fingerprint());
        let (_, rest) = sealed.split_once('.').unwrap();
        let zipped = format!("{}.{rest}", BASE64_URL_SAFE_NO_PAD.encode(header));
        assert_eq!(master().open(&zipped, "row/1").unwrap_err(), SealError::Altered);
        for wrong in ["", "....", "a.b.c.d.e.f"] {
            assert_eq!(master().open(wrong, "row/1").unwrap_err(), SealError::Altered);
        }
    }

    #[test]
    fn a_master_key_is_32_bytes_in_base64_of_either_alphabet() {
        let bytes = [0xfb; 32];
        let plain = base64::prelude::BASE64_STANDARD.encode(bytes);
        for form in [plain.clone(), format!("{plain}\n"), BASE64_URL_SAFE_NO_PAD.encode(bytes)] {
            assert_eq!(MasterKey::parse(&form).unwrap().fingerprint(), MasterKey::parse(&plain).unwrap().fingerprint());
        }
        assert_eq!(MasterKey::parse("").unwrap_err(), InvalidMasterKey::Length(0));
        assert_eq!(MasterKey::parse("AAAA").unwrap_err(), InvalidMasterKey::Length(3));
        assert_eq!(MasterKey::parse("change me!").unwrap_err(), InvalidMasterKey::Encoding);
    }

    #[test]
    fn keys_for_different_purposes_differ_and_none_is_the_master_key() {
        let master = master();
        let raw: [u8; 32] = std::array::from_fn(|place| u8::try_from(place).unwrap());
        assert_ne!(master.sealing.expose(), master.user_code.expose());
        assert_ne!(master.sealing.expose(), &raw);
        assert_eq!(format!("{master:?}"), format!("MasterKey({})", master.fingerprint()));
    }
}
