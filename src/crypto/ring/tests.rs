use std::time::Duration;

use super::*;
use crate::crypto::kinds::{NOW, brand, master};
use crate::domain::signing_key::RETIRED_VERIFIES_FOR;

const LIVE: KeyState = KeyState::Live { signs_from: NOW };

fn row(kid: &str, alg: SigningAlg, state: KeyState, age: u64) -> SealedKey {
    let created = NOW.minus(Duration::from_secs(age));
    let id = KeyId::parse(kid).unwrap();
    generate(alg, &brand(), id, state, created, &master(), &Entropy::seeded(age)).unwrap()
}

fn open(rows: &[SealedKey]) -> KeyRing {
    KeyRing::open(&brand(), rows, &master()).unwrap()
}

fn kid_that_signs(ring: &KeyRing, now: Timestamp, alg: SigningAlg) -> Option<&str> {
    ring.signer(now, alg).map(|key| key.id().as_str())
}

#[test]
fn the_newest_live_key_that_was_published_long_enough_signs() {
    let later = NOW.plus(Duration::from_secs(86_400));
    let ring = open(&[
        row("old", SigningAlg::Es256, LIVE, 200),
        row("current", SigningAlg::Es256, LIVE, 100),
        row("next", SigningAlg::Es256, KeyState::Live { signs_from: later }, 0),
        row("gone", SigningAlg::Es256, KeyState::Retired { at: NOW }, 50),
    ]);
    assert_eq!(kid_that_signs(&ring, NOW, SigningAlg::Es256), Some("current"));
    assert_eq!(kid_that_signs(&ring, later, SigningAlg::Es256), Some("next"));
    assert_eq!(kid_that_signs(&ring, NOW.minus(Duration::from_millis(1)), SigningAlg::Es256), None);
}

#[test]
fn the_other_algorithm_signs_until_a_key_of_the_wanted_one_may() {
    let later = NOW.plus(Duration::from_secs(86_400));
    let ring = open(&[
        row("ec", SigningAlg::Es256, LIVE, 100),
        row("rsa", SigningAlg::Rs256, KeyState::Live { signs_from: later }, 0),
    ]);
    assert_eq!(kid_that_signs(&ring, NOW, SigningAlg::Rs256), Some("ec"));
    assert_eq!(kid_that_signs(&ring, later, SigningAlg::Rs256), Some("rsa"));
    assert_eq!(kid_that_signs(&ring, later, SigningAlg::Es256), Some("ec"));
}

#[test]
fn an_empty_ring_says_what_to_do() {
    let ring = open(&[]);
    let refusal = ring.sign(NOW, SigningAlg::Es256, "JWT", b"{}").unwrap_err();
    assert_eq!(refusal, SignError::NoKey);
    assert!(refusal.to_string().contains("keys rotate"));
    assert_eq!(ring.jwks_json(), r#"{"keys":[]}"#);
}

#[test]
fn published_keys_are_listed_newest_first_with_public_members_only() {
    let ring = open(&[
        row("retired", SigningAlg::Es256, KeyState::Retired { at: NOW }, 300),
        row("rsa", SigningAlg::Rs256, LIVE, 200),
        row("stolen", SigningAlg::Es256, KeyState::Compromised { at: NOW }, 150),
        row("new", SigningAlg::Es256, LIVE, 100),
    ]);
    let jwks: Value = serde_json::from_str(ring.jwks_json()).unwrap();
    let keys = jwks["keys"].as_array().unwrap();
    let kids: Vec<_> = keys.iter().map(|key| key["kid"].as_str().unwrap()).collect();
    assert_eq!(kids, ["new", "rsa", "retired"]);
    for key in keys {
        let mut names: Vec<_> = key.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected: &[&str] = match key["kty"].as_str() {
            Some("EC") => &["alg", "crv", "kid", "kty", "use", "x", "y"],
            _ => &["alg", "e", "kid", "kty", "n", "use"],
        };
        assert_eq!(names, expected);
        assert_eq!(key["use"], "sig");
    }
    assert_eq!(KeySet::parse(ring.jwks_json().as_bytes()).unwrap().len(), 3);
}

#[test]
fn a_retired_key_verifies_tokens_for_an_hour_and_a_compromised_one_not_at_all() {
    let mut row = row("k", SigningAlg::Es256, LIVE, 0);
    let token = open(std::slice::from_ref(&row)).sign(NOW, SigningAlg::Es256, "at+jwt", b"{}").unwrap();
    let token = Unverified::parse(&token).unwrap();
    row.state = KeyState::Retired { at: NOW };
    let ring = open(std::slice::from_ref(&row));
    assert_eq!(ring.verify(&token, NOW.plus(RETIRED_VERIFIES_FOR).minus(Duration::from_millis(1))), Ok(()));
    assert_eq!(ring.verify(&token, NOW.plus(RETIRED_VERIFIES_FOR)), Err(Refused::UnknownKey));
    assert_eq!(ring.published().verify(&token), Ok(()));
    row.state = KeyState::Compromised { at: NOW };
    let ring = open(&[row]);
    assert_eq!(ring.verify(&token, NOW), Err(Refused::UnknownKey));
    assert_eq!(ring.published().verify(&token), Err(Refused::UnknownKey));
}

// case 73
#[test]
fn a_key_verifies_for_an_hour_after_its_successor_has_started_and_its_receipts_for_good() {
    let start = NOW.plus(Duration::from_secs(86_400));
    let ring = open(&[
        row("old", SigningAlg::Es256, LIVE, 100),
        row("next", SigningAlg::Es256, KeyState::Live { signs_from: start }, 0),
    ]);
    let last = start.minus(Duration::from_millis(1));
    let token = ring.sign(last, SigningAlg::Es256, "at+jwt", b"{}").unwrap();
    let token = Unverified::parse(&token).unwrap();
    assert_eq!(token.kid(), Some("old"));
    let end = start.plus(RETIRED_VERIFIES_FOR);
    assert_eq!(ring.verify(&token, end.minus(Duration::from_millis(1))), Ok(()));
    assert_eq!(ring.verify(&token, end), Err(Refused::UnknownKey));
    assert_eq!(ring.published().verify(&token), Ok(()));
    assert_eq!(kid_that_signs(&ring, end, SigningAlg::Es256), Some("next"));
}

#[test]
fn a_moved_key_and_a_wrong_master_key_are_refused_with_what_to_do() {
    let row_a = row("a", SigningAlg::Es256, LIVE, 0);
    let row_b = row("b", SigningAlg::Es256, LIVE, 1);
    let refused = |row: SealedKey, master: &MasterKey| KeyRing::open(&brand(), &[row], master).unwrap_err();

    let moved = SealedKey { sealed_private: row_b.sealed_private.clone(), ..row_a.clone() };
    let refusal = refused(moved, &master());
    assert_eq!(refusal.problem, KeyProblem::Seal(SealError::Moved));
    assert!(refusal.to_string().contains("signing key a of Brand 01M3R53Q5SZQ6FQSMSDBSSREAA"));

    let other = MasterKey::parse("BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    let refusal = refused(row_a.clone(), &other).to_string();
    assert!(refusal.contains("start with the master key that this database was made with"), "{refusal}");
    assert!(refusal.contains(master().fingerprint()) && refusal.contains(other.fingerprint()), "{refusal}");

    let renamed = SealedKey { id: row_b.id.clone(), ..row_a.clone() };
    assert_eq!(refused(renamed, &master()).problem, KeyProblem::Seal(SealError::Moved));
    let foreign = SealedKey { brand: BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap(), ..row_a.clone() };
    assert_eq!(refused(foreign, &master()).problem, KeyProblem::ForeignBrand);
    let swapped = SealedKey { public_jwk: row_b.public_jwk.replace("\"b\"", "\"a\""), ..row_a.clone() };
    assert_eq!(refused(swapped, &master()).problem, KeyProblem::PublicHalf);
    let mistold = SealedKey { alg: SigningAlg::Rs256, ..row_a };
    assert_eq!(refused(mistold, &master()).problem, KeyProblem::PrivateHalf);
}

#[test]
fn a_compromised_key_is_not_opened_so_that_it_cannot_keep_a_ring_closed() {
    let mut broken = row("x", SigningAlg::Es256, KeyState::Compromised { at: NOW }, 0);
    broken.sealed_private.clear();
    assert_eq!(open(&[broken]).keys().count(), 0);
}

#[test]
fn neither_rows_nor_rings_show_a_private_key() {
    let row = row("k", SigningAlg::Es256, LIVE, 0);
    let private = master().open(&row.sealed_private, &binding(&brand(), &row.id)).unwrap();
    let private: Value = serde_json::from_slice(private.expose()).unwrap();
    let shown = format!("{row:?} {:?}", open(std::slice::from_ref(&row)));
    assert!(!shown.contains(private["d"].as_str().unwrap()));
}
