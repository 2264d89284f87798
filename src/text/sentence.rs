//! A sentence in which some words stand out, without markup: each language has its own order of words, and the page
//! decides how each [`Part`] looks.

/// A piece of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Words of the catalogue.
    Plain(String),
    /// Words from outside, such as a Brand's name. The page isolates their direction, so that they cannot turn the
    /// words around them.
    Name(String),
    /// The same, standing out.
    Strong(String),
    /// An address from outside, written from left to right.
    Address(String),
    /// A user code, to be compared letter by letter.
    Code(String),
}

/// A sentence, part by part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sentence(Vec<Part>);

impl Sentence {
    /// Begins with nothing.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds words of the catalogue.
    #[must_use]
    pub fn plain(self, text: &str) -> Self {
        self.with(Part::Plain(text.to_owned()))
    }

    /// Adds words from outside.
    #[must_use]
    pub fn name(self, text: &str) -> Self {
        self.with(Part::Name(text.to_owned()))
    }

    /// Adds words from outside that stand out.
    #[must_use]
    pub fn strong(self, text: &str) -> Self {
        self.with(Part::Strong(text.to_owned()))
    }

    /// Adds an address.
    #[must_use]
    pub fn address(self, text: &str) -> Self {
        self.with(Part::Address(text.to_owned()))
    }

    /// Adds a user code.
    #[must_use]
    pub fn code(self, text: &str) -> Self {
        self.with(Part::Code(text.to_owned()))
    }

    fn with(mut self, part: Part) -> Self {
        self.0.push(part);
        self
    }

    /// In the order in which they are read.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }
}
