//! Tells what happens: each step with its number, each exchange with the headers that matter, its body set out, and one
//! sentence of why. Tokens and codes are shortened, so that a terminal's history holds none that works.

use std::io::Write;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::outbound::{Request, Response};
use crate::protocol::json;

/// Characters of a line of prose.
const WIDTH: usize = 100;

/// Characters of a line of JSON, where its values allow it.
const JSON_WIDTH: usize = 80;

/// How much of a secret is shown; its kind can be told from that, and nothing done with it.
const SHOWN: usize = 12;

/// Whatever is longer may be a secret.
const SHORT: usize = 20;

const REQUEST_HEADERS: [&str; 7] =
    ["authorization", "x-a2a-user-delegation", "idempotency-key", "a2a-version", "content-type", "origin", "cookie"];

const RESPONSE_HEADERS: [&str; 6] =
    ["www-authenticate", "content-type", "cache-control", "location", "set-cookie", "retry-after"];

/// Members and parameters whose values are secrets whatever they look like.
const SECRETS: [&str; 8] =
    ["access_token", "refresh_token", "device_code", "assertion", "session", "token", "jws", "delegation_token"];

/// The story so far.
pub(super) struct Narration {
    out: Box<dyn Write + Send>,
    number: usize,
    title: String,
    /// Whether the line before is one of a list of things that hold.
    in_list: bool,
}

impl Narration {
    /// Tells to `out`. What cannot be written is lost: a closed terminal is no reason to leave a step half done.
    pub(super) const fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, number: 0, title: String::new(), in_list: false }
    }

    /// The step that is being told: its number, from 1, and its heading.
    pub(super) fn current(&self) -> (usize, &str) {
        (self.number, &self.title)
    }

    /// Begins the next step.
    pub(super) fn step(&mut self, title: &str, about: &str) {
        self.number += 1;
        title.clone_into(&mut self.title);
        let heading = format!("{}. {title}", self.number);
        self.line(&format!("\n{heading}\n{}", "─".repeat(heading.chars().count())));
        self.say(about);
    }

    /// A paragraph of prose.
    pub(super) fn say(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    /// Something that was checked and holds.
    pub(super) fn holds(&mut self, what: &str) {
        if !self.in_list {
            self.line("");
        }
        self.line(&format!("  ✓ {what}"));
        self.in_list = true;
    }

    /// Something to act on: a link to open, on a line of its own so that it can be copied.
    pub(super) fn ask(&mut self, what: &str, link: &str) {
        self.line(&format!("\n  ▶ {what}\n\n    {link}\n"));
    }

    /// One exchange, after one sentence of why.
    pub(super) fn exchange(&mut self, why: &str, request: &Request, response: &Response) {
        self.line("");
        self.say(why);
        self.line(&format!("\n  → {} {}", request.method, request.url));
        self.headers(&request.headers, &REQUEST_HEADERS);
        let kind = request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
        self.body(kind, request.body.as_deref().unwrap_or_default());
        self.line(&format!("\n  ← {}", response.status));
        self.headers(&response.headers, &RESPONSE_HEADERS);
        self.body(response.header("content-type"), &response.body);
    }

    /// A request that somebody else made, seen where it arrived.
    pub(super) fn arrived(&mut self, why: &str, url: &str, headers: &[(String, String)], body: &[u8]) {
        self.line("");
        self.say(why);
        self.line(&format!("\n  ⇢ POST {url}"));
        self.headers(headers, &REQUEST_HEADERS);
        self.body(Some("application/json"), body);
    }

    /// What a signed token says. Its payload is no secret; only the signature makes it one.
    pub(super) fn claims(&mut self, what: &str, jws: &str) {
        let mut segments = jws.split('.').map(|segment| BASE64_URL_SAFE_NO_PAD.decode(segment).unwrap_or_default());
        let (header, payload) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
        self.line(&format!("\n  {what} says:"));
        self.body(Some("application/json"), &header);
        self.body(Some("application/json"), &payload);
    }

    fn headers(&mut self, headers: &[(String, String)], that_matter: &[&str]) {
        for matters in that_matter {
            for (name, value) in headers.iter().filter(|(name, _)| name == matters) {
                self.line(&format!("    {name}: {}", shortened_header(name, value)));
            }
        }
    }

    fn body(&mut self, kind: Option<&str>, body: &[u8]) {
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default();
        let text = match kind {
            _ if body.is_empty() => return,
            "application/x-www-form-urlencoded" => form(body),
            "text/html" => page(&String::from_utf8_lossy(body)),
            _ => match json::parse(body) {
                Ok(value) => set_out(&shortened_json("", value), 0, true),
                Err(_) => format!("({} bytes)", body.len()),
            },
        };
        self.line("");
        for line in text.lines() {
            self.line(&format!("    {line}"));
        }
    }

    fn line(&mut self, text: &str) {
        self.in_list = false;
        let _ = writeln!(self.out, "{text}");
    }
}

/// The beginning of a value that could be used by whoever reads it.
fn shortened(name: &str, value: &str) -> String {
    let is_secret = SECRETS.contains(&name) || ["eyJ", "dc_", "rt_"].iter().any(|start| value.starts_with(start));
    if !is_secret || value.chars().count() <= SHORT {
        return value.to_owned();
    }
    let shown: String = value.chars().take(SHOWN).collect();
    format!("{shown}… ({} characters)", value.chars().count())
}

fn shortened_header(name: &str, value: &str) -> String {
    match name {
        "authorization" | "x-a2a-user-delegation" => match value.split_once(' ') {
            Some((scheme, token)) => format!("{scheme} {}", shortened("token", token)),
            None => shortened("token", value),
        },
        "cookie" | "set-cookie" => {
            let (pair, attributes) = value.split_once(';').unwrap_or((value, ""));
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let separator = if attributes.is_empty() { "" } else { ";" };
            format!("{name}={}{separator}{attributes}", shortened("session", value))
        }
        _ => value.to_owned(),
    }
}

fn shortened_json(name: &str, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shortened(name, &text)),
        Value::Array(items) => items.into_iter().map(|item| shortened_json(name, item)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = shortened_json(&name, value);
                (name, value)
            })
            .collect(),
        other => other,
    }
}

/// JSON over several lines where one would be too long; the outermost object always, so that its members stand out.
fn set_out(value: &Value, indent: usize, outermost: bool) -> String {
    let inline = inline(value);
    if !outermost && indent + inline.chars().count() <= JSON_WIDTH {
        return inline;
    }
    let (open, items, close): (_, Vec<String>, _) = match value {
        Value::Array(items) => ('[', items.iter().map(|item| set_out(item, indent + 2, false)).collect(), ']'),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let name = Value::from(name.as_str()).to_string();
                format!("{name}: {}", set_out(value, indent + 4 + name.chars().count(), false))
            };
            ('{', members.iter().map(member).collect(), '}')
        }
        _ => return inline,
    };
    let items: Vec<String> = items.iter().map(|item| format!("  {}", item.replace('\n', "\n  "))).collect();
    if items.is_empty() { inline } else { format!("{open}\n{}\n{close}", items.join(",\n")) }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(members) if !members.is_empty() => {
            let member =
                |(name, value): (&String, &Value)| format!("{}: {}", Value::from(name.as_str()), inline(value));
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn form(body: &[u8]) -> String {
    let lines = url::form_urlencoded::parse(body).map(|(name, value)| format!("{name} = {}", shortened(&name, &value)));
    lines.collect::<Vec<_>>().join("\n")
}

/// A page is named by its title; what stands in it is for a browser to show.
fn page(html: &str) -> String {
    let title = html.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.map_or("no title", |(title, _)| title.trim());
    format!("(a page of {} bytes: {})", html.len(), super::form::unescaped(title))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use url::Url;

    use super::*;
    use crate::outbound::Method;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn told(tell: impl FnOnce(&mut Narration)) -> String {
        let paper = Paper::default();
        tell(&mut Narration::new(Box::new(paper.clone())));
        let bytes = paper.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn response(kind: &str, body: &str) -> Response {
        Response { status: 200, headers: vec![("content-type".to_owned(), kind.to_owned())], body: body.into() }
    }

    const SECRET: &str = "dc_canary-canary-canary-canary-canary-canary-canary";

    #[test]
    fn no_secret_is_told_in_full() {
        let url = Url::parse("http://auth.shop.localhost/token").unwrap();
        let form = "application/x-www-form-urlencoded";
        let request = Request::post(url, form, format!("device_code={SECRET}&session={SECRET}&scope=orders%3Aread"))
            .header("authorization", &format!("Bearer {SECRET}"))
            .header("x-a2a-user-delegation", &format!("Bearer {SECRET}"))
            .header("cookie", &format!("assent-1={SECRET}"));
        let body = format!(r#"{{"access_token":"{SECRET}","deep":[{{"jws":"{SECRET}"}}],"scope":"orders:read"}}"#);
        let mut answer = response("application/json", &body);
        answer.headers.push(("set-cookie".to_owned(), format!("assent-1={SECRET}; HttpOnly; SameSite=Lax")));
        let text = told(|narration| narration.exchange("Why.", &request, &answer));
        assert!(!text.contains(SECRET), "{text}");
        assert_eq!(text.matches("dc_canary-ca… (51 characters)").count(), 8, "{text}");
        for shown in ["scope = orders:read", "\"scope\": \"orders:read\"", "; HttpOnly; SameSite=Lax"] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
    }

    #[test]
    fn an_exchange_shows_its_line_the_headers_that_matter_and_its_body() {
        let request = Request::new(Method::GET, Url::parse("http://provider.localhost/card").unwrap())
            .header("accept", "application/json");
        let text =
            told(|n| n.exchange("A card.", &request, &response("application/json", r#"{"name":"Example Shop"}"#)));
        assert!(text.contains("  → GET http://provider.localhost/card\n"));
        assert!(
            text.contains("  ← 200\n    content-type: application/json\n\n    {\n      \"name\": \"Example Shop\"\n")
        );
        assert!(!text.contains("accept"));
    }

    #[test]
    fn json_is_set_out_where_a_line_would_be_too_long_and_stays_the_same_json() {
        let long = "x".repeat(70);
        let text =
            format!(r#"{{"a":[],"b":{{"c":[1,"two",null]}},"d":{{"long":"{long}","e":{{}}}},"f":["{long}","\\n"]}}"#);
        let value = json::parse(text.as_bytes()).unwrap();
        let shown = set_out(&value, 0, true);
        assert!(
            shown.starts_with("{\n  \"a\": [],\n  \"b\": { \"c\": [1, \"two\", null] },\n  \"d\": {\n    \"long\""),
            "{shown}"
        );
        assert_eq!(json::parse(shown.as_bytes()).unwrap(), value);
        assert_eq!(set_out(&json::parse(b"{}").unwrap(), 0, true), "{}");
    }

    #[test]
    fn a_page_is_named_by_its_title() {
        let request = Request::get(Url::parse("http://shop.localhost/login").unwrap());
        let html = "<!doctype html><title>Tea &amp; more</title><p>canary";
        let text = told(|n| n.exchange("A page.", &request, &response("text/html; charset=utf-8", html)));
        assert!(text.contains("Tea & more") && !text.contains("canary"));
    }

    #[test]
    fn steps_are_numbered_and_prose_is_wrapped() {
        let text = told(|narration| {
            narration.step("First", &"word ".repeat(50));
            narration.step("Second", "");
            assert_eq!(narration.current(), (2, "Second"));
        });
        assert!(text.contains("1. First\n────────\n") && text.contains("2. Second\n"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn the_claims_of_a_token_are_shown_without_its_signature() {
        let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let jws = format!("{}.{}.c2lnbmF0dXJl", part(r#"{"alg":"ES256"}"#), part(r#"{"sub":"jane-4471"}"#));
        let text = told(|narration| narration.claims("The token", &jws));
        assert!(text.contains("\"alg\": \"ES256\"") && text.contains("\"sub\": \"jane-4471\""));
        assert!(!text.contains("c2lnbmF0dXJl"));
    }
}
