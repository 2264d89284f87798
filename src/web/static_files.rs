//! Style sheets, scripts and icons: embedded in the program and served under names that carry their content's hash, so
//! that a browser keeps them for a year and never sees an old one (RFC 8246).
//!
//! Every origin that serves pages serves these too, so pages refer to them without a host. Refuses every other name
//! with an empty 404.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use rust_embed::RustEmbed;

/// Below this path stand all static files.
pub const PREFIX: &str = "/static/";

#[derive(RustEmbed)]
#[folder = "static/"]
struct Embedded;

/// One static file.
#[derive(Debug)]
pub struct StaticFile {
    /// Its name with the hash in it, `style-0123456789abcdef.css`: what follows [`PREFIX`].
    pub served_as: String,
    /// Its media type.
    pub content_type: &'static str,
    /// Its bytes.
    pub body: Cow<'static, [u8]>,
}

/// By their names in the source tree.
static FILES: LazyLock<BTreeMap<String, StaticFile>> = LazyLock::new(|| {
    let read = |name: Cow<'static, str>| {
        let file = Embedded::get(&name)?;
        let hash: String = file.metadata.sha256_hash().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let (stem, extension) = name.rsplit_once('.')?;
        let served_as = format!("{stem}-{hash}.{extension}");
        let content_type = content_type(extension)?;
        Some((name.into_owned(), StaticFile { served_as, content_type, body: file.data }))
    };
    Embedded::iter().filter_map(read).collect()
});

fn content_type(extension: &str) -> Option<&'static str> {
    match extension {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// Every static file.
pub fn all() -> impl Iterator<Item = &'static StaticFile> {
    FILES.values()
}

/// The address of the file that is called `name` in the source tree; where there is none, one that is answered with 404.
pub fn address(name: &str) -> String {
    FILES.get(name).map_or_else(|| format!("{PREFIX}{name}"), |file| format!("{PREFIX}{}", file.served_as))
}

/// The answer to a GET or HEAD of what follows [`PREFIX`].
pub fn respond(served_as: &str) -> HttpResponse {
    let Some(file) = all().find(|file| file.served_as == served_as) else {
        return HttpResponse::NotFound().finish();
    };
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, file.content_type))
        .insert_header((header::CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(file.body.to_vec())
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;

    use super::*;

    #[test]
    fn every_file_of_the_tree_is_served_for_a_year_under_its_hash() {
        assert_eq!(all().count(), Embedded::iter().count());
        for file in all() {
            let response = respond(&file.served_as);
            assert_eq!(response.status(), StatusCode::OK);
            let cache = response.headers().get(header::CACHE_CONTROL).unwrap();
            assert_eq!(cache, "public, max-age=31536000, immutable");
        }
    }

    #[test]
    fn any_other_name_is_not_found() {
        for name in ["style.css", "", "../Cargo.toml", "style-0000000000000000.css"] {
            assert_eq!(respond(name).status(), StatusCode::NOT_FOUND, "{name}");
        }
    }

    #[test]
    fn all_that_a_page_loads_is_small() {
        assert!(all().map(|file| file.body.len()).sum::<usize>() < 20_000);
    }
}
