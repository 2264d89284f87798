//! API keys: made and revoked by owners, within what they can do themselves. A key is shown once, when it is made.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::Fault;
use super::{By, Verdict};
use crate::app::App;
use crate::crypto::codes;
use crate::domain::account::{ApiKey, LONGEST_KEY_LIFE, StoredApiKey};
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::audit::Action;
use crate::domain::id::{ApiKeyId, BrandId};
use crate::secret::Secret;

/// The most characters of a key's name.
const LONGEST_NAME: usize = 100;

/// A key that was made.
#[derive(Debug)]
pub struct NewApiKey {
    /// What it is, without the key itself.
    pub key: ApiKey,
    /// The key itself, which is not stored: shown now or never.
    pub secret: Secret<String>,
}

/// What became of making a key.
#[derive(Debug)]
pub enum MadeApiKey {
    /// It is there.
    Made(Box<NewApiKey>),
    /// The name is empty, too long, or has a control character; or the life is none or too long.
    Invalid(&'static str),
    /// There is no such Brand.
    NoBrand(BrandId),
}

/// Makes a key that lives for `life`.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn create(
    app: &App,
    by: &By,
    name: &str,
    access: Access,
    life: Duration,
) -> Result<Verdict<MadeApiKey>, Fault> {
    if let Err(denied) = by.access.administer(&access) {
        return Ok(denied.into());
    }
    let name = name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Ok(Verdict::Done(MadeApiKey::Invalid("name: expected 1 to 100 characters without control characters")));
    }
    if life.is_zero() || life > LONGEST_KEY_LIFE {
        return Ok(Verdict::Done(MadeApiKey::Invalid("days: expected 1 to 366")));
    }
    if let Some(missing) = missing_brand(app, &access.reach) {
        return Ok(Verdict::Done(MadeApiKey::NoBrand(missing)));
    }
    let now = app.clock.now();
    let secret = codes::api_key(&app.entropy);
    let key = ApiKey {
        id: ApiKeyId::from_ulid(app.entropy.ulid(now)),
        name: name.to_owned(),
        access,
        created_by: by.actor.name().to_owned(),
        created_at: now,
        expires_at: now.plus(life),
        last_used_at: None,
        revoked_at: None,
    };
    let entry = by.entry(None, now, Action::ApiKeyCreated, &key.id, json!({ "after": described(&key) }));
    let stored = StoredApiKey { digest: codes::digest(secret.expose()), key };
    app.store.create_api_key(&stored, &entry).await?;
    Ok(Verdict::Done(MadeApiKey::Made(Box::new(NewApiKey { key: stored.key, secret }))))
}

/// The Brand in `reach` that is not there.
pub(super) fn missing_brand(app: &App, reach: &Reach) -> Option<BrandId> {
    let snapshot = app.directory.current();
    match reach {
        Reach::All => None,
        Reach::Brands(brands) => brands.iter().find(|brand| snapshot.brand(brand).is_none()).cloned(),
    }
}

/// A key as the audit log keeps it.
fn described(key: &ApiKey) -> Value {
    json!({
        "name": key.name, "role": key.access.role, "reach": key.access.reach.to_text(),
        "expiresAt": key.expires_at.to_rfc3339(),
    })
}

/// The keys within reach, newest first.
///
/// # Errors
/// [`Fault`].
pub async fn list(app: &App, by: &By) -> Result<Vec<ApiKey>, Fault> {
    let keys = app.store.api_keys().await?;
    Ok(keys.into_iter().filter(|key| by.access.see(&key.access).is_ok()).collect())
}

/// A key.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &ApiKeyId) -> Result<Verdict<ApiKey>, Fault> {
    let key = app.store.api_key(id).await?;
    let key = key.filter(|key| by.access.see(&key.access).is_ok());
    Ok(key.map_or(Verdict::NotThere, Verdict::Done))
}

/// Revokes a key, at once and on every node. `false` when it was revoked before.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn revoke(app: &App, by: &By, id: &ApiKeyId) -> Result<Verdict<bool>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Owner) {
        return Ok(denied.into());
    }
    let Some(key) = app.store.api_key(id).await? else { return Ok(Verdict::NotThere) };
    if let Err(denied) = by.access.administer(&key.access) {
        return Ok(denied.into());
    }
    let now = app.clock.now();
    let entry = by.entry(None, now, Action::ApiKeyRevoked, id, json!({ "before": described(&key) }));
    Ok(Verdict::Done(app.store.revoke_api_key(id, &entry).await?))
}
