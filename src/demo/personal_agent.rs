//! A personal agent: a key pair with its JWKS, and the calls of PACT that it makes.
//!
//! It signs a JWT for each call (PACT §3.2), finds everything else from the Brand's card (§2.1, §5.1), is a device-code
//! client (§5.3), sends both tokens with a message (§5.5) and verifies receipts offline (§5.6).

use std::time::Duration;

use actix_web::{HttpResponse, web};
use serde_json::json;
use url::Url;
use url::form_urlencoded::Serializer;

use super::Broken;
use super::answers::{Card, Issued, Metadata, Offered, Poll, Reply};
use super::wire::Wire;
use crate::clock::Clock;
use crate::crypto::pa_jwt;
use crate::crypto::signer::Signer;
use crate::outbound::Request;
use crate::protocol::oauth::{DEVICE_CODE_GRANT, REFRESH_TOKEN_GRANT};
use crate::secret::Secret;

/// How long a personal-agent JWT is good for: as the reference signer's (PACT §3.2).
const LIFE: Duration = Duration::from_secs(120);

const FORM: &str = "application/x-www-form-urlencoded";

/// The personal agent, working for one User.
pub(super) struct PersonalAgent {
    /// The `iss` of its JWTs and its `client_id`.
    pub(super) issuer: String,
    /// Its own, opaque name for the User.
    pub(super) sub: String,
    /// The `aud` that the Provider assigned to it.
    pub(super) audience: String,
    /// Its key.
    pub(super) signer: Signer,
    /// Time.
    pub(super) clock: Clock,
}

/// A message to a Brand's agent.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    /// Chosen by the personal agent; the same again when it asks again.
    pub(super) id: &'a str,
    /// The conversation it goes on with.
    pub(super) context: Option<&'a str>,
    /// What the User says.
    pub(super) text: &'a str,
}

impl PersonalAgent {
    /// The key set that is served at the registered `jwks_uri`.
    pub(super) fn jwks(&self) -> String {
        json!({ "keys": [self.signer.public().to_jwk()] }).to_string()
    }

    fn bearer(&self) -> Result<String, Broken> {
        let jwt = pa_jwt::sign(&self.signer, &self.issuer, &self.sub, &self.audience, self.clock.now(), LIFE)?;
        Ok(format!("Bearer {jwt}"))
    }

    fn form(&self, url: &Url, parameters: &[(&str, &str)]) -> Result<Request, Broken> {
        let mut body = Serializer::new(String::new());
        body.extend_pairs(parameters).append_pair("client_id", &self.issuer);
        Ok(Request::post(url.clone(), FORM, body.finish()).header("authorization", &self.bearer()?))
    }

    /// Reads a Brand's card: the one call without a JWT.
    pub(super) async fn card(&self, wire: &mut Wire, why: &str, url: &Url) -> Result<Card, Broken> {
        Card::read(&wire.exchange(why, Request::get(url.clone())).await?)
    }

    /// Reads the metadata that the card names.
    pub(super) async fn metadata(&self, wire: &mut Wire, why: &str, card: &Card) -> Result<Metadata, Broken> {
        Metadata::read(&wire.exchange(why, Request::get(card.metadata_url.clone())).await?)
    }

    /// Fetches the keys that verify receipts.
    pub(super) async fn keys(&self, wire: &mut Wire, why: &str, metadata: &Metadata) -> Result<Vec<u8>, Broken> {
        let response = wire.exchange(why, Request::get(metadata.jwks_uri.clone())).await?;
        super::answers::ok(&response)?;
        Ok(response.body)
    }

    /// Asks for scopes (RFC 8628 §3.1).
    pub(super) async fn ask(&self, wire: &mut Wire, why: &str, card: &Card, scope: &str) -> Result<Offered, Broken> {
        let request = self.form(&card.device_authorization_url, &[("scope", scope)])?;
        Offered::read(&wire.exchange(why, request).await?)
    }

    /// Asks whether the User has decided (RFC 8628 §3.4). A pending answer is told only when `tell_pending`.
    pub(super) async fn poll(
        &self,
        wire: &mut Wire,
        why: &str,
        metadata: &Metadata,
        offered: &Offered,
        tell_pending: bool,
    ) -> Result<Poll, Broken> {
        let parameters = [("grant_type", DEVICE_CODE_GRANT), ("device_code", offered.device_code.expose())];
        let request = self.form(&metadata.token_endpoint, &parameters)?;
        let told = |poll: &Result<Poll, Broken>| tell_pending || !matches!(poll, Ok(Poll::Pending | Poll::SlowDown));
        let response = wire.exchange_telling(why, request, |response| told(&Poll::read(response))).await?;
        Poll::read(&response)
    }

    /// Gets the next token (RFC 6749 §6). `Err` inside is the OAuth error code. Told when `worth_telling` of the outcome.
    pub(super) async fn refresh(
        &self,
        wire: &mut Wire,
        why: &str,
        metadata: &Metadata,
        refresh_token: &Secret<String>,
        worth_telling: impl Fn(&Result<Issued, String>) -> bool,
    ) -> Result<Result<Issued, String>, Broken> {
        let parameters = [("grant_type", REFRESH_TOKEN_GRANT), ("refresh_token", refresh_token.expose())];
        let request = self.form(&metadata.token_endpoint, &parameters)?;
        let told = |response: &_| Issued::read(response).as_ref().is_ok_and(&worth_telling);
        let response = wire.exchange_telling(why, request, told).await?;
        Issued::read(&response)
    }

    /// Gives a token back, which ends its grant (RFC 7009).
    pub(super) async fn revoke(
        &self,
        wire: &mut Wire,
        why: &str,
        metadata: &Metadata,
        token: &Secret<String>,
    ) -> Result<(), Broken> {
        let request = self.form(&metadata.revocation_endpoint, &[("token", token.expose())])?;
        super::answers::ok(&wire.exchange(why, request).await?)
    }

    /// Sends a message, with a delegation token where there is one (PACT §4, §5.5).
    pub(super) async fn send(
        &self,
        wire: &mut Wire,
        why: &str,
        card: &Card,
        delegation: Option<&Secret<String>>,
        message: Message<'_>,
    ) -> Result<Reply, Broken> {
        Reply::read(&wire.exchange(why, self.message(card, delegation, message)?).await?)
    }

    /// The same, without telling it: while a person is waited for.
    pub(super) async fn send_untold(
        &self,
        wire: &mut Wire,
        card: &Card,
        delegation: &Secret<String>,
        message: Message<'_>,
    ) -> Result<Reply, Broken> {
        let request = self.message(card, Some(delegation), message)?;
        Reply::read(&wire.exchange_telling("", request, |_| false).await?)
    }

    fn message(
        &self,
        card: &Card,
        delegation: Option<&Secret<String>>,
        message: Message<'_>,
    ) -> Result<Request, Broken> {
        let mut body = json!({
            "messageId": message.id, "role": "ROLE_USER", "parts": [{ "text": message.text }],
        });
        if let (Some(context), Some(members)) = (message.context, body.as_object_mut()) {
            members.insert("contextId".to_owned(), context.into());
        }
        let body = json!({ "message": body }).to_string();
        let mut request = Request::post(card.message_url()?, "application/json", body)
            .header("a2a-version", "1.0")
            .header("authorization", &self.bearer()?);
        if let Some(token) = delegation {
            request = request.header("x-a2a-user-delegation", &format!("Bearer {}", token.expose()));
        }
        Ok(request)
    }
}

/// The routes of the personal agent: its public keys.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/.well-known/jwks.json").route(web::get().to(jwks)));
}

async fn jwks(agent: web::Data<PersonalAgent>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(agent.jwks())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::crypto::jwks::KeySet;
    use crate::demo::stage::new_signer;
    use crate::domain::id::Issuer;

    #[test]
    fn each_call_carries_a_jwt_that_the_provider_accepts_and_the_client_id() {
        let now = Timestamp::from_seconds(1_767_225_600);
        let agent = PersonalAgent {
            issuer: "http://pa.localhost:4002".to_owned(),
            sub: "user-7f3a".to_owned(),
            audience: "http://provider.localhost:4000/a2a".to_owned(),
            signer: new_signer("pa-1").unwrap(),
            clock: Clock::manual(now),
        };
        let url = Url::parse("http://auth.shop.localhost:4000/token").unwrap();
        let request = agent.form(&url, &[("scope", "orders:read orders:cancel")]).unwrap();
        let body = String::from_utf8(request.body.unwrap()).unwrap();
        assert_eq!(body, "scope=orders%3Aread+orders%3Acancel&client_id=http%3A%2F%2Fpa.localhost%3A4002");
        let (_, jwt) = request.headers.iter().find(|(name, _)| name == "authorization").unwrap();
        let keys = KeySet::parse(agent.jwks().as_bytes()).unwrap();
        let issuer = Issuer::parse(agent.issuer.as_str()).unwrap();
        let jwt = jwt.strip_prefix("Bearer ").unwrap();
        let caller = pa_jwt::verify(jwt, &keys, &issuer, &agent.audience, now).unwrap();
        assert_eq!(caller.sub.as_str(), "user-7f3a");
    }
}
