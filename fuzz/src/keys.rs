//! Key sets of others.

use assent::crypto::jwks::{KeySet, MOST_CANDIDATES, MOST_ENTRIES};
use assent::domain::brand::SigningAlg;
use serde_json::{Value, json};

/// The members that a private or symmetric key has (RFC 7518 §6.2.2, §6.3.2, §6.4.1).
const PRIVATE: [&str; 9] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/// A set is bounded, keeps nothing private, and its public form is read back as the same keys.
pub fn jwks(data: &[u8]) {
    let Ok(set) = KeySet::parse(data) else { return };
    assert!(set.len() <= MOST_ENTRIES);
    for alg in [SigningAlg::Es256, SigningAlg::Rs256] {
        assert!(set.candidates(None, alg).count() <= MOST_CANDIDATES);
    }
    let published: Vec<Value> = set.iter().map(|key| Value::Object(key.to_jwk())).collect();
    for jwk in &published {
        assert!(PRIVATE.iter().all(|member| jwk.get(member).is_none()), "{jwk} holds a private member");
    }
    let again = KeySet::parse(json!({ "keys": published }).to_string().as_bytes()).expect("a set that was read");
    let read: Vec<Value> = again.iter().map(|key| Value::Object(key.to_jwk())).collect();
    assert_eq!(read, published);
}
