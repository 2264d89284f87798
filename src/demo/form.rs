//! Reads the first form of a page, as far as a client without an HTML parser needs to: hidden fields, checkboxes and
//! buttons, with quoted attributes. Nothing else on a page is looked at.

use std::collections::HashMap;

/// A form of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Where it is posted, as it stands there.
    pub(super) action: String,
    /// Its `input`s with a name, and its buttons, in order.
    pub(super) fields: Vec<Field>,
}

/// An `input` or a `button`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// `hidden`, `checkbox`, `submit`, …
    pub(super) kind: String,
    /// May be empty for a button that only submits.
    pub(super) name: String,
    /// What is sent.
    pub(super) value: String,
    /// Whether a checkbox starts ticked.
    pub(super) ticked: bool,
}

impl Form {
    /// The first form of `html` that is posted.
    pub(super) fn first(html: &str) -> Option<Self> {
        let mut form: Option<Self> = None;
        for tag in tags(html) {
            let attribute = |name: &str| tag.attributes.get(name).cloned().unwrap_or_default();
            match (tag.name.as_str(), &mut form) {
                ("form", None) if attribute("method").eq_ignore_ascii_case("post") => {
                    form = Some(Self { action: attribute("action"), fields: Vec::new() });
                }
                ("/form", Some(_)) => break,
                ("input" | "button", Some(form)) => {
                    let default = if tag.name == "button" { "submit" } else { "text" };
                    let kind = tag.attributes.get("type").map_or(default, String::as_str).to_ascii_lowercase();
                    let ticked = tag.attributes.contains_key("checked");
                    form.fields.push(Field { kind, name: attribute("name"), value: attribute("value"), ticked });
                }
                _ => {}
            }
        }
        form
    }

    /// The value of the field `name`, if there is one.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }

    /// The values of the checkboxes `name`.
    pub(super) fn checkboxes(&self, name: &str) -> Vec<&Field> {
        self.fields.iter().filter(|field| field.kind == "checkbox" && field.name == name).collect()
    }

    /// What a browser sends when the button `pressed` (name and value) is pressed and the checkboxes with the values
    /// `untick` have been unticked (HTML, "constructing the entry list").
    pub(super) fn entries(&self, pressed: Option<(&str, &str)>, untick: &[&str]) -> Vec<(String, String)> {
        let sent = |field: &&Field| match field.kind.as_str() {
            "checkbox" => field.ticked && !untick.contains(&field.value.as_str()),
            "submit" => pressed == Some((&field.name, &field.value)),
            _ => !field.name.is_empty(),
        };
        self.fields.iter().filter(sent).map(|field| (field.name.clone(), field.value.clone())).collect()
    }
}

struct Tag {
    name: String,
    attributes: HashMap<String, String>,
}

fn tags(html: &str) -> impl Iterator<Item = Tag> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let (_, tag) = rest.split_once('<')?;
        let (tag, after) = split_tag(tag);
        rest = after;
        Some(read_tag(tag))
    })
}

/// Splits at the `>` that ends a tag: the first that stands outside quotes.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (place, symbol) in text.char_indices() {
        match (quote, symbol) {
            (None, '>') => return (text.get(..place).unwrap_or_default(), text.get(place + 1..).unwrap_or_default()),
            (None, '"' | '\'') => quote = Some(symbol),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    (text, "")
}

fn read_tag(tag: &str) -> Tag {
    let (name, mut rest) = tag.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((tag, ""));
    let mut attributes = HashMap::new();
    loop {
        rest = rest.trim_start();
        let end = rest.find(|c: char| c == '=' || c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        if attribute.is_empty() {
            return Tag { name: name.to_ascii_lowercase(), attributes };
        }
        let quoted = after.strip_prefix('=').and_then(|value| {
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            value.get(1..)?.split_once(quote)
        });
        let (value, after) = quoted.unwrap_or(("", after.strip_prefix('=').unwrap_or(after)));
        attributes.entry(attribute.to_ascii_lowercase()).or_insert_with(|| unescaped(value));
        rest = after;
    }
}

/// Undoes the escapes that HTML writers use in attributes.
pub(super) fn unescaped(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, entity)) = rest.split_once('&') {
        read.push_str(before);
        let known = entity.split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
        let (symbol, after) = known.unwrap_or(('&', entity));
        read.push(symbol);
        rest = after;
    }
    read.push_str(rest);
    read
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSENT: &str = r#"<!doctype html><html><head><title>a > b</title></head><body>
        <a href="http://x.example/?a=1&amp;b=2" title="a > b">Not you?</a>
        <form method="post" action="http://auth.shop.localhost:4000/consent/decision" data-none="Tick > 0">
        <input type="hidden" name="session" value="c2Vzc2lvbg">
        <ul><li><input type="checkbox" name="scope" value="orders:read" id="requested-1" checked>
        <label for="requested-1"><bdi>Look up &lt;your&gt; orders</bdi></label></li>
        <li><input type="checkbox" name="scope" value="orders:cancel" id="requested-2" aria-describedby="d" checked></li>
        <li><input type="checkbox" name="scope" value="refunds:issue" id="requested-3"></li></ul>
        <button type="submit" name="decision" value="allow">Allow</button>
        <button type="submit" name="decision" value="deny">Don&#x27;t allow</button></form>
        <form method="post" action="/other"><input type="hidden" name="session" value="other"></form>"#;

    fn pairs(entries: &[(String, String)]) -> Vec<(&str, &str)> {
        entries.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn the_first_form_of_a_consent_page_is_read_and_no_other() {
        let form = Form::first(CONSENT).unwrap();
        assert_eq!(form.action, "http://auth.shop.localhost:4000/consent/decision");
        assert_eq!(form.value("session"), Some("c2Vzc2lvbg"));
        let ids: Vec<_> = form.checkboxes("scope").iter().map(|field| (field.value.as_str(), field.ticked)).collect();
        assert_eq!(ids, [("orders:read", true), ("orders:cancel", true), ("refunds:issue", false)]);
    }

    #[test]
    fn ticked_boxes_and_the_pressed_button_are_sent() {
        let form = Form::first(CONSENT).unwrap();
        let entries = form.entries(Some(("decision", "allow")), &["orders:cancel"]);
        assert_eq!(pairs(&entries), [("session", "c2Vzc2lvbg"), ("scope", "orders:read"), ("decision", "allow")]);
        let entries = form.entries(Some(("decision", "deny")), &[]);
        assert_eq!(
            pairs(&entries),
            [("session", "c2Vzc2lvbg"), ("scope", "orders:read"), ("scope", "orders:cancel"), ("decision", "deny")]
        );
    }

    #[test]
    fn a_page_without_a_posted_form_has_none() {
        for html in ["", "<p>text", "<form action=\"/search\"><input name=\"q\"></form>", "<form", "<", "a < b"] {
            assert_eq!(Form::first(html), None, "{html}");
        }
    }

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(unescaped("a&amp;lt;b &lt;&#62;&#x27;&quot; &unknown; & x"), "a&lt;b <>'\" &unknown; & x");
    }
}
