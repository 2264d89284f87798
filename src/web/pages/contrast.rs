//! Contrast of WCAG 2.2 §1.4.3: text on a Brand's colour, and a Brand's colour as text, can be read whatever the colour.
//!
//! Refuses nothing: every colour has an answer of at least 4.5:1.

use crate::domain::brand::Color;

/// The least contrast of text (level AA).
pub const TEXT: f64 = 4.5;

/// More of it, for text on dark (level AAA), where the least still looks dim.
pub const CLEAR: f64 = 7.0;

/// Black.
pub const BLACK: Color = Color { red: 0, green: 0, blue: 0 };

/// White.
pub const WHITE: Color = Color { red: 255, green: 255, blue: 255 };

/// The contrast ratio of two colours, 1 to 21, in whichever order.
pub fn ratio(one: Color, other: Color) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// White where it can be read on `background`, else black: one of the two always has more than 4.5:1, since the
/// product of both ratios is 21.
pub fn text_on(background: Color) -> Color {
    if ratio(WHITE, background) >= TEXT { WHITE } else { BLACK }
}

/// `color`, mixed with as little of black or white as gives it a contrast of `least` on `background`; black or white
/// itself where even that has less.
pub fn readable_on(color: Color, background: Color, least: f64) -> Color {
    let towards = text_on(background);
    (0..=100).map(|percent| mix(color, towards, percent)).find(|c| ratio(*c, background) >= least).unwrap_or(towards)
}

/// The relative luminance of sRGB, 0 to 1.
fn luminance(color: Color) -> f64 {
    let linear = |channel: u8| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126f64.mul_add(linear(color.red), 0.7152f64.mul_add(linear(color.green), 0.0722 * linear(color.blue)))
}

/// `percent` of `other` in `color`.
fn mix(color: Color, other: Color, percent: u16) -> Color {
    let channel = |from: u8, to: u8| {
        let sum = u16::from(from) * (100 - percent.min(100)) + u16::from(to) * percent.min(100);
        u8::try_from(sum / 100).unwrap_or(u8::MAX)
    };
    Color {
        red: channel(color.red, other.red),
        green: channel(color.green, other.green),
        blue: channel(color.blue, other.blue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(text: &str) -> Color {
        Color::try_from(text.to_owned()).unwrap()
    }

    fn colours_of_all_kinds() -> impl Iterator<Item = Color> {
        let steps = || (0..=255).step_by(17);
        steps().flat_map(move |red| steps().flat_map(move |green| steps().map(move |blue| Color { red, green, blue })))
    }

    #[test]
    fn ratios_are_those_of_the_published_examples() {
        for (one, other, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#777777", "#ffffff", 4.48),
            ("#ff0000", "#ffffff", 4.0),
            ("#123456", "#123456", 1.0),
        ] {
            let found = ratio(color(one), color(other));
            assert!((found - expected).abs() < 0.01, "{one} on {other}: {found}");
        }
    }

    #[test]
    fn text_on_any_colour_can_be_read() {
        for background in colours_of_all_kinds() {
            assert!(ratio(text_on(background), background) >= TEXT, "{background:?}");
        }
    }

    #[test]
    fn any_colour_can_be_made_readable_on_light_and_dark() {
        for background in [color("#f1f3f5"), color("#22262d"), color("#777777")] {
            for tint in colours_of_all_kinds() {
                assert!(ratio(readable_on(tint, background, TEXT), background) >= TEXT, "{tint:?} on {background:?}");
            }
        }
    }

    #[test]
    fn a_colour_that_can_be_read_stays_as_it_is() {
        assert_eq!(readable_on(color("#16345c"), WHITE, TEXT), color("#16345c"));
    }
}
