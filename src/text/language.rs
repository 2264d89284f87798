//! The languages of the catalogue, and which of them a person gets (BCP 47 tags, RFC 9110 §12.5.4).

use super::{Texts, english};

/// A language of the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Language {
    /// English, which a person gets who asked for none of the others.
    #[default]
    English,
}

/// Which way a language is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From left to right.
    LeftToRight,
    /// From right to left.
    RightToLeft,
}

impl Direction {
    /// The value of HTML's `dir`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeftToRight => "ltr",
            Self::RightToLeft => "rtl",
        }
    }
}

impl Language {
    /// Every language, the default first.
    pub const ALL: [Self; 1] = [Self::English];

    /// The primary subtag: the value of HTML's `lang`, of `Content-Language`, and the key of a Brand's own texts.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
        }
    }

    /// Which way it is written.
    pub const fn direction(self) -> Direction {
        match self {
            Self::English => Direction::LeftToRight,
        }
    }

    /// Its sentences.
    pub const fn texts(self) -> &'static Texts {
        match self {
            Self::English => &english::TEXTS,
        }
    }

    /// The language of the assertion's `locale` where the catalogue has it, else the one that `Accept-Language` likes
    /// best, else English. What cannot be read is passed over.
    pub fn choose(locale: Option<&str>, accept_language: Option<&str>) -> Self {
        locale.and_then(Self::of).or_else(|| accept_language.and_then(Self::accepted)).unwrap_or_default()
    }

    /// The language whose primary subtag `tag` begins with. An underscore passes for a hyphen: Brands send `de_DE` too.
    fn of(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next()?.trim();
        Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    fn accepted(header: &str) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        for range in header.split(',') {
            let mut parts = range.split(';');
            let Some(language) = parts.next().and_then(|tag| Self::of(tag.trim())) else { continue };
            let Some(weight) = parts.next().map_or(Some(1000), weight).filter(|weight| *weight > 0) else { continue };
            if best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

/// `q=0.8` in thousandths.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let (whole, fraction) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    if fraction.len() > 3 {
        return None;
    }
    match whole {
        "1" if fraction.bytes().all(|digit| digit == b'0') => Some(1000),
        "0" => format!("{fraction:0<3}").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_whose_languages_are_not_in_the_catalogue_reads_english() {
        for (locale, accept) in
            [(None, None), (Some("tlh"), Some("tlh, x-nil;q=0.5")), (Some(""), Some("")), (None, Some("*;q=0, ,;;=,"))]
        {
            assert_eq!(Language::choose(locale, accept), Language::English);
        }
    }

    #[test]
    fn region_case_and_underscore_do_not_matter() {
        for tag in ["en", "EN", "en-GB", "en_US", " en "] {
            assert_eq!(Language::of(tag), Some(Language::English), "{tag}");
        }
        assert_eq!(Language::of("eng"), None);
    }

    #[test]
    fn a_language_that_is_not_wanted_is_not_accepted() {
        assert_eq!(Language::accepted("en;q=0"), None);
        assert_eq!(Language::accepted("tlh, en;q=0.1"), Some(Language::English));
    }

    #[test]
    fn weights_are_read_as_thousandths() {
        for (text, expected) in [
            ("q=1", Some(1000)),
            ("q=1.000", Some(1000)),
            ("Q = 0.85", Some(850)),
            ("q=0", Some(0)),
            ("q=1.1", None),
            ("q=0.8888", None),
            ("q=-1", None),
            ("level=1", None),
        ] {
            assert_eq!(weight(text), expected, "{text}");
        }
    }

    #[test]
    fn tags_are_different() {
        for (place, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(Language::ALL.iter().position(|other| other.tag() == language.tag()), Some(place));
        }
    }
}
