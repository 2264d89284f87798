//! The walk itself: PACT Delegated from the card to the disconnection, one step after the other, each one checked.
//!
//! With a User at a browser it waits for them and takes their decisions as they come; a played User unticks a scope, so
//! that what must hold is known beforehand.

mod ending;

use std::time::Duration;

use super::answers::{Card, Issued, Metadata, Poll, Reply, ShownReceipt};
use super::personal_agent::{Message, PersonalAgent};
use super::stage::Stage;
use super::user::User;
use super::wire::Wire;
use super::{Broken, ensure};
use crate::domain::scope::ScopeSet;

const READ: &str = "orders:read";
const CANCEL: &str = "orders:cancel";
const REFUND: &str = "refunds:issue";

/// The message that needs more than was allowed at first.
const CHANGE: &str = "Please cancel and refund my order.";

/// How long a person has for a decision: as long as their link works (RFC 8628 §3.2).
const DECIDE_WITHIN: Duration = Duration::from_secs(600);

/// What the personal agent knows of the shop by now.
struct Shop {
    card: Card,
    metadata: Metadata,
    jwks: Vec<u8>,
    /// The conversation (PACT §4.2).
    context: String,
}

/// One walk over the stage.
struct Walk<'s> {
    stage: &'s Stage,
    wire: &'s mut Wire,
    user: &'s mut User,
}

/// Walks through everything. Ends early, and well, when a present User allows nothing.
pub(super) async fn walk(stage: &Stage, wire: &mut Wire, user: &mut User) -> Result<(), Broken> {
    let mut walk = Walk { stage, wire, user };
    let (card, metadata, jwks) = walk.discover().await?;
    let context = walk.talk_without_account(&card).await?;
    let shop = Shop { card, metadata, jwks, context };
    let Some(issued) = walk.connect(&shop).await? else {
        walk.wire.narration.say("Nothing was allowed, so the personal agent gets no token, and the walk ends here.");
        return Ok(());
    };
    walk.send_both_tokens(&shop, &issued).await?;
    let (issued, receipt) = walk.step_up(&shop, issued).await?;
    walk.finish(&shop, issued, &receipt).await
}

impl<'s> Walk<'s> {
    fn agent(&self) -> &'s PersonalAgent {
        &self.stage.personal_agent
    }

    const fn is_played(&self) -> bool {
        matches!(self.user, User::Played(_))
    }

    async fn discover(&mut self) -> Result<(Card, Metadata, Vec<u8>), Broken> {
        let (agent, place) = (self.agent(), &self.stage.shop);
        self.wire.narration.step(
            "Find the Brand's agent",
            "A personal agent starts from the Brand's Agent Card (PACT §2.1). It says where the agent is, how to \
             authenticate, and, as this Brand offers delegation, which scopes there are and where to ask for them (§5.1).",
        );
        let url = url::Url::parse(&place.card_url()).map_err(|error| Broken(error.to_string()))?;
        let card = agent.card(self.wire, "The card is the one thing that needs no authentication.", &url).await?;
        ensure(card.interface_url == place.interface_url, || format!("the card names {}", card.interface_url))?;
        let offered = card.scopes.to_string();
        ensure(offered == format!("{READ} {CANCEL} {REFUND}"), || format!("the card offers {offered}"))?;
        self.wire.narration.holds(&format!("{} can be reached with the personal agent's JWT alone, too", card.name));

        self.wire.narration.step(
            "Find its authorization server",
            "Each Brand is an OAuth 2.0 authorization server of its own; the Provider runs it. The card links to its \
             metadata (RFC 8414).",
        );
        let why = "The metadata names the endpoints, and the keys that sign delegation tokens and receipts.";
        let metadata = agent.metadata(self.wire, why, &card).await?;
        ensure(metadata.issuer == place.issuer, || format!("the issuer is {}", metadata.issuer))?;
        let why = "The personal agent keeps these keys: with them it verifies receipts without asking anybody.";
        let jwks = agent.keys(self.wire, why, &metadata).await?;
        self.wire.narration.holds("the issuer is the Brand's own host");
        Ok((card, metadata, jwks))
    }

    async fn talk_without_account(&mut self, card: &Card) -> Result<String, Broken> {
        self.wire.narration.step(
            "Talk without an account",
            "Under the Identity profile the personal agent sends its own JWT, which proves that a known agent calls for \
             somebody it calls `sub`, and nothing about an account at the Brand (PACT §3.3).",
        );
        let message = Message { id: "m-001", context: None, text: CHANGE };
        let why = "The User's words go to the Brand's agent; without a contextId they begin a conversation (§4.2).";
        let reply = self.agent().send(self.wire, why, card, None, message).await?;
        self.tell_arrived();
        match reply {
            Reply::Message { context, receipt: None, text, .. } => {
                self.wire.narration.holds(&format!("the agent knows nobody yet: “{text}”"));
                Ok(context)
            }
            Reply::Message { receipt: Some(_), .. } => Err(Broken("there is a receipt without delegation".to_owned())),
            other => Err(unexpected("a reply", &other)),
        }
    }

    /// From the request for scopes to the first token; `None` when the User allowed nothing.
    async fn connect(&mut self, shop: &Shop) -> Result<Option<Issued>, Broken> {
        let agent = self.agent();
        self.wire.narration.step(
            "Ask for scopes",
            "Device authorization (RFC 8628): the personal agent authenticates with its JWT, asks for the scopes it \
             needs, and gets a link for the User (PACT §5.3).",
        );
        let why = "It asks for two of the three scopes.";
        let offered = agent.ask(self.wire, why, &shop.card, &format!("{READ} {CANCEL}")).await?;
        let login = format!("{}/login", self.stage.shop.login_origin);
        ensure(offered.link.as_str().starts_with(&login), || format!("the link is {}", offered.link))?;
        self.wire.narration.holds("the link leads to the Brand's own login, never to the personal agent");

        self.wire.narration.step("Poll", "The personal agent polls at the interval until the User has decided.");
        let why = "Nothing is decided yet.";
        let poll = agent.poll(self.wire, why, &shop.metadata, &offered, true).await?;
        ensure(matches!(poll, Poll::Pending), || "expected authorization_pending".to_owned())?;
        self.wire.narration.holds("authorization_pending");

        self.wire.narration.step(
            "The User signs in and decides",
            "The User signs in with the Brand, and decides on the Provider's consent page, scope by scope.",
        );
        let why = "The code is approved: this poll gets the tokens, and no other ever will.";
        let issued = match self.user {
            User::Played(browser) => {
                let decision = browser.allow(self.wire, &offered.link, &[CANCEL]).await?;
                ensure(decision.shown == [READ, CANCEL], || format!("the page shows {:?}", decision.shown))?;
                ensure(decision.status == "approved", || format!("return_url got status={}", decision.status))?;
                let scope = decision.scope.to_string();
                ensure(scope == READ, || format!("return_url got scope={scope}"))?;
                self.wire.narration.holds(&format!("the Brand's page was told: approved, {scope}"));
                self.collect_heading();
                match agent.poll(self.wire, why, &shop.metadata, &offered, true).await? {
                    Poll::Issued(issued) => issued,
                    Poll::Pending | Poll::SlowDown => return Err(Broken("the approval is not seen".to_owned())),
                    Poll::Refused(code) => return Err(Broken(format!("expected tokens, got {code}"))),
                }
            }
            User::Present => {
                let what = format!("Open this link. Your agent's code is {}. Untick what you like.", offered.user_code);
                self.wire.narration.ask(&what, offered.link.as_str());
                let mut interval = Duration::from_secs(offered.interval);
                loop {
                    tokio::time::sleep(interval).await;
                    match agent.poll(self.wire, why, &shop.metadata, &offered, false).await? {
                        Poll::Issued(issued) => break issued,
                        Poll::Pending => {}
                        Poll::SlowDown => interval += Duration::from_secs(5),
                        Poll::Refused(code) if code == "access_denied" => return Ok(None),
                        Poll::Refused(code) => return Err(Broken(format!("the link was not used in time: {code}"))),
                    }
                }
            }
        };
        self.wire.narration.claims("The delegation token", issued.access_token.expose());
        let played = self.is_played();
        ensure(!played || issued.scope.to_string() == READ, || format!("the token's scope is {}", issued.scope))?;
        self.wire.narration.holds(&format!("the token allows {}, as the User decided", issued.scope));
        Ok(Some(issued))
    }

    fn collect_heading(&mut self) {
        self.wire.narration.step(
            "Collect the token",
            "`scope` is what the User approved, which may be less than was asked for; the personal agent reads it.",
        );
    }

    async fn send_both_tokens(&mut self, shop: &Shop, issued: &Issued) -> Result<(), Broken> {
        self.wire.narration.step(
            "Send a message with both tokens",
            "The personal agent's JWT says who is calling; the delegation token in X-A2A-User-Delegation says for which \
             account and how far (PACT §5.5). The same conversation goes on.",
        );
        let message = Message { id: "m-002", context: Some(&shop.context), text: "Where is my order?" };
        let why = "The Provider checks both tokens and the grant, and runs the agent as this Brand user.";
        let token = Some(&issued.access_token);
        let reply = self.agent().send(self.wire, why, &shop.card, token, message).await?;
        self.tell_arrived();
        match reply {
            Reply::Message { receipt: Some(receipt), text, .. } => {
                let claims = receipt.verify(&shop.jwks, &shop.card.interface_url)?;
                ensure(claims.scopes_used.iter().map(|id| id.as_str()).eq([READ]), || {
                    format!("the receipt says that {:?} were used", claims.scopes_used)
                })?;
                self.wire.narration.holds(&format!("the agent answers about the account: “{text}”"));
                self.wire.narration.holds("the reply carries a signed receipt of what was done");
                Ok(())
            }
            Reply::StepUp { missing, .. } if !self.is_played() => {
                self.wire
                    .narration
                    .say(&format!("You did not allow {missing}, so even this needs more. It comes next."));
                Ok(())
            }
            Reply::Message { receipt: None, .. } => Err(Broken("the reply has no receipt (PACT §5.6)".to_owned())),
            other => Err(unexpected("a reply with a receipt", &other)),
        }
    }

    /// A message that needs more than the token allows, the User's decision about it, and the message once more.
    async fn step_up(&mut self, shop: &Shop, issued: Issued) -> Result<(Issued, ShownReceipt), Broken> {
        self.wire.narration.step(
            "Ask for more than was allowed",
            "A turn that lacks a scope does not fail: it ends in a task that names the missing scopes and carries a link \
             (step-up, PACT §5.5).",
        );
        let message = Message { id: "m-003", context: Some(&shop.context), text: CHANGE };
        let why = "The agent needs scopes that this token has not, and has changed nothing.";
        let token = Some(&issued.access_token);
        let reply = self.agent().send(self.wire, why, &shop.card, token, message).await?;
        self.tell_arrived();
        let Reply::StepUp { missing, link, context, text, receipt } = reply else {
            return Err(unexpected("a task in TASK_STATE_AUTH_REQUIRED", &reply));
        };
        let receipt = receipt.ok_or_else(|| Broken("the step-up has no receipt (PACT §5.6)".to_owned()))?;
        let claims = receipt.verify(&shop.jwks, &shop.card.interface_url)?;
        ensure(claims.actions.is_empty(), || format!("the step-up did {:?}", claims.actions))?;
        ensure(context == shop.context, || format!("the task is in the context {context}"))?;
        let expected = format!("{CANCEL} {REFUND}");
        ensure(!self.is_played() || missing.to_string() == expected, || format!("{missing} is missing"))?;
        self.wire.narration.holds(&format!("the agent says: “{text}”; the missing scopes are {missing}"));
        self.wire.narration.holds("the receipt of this turn says that nothing was done");

        self.wire.narration.step(
            "The User allows it",
            "The page shows what is asked for now and what is already allowed. A live session with the Provider saves the \
             second sign-in. What is ticked becomes the grant's whole set of scopes.",
        );
        let issued = match self.user {
            User::Played(browser) => {
                let decision = browser.allow(self.wire, &link, &[]).await?;
                ensure(decision.status == "approved", || format!("return_url got status={}", decision.status))?;
                self.wire.narration.holds(&format!("the grant now allows {}", decision.scope));
                self.refresh_heading();
                let why = "The personal agent presents its refresh token, once; it gets a new one.";
                let refreshed = self.agent().refresh(self.wire, why, &shop.metadata, &issued.refresh_token, |_| true);
                refreshed.await?.map_err(|code| Broken(format!("the refresh got {code}")))?
            }
            User::Present => self.wait_for_step_up(shop, issued, link.into()).await?,
        };
        self.wire.narration.claims("The next delegation token", issued.access_token.expose());
        let all = [READ, CANCEL, REFUND];
        let has_all = all.iter().all(|id| issued.scope.iter().any(|scope| scope.as_str() == *id));
        ensure(has_all, || format!("the token's scope is {}", issued.scope))?;
        self.wire.narration.holds(&format!("old and new scopes in one token: {}", issued.scope));
        let receipt = self.send_again(shop, &issued).await?;
        Ok((issued, receipt))
    }

    fn refresh_heading(&mut self) {
        self.wire.narration.step(
            "Refresh",
            "The next token carries the grant's whole present scope (RFC 6749 §6): the old scopes and the new ones.",
        );
    }

    /// Refreshes at the interval until the User has allowed all that the message needs. A decision that does not is answered with a
    /// fresh link.
    async fn wait_for_step_up(&mut self, shop: &Shop, issued: Issued, link: String) -> Result<Issued, Broken> {
        let needs = ScopeSet::parse(&format!("{READ} {CANCEL} {REFUND}")).map_err(|error| Broken(error.to_string()))?;
        let interval = Duration::from_secs(5);
        let (mut issued, mut link) = (issued, link);
        self.wire.narration.ask("Open this link, and allow what is asked for.", &link);
        let mut waited = Duration::ZERO;
        while waited < DECIDE_WITHIN {
            tokio::time::sleep(interval).await;
            waited += interval;
            let why = "The personal agent presents its refresh token, once; it gets a new one, and the scopes.";
            let enough = |outcome: &Result<Issued, String>| match outcome {
                Ok(issued) => needs.is_subset_of(&issued.scope),
                Err(_) => true,
            };
            let refreshed = self.agent().refresh(self.wire, why, &shop.metadata, &issued.refresh_token, enough).await?;
            issued = refreshed.map_err(|code| Broken(format!("the grant has ended: {code}")))?;
            if needs.is_subset_of(&issued.scope) {
                return Ok(issued);
            }
            let message = Message { id: "m-003", context: Some(&shop.context), text: CHANGE };
            let again = self.agent().send_untold(self.wire, &shop.card, &issued.access_token, message).await?;
            if let Reply::StepUp { link: fresh, .. } = again
                && fresh.as_str() != link
            {
                link = fresh.into();
                waited = Duration::ZERO;
                self.wire.narration.ask("Something is still missing. The agent got a fresh link for you.", &link);
            }
        }
        Err(Broken("the link was not used in time".to_owned()))
    }

    async fn send_again(&mut self, shop: &Shop, issued: &Issued) -> Result<ShownReceipt, Broken> {
        self.wire.narration.step(
            "Send the same message again",
            "The same messageId in the same conversation: the Provider remembers that it ended in a step-up, and runs it \
             anew now that the token allows it.",
        );
        let message = Message { id: "m-003", context: Some(&shop.context), text: CHANGE };
        let why = "This time the agent may.";
        let token = Some(&issued.access_token);
        let first = self.agent().send(self.wire, why, &shop.card, token, message).await?;
        self.tell_arrived();
        let Reply::Message { receipt: Some(receipt), text, body, .. } = first else {
            return Err(unexpected("a reply with a receipt", &first));
        };
        self.wire.narration.holds(&format!("done: “{text}”"));
        let why = "Once more, as after a lost answer: the stored reply, byte for byte (PACT §4.3).";
        let repeated = self.agent().send(self.wire, why, &shop.card, token, message).await?;
        let same = matches!(&repeated, Reply::Message { body: again, .. } if *again == body);
        ensure(same, || "the repeated message got another reply".to_owned())?;
        let ran = self.stage.shop_agent.take_arrived().len();
        ensure(ran == 0, || "the repeated message ran the agent again".to_owned())?;
        self.wire.narration.holds("the agent was not run a second time");
        Ok(receipt)
    }

    /// Tells what arrived at the Brand's agent behind the interface.
    fn tell_arrived(&mut self) {
        for arrived in self.stage.shop_agent.take_arrived() {
            let under = match &arrived.turn.delegation {
                Some(delegation) => format!("as {} within {}", delegation.user, delegation.scopes),
                None => "without an account".to_owned(),
            };
            let why = format!(
                "Behind the interface the Provider called the Brand's agent, {under}. The agent verified the turn token \
                 with the Brand's keys, and that it was signed for this very body."
            );
            self.wire.narration.arrived(&why, &self.stage.shop_agent.own_url, &arrived.headers, &arrived.body);
        }
    }
}

/// What came in place of what was expected.
fn unexpected(expected: &str, reply: &Reply) -> Broken {
    let got = match reply {
        Reply::Message { text, .. } => format!("the reply “{text}”"),
        Reply::StepUp { missing, .. } => format!("a step-up for {missing}"),
        Reply::Unauthorized(challenge) => format!("401 with {challenge}"),
    };
    Broken(format!("expected {expected}, got {got}"))
}

/// Whether a 401 says that the delegation token is not good (PACT §5.5).
fn is_invalid_token(challenge: &str) -> bool {
    challenge.starts_with("Bearer realm=\"a2a\"") && challenge.contains("error=\"invalid_token\"")
}
