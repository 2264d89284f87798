//! Bodies of requests.

use std::collections::HashSet;

use assent::web::a2a::message;
use assent::web::extract::strict_form;
use serde_json::Value;

/// A form is read as the URL standard's decoder reads it, each name but the repeatable one stands once, and a refusal says
/// nothing that RFC 6749 §5.2 keeps out of an `error_description`.
pub fn strict_form(data: &[u8]) {
    match strict_form::parse(data, &["scope"]) {
        Ok(form) => {
            let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(data).expect("a form that was read");
            let mut names = HashSet::new();
            for (name, value) in &pairs {
                assert!(!name.contains('\0') && !value.contains('\0'));
                assert!(names.insert(name) || name == "scope", "{name} stands twice");
                if name != "scope" {
                    assert_eq!(form.one(name), Some(value.as_str()).filter(|value| !value.is_empty()));
                }
            }
            let scopes = pairs.iter().filter(|(name, value)| name == "scope" && !value.is_empty());
            assert!(form.all("scope").eq(scopes.map(|(_, value)| value.as_str())));
        }
        Err(problem) => {
            let allowed = |c: char| matches!(c, ' '..='!' | '#'..='[' | ']'..='~');
            let text = problem.to_string();
            assert!(text.chars().all(allowed) && text.len() < 200, "{text}");
        }
    }
}

/// A message that is accepted is one JSON object for any parser, says something, and has an id of the contract's length;
/// a refusal is short enough to be an error's text.
pub fn a2a_body(data: &[u8]) {
    match message::read(data) {
        Ok(read) => {
            let plain: Value = serde_json::from_slice(data).expect("any parser reads what was accepted");
            assert!(plain.is_object());
            let id = plain.pointer("/message/messageId").and_then(Value::as_str).expect("an id");
            assert!((1..=256).contains(&id.chars().count()));
            assert_eq!(read.message.as_str(), id);
            assert_eq!(plain.pointer("/message/role").and_then(Value::as_str), Some("ROLE_USER"));
            assert!(read.texts.iter().any(|text| !text.trim().is_empty()));
            let parts = plain.pointer("/message/parts").and_then(Value::as_array).expect("parts");
            let texts = parts.iter().map(|part| part.get("text").and_then(Value::as_str).unwrap_or_default());
            assert!(texts.eq(read.texts.iter().map(String::as_str)));
            let context = plain.pointer("/message/contextId").and_then(Value::as_str).filter(|id| !id.is_empty());
            assert_eq!(read.context.as_deref(), context);
        }
        Err((_, text)) => assert!(text.len() <= 400, "{} bytes of refusal", text.len()),
    }
}
