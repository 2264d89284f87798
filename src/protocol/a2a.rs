//! A2A 1.0 messages, tasks and errors, as far as PACT uses them (PACT §4, §5.5, §6).
//!
//! Answers keep nulls out and carry no member that A2A does not define outside `metadata`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// `Content-Type` of every A2A answer (PACT §2).
pub const CONTENT_TYPE: &str = "application/a2a+json";

/// A `SendMessageRequest`. Members that PACT gives no meaning are ignored.
#[derive(Debug, Deserialize)]
pub struct SendMessageRequest {
    /// The message.
    pub message: InboundMessage,
}

/// A message as it arrives. Optional members that are null count as absent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboundMessage {
    /// Unique within the context.
    pub message_id: String,
    /// The conversation it continues.
    #[serde(default)]
    pub context_id: Option<String>,
    /// Must be absent (PACT §4.1).
    #[serde(default)]
    pub task_id: Option<String>,
    /// `ROLE_USER`.
    pub role: String,
    /// At least one, of text.
    pub parts: Vec<InboundPart>,
}

/// A part as it arrives: just one of these members is meant to be there.
#[derive(Debug, Deserialize)]
pub struct InboundPart {
    /// Text.
    #[serde(default)]
    pub text: Option<String>,
    /// Bytes, which PACT does not carry.
    #[serde(default)]
    pub raw: Option<Value>,
    /// A file's address, which PACT does not carry.
    #[serde(default)]
    pub url: Option<Value>,
    /// Structured data, which PACT does not carry.
    #[serde(default)]
    pub data: Option<Value>,
}

/// The answer to `message:send`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendMessageResponse {
    /// An ordinary reply.
    Message(OutboundMessage),
    /// A step-up.
    Task(Task),
}

/// A reply.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboundMessage {
    /// Its own id.
    pub message_id: String,
    /// The conversation.
    pub context_id: String,
    /// `ROLE_AGENT`.
    pub role: &'static str,
    /// Text only.
    pub parts: Vec<TextPart>,
    /// The receipt, under delegation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// The role of every reply.
pub const ROLE_AGENT: &str = "ROLE_AGENT";
/// The role of every message that is accepted.
pub const ROLE_USER: &str = "ROLE_USER";

/// A part of text.
#[derive(Clone, Debug, Serialize)]
pub struct TextPart {
    /// The text.
    pub text: String,
}

/// PACT's members of `metadata`.
#[derive(Clone, Debug, Serialize)]
pub struct Metadata {
    /// PACT §5.6.
    #[serde(rename = "pact.receipt", skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// PACT §5.5: the ids that the token lacks.
    #[serde(rename = "pact.missingScopes", skip_serializing_if = "Vec::is_empty")]
    pub missing_scopes: Vec<String>,
    /// PACT §5.5: where the User can allow them.
    #[serde(rename = "pact.verificationUriComplete", skip_serializing_if = "Option::is_none")]
    pub verification_uri_complete: Option<String>,
}

/// A signed receipt beside its claims, which are the very bytes that were signed.
#[derive(Clone, Debug, Serialize)]
pub struct Receipt {
    /// The compact JWS.
    pub jws: String,
    /// Its payload.
    pub claims: Box<RawValue>,
}

/// A step-up (PACT §5.5).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Ephemeral: `tasks/{id}` does not find it.
    pub id: String,
    /// The conversation, which stays open.
    pub context_id: String,
    /// `TASK_STATE_AUTH_REQUIRED`.
    pub status: TaskStatus,
    /// What is missing, and where it can be allowed.
    pub metadata: Metadata,
}

/// A task's status.
#[derive(Clone, Debug, Serialize)]
pub struct TaskStatus {
    /// `TASK_STATE_AUTH_REQUIRED`.
    pub state: &'static str,
    /// The agent's words.
    pub message: OutboundMessage,
}

/// The state of a step-up's task.
pub const TASK_STATE_AUTH_REQUIRED: &str = "TASK_STATE_AUTH_REQUIRED";

/// An empty `ListTasksResponse` (PACT §2.2).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// None.
    pub tasks: Vec<Value>,
    /// Empty.
    pub next_page_token: &'static str,
    /// As asked for.
    pub page_size: u32,
    /// Zero.
    pub total_size: u32,
}

/// The reasons of PACT §6.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Invalid request.
    InvalidParams,
    /// A part that is not text.
    ContentTypeNotSupported,
    /// Unsupported operation, or a closed context.
    UnsupportedOperation,
    /// Push notifications are not supported.
    PushNotificationNotSupported,
    /// No such task.
    TaskNotFound,
    /// The Provider failed.
    Internal,
}

impl Reason {
    /// `error.details[0].reason`, the HTTP status and `error.status`.
    pub const fn parts(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::InvalidParams => ("INVALID_PARAMS", 400, "INVALID_ARGUMENT"),
            Self::ContentTypeNotSupported => ("CONTENT_TYPE_NOT_SUPPORTED", 400, "INVALID_ARGUMENT"),
            Self::UnsupportedOperation => ("UNSUPPORTED_OPERATION", 400, "FAILED_PRECONDITION"),
            Self::PushNotificationNotSupported => ("PUSH_NOTIFICATION_NOT_SUPPORTED", 400, "FAILED_PRECONDITION"),
            Self::TaskNotFound => ("TASK_NOT_FOUND", 404, "NOT_FOUND"),
            Self::Internal => ("INTERNAL", 500, "INTERNAL"),
        }
    }
}

/// The A2A / AIP-193 envelope (PACT §6).
#[derive(Clone, Debug, Serialize)]
pub struct ErrorEnvelope {
    error: ErrorStatus,
}

#[derive(Clone, Debug, Serialize)]
struct ErrorStatus {
    code: u16,
    status: &'static str,
    message: String,
    details: [ErrorInfo; 1],
}

#[derive(Clone, Debug, Serialize)]
struct ErrorInfo {
    #[serde(rename = "@type")]
    kind: &'static str,
    reason: &'static str,
    domain: &'static str,
}

impl ErrorEnvelope {
    /// The envelope for `reason` with a message for developers.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        let (reason, code, status) = reason.parts();
        let info = ErrorInfo { kind: "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" };
        Self { error: ErrorStatus { code, status, message: message.into(), details: [info] } }
    }
}

/// Takes out of a JSON object's `object` the members that are null or empty text, which count as absent.
pub fn drop_absent(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
}
