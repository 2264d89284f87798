//! The last steps: the receipt verified offline, a token at another Brand, a refresh token presented twice, and the end of
//! the grant.

use super::{Shop, Walk, is_invalid_token, unexpected};
use crate::demo::answers::{Issued, Reply, ShownReceipt};
use crate::demo::personal_agent::Message;
use crate::demo::{Broken, ensure};

impl Walk<'_> {
    /// Everything after the work is done. The grant of a User who is present stays, for them to look at.
    pub(super) async fn finish(&mut self, shop: &Shop, issued: Issued, receipt: &ShownReceipt) -> Result<(), Broken> {
        self.verify_offline(shop, receipt)?;
        self.try_another_brand(&issued).await?;
        let issued = self.replay_refresh(shop, issued).await?;
        let played = self.is_played();
        if played {
            self.disconnect(shop, &issued).await?;
        }
        let narration = &mut self.wire.narration;
        narration
            .step("That is all", "The User's account was used by an agent that never saw a password or a session.");
        narration.holds("the User decided, scope by scope, at the Brand and the Provider");
        narration.holds("every deed is on a receipt that anybody with the Brand's public keys can verify");
        if played {
            narration.holds("ending the grant ended everything that came of it, at once");
        }
        Ok(())
    }

    fn verify_offline(&mut self, shop: &Shop, receipt: &ShownReceipt) -> Result<(), Broken> {
        self.wire.narration.step(
            "Verify the receipt offline",
            "A receipt is a JWS under the keys that sign delegation tokens (PACT §5.6). The personal agent verifies it with \
             the key set it fetched at the beginning; no request is made.",
        );
        self.wire.narration.claims("The receipt", &receipt.jws);
        let claims = receipt.verify(&shop.jwks, &shop.card.interface_url)?;
        let tools: Vec<&str> = claims.actions.iter().map(|action| action.tool.as_str()).collect();
        ensure(tools == ["lookup_orders", "cancel_order", "issue_refund"], || format!("it records {tools:?}"))?;
        let issuer = &self.agent().issuer;
        ensure(claims.pa.as_str() == issuer, || format!("it names the personal agent {}", claims.pa))?;
        self.wire
            .narration
            .holds("the signature verifies, and the claims beside it are the very bytes that were signed");
        ensure(receipt.altered().verify(&shop.jwks, &shop.card.interface_url).is_err(), || {
            "an altered receipt verifies".to_owned()
        })?;
        self.wire.narration.holds("with one character changed it does not");
        ensure(receipt.verify(&shop.jwks, &self.stage.airline.interface_url).is_err(), || {
            "it passes for another Brand's".to_owned()
        })?;
        self.wire.narration.holds("it does not pass for another Brand's");
        Ok(())
    }

    async fn try_another_brand(&mut self, issued: &Issued) -> Result<(), Broken> {
        self.wire.narration.step(
            "One Brand per token",
            "Skyline Airways is hosted by the same Provider. Its authorization server is under its interface URL, and the \
             shop's token means nothing there (PACT §5.4).",
        );
        let url = url::Url::parse(&self.stage.airline.card_url()).map_err(|error| Broken(error.to_string()))?;
        let card = self.agent().card(self.wire, "The airline has a card of its own.", &url).await?;
        let message = Message { id: "m-001", context: None, text: "Where is my order?" };
        let why = "The shop's delegation token at the airline: 401, and nothing is run.";
        let reply = self.agent().send(self.wire, why, &card, Some(&issued.access_token), message).await?;
        match &reply {
            Reply::Unauthorized(challenge) if is_invalid_token(challenge) => {}
            other => return Err(unexpected("401 with error=\"invalid_token\"", other)),
        }
        self.wire.narration.holds("refused with invalid_token");
        Ok(())
    }

    async fn replay_refresh(&mut self, shop: &Shop, issued: Issued) -> Result<Issued, Broken> {
        self.wire.narration.step(
            "A refresh token works once",
            "Each refresh replaces the token. A used one gives invalid_grant. Within 10 s that is taken for a parallel \
             refresh, and the successor goes on working; later it is taken for theft, and the family is revoked \
             (RFC 9700 §4.14.2).",
        );
        let refused = |code: String| Broken(format!("the refresh got {code}"));
        let why = "A refresh.";
        let next = self.agent().refresh(self.wire, why, &shop.metadata, &issued.refresh_token, |_| true).await?;
        let next = next.map_err(refused)?;
        let why = "The token that was just used, again.";
        let replayed = self.agent().refresh(self.wire, why, &shop.metadata, &issued.refresh_token, |_| true).await?;
        match replayed {
            Err(code) if code == "invalid_grant" => {}
            Err(code) => return Err(Broken(format!("the used token got {code}, expected invalid_grant"))),
            Ok(_) => return Err(Broken("the used token got tokens".to_owned())),
        }
        self.wire.narration.holds("the used token is refused");
        let why = "Its successor.";
        let last = self.agent().refresh(self.wire, why, &shop.metadata, &next.refresh_token, |_| true).await?;
        let last = last.map_err(refused)?;
        self.wire.narration.holds("the successor still works");
        Ok(last)
    }

    async fn disconnect(&mut self, shop: &Shop, issued: &Issued) -> Result<(), Broken> {
        self.wire.narration.step(
            "Disconnect",
            "Revoking any token of a grant ends the grant (RFC 7009): its tokens, its uncollected approvals and its \
             conversations, on every node at once.",
        );
        let why = "The User tells the personal agent to disconnect.";
        self.agent().revoke(self.wire, why, &shop.metadata, &issued.refresh_token).await?;
        let message = Message { id: "m-004", context: None, text: "Where is my order?" };
        let why = "The delegation token has minutes to live, and is refused all the same: the grant is read each time.";
        let token = Some(&issued.access_token);
        let reply = self.agent().send(self.wire, why, &shop.card, token, message).await?;
        match &reply {
            Reply::Unauthorized(challenge) if is_invalid_token(challenge) => {}
            other => return Err(unexpected("401 with error=\"invalid_token\"", other)),
        }
        self.wire.narration.holds("the next message is refused with invalid_token");
        let why = "Nor is there a next token.";
        let refreshed = self.agent().refresh(self.wire, why, &shop.metadata, &issued.refresh_token, |_| true).await?;
        match refreshed {
            Err(code) if code == "invalid_grant" => {}
            Err(code) => return Err(Broken(format!("the refresh got {code}, expected invalid_grant"))),
            Ok(_) => return Err(Broken("the refresh got tokens".to_owned())),
        }
        self.wire.narration.holds("the refresh token is refused with invalid_grant");
        Ok(())
    }
}
