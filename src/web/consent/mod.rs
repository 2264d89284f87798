//! The pages of the consent URL (PACT §5.3): the Brand's login comes back, the User decides.

mod decision;
mod open;
mod render;

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};

use super::brand_pages::Pages;
use super::error;
use super::site::{Served, brand_of};

pub use decision::{decide, show_decided};
pub use open::{show, sign_in};

/// The answer to more pages than an address is shown: a page where there would have been one.
pub(super) fn too_many_requests(req: &HttpRequest, wait: Duration) -> HttpResponse {
    let hosted = brand_of(req, Served::Issuer);
    match hosted.as_ref().and_then(|hosted| Some((hosted, hosted.delegation()?.0))) {
        Some((hosted, delegation)) => Pages::new(req, hosted, delegation).too_many_requests(wait),
        None => error::too_many_requests(wait),
    }
}
