//! A page as an HTTP answer, with the headers that keep it from being framed, cached, sniffed or scripted from outside
//! (CSP Level 3, RFC 6797).
//!
//! The policy lets in what Assent itself serves and the one inline style that carries the Brand's colours, by its hash:
//! nothing random, so that the same page is the same bytes.

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::pages::Page;

/// `page` with `status`.
pub fn respond<P: Page>(status: StatusCode, page: &P) -> HttpResponse {
    let body = match page.render() {
        Ok(body) => body,
        Err(error) => {
            tracing::error!(%error, "a page did not render");
            return HttpResponse::InternalServerError().finish();
        }
    };
    let mut response = HttpResponse::build(status);
    response
        .insert_header((header::CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((header::CONTENT_LANGUAGE, page.language().tag()))
        .insert_header((header::CONTENT_SECURITY_POLICY, content_security_policy(page)))
        .insert_header((header::X_FRAME_OPTIONS, "DENY"))
        .insert_header((header::REFERRER_POLICY, "same-origin"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header(("Cross-Origin-Opener-Policy", "same-origin"))
        .insert_header((header::PERMISSIONS_POLICY, "camera=(), geolocation=(), microphone=(), payment=(), usb=()"));
    response.body(body)
}

/// The `Content-Security-Policy` of `page`.
pub fn content_security_policy<P: Page>(page: &P) -> String {
    let style = page.brand().and_then(|brand| brand.style());
    let style = style.map_or_else(String::new, |style| {
        format!(" 'sha256-{}'", STANDARD.encode(openssl::sha::sha256(style.as_bytes())))
    });
    let form_action: Vec<String> = page.form_action().into_iter().filter(|source| is_source(source)).collect();
    let form_action = if form_action.is_empty() { "'none'".to_owned() } else { form_action.join(" ") };
    format!(
        "default-src 'none'; style-src 'self'{style}; script-src 'self'; img-src 'self'; base-uri 'none'; \
         frame-ancestors 'none'; form-action {form_action}"
    )
}

/// Whether `source` is one word of a policy, and cannot begin another directive or header.
fn is_source(source: &str) -> bool {
    !source.is_empty() && source.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')
}

#[cfg(test)]
mod tests {
    use askama::Template;

    use super::*;
    use crate::web::pages::{ClosingPage, CodePage, ConsentPage, ErrorPage, GrantsPage};

    fn directive<P: Page>(page: &P, name: &str) -> String {
        let policy = content_security_policy(page);
        policy.split("; ").find_map(|part| part.strip_prefix(name)).unwrap().trim().to_owned()
    }

    #[test]
    fn the_policy_lets_in_the_inline_style_and_no_other() {
        let page = ConsentPage::sample();
        let html = page.render().unwrap();
        let (_, rest) = html.split_once("<style>").unwrap();
        let (style, rest) = rest.split_once("</style>").unwrap();
        assert!(!rest.contains("<style"));
        let hash = STANDARD.encode(openssl::sha::sha256(style.as_bytes()));
        assert_eq!(directive(&page, "style-src"), format!("'self' 'sha256-{hash}'"));
    }

    #[test]
    fn a_page_without_a_colour_has_no_inline_style() {
        let mut page = ConsentPage::sample();
        page.brand.color = None;
        assert!(!page.render().unwrap().contains("<style"));
        assert_eq!(directive(&page, "style-src"), "'self'");
    }

    #[test]
    fn no_page_holds_inline_script_or_style_attributes() {
        for sample in crate::web::pages::samples() {
            for wrong in [" style=", " onclick=", " onload=", "javascript:", "<script>"] {
                assert!(!sample.html.contains(wrong), "{} holds {wrong}", sample.name);
            }
        }
    }

    // case 48
    #[test]
    fn forms_go_where_the_page_says_and_nowhere_else() {
        let mut page = ConsentPage::sample();
        assert_eq!(directive(&page, "form-action"), "https://auth.skyline.example https://skyline.example");
        page.return_url = None;
        assert_eq!(directive(&page, "form-action"), "https://auth.skyline.example");
        assert_eq!(directive(&CodePage::sample(), "form-action"), "'self' https://skyline.example");
        assert_eq!(directive(&ClosingPage::sample(), "form-action"), "'self'");
        assert_eq!(directive(&GrantsPage::sample(), "form-action"), "https://auth.skyline.example");
    }

    #[test]
    fn a_source_that_would_begin_another_directive_is_left_out() {
        for wrong in ["", "a b", "a;b", "a,b", "a\r\nb", "ü"] {
            assert!(!is_source(wrong), "{wrong:?}");
        }
    }

    // case 41
    #[test]
    fn every_answer_has_its_headers() {
        let response = respond(StatusCode::FORBIDDEN, &ErrorPage::sample());
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-language", "en"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(response.headers().get(name).unwrap(), value, "{name}");
        }
        assert!(response.headers().contains_key("permissions-policy"));
    }
}
