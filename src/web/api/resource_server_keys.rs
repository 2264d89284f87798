//! Resource-server keys: made, listed and revoked. A key is shown once, when it is made.

use schemars::JsonSchema;
use serde::Deserialize;

use super::input::{Fields, Written};
use super::operation::{Answer, Call};
use super::problem::done;
use crate::domain::check::LINE;
use crate::domain::id::{BrandId, ResourceServerKeyId};
use crate::flow::admin::resource_server_keys::{self as keys, CreatedKey, RevokedKey};
use crate::protocol::admin::{DoneJson, NewResourceServerKeyJson, PageJson, ResourceServerKeyJson};

const WHAT: &str = "such resource-server key";

/// Which key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneKey {
    /// Its id.
    key_id: ResourceServerKeyId,
}

impl Fields for OneKey {}

/// Which keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Which {
    /// Of this Brand.
    brand: Option<BrandId>,
}

impl Fields for Which {}

/// A key that is to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewKey {
    /// The Brand whose delegation tokens it may ask about.
    brand_id: BrandId,
    /// What it is for.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    name: String,
    /// In how many days it ends; left out, it is good until it is revoked.
    #[schemars(range(min = 1, max = 3650))]
    days: Option<u32>,
}

impl Written for NewKey {}

/// The keys, newest first.
pub async fn list(call: Call<(), Which>) -> Answer<PageJson<ResourceServerKeyJson>> {
    let now = call.app.clock.now();
    let all = done(keys::list(&call.app, &call.by, call.query.brand.as_ref()).await?, "such Brand")?;
    let items = all.into_iter().map(|key| ResourceServerKeyJson::new(key, now)).collect();
    Ok(PageJson { items, next_cursor: None })
}

/// Makes one.
pub async fn create(call: Call<(), (), NewKey>) -> Answer<NewResourceServerKeyJson> {
    let NewKey { brand_id, name, days } = call.body;
    let now = call.app.clock.now();
    match done(keys::create(&call.app, &call.by, &brand_id, &name, days).await?, "such Brand")? {
        CreatedKey::Done { key, secret } => {
            Ok(NewResourceServerKeyJson { about: ResourceServerKeyJson::new(key, now), key: secret.expose().clone() })
        }
        CreatedKey::Invalid(invalid) => Err(invalid.into()),
    }
}

/// One.
pub async fn show(call: Call<OneKey>) -> Answer<ResourceServerKeyJson> {
    let key = done(keys::show(&call.app, &call.by, &call.path.key_id).await?, WHAT)?;
    Ok(ResourceServerKeyJson::new(key, call.app.clock.now()))
}

/// Revokes one, at once and on every node.
pub async fn revoke(call: Call<OneKey>) -> Answer<DoneJson> {
    let id = call.path.key_id;
    let what = match done(keys::revoke(&call.app, &call.by, &id).await?, WHAT)? {
        RevokedKey::Revoked => "revoked",
        RevokedKey::AlreadyRevoked => "already revoked",
    };
    Ok(DoneJson { id: id.to_string(), what })
}
