//! What the console's pages show in their samples.

#![expect(clippy::expect_used, reason = "the samples are constants, and every test run reads them")]

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::domain::account::{Administrator, ApiKey};
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::audit::recorded::Recorded;
use crate::domain::brand::SigningAlg;
use crate::domain::id::{AdministratorName, ApiKeyId, BrandUser, GrantId, KeyId, ReceiptId, ResourceServerKeyId};
use crate::domain::resource_server_key::ResourceServerKey;
use crate::domain::samples;
use crate::domain::signing_key::KeyState;
use crate::flow::admin::keys::KeyRecord;
use crate::flow::admin::overview::{AgentTrouble, FailingKeys, KeysOf, Standing};
use crate::metrics::{Credential, RefusalCount};
use crate::secret::Secret;
use crate::store::{BrandRecord, GrantCount, Hour, Overview, ReceiptRecord, WaitingEvents};

/// When the samples are.
pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Somebody who reads alone.
pub(super) const fn auditor() -> Access {
    Access { role: Role::Auditor, reach: Reach::All }
}

pub(super) fn key(state: KeyState, signs: bool) -> KeyRecord {
    KeyRecord {
        id: KeyId::parse("01M3R53Q5SZQ6FQSMSDBSSRKEY").expect("a sample kid"),
        brand: samples::brand().id,
        alg: SigningAlg::Es256,
        state,
        signs,
        gives_way_at: None,
        public_jwk: r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"01M3R53Q5SZQ6FQSMSDBSSRKEY","use":"sig"}"#
            .to_owned(),
        created_at: NOW,
    }
}

pub(super) fn brand() -> BrandRecord {
    BrandRecord { brand: samples::brand(), created_at: NOW, updated_at: NOW, removed_at: None, live_grants: 1214 }
}

pub(super) fn resource_server_key() -> ResourceServerKey {
    ResourceServerKey {
        id: ResourceServerKeyId::parse("01M3R53Q5SZQ6FQSMSDBSSREAB").expect("a sample id"),
        brand: samples::brand().id,
        name: "account API".to_owned(),
        created_at: NOW,
        expires_at: Some(NOW.plus(Duration::from_secs(86_400))),
        revoked_at: None,
    }
}

/// A receipt whose claims can be read; its signature is nobody's.
pub(super) fn receipt() -> ReceiptRecord {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    let claims = r#"{"grantId":"a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAC","user":"jane","pa":"https://pa.example.com",
        "brand":"https://provider.example.com/a2a/01M3R53Q5SZQ6FQSMSDBSSREAA","scopesUsed":["orders:read"],
        "actions":[{"tool":"lookup","argsHash":"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"},{"tool":"list"}],
        "ts":"2026-01-01T00:00:00Z"}"#;
    let jws = ["{\"alg\":\"ES256\",\"kid\":\"01M3R53Q5SZQ6FQSMSDBSSRKEY\"}", claims, "sample of a signature"];
    ReceiptRecord {
        id: ReceiptId::parse("0193e7a0-1111-7000-8000-000000000001").expect("a sample id"),
        brand: samples::brand().id,
        grant: GrantId::parse("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAC").expect("a sample id"),
        brand_user: BrandUser::parse("jane").expect("a sample User"),
        issuer: samples::personal_agent().issuer,
        message: "m-1".to_owned(),
        jws: jws.map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join("."),
        created_at: NOW,
    }
}

pub(super) fn audit_row(payload: Option<&str>) -> Recorded {
    Recorded {
        brand: samples::brand().id.to_string(),
        sequence: 57,
        at: NOW,
        actor_kind: "administrator".to_owned(),
        actor: "anna".to_owned(),
        action: "grant_ended".to_owned(),
        subject: "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAC".to_owned(),
        request: "0193e7a0-1111-7000-8000-0000000000ff".to_owned(),
        payload: payload.map(str::to_owned),
        payload_digest: "ab".repeat(32),
        digest: "cd".repeat(32),
        seal: None,
        bound_id: None,
        bound_digest: None,
    }
}

pub(super) fn administrator() -> Administrator {
    Administrator {
        name: AdministratorName::parse("bert").expect("a sample name"),
        password_hash: Secret::new(String::new()),
        access: Access { role: Role::Operator, reach: Reach::Brands(BTreeSet::from([samples::brand().id])) },
        sealed_totp: Some(String::new()),
        totp_step: None,
        version: 1,
        created_at: NOW,
        changed_at: NOW,
        logged_in_at: Some(NOW),
        disabled_at: None,
    }
}

pub(super) fn api_key() -> ApiKey {
    ApiKey {
        id: ApiKeyId::parse("01M3R53Q5SZQ6FQSMSDBSSREAD").expect("a sample id"),
        name: "deploy".to_owned(),
        access: Access { role: Role::Operator, reach: Reach::All },
        created_by: "anna".to_owned(),
        created_at: NOW,
        expires_at: NOW.plus(Duration::from_secs(90 * 86_400)),
        last_used_at: Some(NOW),
        revoked_at: None,
    }
}

/// A Provider where much goes on, and something does not work.
pub(super) fn standing() -> Standing {
    let brand = samples::brand();
    let hour = |at: i64| Hour {
        from: Timestamp::from_millis(NOW.millis() - (23 - at) * 3_600_000),
        approved: (at * 7) % 19,
        denied: (at * 5) % 4,
    };
    let refused = |credential, reason, count| RefusalCount { credential, reason, count };
    Standing {
        numbers: Overview {
            live: GrantCount { grants: 12_480, brands: 7 },
            pending_codes: 31,
            hours: (0..24).map(hour).collect(),
        },
        refusals: Some(vec![
            refused(Credential::PaJwt, "expired", 42),
            refused(Credential::PaJwt, "unknown_issuer", 7),
            refused(Credential::Password, "wrong", 2),
        ]),
        failing_keys: vec![FailingKeys {
            address: "https://pa.example.com/.well-known/jwks.json".to_owned(),
            failed_at: NOW,
            of: vec![KeysOf::PersonalAgent(samples::personal_agent().issuer)],
        }],
        agents: vec![AgentTrouble {
            brand: brand.id.clone(),
            timed_out: 3,
            failed: 1,
            busy: 0,
            overreached: 0,
            answered: 1204,
        }],
        waiting: vec![WaitingEvents { brand: brand.id.clone(), events: 4, since: NOW }],
        names: HashMap::from([(brand.id, brand.name)]),
        since: NOW.minus(Duration::from_secs(86_400)),
    }
}
