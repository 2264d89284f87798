//! Every page in every state, as HTML: what `assent pages` writes, and what screenshots and accessibility tests walk.

use std::io;
use std::path::Path;

use super::admin::{
    AccountPage, BadViewPage, DonePage, FormPage, GrantPage, ListPage, LogInPage, OverviewPage, PersonalAgentPage,
    RegisterPage, RevokePage, RevokedPage, SearchPage, SecondFactorPage, ThingPage, TroublePage,
};
use super::{ClosingPage, CodePage, ConsentPage, ErrorPage, GrantsPage, Page};
use crate::web::static_files;

/// One page in one state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The page and its state, `consent-first`.
    pub name: String,
    /// The page.
    pub html: String,
}

/// Every page in every state. A page that cannot be written is its error instead, which the tests look for.
pub fn samples() -> Vec<Sample> {
    [
        written("consent", ConsentPage::states()),
        written("code", CodePage::states()),
        written("closing", ClosingPage::states()),
        written("error", ErrorPage::states()),
        written("grants", GrantsPage::states()),
        written("admin-log_in", LogInPage::states()),
        written("admin-second_factor", SecondFactorPage::states()),
        written("admin-account", AccountPage::states()),
        written("admin-listing", ListPage::states()),
        written("admin-bad_view", BadViewPage::states()),
        written("admin-grant", GrantPage::states()),
        written("admin-revoke", RevokePage::states()),
        written("admin-revoked", RevokedPage::states()),
        written("admin-personal_agent", PersonalAgentPage::states()),
        written("admin-register", RegisterPage::states()),
        written("admin-search", SearchPage::states()),
        written("admin-trouble", TroublePage::states()),
        written("admin-overview", OverviewPage::states()),
        written("admin-thing", ThingPage::states()),
        written("admin-form", FormPage::states()),
        written("admin-done", DonePage::states()),
    ]
    .concat()
}

fn written<P: Page>(page: &str, states: Vec<(&'static str, P)>) -> Vec<Sample> {
    let write = |(state, sample): (&str, P)| {
        let html = sample.render().unwrap_or_else(|error| error.to_string());
        Sample { name: format!("{page}-{state}"), html }
    };
    states.into_iter().map(write).collect()
}

/// Writes every sample as `{name}.html` into `out`, with the static files beside them and links that work from disk.
/// Answers how many samples there are.
///
/// # Errors
/// What the file system says.
pub fn write_samples(out: &Path) -> io::Result<usize> {
    let beside = static_files::PREFIX.trim_start_matches('/');
    std::fs::create_dir_all(out.join(beside))?;
    for file in static_files::all() {
        std::fs::write(out.join(beside).join(&file.served_as), &file.body)?;
    }
    let samples = samples();
    for Sample { name, html } in &samples {
        let html = html.replace(&format!("\"{}", static_files::PREFIX), &format!("\"{beside}"));
        std::fs::write(out.join(format!("{name}.html")), html)?;
    }
    Ok(samples.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::pages::Problem;

    #[test]
    fn every_page_struct_has_a_sample() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/pages");
        let names: Vec<String> = samples().into_iter().map(|sample| sample.name).collect();
        let mut pages = 0;
        for (folder, prefix) in [(folder.clone(), ""), (folder.join("admin"), "admin-")] {
            let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            for path in files.filter(|path| path.is_file() && !path.ends_with("samples.rs")) {
                if std::fs::read_to_string(&path).unwrap().contains("#[template(path") {
                    let page = format!("{prefix}{}-", path.file_stem().unwrap().to_str().unwrap());
                    assert!(names.iter().any(|name| name.starts_with(&page)), "{page}");
                    pages += 1;
                }
            }
        }
        assert_eq!(pages, 18);
        assert!(pages >= 10, "{pages}");
    }

    #[test]
    fn every_problem_has_a_sample() {
        let names: Vec<String> = samples().into_iter().map(|sample| sample.name).collect();
        for problem in Problem::ALL {
            // Exhaustive, so that a new problem is added to `ALL` as well.
            match problem {
                Problem::SignInNotVerified
                | Problem::CodeNotUsable
                | Problem::TooManyTries
                | Problem::TooManyRequests
                | Problem::PageNotUsable
                | Problem::Expired
                | Problem::AlreadyDecided { allowed: true | false }
                | Problem::BadRequest
                | Problem::NotFound
                | Problem::Busy
                | Problem::Internal => assert!(names.contains(&format!("error-{}", problem.name()))),
            }
        }
    }

    #[test]
    fn every_page_has_a_language_a_title_one_heading_and_a_label_for_each_field() {
        for Sample { name, html } in samples() {
            assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\" dir=\"ltr\">"), "{name}");
            let (_, title) = html.split_once("<title>").unwrap();
            assert!(!title.split_once("</title>").unwrap().0.trim().is_empty(), "{name}");
            assert_eq!(html.matches("<h1").count(), 1, "{name}");
            assert_eq!(html.matches("<main").count(), 1, "{name}");
            for field in html.split("<input ").skip(1) {
                let field = field.split_once('>').unwrap().0;
                if field.contains("type=\"hidden\"") {
                    continue;
                }
                let (_, id) = field.split_once("id=\"").unwrap();
                let label = format!(" for=\"{}\">", id.split_once('"').unwrap().0);
                assert!(html.contains(&label), "{name}: {field}");
            }
        }
    }

    #[test]
    fn what_a_page_refers_to_is_served() {
        for Sample { name, html } in samples() {
            for reference in html.split(static_files::PREFIX).skip(1) {
                let file = reference.split_once('"').unwrap().0;
                assert!(static_files::all().any(|known| known.served_as == file), "{name}: {file}");
            }
        }
    }

    #[test]
    fn a_page_with_all_it_loads_is_under_40_kb() {
        let beside: usize = static_files::all().map(|file| file.body.len()).sum();
        for Sample { name, html } in samples() {
            assert!(html.len() + beside < 40_000, "{name}");
        }
    }

    #[test]
    fn no_template_holds_a_sentence() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        // Those of the console, in a folder of their own, are in English alone.
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for path in files.filter(|path| path.is_file()) {
            let template = std::fs::read_to_string(&path).unwrap();
            let mut words = String::new();
            let mut depth = 0_usize;
            for character in template.chars() {
                match character {
                    '<' | '{' => depth += 1,
                    '>' | '}' => depth = depth.saturating_sub(1),
                    _ if depth == 0 => words.push(character),
                    _ => {}
                }
            }
            assert!(!words.chars().any(char::is_alphabetic), "{}: {words}", path.display());
        }
    }

    #[test]
    fn samples_are_written_with_links_that_work_from_disk() {
        let out = tempfile::tempdir().unwrap();
        let count = write_samples(out.path()).unwrap();
        assert_eq!(count, samples().len());
        let html = std::fs::read_to_string(out.path().join("consent-first.html")).unwrap();
        let (_, link) = html.split_once("href=\"static/style").unwrap();
        let link = format!("static/style{}", link.split_once('"').unwrap().0);
        assert!(out.path().join(link).is_file());
    }
}
