//! `argsHash` of a receipt's actions (PACT §5.6): SHA-256 of a tool's arguments in their RFC 8785 form.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openssl::sha::sha256;
use serde_json::Value;

use super::CryptoFailure;

/// SHA-256 in base64url of the canonical form of `args`. Numbers are IEEE 754 doubles, as RFC 8785 §3.2.2.3 has it.
///
/// # Errors
/// [`CryptoFailure`] when the value has no canonical form, which no parsed JSON lacks.
pub fn args_hash(args: &Value) -> Result<String, CryptoFailure> {
    let canonical = serde_json_canonicalizer::to_vec(args).map_err(|_| CryptoFailure::at("write canonical JSON"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(sha256(&canonical)))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Case {
        value: Value,
        canonical: String,
        args_hash: String,
    }

    #[derive(Deserialize)]
    struct Vectors {
        cases: Vec<Case>,
    }

    #[test]
    fn every_vector_has_its_canonical_form_and_hash() {
        let vectors: Vectors = serde_json::from_str(include_str!("../../tests/data/args-hash.json")).unwrap();
        assert_eq!(vectors.cases.len(), 7);
        for case in vectors.cases {
            assert_eq!(serde_json_canonicalizer::to_string(&case.value).unwrap(), case.canonical);
            assert_eq!(args_hash(&case.value).unwrap(), case.args_hash);
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter_and_that_of_items_does() {
        let hash = |text: &str| args_hash(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(hash(r#"{"a":1,"b":[1,2]}"#), hash(r#"{"b":[1.0,2],"a":1}"#));
        assert_ne!(hash(r#"{"a":1,"b":[1,2]}"#), hash(r#"{"a":1,"b":[2,1]}"#));
    }
}
