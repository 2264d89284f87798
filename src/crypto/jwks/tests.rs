use super::*;
use crate::crypto::signer::{Signer, generate_key};

fn private(alg: SigningAlg, kid: &str) -> Map<String, Value> {
    let key = generate_key(alg, kid).unwrap();
    serde_json::from_str(key.private_jwk.expose()).unwrap()
}

fn public(alg: SigningAlg, kid: &str) -> Map<String, Value> {
    serde_json::from_str(&generate_key(alg, kid).unwrap().public_jwk).unwrap()
}

fn with(jwk: &Map<String, Value>, name: &str, value: impl Into<Value>) -> Value {
    let mut jwk = jwk.clone();
    jwk.insert(name.to_owned(), value.into());
    Value::Object(jwk)
}

fn without(jwk: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    jwk.iter().filter(|(name, _)| !names.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
}

fn set(keys: &[Value]) -> KeySet {
    KeySet::parse(serde_json::json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn is_usable(jwk: Value) -> bool {
    set(&[jwk]).len() == 1
}

// case 13
#[test]
fn entries_that_cannot_be_used_do_not_spoil_the_one_that_can() {
    let good = public(SigningAlg::Es256, "good");
    let text = format!(
        r#"{{"keys":[null,1,"x",[],{{}},{{"kty":"AKP","alg":"ML-DSA-65"}},{{"kty":"EC","kty":"EC"}},{{"kid":1}},{}],"more":1}}"#,
        Value::Object(good)
    );
    let keys = KeySet::parse(text.as_bytes()).unwrap();
    assert_eq!(keys.len(), 1);
    assert!(keys.has_kid("good"));
}

// case 14
#[test]
fn what_is_not_a_key_set_is_refused() {
    for body in [
        "",
        "<html>",
        "{}",
        "[]",
        "[[]]",
        r#"{"keys":{}}"#,
        r#"{"keys":null}"#,
        r#"{"keys":[],"keys":[]}"#,
        r#"{"keys":[]} x"#,
    ] {
        assert!(KeySet::parse(body.as_bytes()).is_err(), "{body}");
    }
    assert!(KeySet::parse(br#"{"keys":[]}"#).unwrap().is_empty());
}

// case 14: 1000 keys
#[test]
fn only_a_bounded_number_of_entries_is_looked_at() {
    let good = public(SigningAlg::Es256, "good");
    let keys: Vec<Value> = (0..1000).map(|n| with(&good, "kid", format!("k-{n}"))).collect();
    assert_eq!(set(&keys).len(), MOST_ENTRIES);
    // A file that the caller chose is read whole.
    let text = serde_json::json!({ "keys": keys }).to_string();
    assert_eq!(KeySet::parse_own(text.as_bytes()).unwrap().len(), keys.len());
    assert_eq!(set(&keys).candidates(None, SigningAlg::Es256).count(), MOST_CANDIDATES);
}

// cases 2, 13
#[test]
fn use_key_ops_and_alg_must_allow_verifying() {
    let ec = public(SigningAlg::Es256, "k");
    let ops = |ops: &[&str]| Value::from(ops.to_vec());
    for usable in [
        with(&ec, "use", "sig"),
        with(&ec, "key_ops", ops(&["verify"])),
        with(&ec, "key_ops", ops(&["sign", "verify"])),
        Value::Object(without(&ec, &["use", "alg", "kid"])),
    ] {
        assert!(is_usable(usable.clone()), "{usable}");
    }
    for unusable in [
        with(&ec, "use", "enc"),
        with(&ec, "use", "SIG"),
        with(&ec, "use", Value::Null),
        with(&ec, "key_ops", ops(&[])),
        with(&ec, "key_ops", ops(&["sign"])),
        with(&ec, "key_ops", "verify"),
        with(&ec, "alg", "ES384"),
        with(&ec, "alg", "RS256"),
        with(&ec, "alg", 1),
        with(&ec, "kid", 1),
        with(&ec, "crv", "P-384"),
        with(&ec, "crv", "secp256k1"),
        with(&ec, "kty", "OKP"),
        with(&public(SigningAlg::Rs256, "k"), "alg", "PS256"),
    ] {
        assert!(!is_usable(unusable.clone()), "{unusable}");
    }
}

// case 10
#[test]
fn a_point_off_the_curve_is_no_key() {
    let ec = public(SigningAlg::Es256, "k");
    let mut y = bytes(&ec, "y").unwrap();
    y[31] ^= 1;
    assert!(!is_usable(with(&ec, "y", BASE64_URL_SAFE_NO_PAD.encode(&y))));
    let zero = BASE64_URL_SAFE_NO_PAD.encode([0; 32]);
    assert!(!is_usable(with(&without(&ec, &["x"]), "x", zero)));
    for wrong in ["", "!!", "AA", &BASE64_URL_SAFE_NO_PAD.encode([1; 33])] {
        assert!(!is_usable(with(&ec, "x", wrong)), "{wrong}");
    }
}

// case 10
#[test]
fn rsa_keys_outside_the_bounds_and_trivial_exponents_are_no_keys() {
    let rsa = public(SigningAlg::Rs256, "k");
    assert!(is_usable(Value::Object(rsa.clone())));
    let modulus = |bits: usize| {
        let mut n = vec![0xff; bits.div_ceil(8)];
        if !bits.is_multiple_of(8) {
            n[0] = (1 << (bits % 8)) - 1;
        }
        with(&rsa, "n", BASE64_URL_SAFE_NO_PAD.encode(n))
    };
    for (bits, usable) in [(1024, false), (2047, false), (2048, true), (8192, true), (8193, false), (16384, false)] {
        assert_eq!(is_usable(modulus(bits)), usable, "{bits}");
    }
    for e in [&[1][..], &[0], &[], &[2], &[1, 0, 0], &[1; 9], &[0, 0, 1]] {
        assert!(!is_usable(with(&rsa, "e", BASE64_URL_SAFE_NO_PAD.encode(e))), "{e:?}");
    }
}

// case 13
#[test]
fn private_members_are_never_kept() {
    for alg in [SigningAlg::Es256, SigningAlg::Rs256] {
        let private = private(alg, "k");
        let keys = set(&[Value::Object(private.clone())]);
        assert_eq!(keys.len(), 1);
        let kept = format!("{keys:?} {:?}", keys.iter().map(PublicKey::to_jwk).collect::<Vec<_>>());
        for name in ["d", "p", "q", "dp", "dq", "qi"] {
            if let Some(value) = private.get(name) {
                assert!(!kept.contains(value.as_str().unwrap()), "{name}");
            }
        }
    }
}

// cases 9, 13
#[test]
fn a_token_is_tried_with_the_keys_its_kid_and_alg_allow() {
    let signer = |alg, kid: &str| {
        let key = Value::Object(private(alg, kid));
        (Signer::from_private_jwk(&key.to_string()).unwrap(), key)
    };
    let (ec, ec_jwk) = signer(SigningAlg::Es256, "same");
    let (rsa, rsa_jwk) = signer(SigningAlg::Rs256, "same");
    let (other, other_jwk) = signer(SigningAlg::Es256, "other");
    let keys = set(&[other_jwk, rsa_jwk, ec_jwk.clone()]);
    let verify = |keys: &KeySet, signer: &Signer| {
        let token = signer.sign("JWT", b"{}").unwrap();
        keys.verify(&Unverified::parse(&token).unwrap())
    };
    assert_eq!(verify(&keys, &ec), Ok(()));
    assert_eq!(verify(&keys, &rsa), Ok(()));
    assert_eq!(verify(&keys, &other), Ok(()));

    let only_ec = set(std::slice::from_ref(&ec_jwk));
    assert_eq!(verify(&only_ec, &other), Err(Refused::UnknownKey));
    assert!(verify(&only_ec, &other).unwrap_err().may_need_newer_keys());
    assert_eq!(verify(&only_ec, &rsa), Err(Refused::Algorithm));

    let (impostor, _) = signer(SigningAlg::Es256, "same");
    assert_eq!(verify(&keys, &impostor), Err(Refused::Signature));

    let Value::Object(ec_jwk) = ec_jwk else { panic!("an object") };
    let nameless = Signer::from_private_jwk(&Value::Object(without(&ec_jwk, &["kid"])).to_string()).unwrap();
    assert_eq!(verify(&keys, &nameless), Ok(()));
    assert_eq!(verify(&KeySet::default(), &nameless), Err(Refused::UnknownKey));
}
