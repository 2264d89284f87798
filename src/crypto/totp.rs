//! Time-based one-time passwords (RFC 6238): SHA-1, six digits, thirty seconds, which is what every authenticator app does.
//!
//! A code is accepted one step early or late, for clocks that are off, and never for a step that is not later than the
//! last one that was: each works once.

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use subtle::ConstantTimeEq as _;

use super::CryptoFailure;
use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::secret::Secret;

/// Seconds of one step (RFC 6238 §4.1: X).
const STEP: i64 = 30;

/// Digits of a code.
const DIGITS: usize = 6;

/// A secret of the length of its hash (RFC 4226 §4, R6): 20 random bytes.
pub fn secret(entropy: &Entropy) -> Secret<Vec<u8>> {
    Secret::new(entropy.bytes::<20>().to_vec())
}

/// The step whose code `typed` is, near `now` and later than `last`; spaces do not matter.
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn accepted_step(
    secret: &Secret<Vec<u8>>,
    typed: &str,
    now: Timestamp,
    last: Option<i64>,
) -> Result<Option<i64>, CryptoFailure> {
    let typed: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
    let present = now.seconds().div_euclid(STEP);
    let mut accepted = None;
    for step in [present - 1, present, present + 1] {
        let is_code = bool::from(code(secret, step)?.as_bytes().ct_eq(typed.as_bytes()));
        if is_code && last.is_none_or(|last| step > last) {
            accepted = Some(step);
        }
    }
    Ok(accepted)
}

/// The code of `step` (RFC 4226 §5.3).
fn code(secret: &Secret<Vec<u8>>, step: i64) -> Result<String, CryptoFailure> {
    let mac = || -> Result<[u8; 20], openssl::error::ErrorStack> {
        let key = PKey::hmac(secret.expose())?;
        let mut signer = Signer::new(MessageDigest::sha1(), &key)?;
        signer.update(&step.to_be_bytes())?;
        let mut mac = [0; 20];
        signer.sign(&mut mac)?;
        Ok(mac)
    };
    let mac = mac().map_err(|_| CryptoFailure::at("compute a one-time password"))?;
    let from = usize::from(mac.last().copied().unwrap_or_default() & 0x0f);
    let four = mac.iter().skip(from).take(4).fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    Ok(format!("{:0DIGITS$}", (four & 0x7fff_ffff) % 1_000_000))
}

/// The code of this instant, as an authenticator app shows it.
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn code_at(secret: &Secret<Vec<u8>>, now: Timestamp) -> Result<String, CryptoFailure> {
    code(secret, now.seconds().div_euclid(STEP))
}

/// The secret as people type it into an app: base32 without padding (RFC 4648 §6).
pub fn base32(secret: &Secret<Vec<u8>>) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::new();
    let (mut bits, mut count) = (0_u32, 0);
    let mut write = |place: u32| {
        let letter = usize::try_from(place & 31).ok().and_then(|place| ALPHABET.get(place));
        text.extend(letter.map(|letter| char::from(*letter)));
    };
    for byte in secret.expose() {
        bits = ((bits & 0xff) << 8) | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            write(bits >> count);
        }
    }
    if count > 0 {
        write(bits << (5 - count));
    }
    text
}

/// What an app reads from a picture: `otpauth://totp/…`.
pub fn uri(secret: &Secret<Vec<u8>>, provider: &str, name: &str) -> String {
    // Apps do not read `+` as a space.
    let encode =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let (provider, name) = (encode(provider), encode(name));
    let secret = base32(secret);
    format!(
        "otpauth://totp/{provider}:{name}?secret={secret}&issuer={provider}&algorithm=SHA1&digits={DIGITS}&period={STEP}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc() -> Secret<Vec<u8>> {
        Secret::new(b"12345678901234567890".to_vec())
    }

    #[test]
    fn the_codes_are_those_of_rfc_6238() {
        // Appendix B, its last six digits.
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code_at(&rfc(), Timestamp::from_seconds(seconds)).unwrap(), expected, "{seconds}");
        }
    }

    #[test]
    fn a_code_is_good_one_step_early_or_late_and_for_later_steps_than_the_last() {
        let at = |step: i64| Timestamp::from_seconds(step * STEP + 15);
        let typed = code_at(&rfc(), at(1000)).unwrap();
        let accepted = |step, last| accepted_step(&rfc(), &typed, at(step), last).unwrap();
        for step in 999..=1001 {
            assert_eq!(accepted(step, None), Some(1000), "{step}");
            assert_eq!(accepted(step, Some(999)), Some(1000), "{step}");
            assert_eq!(accepted(step, Some(1000)), None, "{step}");
            assert_eq!(accepted(step, Some(1001)), None, "{step}");
        }
        assert_eq!((accepted(998, None), accepted(1002, None)), (None, None));
    }

    #[test]
    fn a_code_is_six_digits_and_nothing_else() {
        let now = Timestamp::from_seconds(1_234_567_890);
        let accepted = |typed: &str| accepted_step(&rfc(), typed, now, None).unwrap().is_some();
        assert!(accepted("005924") && accepted(" 005 924 "));
        for wrong in ["5924", "", "0005924", "005925", "００５９２４", "005924x"] {
            assert!(!accepted(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_written_for_people_and_for_apps() {
        assert_eq!(base32(&rfc()), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        // RFC 4648 §10.
        for (text, expected) in [("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foobar", "MZXW6YTBOI")] {
            assert_eq!(base32(&Secret::new(text.as_bytes().to_vec())), expected);
        }
        assert_eq!(
            uri(&rfc(), "Example Provider & Co", "anna@example.com"),
            "otpauth://totp/Example%20Provider%20%26%20Co:anna%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
             &issuer=Example%20Provider%20%26%20Co&algorithm=SHA1&digits=6&period=30"
        );
        assert_eq!(secret(&Entropy::seeded(1)).expose().len(), 20);
    }
}
