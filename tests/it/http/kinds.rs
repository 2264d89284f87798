//! Every kind of token in every slot over HTTP, from two lists: a new kind or slot that is not judged breaks the build.
//! The same for the verifiers alone is in `src/crypto/kinds.rs`.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use assent::domain::administrator::Access;
use assent::outbound::Method;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::support::backend::{Backend, Script};
use crate::support::client::Answer;
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Codes, Page, Tokens, message};
use crate::support::world::{AIRLINE, AIRLINE_HOST, PROVIDER, World, airline_table, http_agent};

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
        PaJwt, Assertion, GrantsAssertion, DelegationToken, ForwardedToken, Receipt, TurnToken, RefreshToken, DeviceCode,
        UserCode, PageSession, BrowserSession, AdministratorSession, ApiKey, ResourceServerKey, GrantsPageSession,
        SecurityEvent, Evidence,
    }
}

listed! {
    /// Where something is looked for. In the order in which genuine ones are tried: a decision makes the device code good
    /// for tokens, and a revocation comes last.
    Slot {
        Authorization, DelegationHeader, AssertionField, GrantsAssertionField, GrantsCookie, RevocationField,
        AssertedUserCode, UserCodeInQuery, Cookie, SessionField, DeviceCodeField, IntrospectionCaller, IntrospectedToken,
        RefreshTokenField, AdministratorCookie, Api, RevokedToken,
    }
}

impl Slot {
    /// The kinds that belong here.
    const fn own(self) -> &'static [Kind] {
        match self {
            Self::Authorization => &[Kind::PaJwt],
            // The Brand's own services hold the forwarded one, and no JWT of the personal agent to go with it.
            Self::DelegationHeader => &[Kind::DelegationToken, Kind::ForwardedToken],
            Self::AssertionField => &[Kind::Assertion],
            Self::GrantsAssertionField => &[Kind::GrantsAssertion],
            Self::RevocationField => &[Kind::GrantsPageSession],
            Self::AssertedUserCode | Self::UserCodeInQuery => &[Kind::UserCode],
            Self::Cookie | Self::GrantsCookie => &[Kind::BrowserSession],
            Self::SessionField => &[Kind::PageSession],
            Self::AdministratorCookie => &[Kind::AdministratorSession],
            Self::Api => &[Kind::ApiKey],
            Self::DeviceCodeField => &[Kind::DeviceCode],
            Self::RefreshTokenField => &[Kind::RefreshToken],
            Self::IntrospectionCaller => &[Kind::ResourceServerKey, Kind::PaJwt],
            Self::IntrospectedToken => &[Kind::DelegationToken, Kind::ForwardedToken, Kind::RefreshToken],
            Self::RevokedToken => &[Kind::RefreshToken, Kind::DelegationToken, Kind::ForwardedToken],
        }
    }

    /// The endpoint of the metadata that has this slot, beside `Authorization`, which all of them have.
    const fn endpoint(self) -> Option<&'static str> {
        match self {
            Self::DeviceCodeField | Self::RefreshTokenField => Some("token_endpoint"),
            Self::RevokedToken => Some("revocation_endpoint"),
            Self::IntrospectionCaller | Self::IntrospectedToken => Some("introspection_endpoint"),
            Self::Authorization | Self::DelegationHeader => None,
            Self::AssertionField | Self::AssertedUserCode | Self::UserCodeInQuery => None,
            Self::GrantsAssertionField | Self::GrantsCookie | Self::RevocationField => None,
            Self::Cookie | Self::SessionField | Self::AdministratorCookie | Self::Api => None,
        }
    }
}

/// One genuine thing of each kind, all of one Brand, one User and one personal agent.
struct Stage {
    world: World,
    tokens: Tokens,
    receipt: String,
    turn_token: String,
    forwarded: String,
    codes: Codes,
    assertion: String,
    page: Page,
    administrator: String,
    api_key: String,
    resource_server_key: String,
    /// A list of another User's grants, of whom one is revoked from it in the end.
    list: Page,
    listed: String,
    security_event: String,
    evidence: String,
}

impl Stage {
    async fn set(db: &Database) -> Self {
        let world = World::start(db).await;
        let receiver = Backend::start().await;
        receiver.answer_with(Script { status: 202, ..Script::json(json!({})) });
        let table = airline_table(&world.brand_login, &http_agent(&world.backend, ", forward_token = true"));
        let events = format!("events = {{ url = \"{}\" }}\nreturn_url", receiver.url());
        world.apply(&table.replace("return_url", &events)).await;
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
        let forwarded = turn.json()["delegation"]["token"].as_str().unwrap().to_owned();
        let codes = world.codes(AIRLINE, "user-1", "orders:read").await;
        let page = world.sign_in(AIRLINE, "jane", &codes.user_code).await;
        let assertion = world.assertion(AIRLINE, "jane", &codes.user_code, json!({}));
        world.administrator("anna", Access::EVERYTHING).await;
        let administrator = world.logged_in("anna").await.cookie("assent-admin").unwrap();
        let api_key = world.api_key(Access::EVERYTHING).await;
        let resource_server_key = world.resource_server_key(AIRLINE).await;
        let listed = world.tokens(AIRLINE, "user-2", "joe", &["orders:read"]).await.grant();
        let list = world.grants(AIRLINE, "joe").await;
        // All that was to be told has been, so that nothing is stored or removed beside the tests.
        let security_event = receiver.seen_at_least(2).await.remove(0).body;
        while db.count("SELECT id FROM event").await > 0 {
            tokio::task::yield_now().await;
        }
        let security_event = String::from_utf8(security_event).unwrap();
        let evidence = world.evidence(&listed).await;
        Self {
            security_event,
            evidence,
            world,
            tokens,
            receipt,
            turn_token,
            forwarded,
            codes,
            assertion,
            page,
            administrator,
            api_key,
            resource_server_key,
            list,
            listed,
        }
    }

    fn genuine(&self, kind: Kind) -> String {
        match kind {
            Kind::PaJwt => self.world.jwt("user-1"),
            Kind::Assertion => self.assertion.clone(),
            Kind::GrantsAssertion => {
                let aud = format!("https://{AIRLINE_HOST}/grants");
                self.world.assertion(AIRLINE, "jane", "", json!({ "aud": aud, "user_code": null }))
            }
            Kind::DelegationToken => self.tokens.access.clone(),
            Kind::ForwardedToken => self.forwarded.clone(),
            Kind::Receipt => self.receipt.clone(),
            Kind::TurnToken => self.turn_token.clone(),
            Kind::RefreshToken => self.tokens.refresh.clone(),
            Kind::DeviceCode => self.codes.device_code.clone(),
            Kind::UserCode => self.codes.user_code.clone(),
            Kind::PageSession => self.page.session.clone(),
            Kind::SecurityEvent => self.security_event.clone(),
            Kind::GrantsPageSession => self.list.session.clone(),
            Kind::ResourceServerKey => self.resource_server_key.clone(),
            Kind::BrowserSession => self.page.cookie.as_ref().unwrap().split_once('=').unwrap().1.to_owned(),
            Kind::AdministratorSession => self.administrator.clone(),
            Kind::ApiKey => self.api_key.clone(),
            Kind::Evidence => self.evidence.clone(),
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
            Slot::GrantsAssertionField => world.post_grants_assertion(AIRLINE, value).await,
            Slot::GrantsCookie => {
                world.at_issuer(Method::GET, AIRLINE, "/grants").cookie(&with_cookie(value)).send().await
            }
            Slot::RevocationField => world.revoke_on_page(AIRLINE, value, &self.listed).await,
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
            Slot::AdministratorCookie => {
                world.ask_admin(Method::GET, "/account").cookie(&format!("assent-admin={value}")).send().await
            }
            Slot::Api => world.ask_admin(Method::GET, "/api/v1/overview").bearer(value).send().await,
            Slot::IntrospectionCaller => {
                let ask = world.at_issuer(Method::POST, AIRLINE, "/introspect").bearer(value);
                ask.form(&[("token", &self.tokens.access)]).send().await
            }
            Slot::IntrospectedToken => world.oauth(AIRLINE, "/introspect", "user-1", &[("token", value)]).await,
            Slot::RevokedToken => world.oauth(AIRLINE, "/revoke", "user-1", &[("token", value)]).await,
        }
    }
}

fn assert_refused(slot: Slot, kind: Kind, answer: &Answer) {
    let what = format!("{kind:?} as {slot:?}: {} {}", answer.status(), answer.text());
    match slot {
        Slot::Authorization | Slot::IntrospectionCaller => answer.assert_unauthenticated(),
        Slot::IntrospectedToken => {
            assert_eq!((answer.status(), answer.text().as_str()), (200, r#"{"active":false}"#), "{what}");
        }
        Slot::DelegationHeader => answer.assert_invalid_token(),
        Slot::AssertionField | Slot::AssertedUserCode | Slot::SessionField => {
            assert_eq!(answer.status(), 403, "{what}")
        }
        Slot::GrantsAssertionField | Slot::RevocationField => {
            assert_eq!(answer.status(), 403, "{what}")
        }
        // The page that asks for a code.
        Slot::UserCodeInQuery => {
            assert_eq!(answer.status(), 400, "{what}");
            assert!(!answer.text().contains("name=\"session\""), "{what}");
        }
        // To the Brand's login.
        Slot::Cookie | Slot::GrantsCookie => assert_eq!((answer.status(), answer.text().as_str()), (303, ""), "{what}"),
        Slot::DeviceCodeField | Slot::RefreshTokenField => {
            assert_eq!(answer.status(), 400, "{what}");
            assert_eq!(answer.oauth_error(), "invalid_grant", "{what}");
        }
        Slot::AdministratorCookie => {
            assert_eq!((answer.status(), answer.header("location")), (303, Some("/log-in?next=%2Faccount")), "{what}");
        }
        Slot::Api => {
            assert_eq!(answer.status(), 401, "{what}");
            assert_eq!(answer.header("www-authenticate"), Some(r#"Bearer realm="assent-api""#), "{what}");
        }
        // RFC 7009 §2.2: nobody is told.
        Slot::RevokedToken => assert_eq!((answer.status(), answer.text().as_str()), (200, ""), "{what}"),
    }
}

on_both_databases! {
    // case 58
    async fn every_kind_of_token_is_refused_in_every_slot_but_its_own(db: Database) {
        let stage = Stage::set(&db).await;
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
            let is_told = matches!(slot, Slot::IntrospectionCaller | Slot::IntrospectedToken);
            assert!(!is_told || answer.json()["active"] == true, "{kind:?} as {slot:?}: {}", answer.text());
        }
        stage.world.stop().await;
    }

    // case 58
    async fn every_kind_belongs_somewhere_or_is_for_others_to_verify(db: Database) {
        let owned: Vec<Kind> = Slot::ALL.iter().flat_map(|slot| slot.own().iter().copied()).collect();
        let others: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| !owned.contains(kind)).collect();
        assert_eq!(others, [Kind::Receipt, Kind::TurnToken, Kind::SecurityEvent, Kind::Evidence]);
        // No two genuine ones are the same text.
        let stage = Stage::set(&db).await;
        let all: HashSet<String> = Kind::ALL.iter().map(|kind| stage.genuine(*kind)).collect();
        assert_eq!(all.len(), Kind::ALL.len());
        // Each type of token that the sources name is there.
        let headers = all.iter().filter_map(|token| BASE64_URL_SAFE_NO_PAD.decode(token.split_once('.')?.0).ok());
        let headers = headers.map(|header| serde_json::from_slice::<Value>(&header).unwrap());
        let types: HashSet<String> = headers.map(|header| header["typ"].as_str().unwrap().to_owned()).collect();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/crypto");
        let sources = fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let mut named = HashSet::from(["JWT".to_owned()]);
        for source in sources.map(|path| fs::read_to_string(path).unwrap()) {
            named.extend(source.split("const TYP: &str = \"").skip(1).map(|typ| typ.split('"').next().unwrap().to_owned()));
        }
        assert_eq!(types, named);
        stage.world.stop().await;
    }

    // case 58: the endpoints of the metadata, so that a new one cannot be forgotten
    async fn every_endpoint_takes_a_personal_agents_jwt_and_one_a_resource_server_key(db: Database) {
        let stage = Stage::set(&db).await;
        let metadata = stage.world.at_issuer(Method::GET, AIRLINE, "/.well-known/oauth-authorization-server").send().await;
        let metadata = metadata.json();
        let endpoints: Vec<(&String, &str)> = metadata
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| name.ends_with("_endpoint"))
            .map(|(name, url)| (name, url.as_str().unwrap().strip_prefix("https://auth.airline.example").unwrap()))
            .collect();
        // This one takes nothing that proves anything but who calls.
        let mut with_slots = vec!["device_authorization_endpoint"];
        with_slots.extend(Slot::ALL.iter().filter_map(|slot| slot.endpoint()));
        let before = db.contents().await;
        for (name, path) in endpoints {
            assert!(with_slots.contains(&name.as_str()), "{name} has no slot");
            for kind in Kind::ALL {
                let ask = stage.world.at_issuer(Method::POST, AIRLINE, path).bearer(&stage.genuine(*kind));
                let answer = ask.form(&[("unknown", "1")]).send().await;
                match kind {
                    Kind::PaJwt => assert_eq!(answer.status(), 400, "{name}: {}", answer.text()),
                    Kind::ResourceServerKey if name == "introspection_endpoint" => {
                        assert_eq!(answer.status(), 400, "{name}: {}", answer.text());
                    }
                    _ => answer.assert_unauthenticated(),
                }
            }
        }
        assert_eq!(db.contents().await, before);
        stage.world.stop().await;
    }
}
