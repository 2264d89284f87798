//! Requests to the Provider, as anybody could send them.

use std::net::SocketAddr;
use std::time::Duration;

use assent::outbound::{Method, Outbound, OutboundError, Request, Response};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::carried::Carried;

/// A request in the making.
#[derive(Clone)]
pub(crate) struct Ask {
    outbound: Outbound,
    request: Request,
}

impl Ask {
    pub(crate) fn new(outbound: &Outbound, address: SocketAddr, method: Method, host: &str, path: &str) -> Self {
        let url = Url::parse(&format!("http://{address}{path}")).unwrap();
        let mut request = Request::new(method, url).header("host", host);
        request.timeout = Some(Duration::from_secs(60));
        request.max_bytes = Some(1 << 20);
        Self { outbound: outbound.clone(), request }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn delegation(self, token: &str) -> Self {
        self.header("x-a2a-user-delegation", &format!("Bearer {token}"))
    }

    pub(crate) fn cookie(self, cookie: &str) -> Self {
        self.header("cookie", cookie)
    }

    pub(crate) fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", content_type).bytes(body)
    }

    /// A body that says nothing of its type.
    pub(crate) fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.request.body = Some(body.into());
        self
    }

    pub(crate) fn form(self, pairs: &[(&str, &str)]) -> Self {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.body("application/x-www-form-urlencoded", body)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// Sends it; a refusal may repeat no secret of it.
    pub(crate) async fn send(self) -> Answer {
        self.attempt().await.unwrap()
    }

    /// The same, to one who may be gone before the answer.
    pub(crate) async fn attempt(self) -> Result<Answer, OutboundError> {
        let carried = Carried::of(&self.request);
        let answer = self.outbound.exchange(self.request).await?;
        carried.assert_kept_back(&answer);
        Ok(Answer(answer))
    }
}

/// What came back.
#[derive(Clone)]
pub(crate) struct Answer(pub(crate) Response);

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.0.body).unwrap_or_else(|_| panic!("{} {:?}", self.status(), self.text()))
    }

    /// The body of an answer of the authorization server: JSON that nobody stores (RFC 6749 §5.1).
    pub(crate) fn oauth_json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{} {}", self.status(), self.text());
        assert_eq!(self.header("cache-control"), Some("no-store"));
        self.json()
    }

    /// `error` of an OAuth answer, which also has a description.
    pub(crate) fn oauth_error(&self) -> String {
        let json = self.oauth_json();
        assert!(json["error_description"].as_str().is_some_and(|text| text.len() > 10), "{json}");
        json["error"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
    }

    /// `error.details[0].reason` of an A2A answer.
    pub(crate) fn reason(&self) -> String {
        self.json()["error"]["details"][0]["reason"].as_str().unwrap().to_owned()
    }

    /// The conversation that a reply or a step-up is of.
    pub(crate) fn context(&self) -> String {
        let json = self.json();
        let context = json["message"]["contextId"].as_str().or(json["task"]["contextId"].as_str());
        context.unwrap_or_else(|| panic!("{json}")).to_owned()
    }

    /// That this is an A2A error of PACT §6, whole and with nothing more.
    pub(crate) fn assert_a2a_error(&self, reason: &str) {
        let (code, status) = match reason {
            "TASK_NOT_FOUND" => (404, "NOT_FOUND"),
            "INTERNAL" => (500, "INTERNAL"),
            "UNSUPPORTED_OPERATION" | "PUSH_NOTIFICATION_NOT_SUPPORTED" => (400, "FAILED_PRECONDITION"),
            _ => (400, "INVALID_ARGUMENT"),
        };
        let json = self.json();
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org",
        });
        let message = json["error"]["message"].clone();
        let expected = json!({ "error": { "code": code, "status": status, "message": message, "details": [info] } });
        assert_eq!(json, expected);
        assert_eq!((self.status(), self.header("content-type")), (code, Some("application/a2a+json")));
        assert!(message.as_str().is_some_and(|message| !message.is_empty()));
    }

    /// That this has no body, and this status.
    pub(crate) fn assert_empty(&self, status: u16) {
        assert_eq!((self.status(), self.text().as_str()), (status, ""));
    }

    /// That this is the bare 401 of PACT §3.4.
    pub(crate) fn assert_unauthenticated(&self) {
        assert_eq!(self.status(), 401, "{}", self.text());
        assert_eq!(self.header("www-authenticate"), Some(r#"Bearer realm="a2a""#));
        assert_eq!(self.text(), "");
    }

    /// That this is the 401 of PACT §5.5.
    pub(crate) fn assert_invalid_token(&self) {
        assert_eq!(self.status(), 401, "{}", self.text());
        assert_eq!(self.header("www-authenticate"), Some(r#"Bearer realm="a2a", error="invalid_token""#));
        assert_eq!(self.text(), "");
    }
}
