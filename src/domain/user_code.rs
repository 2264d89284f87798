//! The user code of RFC 8628 §6.1: eight letters that are read aloud, typed on a phone and pasted from anywhere.

use std::fmt;

/// The letters of a user code: no vowels, so no words; no look-alikes.
pub const ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Characters of what is read as a code, separators included.
const LONGEST: usize = 64;

/// Eight letters of [`ALPHABET`]. Shown as `XXXX-XXXX`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UserCode([u8; 8]);

impl UserCode {
    /// The code whose letters stand at these places of the alphabet; places are taken modulo its length.
    pub fn from_places(places: [u8; 8]) -> Self {
        Self(places.map(|place| ALPHABET.get(usize::from(place) % ALPHABET.len()).copied().unwrap_or(b'B')))
    }

    /// Reads what a person or a Brand's login sends. Case, white space, dashes of any kind and full-width forms do not
    /// matter; anything else does.
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().nth(LONGEST).is_some() {
            return None;
        }
        let mut letters = text.chars().filter(|c| !is_separator(*c)).map(|c| {
            let narrow = match u32::from(c) {
                wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0).unwrap_or(c),
                _ => c,
            };
            u8::try_from(narrow.to_ascii_uppercase()).ok().filter(|letter| ALPHABET.contains(letter))
        });
        let mut code = [0; 8];
        for place in &mut code {
            *place = letters.next()??;
        }
        letters.next().is_none().then_some(Self(code))
    }

    /// The eight letters without the dash: the form that is hashed.
    pub const fn letters(&self) -> &[u8; 8] {
        &self.0
    }
}

/// White space, format characters, and every character that looks like a dash (Unicode's Pd, and the minus signs).
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(c,
            '-' | '\u{ad}' | '\u{58a}' | '\u{5be}' | '\u{1400}' | '\u{1806}' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2015}'
            | '\u{2043}' | '\u{2060}' | '\u{2212}' | '\u{2e17}' | '\u{2e1a}' | '\u{2e3a}' | '\u{2e3b}' | '\u{2e40}'
            | '\u{2e5d}' | '\u{301c}' | '\u{3030}' | '\u{30a0}' | '\u{fe31}' | '\u{fe32}' | '\u{fe58}' | '\u{fe63}'
            | '\u{feff}' | '\u{ff0d}' | '\u{10ead}')
}

impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, letter) in self.0.iter().enumerate() {
            if place == 4 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(*letter))?;
        }
        Ok(())
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // case 36
    #[test]
    fn case_space_dash_and_width_do_not_matter() {
        let code = UserCode::parse("WDJB-MJHT").unwrap();
        for form in [
            "wdjb-mjht",
            "WDJBMJHT",
            "wdjb mjht",
            "WDJB–MJHT",
            "WDJB—MJHT",
            "WDJB−MJHT",
            "WDJB\u{2011}MJHT",
            " WDJB - MJHT ",
            "ＷＤＪＢ－ＭＪＨＴ",
            "ｗｄｊｂｍｊｈｔ",
            "W D J B\u{a0}M J H T",
            "WDJB\u{200b}MJHT",
        ] {
            assert_eq!(UserCode::parse(form), Some(code.clone()), "{form}");
        }
        assert_eq!(code.to_string(), "WDJB-MJHT");
    }

    // case 36
    #[test]
    fn what_is_not_eight_letters_of_the_alphabet_is_no_code() {
        for wrong in ["", "WDJB-MJH", "WDJB-MJHTT", "WDJA-MJHT", "WDJ8-MJHT", "WDJB_MJHT", "WDJB-MJHT;", "ЅDJB-MJHT"] {
            assert!(UserCode::parse(wrong).is_none(), "{wrong}");
        }
        assert!(UserCode::parse(&"-".repeat(1_000_000)).is_none());
        assert!(UserCode::parse(&format!("WDJBMJHT{}", "-".repeat(56))).is_some());
        assert!(UserCode::parse(&format!("WDJBMJHT{}", "-".repeat(57))).is_none());
        assert!(UserCode::parse(&format!("WDJBMJHT{}X", "-".repeat(56))).is_none());
    }
}
