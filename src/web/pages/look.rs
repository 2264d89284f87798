//! A Brand's look: its name, and its colour with the colours that go with it.

use super::contrast::{CLEAR, TEXT, readable_on, text_on};
use crate::domain::brand::Color;

/// The darkest surface of `style.css` in light, on which a Brand's colour must be readable.
const LIGHT: Color = Color { red: 0xf1, green: 0xf3, blue: 0xf5 };

/// The lightest surface of `style.css` in dark.
const DARK: Color = Color { red: 0x22, green: 0x26, blue: 0x2d };

/// Whose page it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrandLook {
    /// The Brand's name.
    pub name: String,
    /// Its colour; without one, the page keeps the colours of `style.css`.
    pub color: Option<Color>,
}

impl BrandLook {
    /// The page's one inline style: the same bytes for the same colour, since the policy names them by their hash.
    pub fn style(&self) -> Option<String> {
        let color = self.color?;
        let [brand, on_brand, light, dark] =
            [color, text_on(color), readable_on(color, LIGHT, TEXT), readable_on(color, DARK, CLEAR)].map(String::from);
        Some(format!(
            ":root{{--brand:{brand};--on-brand:{on_brand};--accent:{light}}}\
             @media (prefers-color-scheme:dark){{:root{{--accent:{dark}}}}}"
        ))
    }

    #[expect(clippy::expect_used, reason = "a constant of the samples")]
    pub(super) fn sample() -> Self {
        let color = Color::try_from("#16345c".to_owned()).expect("a sample colour");
        Self { name: "Skyline Airways".to_owned(), color: Some(color) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surfaces_are_those_of_the_style_sheet() {
        let css = include_str!("../../../static/style.css");
        let (light, dark) = css.split_once("prefers-color-scheme: dark").unwrap();
        assert!(light.contains(&format!("--surface: {};", String::from(LIGHT))));
        assert!(dark.contains(&format!("--surface: {};", String::from(DARK))));
    }

    #[test]
    fn the_style_names_the_colour_and_a_text_colour_that_can_be_read_on_it() {
        let yellow = Color::try_from("#ffcc00".to_owned()).unwrap();
        let style = BrandLook { name: String::new(), color: Some(yellow) }.style().unwrap();
        assert!(style.starts_with(":root{--brand:#ffcc00;--on-brand:#000000;"), "{style}");
    }
}
