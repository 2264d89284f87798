//! A QR code as the path of an SVG: drawn here, so that no other program gets to know what it holds.

use qrcodegen::{QrCode, QrCodeEcc};

/// Light modules around it (ISO/IEC 18004 §6.3.8).
const QUIET: i32 = 4;

/// How wide and high it is, and the path of its dark modules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Qr {
    /// In modules, the quiet zone included.
    pub(super) side: i32,
    /// One square of a module's size for each that is dark.
    pub(super) path: String,
}

impl Qr {
    /// Draws `text`; `None` when it is too long for one code.
    pub(super) fn draw(text: &str) -> Option<Self> {
        use std::fmt::Write as _;
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
        let mut path = String::new();
        for y in 0..code.size() {
            for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
                let _ = write!(path, "M{} {}h1v1h-1z", x + QUIET, y + QUIET);
            }
        }
        Some(Self { side: code.size() + 2 * QUIET, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_three_corners_and_a_quiet_zone() {
        let qr = Qr::draw("otpauth://totp/Example").unwrap();
        assert_eq!(qr.side, 25 + 8);
        for corner in ["M4 4h1v1h-1z", "M28 4h1v1h-1z", "M4 28h1v1h-1z"] {
            assert!(qr.path.contains(corner), "{corner}");
        }
        assert!(!qr.path.contains("M3 ") && !qr.path.contains("M29 "));
        assert_eq!(Qr::draw(&"a".repeat(5000)), None);
    }
}
