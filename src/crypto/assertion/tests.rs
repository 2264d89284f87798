use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::crypto::signer::{Signer, generate_key};
use crate::domain::brand::SigningAlg;

const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
const EXPECTED: Expected<'static> =
    Expected { issuer: "https://brand.example", audience: "https://auth.brand.example/consent" };

#[derive(Deserialize)]
struct Vectors {
    now: i64,
    issuer: String,
    consent_url: String,
    code: String,
    jwks: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    assertion: String,
    accept: bool,
}

// cases 32, 36
#[test]
fn every_vector_of_another_implementation_is_judged_as_it_should_be() {
    let vectors: Vectors = serde_json::from_str(include_str!("../../../tests/data/assertion.json")).unwrap();
    let keys = KeySet::parse(vectors.jwks.to_string().as_bytes()).unwrap();
    let expected = Expected { issuer: &vectors.issuer, audience: &vectors.consent_url };
    assert_eq!(vectors.cases.len(), 35);
    for case in &vectors.cases {
        let judged = verify(&case.assertion, &keys, &expected, Timestamp::from_seconds(vectors.now));
        assert_eq!(judged.is_ok(), case.accept, "{}: {judged:?}", case.name);
        if let Ok(assertion) = judged {
            assert_eq!(assertion.user_code.to_string(), vectors.code, "{}", case.name);
        }
        let for_grants = verify_for_grants(&case.assertion, &keys, &expected, Timestamp::from_seconds(vectors.now));
        assert!(for_grants.is_err() || case.name == "no user_code", "{}", case.name);
    }
}

struct Login {
    signer: Signer,
    keys: KeySet,
}

impl Login {
    fn new() -> Self {
        let key = generate_key(SigningAlg::Es256, "brand-1").unwrap();
        let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
        let keys = std::iter::once(signer.public().clone()).collect();
        Self { signer, keys }
    }

    fn claims() -> Value {
        let now = NOW.seconds();
        json!({
            "iss": EXPECTED.issuer, "aud": EXPECTED.audience, "sub": "jane-4471", "user_code": "wdjb mjht",
            "jti": "j-1", "iat": now, "exp": now + 300, "name": "Jane", "email": "jane@example.com", "locale": "de-AT",
        })
    }

    fn with(&self, name: &str, value: Value) -> Result<Assertion, Refused> {
        let mut claims = Self::claims();
        claims[name] = value;
        verify(&self.signer.sign_claims("JWT", &claims).unwrap(), &self.keys, &EXPECTED, NOW)
    }
}

#[test]
fn a_good_assertion_is_read_whole() {
    let login = Login::new();
    let assertion = login.with("foo", json!(1)).unwrap();
    assert_eq!(assertion.issuer, EXPECTED.issuer);
    assert_eq!(assertion.sub.as_str(), "jane-4471");
    assert_eq!(assertion.user_code.to_string(), "WDJB-MJHT");
    assert_eq!(assertion.jti, "j-1");
    assert_eq!((assertion.issued_at, assertion.expires_at.seconds()), (NOW, NOW.seconds() + 300));
    assert_eq!(assertion.name.as_deref(), Some("Jane"));
    assert_eq!(assertion.email.as_deref(), Some("jane@example.com"));
    assert_eq!(assertion.locale.as_deref(), Some("de-AT"));
}

// case 32
#[test]
fn required_claims_of_another_form_are_refused_by_name() {
    let login = Login::new();
    let long = json!("x".repeat(256));
    for wrong in [Value::Null, json!(1), json!(""), json!("a\nb"), json!("a\u{0}"), long.clone(), json!("jane\u{202e}")]
    {
        assert_eq!(login.with("sub", wrong), Err(Refused::Claim("sub")));
    }
    for wrong in [Value::Null, json!(1), json!(""), json!("a\nb"), json!("\u{9b}"), long] {
        assert_eq!(login.with("jti", wrong), Err(Refused::Claim("jti")));
    }
    assert!(login.with("jti", json!("ü".repeat(255))).is_ok());
    for wrong in [Value::Null, json!(1), json!(""), json!("WDJB-MJH"), json!("WDJA-MJHT")] {
        assert_eq!(login.with("user_code", wrong), Err(Refused::Claim("user_code")));
    }
    for wrong in [Value::Null, json!([]), json!([EXPECTED.audience, "x"]), json!([1])] {
        assert_eq!(login.with("aud", wrong), Err(Refused::Claim("aud")));
    }
    assert_eq!(login.with("aud", json!("https://auth.brand.example/consent?user_code=x")), Err(Refused::Audience));
    assert!(login.with("aud", json!([EXPECTED.audience])).is_ok());
}

// case 35
#[test]
fn what_is_only_shown_is_cleaned_or_refused() {
    let login = Login::new();
    let name = |value: Value| login.with("name", value).map(|assertion| assertion.name);
    assert_eq!(name(json!("\u{202e}enaJ\u{202c}\r\n\u{0}")), Ok(Some("enaJ".to_owned())));
    assert_eq!(name(json!("<b>Jane</b>")), Ok(Some("<b>Jane</b>".to_owned())));
    assert_eq!(name(json!("  ")), Ok(None));
    assert_eq!(name(Value::Null), Ok(None));
    assert_eq!(name(json!("ü".repeat(200))), Ok(Some("ü".repeat(200))));
    assert_eq!(name(json!("x".repeat(10_000))), Err(Refused::Claim("name")));
    assert_eq!(name(json!(["Jane"])), Err(Refused::Claim("name")));
    assert_eq!(login.with("email", json!(1)).unwrap_err(), Refused::Claim("email"));
    assert_eq!(login.with("locale", json!(true)).unwrap_err(), Refused::Claim("locale"));
}

// case 58
#[test]
fn a_sign_in_to_the_grants_page_has_no_user_code_and_opens_no_consent() {
    let login = Login::new();
    let mut claims = Login::claims();
    let with_code = login.signer.sign_claims("JWT", &claims).unwrap();
    claims.as_object_mut().unwrap().remove("user_code");
    let without_code = login.signer.sign_claims("JWT", &claims).unwrap();
    assert_eq!(verify(&without_code, &login.keys, &EXPECTED, NOW), Err(Refused::Claim("user_code")));
    assert_eq!(verify_for_grants(&with_code, &login.keys, &EXPECTED, NOW), Err(Refused::Claim("user_code")));
    let sign_in = verify_for_grants(&without_code, &login.keys, &EXPECTED, NOW).unwrap();
    assert_eq!((sign_in.sub.as_str(), sign_in.jti.as_str()), ("jane-4471", "j-1"));
}
