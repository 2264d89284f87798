//! Tokens of others: as they arrive, and with a good signature over whatever they claim, since no fuzzer makes one.

use std::collections::HashSet;
use std::sync::LazyLock;

use assent::clock::Timestamp;
use assent::crypto::jwks::KeySet;
use assent::crypto::ring::{self, KeyRing};
use assent::crypto::seal::MasterKey;
use assent::crypto::{assertion as brand_login, delegation_token, pa_jwt, receipt, turn_token};
use assent::domain::brand::SigningAlg;
use assent::domain::id::{BrandId, Issuer, KeyId};
use assent::domain::signing_key::KeyState;
use assent::domain::user_code::UserCode;
use assent::entropy::Entropy;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::Private;
use openssl::sha::sha256;
use serde_json::{Value, json};

const NOW: i64 = 1_767_225_600;
const PA: &str = "https://pa.example.com";
const AUDIENCE: &str = "https://provider.example.com/a2a";
const LOGIN: &str = "https://brand.example";
const CONSENT: &str = "https://auth.brand.example/consent";

/// Tokens that another implementation made, some of them good.
const PA_JWTS: &str = include_str!("../../tests/data/pa-jwt.json");
const ASSERTIONS: &str = include_str!("../../tests/data/assertion.json");

/// The only private key here, which signs whatever the fuzzer writes.
const D: &str = "sCiapPq1DKzBmpBpi0rmelo6YhvvXfz8B_bd9LNPE2c";
const X: &str = "SIX_HVcyWBkqjrmRs1aK10J__atBEI7JwWffpqJhCGM";
const Y: &str = "mCZ4ahzIAlWW1pT5vCYMWzX3zMbvZaDIPq4d67s6AGw";

struct Stage {
    genuine: HashSet<String>,
    pa_keys: KeySet,
    login_keys: KeySet,
    signing: EcKey<Private>,
    signing_keys: KeySet,
    ring: KeyRing,
    master: MasterKey,
}

static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let vectors = |text: &str, member: &str| {
        let vectors: Value = serde_json::from_str(text).expect("vectors");
        let good = vectors["cases"].as_array().expect("cases").iter().filter(|case| case["accept"] == true);
        let good: Vec<String> = good.filter_map(|case| case[member].as_str().map(str::to_owned)).collect();
        (good, KeySet::parse(vectors["jwks"].to_string().as_bytes()).expect("a key set"))
    };
    let (pa_jwts, pa_keys) = vectors(PA_JWTS, "token");
    let (assertions, login_keys) = vectors(ASSERTIONS, "assertion");
    let number = |text: &str| BigNum::from_slice(&BASE64.decode(text).expect("base64")).expect("a number");
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("P-256");
    let public = EcKey::from_public_key_affine_coordinates(&group, &number(X), &number(Y)).expect("a point");
    let signing = EcKey::from_private_components(&group, &number(D), public.public_key()).expect("a key");
    let jwk = json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": X, "y": Y, "kid": "k" }] });
    let master = MasterKey::parse("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").expect("a master key");
    let brand = BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").expect("an id");
    let state = KeyState::Live { signs_from: now() };
    let kid = KeyId::parse("k").expect("an id");
    let row = ring::generate(SigningAlg::Es256, &brand, kid, state, now(), &master, &Entropy::seeded(1));
    Stage {
        genuine: pa_jwts.into_iter().chain(assertions).collect(),
        pa_keys,
        login_keys,
        signing,
        signing_keys: KeySet::parse(jwk.to_string().as_bytes()).expect("a key set"),
        ring: KeyRing::open(&brand, &[row.expect("a key")], &master).expect("a ring"),
        master,
    }
});

fn now() -> Timestamp {
    Timestamp::from_seconds(NOW)
}

fn signed(header: &[u8], payload: &[u8]) -> String {
    let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(payload));
    let signature = EcdsaSig::sign(&sha256(signed.as_bytes()), &STAGE.signing).expect("a signature");
    let part = |number: &openssl::bn::BigNumRef| number.to_vec_padded(32).expect("32 bytes");
    let signature = [part(signature.r()), part(signature.s())].concat();
    format!("{signed}.{}", BASE64.encode(signature))
}

/// What PACT §3.2 says of a token's times, read leniently.
fn is_timely(claims: &Value) -> bool {
    let seconds = |name: &str| claims.get(name).and_then(Value::as_f64).map(f64::trunc);
    let (Some(iat), Some(exp)) = (seconds("iat"), seconds("exp")) else { return false };
    let now = NOW as f64;
    let is_begun = seconds("nbf").is_none_or(|nbf| nbf <= now + 30.0);
    exp - iat <= 300.0 && iat <= now + 30.0 && exp > now - 30.0 && is_begun && iat >= 0.0
}

fn is_good_header(header: &[u8]) -> bool {
    let header: Value = serde_json::from_slice(header).unwrap_or_default();
    let typ = header.get("typ");
    header["alg"] == "ES256"
        && typ.is_none_or(|typ| typ.as_str().is_some_and(|typ| typ.eq_ignore_ascii_case("JWT")))
        && header.get("crit").is_none()
        && header.get("kid").is_none_or(|kid| kid == "k")
}

fn text<'a>(claims: &'a Value, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}

/// Bytes with a line break are a header and a payload, which get a good signature; others are a token. A token is
/// accepted as it was signed or not at all, and a signed one only with the claims of PACT §3.2.
pub fn compact_jwt(data: &[u8]) {
    let issuer = Issuer::parse(PA).expect("an issuer");
    if let Some(at) = data.iter().position(|byte| *byte == b'\n') {
        let (header, payload) = (&data[..at], &data[at + 1..]);
        let token = signed(header, payload);
        if let Ok(caller) = pa_jwt::verify(&token, &STAGE.signing_keys, &issuer, AUDIENCE, now()) {
            let claims: Value = serde_json::from_slice(payload).expect("claims that were accepted");
            assert!(is_good_header(header) && is_timely(&claims));
            assert_eq!(text(&claims, "iss"), Some(PA));
            assert_eq!(text(&claims, "aud"), Some(AUDIENCE));
            assert_eq!(text(&claims, "sub"), Some(caller.sub.as_str()));
            assert!(!caller.sub.as_str().is_empty());
            assert_eq!(pa_jwt::issuer(&token), Ok(issuer));
        }
        // Nothing that this key signs is another kind's, whatever it claims: its key is of no Brand.
        assert!(delegation_token::verify(&token, &STAGE.ring, CONSENT, AUDIENCE, now()).is_err());
        if let Ok(claims) = receipt::verify(&token, &STAGE.signing_keys, None) {
            let again: Value = serde_json::from_slice(payload).expect("claims that were accepted");
            assert_eq!(serde_json::to_value(&claims).expect("claims"), again);
        }
        let _ = turn_token::verify(&token, &STAGE.signing_keys, AUDIENCE, CONSENT, b"{}", now());
        return;
    }
    let Ok(token) = std::str::from_utf8(data) else { return };
    if pa_jwt::verify(token, &STAGE.pa_keys, &issuer, AUDIENCE, now()).is_ok() {
        assert!(STAGE.genuine.contains(token), "{token} was never signed");
    }
    assert!(delegation_token::verify(token, &STAGE.ring, CONSENT, AUDIENCE, now()).is_err());
    assert!(receipt::verify(token, &STAGE.pa_keys, None).is_err());
    assert!(turn_token::verify(token, &STAGE.pa_keys, AUDIENCE, CONSENT, b"{}", now()).is_err());
    assert!(STAGE.master.open(token, "row").is_err());
}

/// Bytes that begin with `{` are claims, which get a good signature; others are a token. What is accepted is of this
/// Brand's login and for one page only.
pub fn assertion(data: &[u8]) {
    let expected = brand_login::Expected { issuer: LOGIN, audience: CONSENT };
    if data.first() != Some(&b'{') {
        let Ok(token) = std::str::from_utf8(data) else { return };
        let for_code = brand_login::verify(token, &STAGE.login_keys, &expected, now());
        assert!(for_code.is_err() || STAGE.genuine.contains(token), "{token} was never signed");
        return;
    }
    let token = signed(br#"{"alg":"ES256","typ":"JWT","kid":"k"}"#, data);
    let for_code = brand_login::verify(&token, &STAGE.signing_keys, &expected, now());
    let for_grants = brand_login::verify_for_grants(&token, &STAGE.signing_keys, &expected, now());
    assert!(for_code.is_err() || for_grants.is_err());
    if for_code.is_err() && for_grants.is_err() {
        return;
    }
    let claims: Value = serde_json::from_slice(data).expect("claims that were accepted");
    assert!(is_timely(&claims));
    assert_eq!(text(&claims, "iss"), Some(LOGIN));
    assert!(claims["aud"] == CONSENT || claims["aud"] == json!([CONSENT]));
    for name in ["sub", "jti"] {
        let text = text(&claims, name).expect("text");
        assert!((1..=255).contains(&text.chars().count()) && !text.contains(char::is_control));
    }
    assert_eq!(for_grants.is_ok(), claims.get("user_code").is_none());
    if let Ok(read) = for_code {
        assert_eq!(UserCode::parse(&read.user_code.to_string()), Some(read.user_code));
        let shown = [&read.name, &read.email, &read.locale];
        assert!(shown.into_iter().flatten().all(|text| !text.contains(char::is_control) && !text.is_empty()));
    }
}
