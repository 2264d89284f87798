//! A Brand's agent behind an HTTP address of its own: what the Provider calls for each turn.
//!
//! Refuses every turn that the Brand's key did not sign for exactly this body, this address and now, and turns of another
//! Brand. The keys come from the Brand's JWKS over HTTP; nothing is shared with the Provider but addresses.

use std::sync::{Mutex, PoisonError};

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use url::Url;

use crate::agent::builtin;
use crate::clock::{Clock, Timestamp};
use crate::crypto::jwks::KeySet;
use crate::crypto::jws::Refused;
use crate::crypto::turn_token;
use crate::outbound::Outbound;
use crate::protocol::agent::{Turn, TurnAnswer};
use crate::protocol::json;

/// The agent, and what it was told when it was set up.
pub(super) struct ShopAgent {
    /// The Brand it works for.
    pub(super) brand_id: String,
    /// The Brand's interface URL: the turn token's `iss`.
    pub(super) interface_url: String,
    /// Its own address: the turn token's `aud`.
    pub(super) own_url: String,
    /// Where the Brand's public keys are.
    pub(super) jwks_url: Url,
    /// For fetching them.
    pub(super) outbound: Outbound,
    /// Time.
    pub(super) clock: Clock,
    keys: Mutex<Option<KeySet>>,
    arrived: Mutex<Vec<ArrivedTurn>>,
}

/// A turn that was accepted, as it arrived.
pub(super) struct ArrivedTurn {
    /// In order.
    pub(super) headers: Vec<(String, String)>,
    /// Byte for byte.
    pub(super) body: Vec<u8>,
    /// What it says.
    pub(super) turn: Turn,
}

/// Why a turn was not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnRefused {
    /// No `Authorization: Bearer`.
    #[error("there is no turn token")]
    NoToken,
    /// The token does not prove that the Provider sent this.
    #[error("the turn token is refused: {0}")]
    Token(#[from] Refused),
    /// It proves that, but the turn is none of this agent's.
    #[error("the turn is not one of this Brand's")]
    Turn,
    /// The Brand's keys could not be had.
    #[error("the Brand's keys cannot be fetched")]
    Keys,
}

impl ShopAgent {
    pub(super) fn new(
        brand_id: String,
        interface_url: String,
        own_url: String,
        jwks_url: Url,
        outbound: Outbound,
        clock: Clock,
    ) -> Self {
        let (keys, arrived) = (Mutex::new(None), Mutex::new(Vec::new()));
        Self { brand_id, interface_url, own_url, jwks_url, outbound, clock, keys, arrived }
    }

    /// The turn that `token` proves to come from the Provider at `now`.
    fn accept(&self, keys: &KeySet, token: &str, body: &[u8], now: Timestamp) -> Result<Turn, TurnRefused> {
        turn_token::verify(token, keys, &self.interface_url, &self.own_url, body, now)?;
        let turn: Turn = json::parse_as(body).map_err(|_| TurnRefused::Turn)?;
        if turn.brand_id == self.brand_id { Ok(turn) } else { Err(TurnRefused::Turn) }
    }

    /// Answers one turn. A key that is not known yet is looked for once.
    async fn answer(&self, headers: Vec<(String, String)>, body: &[u8]) -> Result<TurnAnswer, TurnRefused> {
        let authorization = headers.iter().find(|(name, _)| name == "authorization").map(|(_, value)| value.as_str());
        let token = authorization.and_then(|value| value.strip_prefix("Bearer ")).ok_or(TurnRefused::NoToken)?;
        let now = self.clock.now();
        let known = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let turn = match known.map(|keys| self.accept(&keys, token, body, now)) {
            Some(Err(TurnRefused::Token(refused))) if refused.may_need_newer_keys() => None,
            outcome => outcome,
        };
        let turn = match turn {
            Some(outcome) => outcome?,
            None => self.accept(&self.fetch_keys().await?, token, body, now)?,
        };
        let answer = builtin::answer(&turn);
        let arrived = ArrivedTurn { headers, body: body.to_vec(), turn };
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(arrived);
        Ok(answer)
    }

    async fn fetch_keys(&self) -> Result<KeySet, TurnRefused> {
        let bytes = self.outbound.get_json(&self.jwks_url).await.map_err(|_| TurnRefused::Keys)?;
        let keys = KeySet::parse(&bytes).map_err(|_| TurnRefused::Keys)?;
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys.clone());
        Ok(keys)
    }

    /// The turns that were accepted since this was last asked.
    pub(super) fn take_arrived(&self) -> Vec<ArrivedTurn> {
        std::mem::take(&mut self.arrived.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The routes of the agent.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/turns").route(web::post().to(turn)));
}

async fn turn(agent: web::Data<ShopAgent>, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let text = |value: &actix_web::http::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = request.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    match agent.answer(headers, &body).await {
        Ok(answer) => HttpResponse::Ok().json(answer),
        Err(refused @ TurnRefused::Keys) => {
            HttpResponse::ServiceUnavailable().json(json!({ "error": refused.to_string() }))
        }
        Err(refused) => HttpResponse::Unauthorized().json(json!({ "error": refused.to_string() })),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::config::OutboundConfig;
    use crate::crypto::ring::{self, KeyRing};
    use crate::crypto::seal::MasterKey;
    use crate::domain::brand::SigningAlg;
    use crate::domain::id::{BrandId, KeyId};
    use crate::domain::signing_key::KeyState;
    use crate::entropy::Entropy;
    use crate::outbound::SystemResolver;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
    const BRAND: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";
    const INTERFACE: &str = "http://provider.localhost:4000/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA";
    const OWN: &str = "http://127.0.0.1:4004/turns";

    fn body(brand: &str) -> Vec<u8> {
        let turn = json!({
            "brandId": brand, "contextId": "c", "messageId": "m", "parts": [{ "text": "hello" }],
            "caller": { "personalAgent": "https://pa.example.com", "sub": "u" },
        });
        serde_json::to_vec(&turn).unwrap()
    }

    fn ring() -> KeyRing {
        let master = MasterKey::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        let (brand, kid) = (BrandId::parse(BRAND).unwrap(), KeyId::parse("shop-1").unwrap());
        let state = KeyState::Live { signs_from: NOW };
        let key = ring::generate(SigningAlg::Es256, &brand, kid, state, NOW, &master, &Entropy::seeded(1)).unwrap();
        KeyRing::open(&brand, &[key], &master).unwrap()
    }

    fn token(ring: &KeyRing, interface: &str, own: &str, body: &[u8]) -> String {
        turn_token::sign(ring, SigningAlg::Es256, interface, own, body, NOW, &Entropy::seeded(2)).unwrap()
    }

    /// An agent that already has the keys of `ring`, and could fetch no others.
    fn agent(ring: &KeyRing) -> ShopAgent {
        let outbound = Outbound::new(&OutboundConfig::default(), Arc::new(SystemResolver)).unwrap();
        let jwks = Url::parse("https://127.0.0.1:1/jwks.json").unwrap();
        let clock = Clock::manual(NOW);
        let agent = ShopAgent::new(BRAND.to_owned(), INTERFACE.to_owned(), OWN.to_owned(), jwks, outbound, clock);
        *agent.keys.lock().unwrap() = Some(ring.published().clone());
        agent
    }

    async fn ask(agent: &ShopAgent, token: &str, body: &[u8]) -> Result<TurnAnswer, TurnRefused> {
        agent.answer(vec![("authorization".to_owned(), format!("Bearer {token}"))], body).await
    }

    #[tokio::test]
    async fn a_turn_that_the_brands_key_signed_is_answered() {
        let ring = ring();
        let agent = agent(&ring);
        let body = body(BRAND);
        let answer = ask(&agent, &token(&ring, INTERFACE, OWN, &body), &body).await.unwrap();
        assert!(answer.parts[0].text.contains("order number"));
        let arrived = agent.take_arrived();
        assert_eq!((arrived.len(), &arrived[0].body), (1, &body));
        assert!(agent.take_arrived().is_empty());
    }

    #[tokio::test]
    async fn another_body_brand_address_or_minute_is_refused_and_nothing_is_run() {
        let ring = ring();
        let agent = agent(&ring);
        let (ours, theirs) = (body(BRAND), body("01M3R53Q5SZQ6FQSMSDBSSREAB"));
        let good = token(&ring, INTERFACE, OWN, &ours);
        let refused = |outcome: Result<TurnAnswer, TurnRefused>| match outcome.unwrap_err() {
            TurnRefused::Token(refused) => Some(refused),
            _ => None,
        };
        assert_eq!(refused(ask(&agent, &good, &theirs).await), Some(Refused::Body));
        let elsewhere = token(&ring, "http://provider.localhost:4000/a2a/other", OWN, &ours);
        assert_eq!(refused(ask(&agent, &elsewhere, &ours).await), Some(Refused::Issuer));
        let another = token(&ring, INTERFACE, "http://127.0.0.1:4004/other", &ours);
        assert_eq!(refused(ask(&agent, &another, &ours).await), Some(Refused::Audience));
        let foreign = ask(&agent, &token(&ring, INTERFACE, OWN, &theirs), &theirs).await;
        assert!(matches!(foreign, Err(TurnRefused::Turn)));
        agent.clock.advance(Duration::from_secs(120));
        assert_eq!(refused(ask(&agent, &good, &ours).await), Some(Refused::Expired));
        assert!(agent.take_arrived().is_empty());
    }

    #[tokio::test]
    async fn a_turn_without_a_token_or_under_a_key_that_cannot_be_found_is_refused() {
        let agent = agent(&ring());
        let body = body(BRAND);
        assert!(matches!(agent.answer(Vec::new(), &body).await, Err(TurnRefused::NoToken)));
        let basic = vec![("authorization".to_owned(), "Basic YTpi".to_owned())];
        assert!(matches!(agent.answer(basic, &body).await, Err(TurnRefused::NoToken)));
        let forged = ask(&agent, &token(&ring(), INTERFACE, OWN, &body), &body).await;
        assert!(matches!(forged, Err(TurnRefused::Token(Refused::Signature))));
        *agent.keys.lock().unwrap() = None;
        let unreachable = ask(&agent, &token(&ring(), INTERFACE, OWN, &body), &body).await;
        assert!(matches!(unreachable, Err(TurnRefused::Keys)));
        assert!(agent.take_arrived().is_empty());
    }
}
