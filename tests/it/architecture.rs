//! The layer map as a test: which module may name which, who alone may name a library, and how long a file may get.
//!
//! Reads every `crate::` path of `src`, grouped imports included, and leaves comments out.

use std::fs;
use std::path::Path;

/// From the top down. A module imports from lines below its own; modules of one line do not know each other.
const LAYERS: &[&[&str]] = &[
    &["cli"],
    &["demo"],
    &["server"],
    &["web"],
    &["flow"],
    &["app"],
    &["directory"],
    &["agent"],
    &["outbound"],
    &["store", "crypto", "limits", "text"],
    &["protocol"],
    &["domain"],
    LEAVES,
];

/// The lowest line; these alone may know each other.
const LEAVES: &[&str] = &["config", "clock", "entropy", "metrics", "secret"];

/// A word of the code, and the only modules that may hold it; `actix` stands for every crate of that family.
const DOORS: &[(&str, &[&str])] = &[
    ("sqlx", &["store"]),
    ("josekit", &["crypto"]),
    ("argon2", &["crypto"]),
    ("askama", &["web"]),
    ("actix", &["web", "server", "demo"]),
    ("tracing_actix_web", &["web", "server", "demo"]),
    ("reqwest", &["outbound"]),
    ("SystemTime::now", &["clock"]),
    ("Instant::now", &["clock"]),
    ("OffsetDateTime::now_utc", &["clock"]),
    ("rand", &["entropy"]),
    ("getrandom", &["entropy"]),
    ("rand_bytes", &["entropy"]),
    ("OsRng", &["entropy"]),
    ("Uuid::new_v4", &["entropy"]),
    ("Uuid::now_v7", &["entropy"]),
    ("Ulid::new", &["entropy"]),
];

const LONGEST_FILE: usize = 450;

struct Source {
    /// Relative to `src`, with `/`.
    path: String,
    lines: usize,
    /// The text without comments.
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), lines: text.lines().count(), code: without_comments(text) }
    }

    /// The first part of the path: the module of `src/lib.rs` that this file belongs to.
    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }
}

fn sources() -> Vec<Source> {
    fn walk(directory: &Path, root: &Path, found: &mut Vec<Source>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                found.push(Source::new(&name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &root, &mut found);
    assert!(!found.is_empty());
    found
}

/// Drops line comments, doc comments included: a link in a text is no dependency. A `//` inside a string is kept when a
/// colon stands before it, as in an address.
fn without_comments(text: &str) -> String {
    let code = |line: &str| {
        let end = line.match_indices("//").map(|(at, _)| at).find(|at| !line[..*at].ends_with(':'));
        line[..end.unwrap_or(line.len())].to_owned()
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// The modules that `crate::x` and `crate::{x, y::z}` name.
fn named_modules(code: &str) -> Vec<&str> {
    let mut named = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c| is_word(c) || c == '$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            named.push(first_word(rest));
            continue;
        };
        let mut depth = 0_usize;
        let mut start = 0;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    named.push(first_word(&group[start..at]));
                    start = at + 1;
                    if c == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    named.retain(|name| !name.is_empty());
    named
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

fn may_import(from: &str, to: &str) -> bool {
    match (layer(from), layer(to)) {
        _ if from == to => true,
        (Some(upper), Some(lower)) => upper < lower || (LEAVES.contains(&from) && LEAVES.contains(&to)),
        _ => false,
    }
}

/// The arrows of `source` that the layer map does not have.
fn forbidden_arrows(source: &Source) -> Vec<String> {
    let from = source.module();
    if from == "lib" {
        return Vec::new();
    }
    let mut arrows: Vec<String> = named_modules(&source.code)
        .into_iter()
        // A macro or an item of the crate's root begins with what is not a module's name.
        .filter(|to| to.starts_with(|c: char| c.is_ascii_lowercase()) && !may_import(from, to))
        .map(|to| format!("{}: {from} → {to}", source.path))
        .collect();
    arrows.dedup();
    arrows
}

/// Whether `word` stands in `code` by itself; `actix` also as the beginning of a word.
fn names(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].ends_with(is_word);
        let after = code[at + word.len()..].starts_with(is_word);
        !before && (!after || word == "actix")
    })
}

fn opened_doors(source: &Source) -> Vec<String> {
    DOORS
        .iter()
        .filter(|(word, places)| !places.contains(&source.module()) && names(&source.code, word))
        .map(|(word, places)| format!("{} names {word}, which belongs to {}", source.path, places.join(", ")))
        .collect()
}

fn faults_of(text: &str, path: &str) -> Vec<String> {
    let source = Source::new(path, text);
    [forbidden_arrows(&source), opened_doors(&source)].concat()
}

#[test]
fn every_import_points_down_the_layer_map() {
    let arrows: Vec<String> = sources().iter().flat_map(forbidden_arrows).collect();
    assert!(arrows.is_empty(), "{}", arrows.join("\n"));
}

#[test]
fn every_module_has_its_place_on_the_layer_map() {
    let homeless: Vec<String> = sources()
        .iter()
        .filter(|source| !["lib", "main"].contains(&source.module()) && layer(source.module()).is_none())
        .map(|source| source.path.clone())
        .collect();
    assert!(homeless.is_empty(), "{}", homeless.join("\n"));
}

#[test]
fn libraries_time_and_chance_have_one_door_each() {
    let opened: Vec<String> = sources().iter().flat_map(opened_doors).collect();
    assert!(opened.is_empty(), "{}", opened.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|source| source.lines > LONGEST_FILE)
        .map(|source| format!("{}: {} lines, at most {LONGEST_FILE}", source.path, source.lines))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn a_forbidden_arrow_is_found() {
    assert_eq!(faults_of("use crate::web::error::Page;", "flow/refresh.rs"), ["flow/refresh.rs: flow → web"]);
    assert_eq!(
        faults_of("use crate::{domain::id, crypto::{jws, seal}};", "store/keys.rs"),
        ["store/keys.rs: store → crypto"]
    );
    assert_eq!(faults_of("fn f() { crate::store::open(); }", "crypto.rs"), ["crypto.rs: crypto → store"]);
    assert_eq!(faults_of("use crate::domain::scope::ScopeId;", "clock.rs"), ["clock.rs: clock → domain"]);
    assert_eq!(
        faults_of("use crate::{\n    agent::Turn,\n    clock::Clock,\n};", "limits/gcra.rs"),
        ["limits/gcra.rs: limits → agent"]
    );
}

#[test]
fn an_arrow_down_a_comment_and_a_leaf_beside_a_leaf_are_allowed() {
    for (text, path) in [
        ("use crate::{domain::id, store::Store};", "flow/refresh.rs"),
        ("//! Used by [`crate::web::routes`].", "domain/id.rs"),
        ("use crate::domain::id::BrandId;", "domain/brand.rs"),
        ("use crate::secret::Secret;", "config.rs"),
    ] {
        assert!(faults_of(text, path).is_empty(), "{text}");
    }
}

#[test]
fn a_library_behind_the_wrong_door_is_found() {
    for (text, path) in [
        ("use sqlx::Row;", "flow/refresh.rs"),
        ("use actix_web::HttpResponse;", "flow/refresh.rs"),
        ("let at = std::time::Instant::now();", "limits/gcra.rs"),
        ("let key = rand::random();", "crypto/codes.rs"),
        ("reqwest::Client::new()", "agent/http.rs"),
    ] {
        assert_eq!(faults_of(text, path).len(), 1, "{text}");
    }
    assert!(faults_of("use sqlx::Row;\nlet operand = 1;", "store/grants.rs").is_empty());
}
