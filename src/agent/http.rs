//! A backend that is called over HTTP.
//!
//! Refuses every answer but a 200 of `application/json` within the configured bound, and follows no redirect: a turn carries
//! what the User said, and goes nowhere but to the address the Brand gave.

use std::time::Duration;

use tokio::sync::Semaphore;

use super::{AgentBounds, AgentCall, AgentError};
use crate::domain::brand::HttpAgent;
use crate::outbound::{Outbound, OutboundError, Request, Response};
use crate::protocol::agent::TurnAnswer;

/// What a backend may ask callers to wait, in seconds: more than a caller will.
const MAX_RETRY_AFTER_SECONDS: u32 = 600;

pub(super) struct HttpBackend {
    outbound: Outbound,
    in_flight: Semaphore,
    max_answer_bytes: usize,
}

impl HttpBackend {
    pub(super) fn new(outbound: Outbound, bounds: AgentBounds) -> Self {
        let AgentBounds { turns_in_flight, max_answer_bytes } = bounds;
        Self { outbound, in_flight: Semaphore::new(turns_in_flight), max_answer_bytes }
    }

    /// Runs one turn. One that would have to wait for others is refused at once: who waits here holds a request open
    /// at our own door.
    pub(super) async fn run(&self, agent: &HttpAgent, call: &AgentCall) -> Result<TurnAnswer, AgentError> {
        let Ok(_permit) = self.in_flight.try_acquire() else {
            return Err(AgentError::Busy { retry_after_seconds: 1 });
        };
        let mut request = Request::post(agent.url.clone(), "application/json", call.body.clone())
            .header("accept", "application/json")
            .header("authorization", &format!("Bearer {}", call.turn_token.expose()))
            .header("idempotency-key", &call.idempotency_key);
        request.timeout = Some(Duration::from_secs(agent.timeout_seconds.into()));
        request.max_bytes = Some(self.max_answer_bytes);
        let response = self.outbound.exchange(request).await.map_err(|error| unanswered(&error))?;
        read(&response)
    }
}

fn unanswered(error: &OutboundError) -> AgentError {
    match error {
        OutboundError::TimedOut { .. } => AgentError::TimedOut,
        OutboundError::Failed { reason, .. } | OutboundError::Refused { reason, .. } | OutboundError::Setup(reason) => {
            AgentError::Failed(reason)
        }
        OutboundError::NotPublic { .. } => AgentError::Failed("has no public address"),
        OutboundError::TooLarge { .. } => AgentError::Failed("the answer is too large"),
        OutboundError::Status { .. } => AgentError::Failed("the status is not 200"),
    }
}

fn read(response: &Response) -> Result<TurnAnswer, AgentError> {
    match response.status {
        200 if !response.is_json() => Err(AgentError::Failed("the answer is not application/json")),
        200 => TurnAnswer::parse(&response.body).map_err(|_| AgentError::Failed("the answer has another shape")),
        429 | 503 => Err(AgentError::Busy { retry_after_seconds: retry_after(response) }),
        _ => Err(AgentError::Failed("the status is not 200")),
    }
}

/// Seconds of `Retry-After` (RFC 9110 §10.2.3); 1 when there are none, or a date stands there.
fn retry_after(response: &Response) -> u32 {
    let text = response.header("retry-after").unwrap_or_default().trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return 1;
    }
    text.parse().unwrap_or(MAX_RETRY_AFTER_SECONDS).clamp(1, MAX_RETRY_AFTER_SECONDS)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::{Arc, mpsc};
    use std::thread;

    use url::Url;

    use super::*;
    use crate::agent::{Agents, builtin};
    use crate::config::OutboundConfig;
    use crate::domain::brand::Agent;
    use crate::outbound::SystemResolver;
    use crate::protocol::agent::Turn;
    use crate::protocol::json;
    use crate::secret::Secret;

    const MAX_ANSWER_BYTES: usize = 256 * 1024;

    fn agents(turns_in_flight: usize) -> Agents {
        let config = OutboundConfig { allow_private: true, ..OutboundConfig::default() };
        let bounds = AgentBounds { turns_in_flight, max_answer_bytes: MAX_ANSWER_BYTES };
        Agents::new(Outbound::new(&config, Arc::new(SystemResolver)).unwrap(), bounds)
    }

    fn call() -> AgentCall {
        let body = br#"{"brandId":"b","contextId":"c","messageId":"m","parts":[{"text":"hello"}],"caller":{"personalAgent":"https://pa.example.com","sub":"u"}}"#;
        AgentCall {
            body: body.to_vec(),
            turn: json::parse_as(body).unwrap(),
            turn_token: Secret::new("turn-token".to_owned()),
            idempotency_key: "c/m".to_owned(),
        }
    }

    /// A backend that answers each request with what `answer` makes of its head and body.
    fn backend(answer: impl Fn(&str, &[u8]) -> String + Send + 'static) -> Agent {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/turn", listener.local_addr().unwrap())).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
                let length = head.to_ascii_lowercase();
                let length = length.split("content-length: ").nth(1).unwrap().lines().next().unwrap().to_owned();
                let mut body = vec![0; length.parse().unwrap()];
                stream.read_exact(&mut body).unwrap();
                let _ = stream.get_mut().write_all(answer(&head, &body).as_bytes());
            }
        });
        Agent::Http(HttpAgent { url, timeout_seconds: 1, forward_token: false })
    }

    fn http(status: &str, headers: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    const JSON: &str = "content-type: application/json\r\n";

    async fn outcome(answer: String) -> Result<TurnAnswer, AgentError> {
        agents(1).run(&backend(move |_, _| answer.clone()), &call()).await
    }

    #[tokio::test]
    async fn a_turn_carries_its_token_its_key_and_the_signed_bytes() {
        let agent = backend(|head, body| {
            let head = head.to_ascii_lowercase();
            assert!(head.starts_with("post /turn http/1.1\r\n"));
            for line in ["authorization: bearer turn-token", "idempotency-key: c/m", "content-type: application/json"] {
                assert!(head.contains(&format!("\r\n{line}\r\n")), "{line} in {head}");
            }
            assert_eq!(body, call().body);
            let turn: Turn = json::parse_as(body).unwrap();
            http("200 OK", JSON, &serde_json::to_string(&builtin::answer(&turn)).unwrap())
        });
        let answer = agents(1).run(&agent, &call()).await.unwrap();
        assert_eq!(answer, builtin::answer(&call().turn));
    }

    // case 63
    #[tokio::test]
    async fn whatever_is_not_a_json_answer_is_a_failure() {
        let good = r#"{"parts":[{"text":"a"}]}"#;
        assert_eq!(outcome(http("200 OK", JSON, good)).await, Ok(TurnAnswer::text("a")));
        for wrong in [
            http("200 OK", "content-type: text/html\r\n", good),
            http("200 OK", "", good),
            http("200 OK", JSON, "<html></html>"),
            http("200 OK", JSON, ""),
            http("200 OK", &format!("{JSON}content-encoding: gzip\r\n"), "\u{1f}"),
            http("201 Created", JSON, good),
            http("302 Found", &format!("{JSON}location: /else\r\n"), good),
            http("500 X", JSON, good),
            http("200 OK", JSON, &format!(r#"{{"parts":[{{"text":"{}"}}]}}"#, "x".repeat(MAX_ANSWER_BYTES))),
            "nonsense".to_owned(),
            String::new(),
        ] {
            let outcome = outcome(wrong.clone()).await;
            assert!(matches!(outcome, Err(AgentError::Failed(_))), "{outcome:?} for {:.80}", wrong);
        }
    }

    #[tokio::test]
    async fn a_busy_backend_says_how_long() {
        for (status, header, expected) in [
            ("429 X", "retry-after: 7\r\n", 7),
            ("503 X", "", 1),
            ("503 X", "retry-after: 0\r\n", 1),
            ("503 X", "retry-after: 99999999999999\r\n", 600),
            ("503 X", "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", 1),
            ("429 X", "retry-after: -5\r\n", 1),
        ] {
            let expected = Err(AgentError::Busy { retry_after_seconds: expected });
            assert_eq!(outcome(http(status, header, "")).await, expected, "{header}");
        }
    }

    // case 63
    #[tokio::test]
    async fn a_backend_that_says_nothing_times_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let agent = Agent::Http(HttpAgent { url, timeout_seconds: 1, forward_token: false });
        assert_eq!(agents(1).run(&agent, &call()).await, Err(AgentError::TimedOut));
    }

    #[tokio::test]
    async fn turns_above_the_bound_are_refused_and_a_finished_one_makes_room() {
        let (reached, wait_reached) = mpsc::channel();
        let (release, wait_release) = mpsc::channel::<()>();
        let agent = backend(move |_, _| {
            let _ = reached.send(());
            wait_release.recv().unwrap();
            http("200 OK", JSON, r#"{"parts":[{"text":"a"}]}"#)
        });
        let agents = Arc::new(agents(1));
        let first = tokio::spawn({
            let (agents, agent) = (Arc::clone(&agents), agent.clone());
            async move { agents.run(&agent, &call()).await }
        });
        tokio::task::spawn_blocking(move || wait_reached.recv().unwrap()).await.unwrap();
        assert_eq!(agents.run(&agent, &call()).await, Err(AgentError::Busy { retry_after_seconds: 1 }));
        let other = backend(|_, _| http("200 OK", JSON, r#"{"parts":[{"text":"b"}]}"#));
        assert_eq!(agents.run(&other, &call()).await, Ok(TurnAnswer::text("b")));
        release.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(TurnAnswer::text("a")));
        release.send(()).unwrap();
        assert_eq!(agents.run(&agent, &call()).await, Ok(TurnAnswer::text("a")));
    }
}
