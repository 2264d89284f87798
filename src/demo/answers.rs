//! The Provider's answers, as a personal agent reads them. Refuses, with what was expected, any that lacks what the
//! specification promises.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use super::{Broken, ensure};
use crate::crypto::jwks::KeySet;
use crate::crypto::receipt;
use crate::domain::scope::ScopeSet;
use crate::outbound::Response;
use crate::protocol::a2a::TASK_STATE_AUTH_REQUIRED;
use crate::protocol::claims::ReceiptClaims;
use crate::protocol::json;
use crate::secret::Secret;

/// Refuses any status but 200.
pub(super) fn ok(response: &Response) -> Result<(), Broken> {
    ensure(response.status == 200, || format!("expected 200, got {}: {}", response.status, said(response)))
}

/// What an answer that was not expected says, as far as it is JSON.
fn said(response: &Response) -> String {
    match json::parse(&response.body) {
        Ok(value) => value.to_string(),
        Err(_) => format!("{} bytes that are no JSON", response.body.len()),
    }
}

fn document(response: &Response) -> Result<Value, Broken> {
    ok(response)?;
    json::parse(&response.body).map_err(|error| Broken(format!("the answer is not strict JSON: {error}")))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str, Broken> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.ok_or_else(|| Broken(format!("the answer has no text at {pointer}: {value}")))
}

fn address(value: &Value, pointer: &str) -> Result<Url, Broken> {
    let found = text(value, pointer)?;
    Url::parse(found).map_err(|_| Broken(format!("{pointer} is not an address: {found}")))
}

fn scopes(text: &str) -> Result<ScopeSet, Broken> {
    ScopeSet::parse(text).map_err(|error| Broken(format!("{text} is not a scope: {error}")))
}

/// What a personal agent takes from a Brand's card (PACT §2.1, §5.1).
#[derive(Debug)]
pub(super) struct Card {
    /// The Brand's name.
    pub(super) name: String,
    /// Where its agent is reached.
    pub(super) interface_url: String,
    /// Where scopes are asked for.
    pub(super) device_authorization_url: Url,
    /// RFC 8414 metadata.
    pub(super) metadata_url: Url,
    /// What may be asked for.
    pub(super) scopes: ScopeSet,
}

impl Card {
    pub(super) fn read(response: &Response) -> Result<Self, Broken> {
        let card = document(response)?;
        let alone = |requirement: &Value| {
            requirement["schemes"]
                .as_object()
                .is_some_and(|schemes| schemes.len() == 1 && schemes.contains_key("paJwt"))
        };
        let requirements = card.get("securityRequirements").and_then(Value::as_array);
        ensure(requirements.is_some_and(|all| all.iter().any(alone)), || {
            "the card has no security requirement of the personal-agent JWT alone (PACT §5.1)".to_owned()
        })?;
        let oauth = "/securitySchemes/userDelegation/oauth2SecurityScheme";
        let flow = format!("{oauth}/flows/deviceCode");
        let scopes = card.pointer(&format!("{flow}/scopes")).and_then(Value::as_object);
        let scopes = scopes.ok_or_else(|| Broken("the card offers no scopes".to_owned()))?;
        let ids: Vec<&str> = scopes.keys().map(String::as_str).collect();
        Ok(Self {
            name: text(&card, "/name")?.to_owned(),
            interface_url: text(&card, "/supportedInterfaces/0/url")?.to_owned(),
            device_authorization_url: address(&card, &format!("{flow}/deviceAuthorizationUrl"))?,
            metadata_url: address(&card, &format!("{oauth}/oauth2MetadataUrl"))?,
            scopes: self::scopes(&ids.join(" "))?,
        })
    }

    /// Where messages are sent.
    pub(super) fn message_url(&self) -> Result<Url, Broken> {
        let url = format!("{}/message:send", self.interface_url);
        Url::parse(&url).map_err(|_| Broken(format!("{url} is not an address")))
    }
}

/// What a personal agent takes from authorization server metadata (RFC 8414 §2).
pub(super) struct Metadata {
    pub(super) issuer: String,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Url,
    pub(super) jwks_uri: Url,
}

impl Metadata {
    pub(super) fn read(response: &Response) -> Result<Self, Broken> {
        let metadata = document(response)?;
        Ok(Self {
            issuer: text(&metadata, "/issuer")?.to_owned(),
            token_endpoint: address(&metadata, "/token_endpoint")?,
            revocation_endpoint: address(&metadata, "/revocation_endpoint")?,
            jwks_uri: address(&metadata, "/jwks_uri")?,
        })
    }
}

/// A device authorization (RFC 8628 §3.2).
pub(super) struct Offered {
    pub(super) device_code: Secret<String>,
    pub(super) user_code: String,
    pub(super) link: Url,
    /// Seconds between polls.
    pub(super) interval: u64,
}

impl Offered {
    pub(super) fn read(response: &Response) -> Result<Self, Broken> {
        let offered = document(response)?;
        Ok(Self {
            device_code: Secret::new(text(&offered, "/device_code")?.to_owned()),
            user_code: text(&offered, "/user_code")?.to_owned(),
            link: address(&offered, "/verification_uri_complete")?,
            interval: offered.get("interval").and_then(Value::as_u64).unwrap_or(5),
        })
    }
}

/// A token answer (RFC 6749 §5.1).
pub(super) struct Issued {
    pub(super) access_token: Secret<String>,
    pub(super) refresh_token: Secret<String>,
    /// What the User approved, which may be less than was asked for.
    pub(super) scope: ScopeSet,
}

impl Issued {
    /// The tokens, or the OAuth error code of a 400.
    pub(super) fn read(response: &Response) -> Result<Result<Self, String>, Broken> {
        if response.status == 400 {
            let refusal =
                json::parse(&response.body).map_err(|error| Broken(format!("a 400 without JSON: {error}")))?;
            return Ok(Err(text(&refusal, "/error")?.to_owned()));
        }
        let issued = document(response)?;
        Ok(Ok(Self {
            access_token: Secret::new(text(&issued, "/access_token")?.to_owned()),
            refresh_token: Secret::new(text(&issued, "/refresh_token")?.to_owned()),
            scope: scopes(text(&issued, "/scope")?)?,
        }))
    }
}

/// The answer to a poll (RFC 8628 §3.5).
pub(super) enum Poll {
    /// Not decided yet.
    Pending,
    /// The same, and too fast.
    SlowDown,
    /// Approved.
    Issued(Issued),
    /// For good; the error code.
    Refused(String),
}

impl Poll {
    pub(super) fn read(response: &Response) -> Result<Self, Broken> {
        Ok(match Issued::read(response)? {
            Ok(issued) => Self::Issued(issued),
            Err(code) if code == "authorization_pending" => Self::Pending,
            Err(code) if code == "slow_down" => Self::SlowDown,
            Err(code) => Self::Refused(code),
        })
    }
}

/// The answer to a message (PACT §4, §5.5, §3.4).
pub(super) enum Reply {
    /// The agent's words.
    Message {
        context: String,
        text: String,
        /// Under delegation.
        receipt: Option<ShownReceipt>,
        /// The whole answer, to compare with a repeated one.
        body: Vec<u8>,
    },
    /// More scopes are needed.
    StepUp {
        context: String,
        text: String,
        missing: ScopeSet,
        link: Url,
        /// Under delegation.
        receipt: Option<ShownReceipt>,
    },
    /// 401; the challenge.
    Unauthorized(String),
}

/// A receipt as it came with a reply.
#[derive(Clone)]
pub(super) struct ShownReceipt {
    /// The compact JWS.
    pub(super) jws: String,
    /// The bytes that stand beside it.
    pub(super) claims: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WithReceipt {
    Message(WithMetadata),
    Task(WithMetadata),
}

#[derive(Deserialize)]
struct WithMetadata {
    metadata: Option<ReceiptMetadata>,
}

#[derive(Deserialize)]
struct ReceiptMetadata {
    #[serde(rename = "pact.receipt")]
    receipt: Option<RawReceipt>,
}

#[derive(Deserialize)]
struct RawReceipt {
    jws: String,
    claims: Box<RawValue>,
}

impl Reply {
    pub(super) fn read(response: &Response) -> Result<Self, Broken> {
        if response.status == 401 {
            ensure(response.body.is_empty(), || "a 401 has no body (PACT §3.4)".to_owned())?;
            return Ok(Self::Unauthorized(response.header("www-authenticate").unwrap_or_default().to_owned()));
        }
        let reply = document(response)?;
        let (Ok(WithReceipt::Message(shown)) | Ok(WithReceipt::Task(shown))) = serde_json::from_slice(&response.body)
        else {
            return Err(Broken(format!("the reply is not of PACT's shape: {reply}")));
        };
        let receipt = shown.metadata.and_then(|metadata| metadata.receipt);
        let receipt = receipt.map(|raw| ShownReceipt { jws: raw.jws, claims: raw.claims.get().to_owned() });
        if reply.get("task").is_some() {
            let state = text(&reply, "/task/status/state")?;
            ensure(state == TASK_STATE_AUTH_REQUIRED, || format!("the task's state is {state}"))?;
            let missing = reply.pointer("/task/metadata/pact.missingScopes").and_then(Value::as_array);
            let missing: Vec<&str> = missing.into_iter().flatten().filter_map(Value::as_str).collect();
            return Ok(Self::StepUp {
                context: text(&reply, "/task/contextId")?.to_owned(),
                text: text(&reply, "/task/status/message/parts/0/text")?.to_owned(),
                missing: scopes(&missing.join(" "))?,
                link: address(&reply, "/task/metadata/pact.verificationUriComplete")?,
                receipt,
            });
        }
        Ok(Self::Message {
            context: text(&reply, "/message/contextId")?.to_owned(),
            text: text(&reply, "/message/parts/0/text")?.to_owned(),
            receipt,
            body: response.body.clone(),
        })
    }
}

impl ShownReceipt {
    /// Verifies the receipt with nothing but a key set: signature, form, Brand, and that the claims beside it are the
    /// very bytes that were signed (PACT §5.6).
    pub(super) fn verify(&self, jwks: &[u8], brand: &str) -> Result<ReceiptClaims, Broken> {
        let keys = KeySet::parse(jwks).map_err(|error| Broken(error.to_string()))?;
        let claims = receipt::verify(&self.jws, &keys, Some(brand));
        let claims = claims.map_err(|refused| Broken(format!("the receipt does not verify: {refused}")))?;
        let signed = self.jws.split('.').nth(1).and_then(|payload| BASE64_URL_SAFE_NO_PAD.decode(payload).ok());
        ensure(signed.as_deref() == Some(self.claims.as_bytes()), || {
            "the claims beside the receipt are not the bytes that were signed".to_owned()
        })?;
        Ok(claims)
    }

    /// The same receipt with a character in its middle replaced.
    pub(super) fn altered(&self) -> Self {
        let middle = self.jws.len() / 2;
        let swap = |(place, symbol): (usize, char)| match (place == middle, symbol) {
            (true, 'A') => 'B',
            (true, _) => 'A',
            (false, symbol) => symbol,
        };
        Self { jws: self.jws.chars().enumerate().map(swap).collect(), claims: self.claims.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &str) -> Response {
        Response { status, headers: Vec::new(), body: body.into() }
    }

    #[test]
    fn a_card_is_read_as_the_provider_writes_it() {
        use crate::domain::addresses::Addresses;
        use crate::domain::samples;
        use crate::protocol::card::AgentCard;
        let brand = samples::brand();
        let url = "https://provider.example.com";
        let addresses = Addresses::of(url, &brand);
        let body = serde_json::to_string(&AgentCard::new(&brand, &addresses, "Provider", url)).unwrap();
        let card = Card::read(&answer(200, &body)).unwrap();
        assert_eq!(card.message_url().unwrap().as_str(), format!("{}/message:send", addresses.interface_url));
        assert_eq!(card.scopes.to_string(), "orders:read orders:cancel refunds:issue");
        let alone = body.replace("\"paJwt\":{\"list\":[]}}}", "\"other\":{\"list\":[]}}}");
        assert!(Card::read(&answer(200, &alone)).unwrap_err().0.contains("personal-agent JWT alone"));
    }

    #[test]
    fn each_answer_to_a_poll_is_told_apart() {
        let refusal = |code: &str| answer(400, &json!({ "error": code }).to_string());
        assert!(matches!(Poll::read(&refusal("authorization_pending")), Ok(Poll::Pending)));
        assert!(matches!(Poll::read(&refusal("slow_down")), Ok(Poll::SlowDown)));
        assert!(matches!(Poll::read(&refusal("access_denied")), Ok(Poll::Refused(code)) if code == "access_denied"));
        let tokens = json!({ "access_token": "a", "refresh_token": "r", "scope": "orders:read" }).to_string();
        assert!(matches!(Poll::read(&answer(200, &tokens)), Ok(Poll::Issued(issued)) if issued.scope.len() == 1));
        assert!(Poll::read(&answer(500, "{}")).is_err());
        assert!(Poll::read(&answer(200, "{}")).is_err());
    }

    #[test]
    fn each_answer_to_a_message_is_told_apart() {
        let message = json!({ "message": { "messageId": "r", "contextId": "c", "role": "ROLE_AGENT",
            "parts": [{ "text": "Hello" }] } });
        let reply = Reply::read(&answer(200, &message.to_string())).unwrap();
        assert!(matches!(reply, Reply::Message { text, receipt: None, .. } if text == "Hello"));
        let task = json!({ "task": { "id": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_AUTH_REQUIRED", "message": { "parts": [{ "text": "I need" }] } },
            "metadata": { "pact.missingScopes": ["refunds:issue"],
                "pact.verificationUriComplete": "http://auth.shop.localhost/consent?user_code=WDJB-MJHT" } } });
        let reply = Reply::read(&answer(200, &task.to_string())).unwrap();
        assert!(matches!(reply, Reply::StepUp { missing, .. } if missing.to_string() == "refunds:issue"));
        let mut refused = answer(401, "");
        refused.headers.push(("www-authenticate".to_owned(), "Bearer realm=\"a2a\"".to_owned()));
        let reply = Reply::read(&refused).unwrap();
        assert!(matches!(reply, Reply::Unauthorized(challenge) if challenge == "Bearer realm=\"a2a\""));
        assert!(Reply::read(&answer(401, "{}")).is_err());
        assert!(Reply::read(&answer(200, "{}")).is_err());
        let failed = Reply::read(&answer(500, &json!({ "error": { "status": "INTERNAL" } }).to_string()));
        assert!(failed.err().unwrap().0.contains("INTERNAL"));
    }
}
