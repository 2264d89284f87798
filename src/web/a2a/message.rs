//! A `SendMessageRequest` as it arrives (PACT §4.1): read strictly as JSON, leniently as A2A.
//!
//! Members that are null or empty text count as absent, and those that PACT gives no meaning are ignored, whatever they
//! hold.

use serde_json::Value;

use crate::domain::id::MessageId;
use crate::flow::send_message::IncomingMessage;
use crate::protocol::a2a::{InboundPart, ROLE_USER, Reason, SendMessageRequest, drop_absent};
use crate::protocol::json::{self, InvalidJson};

/// Why a request is refused, with a text for the developer who sent it.
pub type Refusal = (Reason, String);

/// Reads a body.
///
/// # Errors
/// The reason and a text that names the member.
pub fn read(body: &[u8]) -> Result<IncomingMessage, Refusal> {
    let invalid = |text: String| (Reason::InvalidParams, text);
    let mut request = json::parse(body).map_err(|error| invalid(format!("The body is not valid JSON: {error}")))?;
    if !request.get("message").is_some_and(Value::is_object) || !json::holds_objects(&request, "/message/parts") {
        return Err(invalid("message: expected an object, with a list of objects as its parts".to_owned()));
    }
    clean(&mut request);
    if let Some(problem) = misshapen(&request) {
        return Err(invalid(problem));
    }
    let request: SendMessageRequest = serde_json::from_value(request)
        .map_err(|error| invalid(format!("message: {}", InvalidJson::of_shape(&error))))?;
    let message = request.message;
    if message.task_id.is_some() {
        return Err((Reason::TaskNotFound, "Task not found".to_owned()));
    }
    if message.role != ROLE_USER {
        return Err(invalid(format!("message.role: expected {ROLE_USER}")));
    }
    let id = MessageId::parse(message.message_id).map_err(|error| invalid(format!("message.{error}")))?;
    let texts = message.parts.into_iter().enumerate().map(|(index, part)| text(index, part));
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Err(invalid("message.parts: expected at least one part with text that is not blank".to_owned()));
    }
    Ok(IncomingMessage { message: id, context: message.context_id, texts })
}

/// The first member of the message that is not of its type, by its name.
fn misshapen(request: &Value) -> Option<String> {
    let message = request.get("message")?;
    let is_other = |name: &&str| message.get(*name).is_some_and(|value| !value.is_string());
    if let Some(name) = ["messageId", "contextId", "taskId", "role"].into_iter().find(is_other) {
        return Some(format!("message.{name}: expected text"));
    }
    let parts = message.get("parts")?;
    let Some(parts) = parts.as_array() else { return Some("message.parts: expected a list".to_owned()) };
    let index = parts.iter().position(|part| part.get("text").is_some_and(|text| !text.is_string()))?;
    Some(format!("message.parts[{index}].text: expected text"))
}

/// Takes out what counts as absent: of the message, and of each part.
fn clean(request: &mut Value) {
    let Some(message) = request.get_mut("message").and_then(Value::as_object_mut) else { return };
    drop_absent(message);
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
        drop_absent(part);
    }
}

fn text(index: usize, part: InboundPart) -> Result<String, Refusal> {
    let other = [("raw", part.raw), ("url", part.url), ("data", part.data)];
    if let Some((kind, _)) = other.into_iter().find(|(_, value)| value.is_some()) {
        return Err((
            Reason::ContentTypeNotSupported,
            format!("message.parts[{index}].{kind}: only text is supported"),
        ));
    }
    part.text.ok_or_else(|| (Reason::InvalidParams, format!("message.parts[{index}]: has no text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(members: &str) -> String {
        format!(r#"{{"message":{{{members}}}}}"#)
    }

    fn reason(members: &str) -> Reason {
        read(body(members).as_bytes()).unwrap_err().0
    }

    /// What a type that is read from objects would also be read from.
    const ARRAYS: [&str; 3] = [
        r#"[{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi"}]}]"#,
        r#"{"message":["m",null,null,"ROLE_USER",[{"text":"Hi"}]]}"#,
        r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[["Hi"]]}}"#,
    ];
    const GOOD: &str = r#""messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Hi"}]"#;

    #[test]
    fn a_plain_message_is_read() {
        let incoming = read(body(GOOD).as_bytes()).unwrap();
        assert_eq!(incoming.message.as_str(), "m-1");
        assert_eq!(incoming.texts, ["Hi"]);
        assert_eq!(incoming.context, None);
    }

    // case 66
    #[test]
    fn null_and_empty_optional_members_count_as_absent_and_unknown_ones_are_ignored() {
        let more = r#","taskId":null,"contextId":"","metadata":{"x":[1]},"extensions":7,"unknown":null"#;
        let incoming = read(body(&format!("{GOOD}{more}")).as_bytes()).unwrap();
        assert_eq!(incoming.context, None);
        assert!(read(body(&format!(r#"{GOOD},"taskId":"""#)).as_bytes()).is_ok());
        let parts = r#""messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi","url":null,"raw":"","mediaType":"x"}]"#;
        assert!(read(body(parts).as_bytes()).is_ok());
    }

    // case 66
    #[test]
    fn a_task_id_names_a_task_that_is_not_there() {
        let refusal = read(body(&format!(r#"{GOOD},"taskId":"x""#)).as_bytes()).unwrap_err();
        assert_eq!(refusal, (Reason::TaskNotFound, "Task not found".to_owned()));
    }

    // case 65
    #[test]
    fn parts_without_text_are_refused() {
        for parts in [
            "[]",
            "[{}]",
            r#"[{"text":""}]"#,
            r#"[{"text":" "}]"#,
            r#"[{"text":1}]"#,
            r#"["x"]"#,
            "null",
            r#"[{"text":"a"},{}]"#,
        ] {
            let members = format!(r#""messageId":"m","role":"ROLE_USER","parts":{parts}"#);
            assert_eq!(reason(&members), Reason::InvalidParams, "{parts}");
        }
    }

    // case 65
    #[test]
    fn parts_that_are_not_text_are_not_supported() {
        for part in [r#"{"text":"a","url":"https://x"}"#, r#"{"data":{}}"#, r#"{"raw":"AA=="}"#] {
            let members = format!(r#""messageId":"m","role":"ROLE_USER","parts":[{part}]"#);
            assert_eq!(reason(&members), Reason::ContentTypeNotSupported, "{part}");
        }
    }

    // case 66
    #[test]
    fn only_a_user_speaks() {
        for role in [r#""user""#, r#""ROLE_AGENT""#, "1", "null"] {
            let members = format!(r#""messageId":"m","role":{role},"parts":[{{"text":"a"}}]"#);
            assert_eq!(reason(&members), Reason::InvalidParams, "{role}");
        }
        assert_eq!(reason(r#""messageId":"m","parts":[{"text":"a"}]"#), Reason::InvalidParams);
    }

    #[test]
    fn a_message_id_has_1_to_256_characters() {
        let with = |id: &str| {
            read(body(&format!(r#""messageId":{id},"role":"ROLE_USER","parts":[{{"text":"a"}}]"#)).as_bytes())
        };
        assert!(with(&format!("\"{}\"", "é".repeat(256))).is_ok());
        for wrong in [
            r#""""#.to_owned(),
            "1".to_owned(),
            "null".to_owned(),
            format!("\"{}\"", "m".repeat(257)),
            r#""a\u0000""#.to_owned(),
        ] {
            assert_eq!(with(&wrong).unwrap_err().0, Reason::InvalidParams, "{wrong}");
        }
    }

    // case 64
    #[test]
    fn what_is_not_one_strict_json_object_is_refused() {
        for text in
            ["", "[]", "null", "{}", r#"{"message":[]}"#, r#"{"message":{}} x"#, ARRAYS[0], ARRAYS[1], ARRAYS[2]]
        {
            assert_eq!(read(text.as_bytes()).unwrap_err().0, Reason::InvalidParams, "{text}");
        }
        let duplicate = format!(r#"{{"message":{{{GOOD}}},"metadata":{{"a":1,"a":2}}}}"#);
        assert_eq!(read(duplicate.as_bytes()).unwrap_err().0, Reason::InvalidParams);
    }
}
