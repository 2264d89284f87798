//! What a browser says about where a form came from (Fetch Metadata; RFC 6454 §7).

use actix_web::HttpRequest;
use actix_web::http::header;

/// Whether a form came from a page of this origin. A header that is not sent says nothing against it; what the page put
/// into the form is what proves it.
pub fn is_from_own_page(req: &HttpRequest, own_origin: &str) -> bool {
    let mut sites = req.headers().get_all("sec-fetch-site").map(|value| value.to_str().unwrap_or_default());
    let site = sites.next();
    let mut origins = req.headers().get_all(header::ORIGIN).map(|value| value.to_str().unwrap_or_default());
    let origin = origins.next();
    if sites.next().is_some() || origins.next().is_some() {
        return false;
    }
    let is_same_site = site == Some("same-origin");
    match (origin, site) {
        (None, None) => true,
        (None, Some(_)) => is_same_site,
        // A page without a referrer has no origin to tell, but the browser knows where the form was.
        (Some("null"), _) => is_same_site,
        (Some(origin), None) => origin == own_origin,
        (Some(origin), Some(_)) => origin == own_origin && is_same_site,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const OWN: &str = "https://auth.shop.example";

    fn passes(headers: &[(&'static str, &'static str)]) -> bool {
        let request = headers.iter().fold(TestRequest::post(), |request, header| request.append_header(*header));
        is_from_own_page(&request.to_http_request(), OWN)
    }

    // case 39
    #[test]
    fn our_own_page_passes_with_or_without_the_headers() {
        assert!(passes(&[]));
        assert!(passes(&[("origin", OWN)]));
        assert!(passes(&[("origin", OWN), ("sec-fetch-site", "same-origin")]));
        assert!(passes(&[("origin", "null"), ("sec-fetch-site", "same-origin")]));
    }

    // case 39
    #[test]
    fn other_sites_and_origins_do_not() {
        assert!(!passes(&[("origin", "https://evil.example")]));
        assert!(!passes(&[("origin", "null")]));
        assert!(!passes(&[("origin", "null"), ("sec-fetch-site", "cross-site")]));
        assert!(!passes(&[("origin", OWN), ("sec-fetch-site", "same-site")]));
        assert!(!passes(&[("sec-fetch-site", "none")]));
        assert!(!passes(&[("origin", OWN), ("origin", "https://evil.example")]));
    }
}
