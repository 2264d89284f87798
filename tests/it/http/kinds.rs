//! Every kind of token in every slot over HTTP, from two lists: a new kind or slot that is not judged breaks the build.
//! The same for the verifiers alone is in `src/crypto/kinds.rs`.

use assent::outbound::Method;
use serde_json::json;

use crate::support::backend::Script;
use crate::support::client::Answer;
use crate::support::database::on_both_databases;
use crate::support::flow::{Codes, Page, Tokens, message};
use crate::support::world::{AIRLINE, PROVIDER, World};

/// An enum with the list of its variants.
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum $name { $($variant),* }

        impl $name {
            const ALL: &[Self] = &[$(Self::$variant),*];
        }
    };
}

listed! {
    /// What proves or stands for something.
    Kind {
        PaJwt, Assertion, DelegationToken, Receipt, TurnToken, RefreshToken, DeviceCode, UserCode, PageSession,
        BrowserSession,
    }
}

listed! {
    /// Where something is looked for. In the order in which genuine ones are tried: a decision makes the device code good
    /// for tokens, and a revocation comes last.
    Slot {
        Authorization, DelegationHeader, AssertionField, AssertedUserCode, UserCodeInQuery, Cookie, SessionField,
        DeviceCodeField, RefreshTokenField, RevokedToken,
    }
}

impl Slot {
    /// The kinds that belong here.
    const fn own(self) -> &'static [Kind] {
        match self {
            Self::Authorization => &[Kind::PaJwt],
            Self::DelegationHeader => &[Kind::DelegationToken],
            Self::AssertionField => &[Kind::Assertion],
            Self::AssertedUserCode | Self::UserCodeInQuery => &[Kind::UserCode],
            Self::Cookie => &[Kind::BrowserSession],
            Self::SessionField => &[Kind::PageSession],
            Self::DeviceCodeField => &[Kind::DeviceCode],
            Self::RefreshTokenField => &[Kind::RefreshToken],
            Self::RevokedToken => &[Kind::RefreshToken, Kind::DelegationToken],
        }
    }
}

/// One genuine thing of each kind, all of one Brand, one User and one personal agent.
struct Stage {
    world: World,
    tokens: Tokens,
    receipt: String,
    turn_token: String,
    codes: Codes,
    assertion: String,
    page: Page,
}

impl Stage {
    async fn set(world: World) -> Self {
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        world.backend.answer_with(Script::json(json!({
            "parts": [{ "text": "It is on its way." }], "scopesUsed": ["orders:read"], "actions": [{ "tool": "lookup" }],
        })));
        let reply = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        let receipt = reply.json()["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
        let turn = world.backend.seen().pop().unwrap();
        assert_eq!(turn.json()["delegation"]["user"], "jane");
        world.backend.answer_with(Script::text("Hello."));
        let turn_token = turn.header("authorization").unwrap().strip_prefix("Bearer ").unwrap().to_owned();
        let codes = world.codes(AIRLINE, "user-1", "orders:read").await;
        let page = world.sign_in(AIRLINE, "jane", &codes.user_code).await;
        let assertion = world.assertion(AIRLINE, "jane", &codes.user_code, json!({}));
        Self { world, tokens, receipt, turn_token, codes, assertion, page }
    }

    fn genuine(&self, kind: Kind) -> String {
        match kind {
            Kind::PaJwt => self.world.jwt("user-1"),
            Kind::Assertion => self.assertion.clone(),
            Kind::DelegationToken => self.tokens.access.clone(),
            Kind::Receipt => self.receipt.clone(),
            Kind::TurnToken => self.turn_token.clone(),
            Kind::RefreshToken => self.tokens.refresh.clone(),
            Kind::DeviceCode => self.codes.device_code.clone(),
            Kind::UserCode => self.codes.user_code.clone(),
            Kind::PageSession => self.page.session.clone(),
            Kind::BrowserSession => self.page.cookie.as_ref().unwrap().split_once('=').unwrap().1.to_owned(),
        }
    }

    /// Puts `value` into a slot in which everything else is as it should be.
    async fn put(&self, slot: Slot, value: &str) -> Answer {
        let world = &self.world;
        let with_cookie = |value: &str| format!("__Host-assent-{AIRLINE}={value}");
        match slot {
            Slot::Authorization => {
                let path = format!("/a2a/{AIRLINE}/message:send");
                world.ask(Method::POST, PROVIDER, &path).bearer(value).json(&message("m-2", None, "Hi")).send().await
            }
            Slot::DelegationHeader => world.send(AIRLINE, "user-1", Some(value), "m-3", None, "Hi").await,
            Slot::AssertionField => world.post_assertion(AIRLINE, value).await,
            Slot::AssertedUserCode => {
                world.post_assertion(AIRLINE, &world.assertion(AIRLINE, "jane", value, json!({}))).await
            }
            Slot::UserCodeInQuery => {
                world.open(AIRLINE, value, Some(&with_cookie(&self.genuine(Kind::BrowserSession)))).await
            }
            Slot::Cookie => world.open(AIRLINE, &self.codes.user_code, Some(&with_cookie(value))).await,
            Slot::SessionField => world.decide(AIRLINE, value, "allow", &["orders:read"]).await,
            Slot::DeviceCodeField => world.poll(AIRLINE, "user-1", value).await,
            Slot::RefreshTokenField => world.refresh(AIRLINE, "user-1", value).await,
            Slot::RevokedToken => world.oauth(AIRLINE, "/revoke", "user-1", &[("token", value)]).await,
        }
    }
}

fn assert_refused(slot: Slot, kind: Kind, answer: &Answer) {
    let what = format!("{kind:?} as {slot:?}: {} {}", answer.status(), answer.text());
    match slot {
        Slot::Authorization => answer.assert_unauthenticated(),
        Slot::DelegationHeader => answer.assert_invalid_token(),
        Slot::AssertionField | Slot::AssertedUserCode | Slot::SessionField => {
            assert_eq!(answer.status(), 403, "{what}")
        }
        // The page that asks for a code.
        Slot::UserCodeInQuery => {
            assert_eq!(answer.status(), 400, "{what}");
            assert!(!answer.text().contains("name=\"session\""), "{what}");
        }
        // To the Brand's login.
        Slot::Cookie => assert_eq!((answer.status(), answer.text().as_str()), (303, ""), "{what}"),
        Slot::DeviceCodeField | Slot::RefreshTokenField => {
            assert_eq!(answer.status(), 400, "{what}");
            assert_eq!(answer.oauth_error(), "invalid_grant", "{what}");
        }
        // RFC 7009 §2.2: nobody is told.
        Slot::RevokedToken => assert_eq!((answer.status(), answer.text().as_str()), (200, ""), "{what}"),
    }
}

on_both_databases! {
    // case 58
    async fn every_kind_of_token_is_refused_in_every_slot_but_its_own(db: Database) {
        let stage = Stage::set(World::start(&db).await).await;
        let before = db.contents().await;
        for slot in Slot::ALL {
            for kind in Kind::ALL.iter().filter(|kind| !slot.own().contains(kind)) {
                assert_refused(*slot, *kind, &stage.put(*slot, &stage.genuine(*kind)).await);
            }
            assert_eq!(db.contents().await, before, "{slot:?}");
        }
        // In its own slot each is accepted still, so that no refusal above hung on anything else.
        for slot in Slot::ALL {
            let kind = slot.own()[0];
            let answer = stage.put(*slot, &stage.genuine(kind)).await;
            let expected = if *slot == Slot::SessionField { 303 } else { 200 };
            assert_eq!(answer.status(), expected, "{kind:?} as {slot:?}: {}", answer.text());
        }
        stage.world.stop().await;
    }

    // case 58
    async fn every_kind_belongs_somewhere_or_is_for_others_to_verify(db: Database) {
        let owned: Vec<Kind> = Slot::ALL.iter().flat_map(|slot| slot.own().iter().copied()).collect();
        let others: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| !owned.contains(kind)).collect();
        assert_eq!(others, [Kind::Receipt, Kind::TurnToken]);
        // No two genuine ones are the same text.
        let stage = Stage::set(World::start(&db).await).await;
        let all: std::collections::HashSet<String> = Kind::ALL.iter().map(|kind| stage.genuine(*kind)).collect();
        assert_eq!(all.len(), Kind::ALL.len());
        stage.world.stop().await;
    }
}
