//! Every kind of signed token against every place that accepts one, from two lists: a new kind or place that is not
//! entered in both breaks the build or the count.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::jwks::KeySet;
use super::jws::Refused;
use super::ring::{self, KeyRing};
use super::seal::MasterKey;
use super::signer::{Signer, generate_key};
use super::{assertion, codes, delegation_token, evidence, pa_jwt, receipt, security_event, turn_token};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::domain::event::{GrantEvent, Happened};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer, KeyId, TokenId};
use crate::domain::scope::{ScopeId, ScopeSet};
use crate::domain::signing_key::KeyState;
use crate::entropy::Entropy;
use crate::protocol::claims::{Action, DelegationClaims, ReceiptClaims};
use crate::protocol::event::SecurityEventClaims;
use crate::secret::Secret;

pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
pub(super) const INTERFACE: &str = "https://provider.example.com/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA";
pub(super) const AUTH: &str = "https://provider.example.com/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA/oauth";
pub(super) const AGENT: &str = "https://agent.example/turn";
pub(super) const EVENTS: &str = "https://brand.example/events";
pub(super) const BODY: &[u8] = b"{}";
const BODY_SHA256: &str = "RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o";
const PA: &str = "https://pa.example.com";
const LOGIN: &str = "https://brand.example";

/// A Brand's ring with a key of each algorithm, and a personal agent and a login whose key also stands in every key set
/// that is asked, so that no refusal hangs on the keys alone.
pub(super) struct Stage {
    pub(super) ring: KeyRing,
    outsider: Signer,
    entropy: Entropy,
}

pub(super) fn master() -> MasterKey {
    MasterKey::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap()
}

pub(super) fn brand() -> BrandId {
    BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap()
}

impl Stage {
    pub(super) fn new() -> Self {
        let entropy = Entropy::seeded(1);
        let rows = [(SigningAlg::Es256, "ring-ec"), (SigningAlg::Rs256, "ring-rsa")].map(|(alg, kid)| {
            let state = KeyState::Live { signs_from: NOW };
            ring::generate(alg, &brand(), KeyId::parse(kid).unwrap(), state, NOW, &master(), &entropy).unwrap()
        });
        let ring = KeyRing::open(&brand(), &rows, &master()).unwrap();
        let key = generate_key(SigningAlg::Es256, "outsider").unwrap();
        Self { ring, outsider: Signer::from_private_jwk(key.private_jwk.expose()).unwrap(), entropy }
    }

    /// The ring's keys and the outsider's.
    fn keys(&self) -> KeySet {
        self.ring.published().iter().chain([self.outsider.public()]).cloned().collect()
    }

    pub(super) fn delegation_claims(&self) -> DelegationClaims {
        DelegationClaims {
            iss: AUTH.to_owned(),
            aud: INTERFACE.to_owned(),
            sub: BrandUser::parse("jane-4471").unwrap(),
            client_id: Issuer::parse(PA).unwrap(),
            scope: ScopeSet::parse("orders:read orders:cancel").unwrap(),
            grant_id: GrantId::from_ulid(self.entropy.ulid(NOW)),
            iat: NOW,
            exp: NOW.plus(Duration::from_secs(900)),
            jti: TokenId::from_uuid(self.entropy.uuid()),
        }
    }

    pub(super) fn receipt_claims(&self) -> ReceiptClaims {
        ReceiptClaims {
            grant_id: GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap(),
            user: BrandUser::parse("jane-4471").unwrap(),
            pa: Issuer::parse(PA).unwrap(),
            brand: INTERFACE.to_owned(),
            scopes_used: vec![ScopeId::parse("orders:read").unwrap()],
            actions: vec![Action { tool: "lookup_orders".to_owned(), args_hash: None }],
            ts: NOW,
        }
    }

    pub(super) fn event_claims(&self) -> SecurityEventClaims {
        let grant = GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap();
        let event = GrantEvent {
            id: format!("{grant}.1"),
            brand: brand(),
            grant,
            happened: Happened::Created,
            brand_user: BrandUser::parse("jane-4471").unwrap(),
            personal_agent: Issuer::parse(PA).unwrap(),
            scopes: ScopeSet::parse("orders:read").unwrap(),
            expires_at: NOW,
            at: NOW,
            attempts: 1,
        };
        SecurityEventClaims::new(&event, AUTH, LOGIN, EVENTS)
    }

    pub(super) fn turn_token(&self) -> String {
        turn_token::sign(&self.ring, SigningAlg::Es256, INTERFACE, AGENT, BODY, NOW, &self.entropy).unwrap()
    }

    /// A token of `kind` with every claim that any place asks for, so that a refusal hangs on its kind alone: the claims of
    /// all kinds do not contradict each other but in `iss` and `aud`, which are those of `place`.
    fn disguised(&self, kind: Kind, place: Kind) -> String {
        let (iss, aud) = place.parties();
        let mut claims = serde_json::json!({
            "iss": iss, "aud": aud, "iat": NOW.seconds(), "exp": NOW.seconds() + 60, "sub": "jane-4471", "jti": "c7d0a6ea-9e2e-4d92-a610-2518a0f27d20",
            "client_id": PA, "scope": "orders:read", "grant_id": "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA",
            "body_sha256": BODY_SHA256,
        });
        if place == Kind::Assertion {
            claims["user_code"] = "WDJB-MJHT".into();
        }
        if place == Kind::Receipt {
            claims = serde_json::to_value(self.receipt_claims()).unwrap();
        }
        if place == Kind::SecurityEvent {
            claims = serde_json::to_value(self.event_claims()).unwrap();
        }
        match kind.typ() {
            "JWT" => self.outsider.sign_claims("JWT", &claims).unwrap(),
            own => self.ring.sign_claims(NOW, SigningAlg::Es256, own, &claims).unwrap(),
        }
    }

    fn genuine(&self, kind: Kind) -> String {
        let claims = |claims: serde_json::Value| self.outsider.sign_claims("JWT", &claims).unwrap();
        let (iss, aud) = kind.parties();
        let (iat, exp) = (NOW.seconds(), NOW.seconds() + 120);
        match kind {
            Kind::PaJwt => pa_jwt::sign(&self.outsider, iss, "user-7f3a", aud, NOW, Duration::from_secs(120)).unwrap(),
            Kind::Assertion => claims(serde_json::json!({
                "iss": iss, "aud": aud, "sub": "jane-4471", "user_code": "WDJB-MJHT", "jti": "1", "iat": iat, "exp": exp,
            })),
            Kind::GrantsAssertion => claims(serde_json::json!({
                "iss": iss, "aud": aud, "sub": "jane-4471", "jti": "1", "iat": iat, "exp": exp,
            })),
            Kind::DelegationToken => {
                delegation_token::sign(&self.ring, SigningAlg::Es256, &self.delegation_claims(), NOW).unwrap()
            }
            Kind::Receipt => receipt::sign(&self.ring, SigningAlg::Es256, &self.receipt_claims(), NOW).unwrap().jws,
            Kind::TurnToken => self.turn_token(),
            Kind::SecurityEvent => {
                security_event::sign(&self.ring, SigningAlg::Es256, &self.event_claims(), NOW).unwrap()
            }
            Kind::Evidence => {
                let claims = serde_json::json!({
                    "iss": iss, "grant_id": "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAA", "iat": iat, "body_sha256": BODY_SHA256,
                });
                self.ring.sign_claims(NOW, SigningAlg::Es256, evidence::TYP, &claims).unwrap()
            }
        }
    }

    fn accepts(&self, place: Kind, token: &str) -> Result<(), Refused> {
        let keys = self.keys();
        let (iss, aud) = place.parties();
        let expected = assertion::Expected { issuer: iss, audience: aud };
        match place {
            Kind::PaJwt => pa_jwt::verify(token, &keys, &Issuer::parse(iss).unwrap(), aud, NOW).map(drop),
            Kind::Assertion => assertion::verify(token, &keys, &expected, NOW).map(drop),
            Kind::GrantsAssertion => assertion::verify_for_grants(token, &keys, &expected, NOW).map(drop),
            Kind::DelegationToken => delegation_token::verify(token, &self.ring, iss, aud, NOW).map(drop),
            Kind::Receipt => receipt::verify(token, &keys, Some(iss)).map(drop),
            Kind::TurnToken => turn_token::verify(token, &keys, iss, aud, BODY, NOW).map(drop),
            Kind::SecurityEvent => security_event::verify(token, &keys, iss, aud).map(drop),
            Kind::Evidence => evidence::verify(token, &keys, Some(iss), &serde_json::json!({})).map(drop),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    PaJwt,
    Assertion,
    GrantsAssertion,
    DelegationToken,
    Receipt,
    TurnToken,
    SecurityEvent,
    Evidence,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::PaJwt,
        Self::Assertion,
        Self::GrantsAssertion,
        Self::DelegationToken,
        Self::Receipt,
        Self::TurnToken,
        Self::SecurityEvent,
        Self::Evidence,
    ];

    /// `iss` and `aud` at the place that accepts this kind.
    const fn parties(self) -> (&'static str, &'static str) {
        match self {
            Self::PaJwt => (PA, "https://provider.example.com/a2a"),
            Self::Assertion => (LOGIN, "https://auth.brand.example/consent"),
            Self::GrantsAssertion => (LOGIN, "https://auth.brand.example/grants"),
            Self::DelegationToken => (AUTH, INTERFACE),
            Self::Receipt | Self::Evidence => (INTERFACE, ""),
            Self::TurnToken => (INTERFACE, AGENT),
            Self::SecurityEvent => (AUTH, EVENTS),
        }
    }

    /// What [`Stage::accepts`] asks at the place of this kind.
    const fn verifier(self) -> &'static str {
        match self {
            Self::PaJwt => "pa_jwt::verify",
            Self::Assertion => "assertion::verify",
            Self::GrantsAssertion => "assertion::verify_for_grants",
            Self::DelegationToken => "delegation_token::verify",
            Self::Receipt => "receipt::verify",
            Self::TurnToken => "turn_token::verify",
            Self::SecurityEvent => "security_event::verify",
            Self::Evidence => "evidence::verify",
        }
    }

    const fn typ(self) -> &'static str {
        match self {
            Self::PaJwt | Self::Assertion | Self::GrantsAssertion => "JWT",
            Self::DelegationToken => delegation_token::TYP,
            Self::Receipt => receipt::TYP,
            Self::TurnToken => turn_token::TYP,
            Self::SecurityEvent => security_event::TYP,
            Self::Evidence => evidence::TYP,
        }
    }
}

/// Calls `is_refused` with `token` in which one bit is flipped, for every bit that leaves it text.
pub(super) fn flip_every_bit(token: &str, is_refused: impl Fn(&str) -> bool) {
    for place in 0..token.len() {
        for bit in 0..7 {
            let mut bytes = token.as_bytes().to_vec();
            bytes[place] ^= 1 << bit;
            let altered = String::from_utf8(bytes).unwrap();
            assert!(is_refused(&altered), "bit {bit} of byte {place}: {altered}");
        }
    }
}

// case 58
#[test]
fn every_kind_of_token_is_refused_in_every_place_but_its_own() {
    let stage = Stage::new();
    for kind in Kind::ALL {
        let token = stage.genuine(kind);
        for place in Kind::ALL {
            assert_eq!(stage.accepts(place, &token).is_ok(), kind == place, "{kind:?} at {place:?}");
        }
    }
}

// case 58
#[test]
fn a_token_of_another_type_is_refused_also_when_its_claims_would_fit() {
    let stage = Stage::new();
    for place in Kind::ALL {
        for kind in Kind::ALL {
            let refusal = stage.accepts(place, &stage.disguised(kind, place)).err();
            if kind.typ() == place.typ() {
                assert_eq!(refusal, None, "the disguise fits {place:?}");
            } else {
                assert_eq!(refusal, Some(Refused::Type), "{kind:?} at {place:?}");
            }
        }
    }
}

// case 58: neither a new type nor a new place can be forgotten
#[test]
fn every_type_and_every_verifier_of_the_sources_is_among_the_kinds() {
    let mut types = BTreeSet::from(["JWT".to_owned()]);
    let mut verifiers = Vec::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/crypto");
    for source in fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path()) {
        let module = source.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = if source.is_file() { fs::read_to_string(&source).unwrap() } else { String::new() };
        for line in text.lines() {
            if let Some((_, typ)) = line.split_once("const TYP: &str = \"") {
                types.insert(typ.trim_end_matches("\";").to_owned());
            }
            if let Some(rest) = line.strip_prefix("pub fn verify") {
                verifiers.push(format!("{module}::verify{}", rest.split('(').next().unwrap()));
            }
        }
    }
    assert_eq!(types, Kind::ALL.iter().map(|kind| kind.typ().to_owned()).collect());
    verifiers.sort();
    let mut asked = Kind::ALL.map(Kind::verifier);
    asked.sort_unstable();
    assert_eq!(verifiers, asked);
}

type Draw = fn(&Entropy) -> Secret<String>;

/// What is no signed token and stands in places where one could: by the function of `codes` that draws it.
const OPAQUE: [(&str, Draw); 5] = [
    ("device_code", codes::device_code),
    ("refresh_token", codes::refresh_token),
    ("session_token", codes::session_token),
    ("api_key", codes::api_key),
    ("resource_server_key", codes::resource_server_key),
];

// case 58
#[test]
fn no_code_passes_for_a_signed_token_nor_any_of_the_two_for_a_resource_server_key() {
    let stage = Stage::new();
    for (name, draw) in OPAQUE {
        let code = draw(&stage.entropy);
        for place in Kind::ALL {
            assert!(stage.accepts(place, code.expose()).is_err(), "{name} at {place:?}");
        }
        assert_eq!(codes::is_like_a_resource_server_key(code.expose()), name == "resource_server_key", "{name}");
    }
    for kind in Kind::ALL {
        assert!(!codes::is_like_a_resource_server_key(&stage.genuine(kind)), "{kind:?}");
    }
    // Each function that draws one is among them.
    let source = include_str!("codes.rs");
    let drawn = source.lines().filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix(" -> Secret<String> {"));
    let drawn: Vec<&str> = drawn.map(|line| line.split('(').next().unwrap()).collect();
    assert!(drawn.iter().all(|name| OPAQUE.iter().any(|(known, _)| known == name)), "{drawn:?}");
    assert_eq!(drawn.len(), OPAQUE.len());
}

// cases 12, 32
#[test]
fn every_flipped_bit_of_a_token_from_outside_is_refused() {
    let stage = Stage::new();
    for kind in [Kind::PaJwt, Kind::Assertion, Kind::GrantsAssertion] {
        flip_every_bit(&stage.genuine(kind), |altered| stage.accepts(kind, altered).is_err());
    }
}
