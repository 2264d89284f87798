//! The console's pages about grants and personal agents: who sees what, what their forms do, and what nobody does by mistake.

mod access;
mod agents;
mod lists;
mod revoking;

use crate::support::client::Answer;

/// Looks for everything in a page.
fn assert_shows(answer: &Answer, expected: &[&str]) {
    let html = answer.text();
    for text in expected {
        assert!(html.contains(text), "{text} is not in {html}");
    }
}

/// Looks for nothing of this in a page.
fn assert_hides(answer: &Answer, unexpected: &[&str]) {
    let html = answer.text();
    for text in unexpected {
        assert!(!html.contains(text), "{text} is in {html}");
    }
}

/// The addresses that a page links to with this text.
fn link(answer: &Answer, text: &str) -> String {
    let html = answer.text();
    let (before, _) = html.split_once(&format!(">{text}</a>")).unwrap_or_else(|| panic!("no {text} in {html}"));
    let (_, address) = before.rsplit_once("href=\"").unwrap();
    address.split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&")
}
