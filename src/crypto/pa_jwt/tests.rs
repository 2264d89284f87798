use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::crypto::jws::LONGEST;
use crate::crypto::signer::generate_key;
use crate::domain::brand::SigningAlg;

const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
const ISSUER: &str = "https://pa.example.com";
const AUDIENCE: &str = "https://provider.example.com/a2a";

#[derive(Deserialize)]
struct Vectors {
    now: i64,
    issuer: Issuer,
    audience: String,
    jwks: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    token: String,
    accept: bool,
}

// cases 1, 2, 3, 4, 5, 6, 7, 9, 10
#[test]
fn every_vector_of_another_implementation_is_judged_as_it_should_be() {
    let vectors: Vectors = serde_json::from_str(include_str!("../../../tests/data/pa-jwt.json")).unwrap();
    let keys = KeySet::parse(vectors.jwks.to_string().as_bytes()).unwrap();
    assert_eq!(vectors.cases.len(), 70);
    for case in vectors.cases {
        let now = Timestamp::from_seconds(vectors.now);
        let judged = verify(&case.token, &keys, &vectors.issuer, &vectors.audience, now);
        assert_eq!(judged.is_ok(), case.accept, "{}: {judged:?}", case.name);
        let before = precheck(&case.token, &vectors.issuer, &vectors.audience, now);
        assert!(before.is_ok() || !case.accept, "{}: {before:?}", case.name);
    }
}

struct Agent {
    signer: Signer,
    keys: KeySet,
    issuer: Issuer,
}

impl Agent {
    fn new() -> Self {
        let key = generate_key(SigningAlg::Es256, "pa-1").unwrap();
        let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
        let keys = std::iter::once(signer.public().clone()).collect();
        Self { signer, keys, issuer: Issuer::parse(ISSUER).unwrap() }
    }

    fn claims() -> Value {
        let now = NOW.seconds();
        json!({ "iss": ISSUER, "sub": "user-7f3a", "aud": AUDIENCE, "iat": now, "exp": now + 120 })
    }

    fn verify(&self, token: &str) -> Result<Caller, Refused> {
        super::verify(token, &self.keys, &self.issuer, AUDIENCE, NOW)
    }

    fn with(&self, name: &str, value: Value) -> Result<Caller, Refused> {
        let mut claims = Self::claims();
        claims[name] = value;
        let token = self.signer.sign_claims("JWT", &claims).unwrap();
        let verified = self.verify(&token);
        // The signature is good, so what is left to judge can be told without keys.
        assert_eq!(precheck(&token, &self.issuer, AUDIENCE, NOW), verified.clone().map(drop));
        verified
    }

    /// A token under a header of the test's own, with a signature that is good for these bytes where `alg` is ES256.
    fn under(&self, header: &str) -> Result<Caller, Refused> {
        let payload = BASE64_URL_SAFE_NO_PAD.encode(Self::claims().to_string());
        self.verify(&format!("{}.{payload}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), "A".repeat(86)))
    }
}

// case 4
#[test]
fn a_signed_token_proves_its_caller() {
    let agent = Agent::new();
    let token = sign(&agent.signer, ISSUER, "user-7f3a", AUDIENCE, NOW, Duration::from_secs(300)).unwrap();
    let caller = agent.verify(&token).unwrap();
    assert_eq!((caller.issuer.as_str(), caller.sub.as_str()), (ISSUER, "user-7f3a"));
    assert_eq!(issuer(&token).unwrap(), agent.issuer);
    let longer = sign(&agent.signer, ISSUER, "user-7f3a", AUDIENCE, NOW, Duration::from_secs(301)).unwrap();
    assert_eq!(agent.verify(&longer), Err(Refused::Lifetime));
}

// case 3
#[test]
fn the_audience_is_one_equal_string() {
    let agent = Agent::new();
    for wrong in [
        Value::Null,
        json!([AUDIENCE]),
        json!([]),
        json!(format!("{AUDIENCE}/")),
        json!(AUDIENCE.to_uppercase()),
        json!(""),
    ] {
        let refusal = agent.with("aud", wrong.clone()).unwrap_err();
        assert!(matches!(refusal, Refused::Audience | Refused::Claim("aud")), "{wrong}");
    }
}

// case 6
#[test]
fn the_issuer_is_the_expected_one_exactly() {
    let agent = Agent::new();
    for wrong in [json!(format!("{ISSUER}/")), json!("https://PA.example.com"), json!("https://pa.example.com.evil")] {
        assert_eq!(agent.with("iss", wrong), Err(Refused::Issuer));
    }
    for malformed in [Value::Null, json!(""), json!(1), json!([ISSUER])] {
        assert_eq!(agent.with("iss", malformed), Err(Refused::Claim("iss")));
    }
}

// case 6
#[test]
fn the_sub_is_a_text_that_is_not_empty() {
    let agent = Agent::new();
    for wrong in [Value::Null, json!(""), json!(7), json!(["u"]), json!("a\u{0}b"), json!("x".repeat(513))] {
        assert_eq!(agent.with("sub", wrong), Err(Refused::Claim("sub")));
    }
}

// cases 1, 2, 7
#[test]
fn other_algorithms_and_extensions_are_refused_whatever_the_key_set_holds() {
    let agent = Agent::new();
    for alg in ["none", "None", "HS256", "PS256", "ES384", "EdDSA"] {
        assert_eq!(agent.under(&json!({ "alg": alg, "kid": "pa-1" }).to_string()), Err(Refused::Algorithm), "{alg}");
    }
    assert_eq!(agent.under(r#"{"alg":"RS256","kid":"pa-1"}"#), Err(Refused::Algorithm));
    assert_eq!(agent.under(r#"{"alg":"ES256","kid":"pa-1","crit":["exp"]}"#), Err(Refused::Extension));
    assert_eq!(agent.under(r#"{"alg":"ES256","kid":"pa-1","typ":"at+jwt"}"#), Err(Refused::Type));
    assert_eq!(agent.under(r#"{"alg":"ES256","kid":"pa-1"}"#), Err(Refused::Signature));
}

// case 9
#[test]
fn a_strange_kid_is_unknown_and_nothing_worse() {
    let agent = Agent::new();
    for kid in ["' OR 1=1 --", "../../etc/passwd", "", "\u{0}", "pa-1 ", "PA-1"] {
        assert_eq!(agent.under(&json!({ "alg": "ES256", "kid": kid }).to_string()), Err(Refused::UnknownKey), "{kid}");
    }
    let long = json!({ "alg": "ES256", "kid": "k".repeat(1 << 20) }).to_string();
    assert_eq!(agent.under(&long), Err(Refused::Malformed));
    let as_long_as_fits = json!({ "alg": "ES256", "kid": "k".repeat(LONGEST / 2) }).to_string();
    assert_eq!(agent.under(&as_long_as_fits), Err(Refused::UnknownKey));
}

// case 12
#[test]
fn every_bit_of_a_token_counts() {
    let vectors: Vectors = serde_json::from_str(include_str!("../../../tests/data/pa-jwt.json")).unwrap();
    let keys = KeySet::parse(vectors.jwks.to_string().as_bytes()).unwrap();
    for case in vectors.cases.iter().filter(|case| ["plain ES256", "RS256"].contains(&case.name.as_str())) {
        let verify = |token: &str| verify(token, &keys, &vectors.issuer, &vectors.audience, NOW);
        assert!(verify(&case.token).is_ok());
        crate::crypto::kinds::flip_every_bit(&case.token, |altered| verify(altered).is_err());
    }
}

// case 7
#[test]
fn the_issuer_is_only_read_from_a_token_that_could_be_good() {
    let agent = Agent::new();
    let receipt = agent.signer.sign_claims("pact-receipt+jws", &Agent::claims()).unwrap();
    assert_eq!(issuer(&receipt), Err(Refused::Type));
    for wrong in ["", "..", "a.b.c", &".".repeat(1000)] {
        assert!(issuer(wrong).is_err(), "{wrong}");
    }
}
