//! Resource-server keys, as administrators make, list and revoke them. The key itself is shown once and kept nowhere.

use serde_json::json;

use super::{By, Verdict};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::domain::audit::{Action, Entry};
use crate::domain::check::InvalidParameter;
use crate::domain::id::{BrandId, ResourceServerKeyId};
use crate::domain::resource_server_key::ResourceServerKey;
use crate::flow::Fault;
use crate::secret::Secret;

/// What became of the making of a key.
#[derive(Debug)]
pub enum CreatedKey {
    /// It is good from now on.
    Done {
        /// What is kept of it.
        key: ResourceServerKey,
        /// The key itself.
        secret: Secret<String>,
    },
    /// It may not be called that, or live so long.
    Invalid(InvalidParameter),
}

/// What became of a revocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RevokedKey {
    /// It opens nothing from now on, on every node.
    Revoked,
    /// It was revoked before.
    AlreadyRevoked,
}

/// Makes a key for the account API of `brand`, good for so many `days` or until it is revoked.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn create(
    app: &App,
    by: &By,
    brand: &BrandId,
    name: &str,
    days: Option<u32>,
) -> Result<Verdict<CreatedKey>, Fault> {
    if let Err(denied) = by.access.change(Some(brand)) {
        return Ok(denied.into());
    }
    if let Err(invalid) = ResourceServerKey::check(name, days) {
        return Ok(Verdict::Done(CreatedKey::Invalid(invalid)));
    }
    let now = app.clock.now();
    let secret = codes::resource_server_key(&app.entropy);
    let key = ResourceServerKey {
        id: ResourceServerKeyId::from_ulid(app.entropy.ulid(now)),
        brand: brand.clone(),
        name: name.to_owned(),
        created_at: now,
        expires_at: days.map(|days| ResourceServerKey::expiry(now, days)),
        revoked_at: None,
    };
    let entry = entry(by, &key, Action::ResourceServerKeyCreated, now);
    if !app.store.create_resource_server_key(&key, codes::digest(secret.expose()), &entry).await? {
        return Ok(Verdict::NotThere);
    }
    Ok(Verdict::Done(CreatedKey::Done { key, secret }))
}

/// The keys of `brand`, or of every Brand in reach, the newest first, at most 1 000.
///
/// # Errors
/// [`Fault`].
pub async fn list(app: &App, by: &By, brand: Option<&BrandId>) -> Result<Verdict<Vec<ResourceServerKey>>, Fault> {
    if let Some(brand) = brand
        && let Err(denied) = by.access.read(Some(brand))
    {
        return Ok(denied.into());
    }
    let mut keys = app.store.resource_server_keys(brand).await?;
    keys.retain(|key| by.access.read(Some(&key.brand)).is_ok());
    Ok(Verdict::Done(keys))
}

/// One key.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &ResourceServerKeyId) -> Result<Verdict<ResourceServerKey>, Fault> {
    let Some(key) = app.store.resource_server_key(id).await? else { return Ok(Verdict::NotThere) };
    Ok(match by.access.read(Some(&key.brand)) {
        Ok(()) => Verdict::Done(key),
        Err(denied) => denied.into(),
    })
}

/// Revokes a key, at once and on every node.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn revoke(app: &App, by: &By, id: &ResourceServerKeyId) -> Result<Verdict<RevokedKey>, Fault> {
    let key = app.store.resource_server_key(id).await?;
    if let Err(denied) = by.access.change(key.as_ref().map(|key| &key.brand)) {
        return Ok(denied.into());
    }
    let Some(key) = key else { return Ok(Verdict::NotThere) };
    let entry = entry(by, &key, Action::ResourceServerKeyRevoked, app.clock.now());
    let revoked = app.store.revoke_resource_server_key(id, &entry).await?;
    Ok(Verdict::Done(if revoked { RevokedKey::Revoked } else { RevokedKey::AlreadyRevoked }))
}

fn entry(by: &By, key: &ResourceServerKey, action: Action, at: Timestamp) -> Entry {
    let payload = json!({ "name": key.name, "expires_at": key.expires_at.map(|at| at.to_rfc3339()) });
    by.entry(Some(&key.brand), at, action, &key.id, payload)
}
