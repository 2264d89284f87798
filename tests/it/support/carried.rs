//! What a request carries that its refusal must not give back: a refusal is logged, cached, pasted into tickets and shown on
//! screens, so that each one that any test gets is looked through.
//!
//! Not looked for, by design: the id of a task and the user code in a request's address, which an answer about them names
//! (`Task not found: …`; the redirect to a Brand's login).

use assent::outbound::{Request, Response};
use url::form_urlencoded;

use super::log;

/// Form fields whose values prove something.
const FIELDS: [&str; 8] =
    ["assertion", "session", "device_code", "refresh_token", "token", "password", "new_password", "repeated_password"];

/// Whatever is shorter is a test's nonsense, which may well be part of an honest sentence: device codes, sessions and tokens
/// are all longer.
const SHORTEST: usize = 12;

/// The secrets of one request.
pub(super) struct Carried(Vec<String>);

impl Carried {
    pub(super) fn of(request: &Request) -> Self {
        let mut all = Vec::new();
        let mut is_form = false;
        for (name, value) in &request.headers {
            match name.as_str() {
                "authorization" | "x-a2a-user-delegation" => {
                    all.extend(value.split([' ', '\t', ',']).map(str::to_owned))
                }
                "cookie" => {
                    let pairs = value.split(';').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
                    all.extend(pairs.map(|value| value.trim().to_owned()));
                }
                "content-type" => is_form |= value.starts_with("application/x-www-form-urlencoded"),
                _ => {}
            }
        }
        let body = request.body.as_deref().filter(|_| is_form).unwrap_or_default();
        let fields = form_urlencoded::parse(body).filter(|(name, _)| FIELDS.contains(&name.as_ref()));
        all.extend(fields.map(|(_, value)| value.into_owned()));
        all.retain(|secret| secret.len() >= SHORTEST);
        log::note_carried(&all);
        Self(all)
    }

    /// That a refusal repeats none of them, and gives no cookie.
    pub(super) fn assert_kept_back(&self, answer: &Response) {
        if answer.status < 400 {
            return;
        }
        let body = String::from_utf8_lossy(&answer.body);
        for secret in &self.0 {
            let secret = secret.as_str();
            assert!(!body.contains(secret), "{}: the body repeats {secret:.80}: {body:.2000}", answer.status);
            for (name, value) in &answer.headers {
                assert!(!value.contains(secret), "{}: {name} repeats {secret:.80}: {value}", answer.status);
            }
        }
        assert_eq!(answer.header("set-cookie"), None, "{}: {body:.2000}", answer.status);
    }
}
