//! A turn, as it is handed to the agent behind an interface, and the agent's answer.
//!
//! The answer is read strictly: an unknown member, a wrong type or an empty text makes the whole of it unusable. What an
//! agent may claim is judged elsewhere; here it only has to be well formed.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::json::{self, InvalidJson};
use crate::domain::scope::{ScopeId, ScopeSet};
use crate::secret::Secret;

/// What the backend is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Turn {
    /// The Brand that was addressed.
    pub brand_id: String,
    /// The conversation (PACT §4.2).
    pub context_id: String,
    /// The message, by its sender's own id (PACT §4.1).
    pub message_id: String,
    /// What the User said; at least one.
    pub parts: Vec<TextPart>,
    /// Who relays it.
    pub caller: TurnCaller,
    /// Absent when the message came under PACT §3 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<TurnDelegation>,
}

/// The one kind of part there is (PACT §4.1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    /// For people.
    pub text: String,
}

impl TextPart {
    /// A part that says `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// The personal agent and its name for the User (PACT §3.2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnCaller {
    /// Its issuer.
    pub personal_agent: String,
    /// Opaque, per User of that personal agent.
    pub sub: String,
}

/// The authority under which a turn runs (PACT §5.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnDelegation {
    /// The User's id at the Brand.
    pub user: String,
    /// The scopes of both the token and the grant, as they are when the turn is sent.
    #[serde(with = "scope_list")]
    pub scopes: ScopeSet,
    /// The grant that allows them.
    pub grant_id: String,
    /// A delegation token for the Brand's own account API, where the Brand asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "shown_secret")]
    pub token: Option<Secret<String>>,
}

/// What the agent answered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnAnswer {
    /// What the User reads; only a step-up may come without.
    pub parts: Vec<TextPart>,
    /// The scopes the agent made use of; they go into the receipt (PACT §5.6).
    #[serde(default, with = "scope_list", skip_serializing_if = "ScopeSet::is_empty")]
    pub scopes_used: ScopeSet,
    /// What the agent did; it goes into the receipt (PACT §5.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// What the agent may not do yet: the turn becomes a step-up (PACT §5.5).
    #[serde(default, with = "scope_list", skip_serializing_if = "ScopeSet::is_empty")]
    pub missing_scopes: ScopeSet,
    /// Whether the conversation ends with this reply (PACT §4.2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub close: bool,
}

/// One call of one of the agent's tools.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// Its name: 1 to 128 characters, none of them a control character.
    pub tool: String,
    /// What it was called with; `None` when it takes nothing, or its hash is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// base64url SHA-256 of the RFC 8785 form of the arguments, in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<String>,
}

impl Action {
    fn is_well_formed(&self) -> bool {
        let named = !self.tool.trim().is_empty() && self.tool.chars().count() <= 128;
        let printable = !self.tool.chars().any(char::is_control);
        let base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let hash = self.args_hash.as_ref().is_none_or(|hash| hash.len() == 43 && hash.bytes().all(base64url));
        named && printable && hash && !(self.args.is_some() && self.args_hash.is_some())
    }
}

/// Why an agent's answer cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidAnswer {
    /// It is not JSON of this shape.
    #[error(transparent)]
    Json(#[from] InvalidJson),
    /// It says nothing to the User, or an empty text.
    #[error("parts: at least one text, none of them blank")]
    Parts,
    /// A tool without a name, or with arguments that cannot be recorded.
    #[error("actions: a tool has a name of 1 to 128 characters, and either args or a base64url SHA-256 as argsHash")]
    Action,
    /// A step-up that also ends the conversation, which stays open (PACT §5.5).
    #[error("close: a turn that needs more scopes leaves the conversation open")]
    Close,
}

impl TurnAnswer {
    /// An answer that only says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![TextPart::new(text)],
            scopes_used: ScopeSet::empty(),
            actions: Vec::new(),
            missing_scopes: ScopeSet::empty(),
            close: false,
        }
    }

    /// Reads and checks an answer.
    ///
    /// # Errors
    /// [`InvalidAnswer`], which names the member and never what it holds.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidAnswer> {
        let value = json::parse(bytes)?;
        if !value.is_object() || !["/parts", "/actions"].iter().all(|list| json::holds_objects(&value, list)) {
            return Err(InvalidAnswer::Parts);
        }
        let answer: Self = serde_json::from_value(value).map_err(|error| InvalidJson::of_shape(&error))?;
        answer.check()?;
        Ok(answer)
    }

    /// Whether the agent asks for more scopes instead of answering.
    pub fn is_step_up(&self) -> bool {
        !self.missing_scopes.is_empty()
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// As [`TurnAnswer::parse`].
    pub fn check(&self) -> Result<(), InvalidAnswer> {
        let blank = self.parts.iter().any(|part| part.text.trim().is_empty());
        if !self.is_step_up() && (self.parts.is_empty() || blank) {
            return Err(InvalidAnswer::Parts);
        }
        if !self.actions.iter().all(Action::is_well_formed) {
            return Err(InvalidAnswer::Action);
        }
        if self.is_step_up() && self.close {
            return Err(InvalidAnswer::Close);
        }
        Ok(())
    }
}

/// Scopes as a JSON array of ids.
mod scope_list {
    use super::*;

    pub(super) fn serialize<S: Serializer>(scopes: &ScopeSet, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(scopes.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ScopeSet, D::Error> {
        Ok(Vec::<ScopeId>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The one secret that is written out: a backend that asked for a token is handed it.
mod shown_secret {
    use super::*;

    pub(super) fn serialize<S: Serializer>(token: &Option<Secret<String>>, serializer: S) -> Result<S::Ok, S::Error> {
        token.as_ref().map(Secret::expose).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret<String>>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) {
        assert!(TurnAnswer::parse(text.as_bytes()).is_err(), "{text} was accepted");
    }

    // case 63
    #[test]
    fn a_list_of_members_is_no_answer() {
        refused(r#"[[{"text":"Hi"}]]"#);
        refused(r#"{"parts":[["Hi"]]}"#);
        refused(r#"{"parts":[{"text":"Hi"}],"actions":[["cancel_order"]]}"#);
    }

    #[test]
    fn a_turn_is_written_as_backends_expect_it() {
        let text = r#"{"brandId":"01J","contextId":"c","messageId":"m-001","parts":[{"text":"Cancel my order"}],"caller":{"personalAgent":"https://pa.example.com","sub":"user-7f3a"},"delegation":{"user":"jane-4471","scopes":["orders:read"],"grantId":"a2agrant_1","token":"canary"}}"#;
        let turn: Turn = json::parse_as(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&turn).unwrap(), text);
        assert!(!format!("{turn:?}").contains("canary"));
        let alone = Turn { delegation: None, ..turn };
        assert!(!serde_json::to_string(&alone).unwrap().contains("delegation"));
    }

    #[test]
    fn an_answer_needs_nothing_but_its_parts() {
        let answer = TurnAnswer::parse(br#"{"parts":[{"text":"Done."}]}"#).unwrap();
        assert_eq!(answer, TurnAnswer::text("Done."));
        assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"parts":[{"text":"Done."}]}"#);
    }

    #[test]
    fn a_whole_answer_is_read_as_it_is() {
        let text = r#"{"parts":[{"text":"Cancelled."}],"scopesUsed":["orders:cancel"],"actions":[{"tool":"cancel_order","args":{"order":"A-1"}},{"tool":"lookup_orders","argsHash":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}],"close":true}"#;
        assert_eq!(serde_json::to_string(&TurnAnswer::parse(text.as_bytes()).unwrap()).unwrap(), text);
    }

    // case 63
    #[test]
    fn an_answer_of_any_other_shape_is_refused() {
        for text in [
            "",
            "<html></html>",
            "[]",
            "null",
            "{}",
            r#"{"parts":[]}"#,
            r#"{"parts":"hello"}"#,
            r#"{"parts":[{"text":" \n"}]}"#,
            r#"{"parts":[{"text":"a"},{"text":""}]}"#,
            r#"{"parts":[{"text":"a","more":1}]}"#,
            r#"{"parts":[{"url":"https://x.example"}]}"#,
            r#"{"parts":[{"text":"a"}],"more":1}"#,
            r#"{"parts":[{"text":"a"}],"parts":[{"text":"b"}]}"#,
            r#"{"parts":[{"text":"a"}],"close":"true"}"#,
            r#"{"parts":[{"text":"a"}],"scopesUsed":"orders:read"}"#,
            r#"{"parts":[{"text":"a"}],"scopesUsed":["orders read"]}"#,
            r#"{"parts":[{"text":"a"}],"scopesUsed":null}"#,
        ] {
            refused(text);
        }
    }

    #[test]
    fn an_action_has_a_name_and_one_form_of_arguments() {
        let action = |action: &str| format!(r#"{{"parts":[{{"text":"a"}}],"actions":[{action}]}}"#);
        for wrong in [
            "{}",
            r#"{"tool":""}"#,
            r#"{"tool":"a\nb"}"#,
            r#"{"tool":"a","argsHash":"short"}"#,
            r#"{"tool":"a","argsHash":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#,
            r#"{"tool":"a","args":{},"argsHash":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
        ] {
            refused(&action(wrong));
        }
        assert!(TurnAnswer::parse(action(r#"{"tool":"a"}"#).as_bytes()).is_ok());
    }

    #[test]
    fn a_step_up_may_be_silent_and_leaves_the_conversation_open() {
        assert!(TurnAnswer::parse(br#"{"parts":[],"missingScopes":["orders:cancel"]}"#).unwrap().is_step_up());
        refused(r#"{"parts":[],"missingScopes":["a"],"close":true}"#);
        refused(r#"{"missingScopes":["a"]}"#);
    }
}
