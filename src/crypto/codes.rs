//! Codes and tokens that mean something only to the database (RFC 8628 §3.2 and §6.1, RFC 6749 §1.5), and what is stored
//! in their place: SHA-256 of the long ones, a keyed MAC of the short one, which could else be found by trying all.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;
use subtle::ConstantTimeEq as _;

use super::CryptoFailure;
use super::seal::MasterKey;
use crate::domain::id::{BrandId, Digest};
use crate::domain::user_code::{ALPHABET, UserCode};
use crate::entropy::Entropy;
use crate::secret::Secret;

fn token(prefix: &str, entropy: &Entropy) -> Secret<String> {
    let mut token = String::with_capacity(prefix.len() + 43);
    token.push_str(prefix);
    BASE64_URL_SAFE_NO_PAD.encode_string(entropy.bytes::<32>(), &mut token);
    Secret::new(token)
}

/// A device code: `dc_` and 32 random bytes in base64url.
pub fn device_code(entropy: &Entropy) -> Secret<String> {
    token("dc_", entropy)
}

/// A refresh token: `rt_` and 32 random bytes in base64url.
pub fn refresh_token(entropy: &Entropy) -> Secret<String> {
    token("rt_", entropy)
}

/// How a resource-server key begins, so that one that leaks can be found by its looks.
const RESOURCE_SERVER_KEY: &str = "assent_rsk_";

/// A resource-server key: `assent_rsk_` and 32 random bytes in base64url.
pub fn resource_server_key(entropy: &Entropy) -> Secret<String> {
    token(RESOURCE_SERVER_KEY, entropy)
}

/// Whether `token` is meant as a resource-server key, good or not. No JWT begins like one.
pub fn is_like_a_resource_server_key(token: &str) -> bool {
    token.starts_with(RESOURCE_SERVER_KEY)
}

/// A session's cookie or form value: 32 random bytes in base64url.
pub fn session_token(entropy: &Entropy) -> Secret<String> {
    token("", entropy)
}

/// An API key: `assent_key_` and 32 random bytes in base64url, so that whoever finds one knows what it is.
pub fn api_key(entropy: &Entropy) -> Secret<String> {
    token("assent_key_", entropy)
}

/// What stands in the forms of a session, and only there: whoever reads it off a page has not the session.
pub fn form_token(session: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(sha256(format!("assent form {session}").as_bytes()))
}

/// Whether `given` is the [`form_token`] of `session`, in constant time.
pub fn is_form_token(given: &str, session: &str) -> bool {
    form_token(session).as_bytes().ct_eq(given.as_bytes()).into()
}

/// A user code, every one as likely as any other.
pub fn user_code(entropy: &Entropy) -> UserCode {
    // Bytes from the last, incomplete run through the alphabet are thrown away: they would favour its first letters.
    let letters = u8::try_from(ALPHABET.len()).unwrap_or(u8::MAX);
    let fair = u8::MAX - u8::MAX % letters;
    let mut places = [0; 8];
    for place in &mut places {
        *place = loop {
            let [byte] = entropy.bytes();
            if byte < fair {
                break byte % letters;
            }
        };
    }
    UserCode::from_places(places)
}

/// SHA-256 of a code or token that has enough chance in it to need no key.
pub fn digest(token: &str) -> Digest {
    Digest::new(sha256(token.as_bytes()))
}

/// What is stored of a user code: its HMAC-SHA-256 (RFC 2104) with the Brand's id, under a key of its own.
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn user_code_mac(master: &MasterKey, brand: &BrandId, code: &UserCode) -> Result<Digest, CryptoFailure> {
    let mac = || -> Result<[u8; 32], openssl::error::ErrorStack> {
        let key = PKey::hmac(master.user_code_key().expose())?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
        // A Brand id has a fixed length, so the two cannot run into each other.
        signer.update(brand.as_str().as_bytes())?;
        signer.update(code.letters())?;
        let mut mac = [0; 32];
        signer.sign(&mut mac)?;
        Ok(mac)
    };
    mac().map(Digest::new).map_err(|_| CryptoFailure::at("authenticate a user code"))
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn tokens_have_their_prefix_and_32_random_bytes_in_base64url() {
        let entropy = Entropy::seeded(1);
        for (token, prefix) in [
            (device_code(&entropy), "dc_"),
            (refresh_token(&entropy), "rt_"),
            (session_token(&entropy), ""),
            (api_key(&entropy), "assent_key_"),
            (resource_server_key(&entropy), "assent_rsk_"),
        ] {
            let random = token.expose().strip_prefix(prefix).unwrap();
            assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(random).unwrap().len(), 32);
        }
        let many: HashSet<String> = (0..1000).map(|_| device_code(&entropy).expose().clone()).collect();
        assert_eq!(many.len(), 1000);
    }

    #[test]
    fn every_letter_of_a_user_code_is_as_likely_as_any_other() {
        let entropy = Entropy::seeded(7);
        let mut counts: HashMap<u8, u32> = HashMap::new();
        for _ in 0..10_000 {
            for letter in user_code(&entropy).letters() {
                *counts.entry(*letter).or_default() += 1;
            }
        }
        // 80 000 letters, 4 000 of each; the standard deviation is 62.
        assert_eq!(counts.len(), ALPHABET.len());
        for (letter, count) in counts {
            assert!((3650..=4350).contains(&count), "{} came {count} times", char::from(letter));
        }
    }

    #[test]
    fn a_form_token_is_its_sessions_alone_and_does_not_tell_it() {
        let token = form_token("session-1");
        assert!(is_form_token(&token, "session-1") && !token.contains("session-1"));
        for (given, session) in [(token.as_str(), "session-2"), ("", "session-1"), ("session-1", "session-1")] {
            assert!(!is_form_token(given, session), "{given} {session}");
        }
    }

    #[test]
    fn a_digest_is_sha_256() {
        let digest = digest("abc");
        assert_eq!(digest.to_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_user_code_mac_depends_on_the_code_the_brand_and_the_master_key() {
        let master = |byte: u8| MasterKey::parse(&base64::prelude::BASE64_STANDARD.encode([byte; 32])).unwrap();
        let brand = |last: char| BrandId::parse(format!("01M3R53Q5SZQ6FQSMSDBSSREA{last}")).unwrap();
        let code = |text: &str| UserCode::parse(text).unwrap();
        let mac = |m: u8, b: char, c: &str| user_code_mac(&master(m), &brand(b), &code(c)).unwrap().to_hex();
        let all =
            [mac(1, 'A', "WDJB-MJHT"), mac(2, 'A', "WDJB-MJHT"), mac(1, 'B', "WDJB-MJHT"), mac(1, 'A', "WDJB-MJHV")];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert_eq!(mac(1, 'A', "wdjb mjht"), all[0]);
        assert_ne!(all[0], digest("WDJBMJHT").to_hex());
    }
}
