//! Pages: one struct per page, filled by a handler and written by an askama template of the same name.
//!
//! A page holds plain values that have been decided elsewhere, and its words come from `text`; templates hold neither
//! rules nor sentences. Every page renders from samples in each of its states, which is what the screenshots and the
//! accessibility tests walk.

pub mod admin;
mod closing;
mod code;
mod consent;
pub mod contrast;
mod error;
mod grants;
mod look;
mod samples;

pub use closing::{Closing, ClosingPage};
pub use code::CodePage;
pub use consent::{ConsentPage, ScopeLine};
pub use error::{ErrorPage, Problem};
pub use grants::{DeedLine, GrantLine, GrantsPage, MayLine, Notice, PastLine};
pub use look::BrandLook;
pub use samples::{Sample, samples, write_samples};

use url::Url;

use crate::text::Language;

/// What every page has.
pub trait Page: askama::Template {
    /// The language it is written in.
    fn language(&self) -> Language;

    /// Whose page it is; none when that is not known.
    fn brand(&self) -> Option<&BrandLook>;

    /// The title of the window.
    fn title(&self) -> String;

    /// Where its forms may lead, as sources of the policy's `form-action`. Redirects after a form count too.
    fn form_action(&self) -> Vec<String> {
        vec!["'self'".to_owned()]
    }
}

/// The origin of `address` as a source of a policy; none when it is not a web address.
fn origin(address: &str) -> Option<String> {
    let origin = Url::parse(address).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}
