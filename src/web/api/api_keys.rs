//! API keys, for owners. A key is shown once, when it is made.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::administrators::{Brands, no_brand};
use super::input::{Fields, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::administrator::Role;
use crate::domain::check::LINE;
use crate::domain::id::ApiKeyId;
use crate::flow::admin::api_keys::{self, MadeApiKey};
use crate::protocol::admin::{ApiKeyJson, DoneJson, NewApiKeyJson, PageJson};

const WHAT: &str = "such API key";

/// Which key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneKey {
    /// Its id.
    key_id: ApiKeyId,
}

impl Fields for OneKey {}

/// A key that is to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// What it is for.
    #[schemars(extend("minLength" = 1, "maxLength" = 100, "pattern" = LINE))]
    name: String,
    /// What it may do.
    role: Role,
    /// At which Brands: `"*"` for all, those to come included, or a list of ids.
    brands: Brands,
    /// For how many days it lives.
    #[serde(default = "usual_days")]
    #[schemars(range(min = 1, max = 366))]
    days: u32,
}

const fn usual_days() -> u32 {
    90
}

impl Written for NewKey {}

/// The keys within reach, newest first, those that were revoked or have run out included.
pub async fn list(call: Call) -> Answer<PageJson<ApiKeyJson>> {
    let now = call.app.clock.now();
    let all = api_keys::list(&call.app, &call.by).await?;
    let items = all.into_iter().map(|key| ApiKeyJson::new(key, now)).collect();
    Ok(PageJson { items, next_cursor: None })
}

/// Makes one.
pub async fn create(call: Call<(), (), NewKey>) -> Answer<NewApiKeyJson> {
    let NewKey { name, role, brands, days } = call.body;
    let life = Duration::from_secs(u64::from(days) * 86_400);
    let made = api_keys::create(&call.app, &call.by, &name, brands.access(role), life).await?;
    match done(made, "such Brand within reach")? {
        MadeApiKey::Made(made) => {
            let about = ApiKeyJson::new(made.key, call.app.clock.now());
            Ok(NewApiKeyJson { about, key: made.secret.expose().clone() })
        }
        MadeApiKey::Invalid(problem) => {
            let (parameter, detail) = problem.split_once(": ").unwrap_or(("body", problem));
            Err(Problem::invalid(parameter, detail))
        }
        MadeApiKey::NoBrand(_) => Err(no_brand()),
    }
}

/// One.
pub async fn show(call: Call<OneKey>) -> Answer<ApiKeyJson> {
    let key = done(api_keys::show(&call.app, &call.by, &call.path.key_id).await?, WHAT)?;
    Ok(ApiKeyJson::new(key, call.app.clock.now()))
}

/// Revokes one, at once and on every node.
pub async fn revoke(call: Call<OneKey>) -> Answer<DoneJson> {
    let id = call.path.key_id;
    let revoked = done(api_keys::revoke(&call.app, &call.by, &id).await?, WHAT)?;
    Ok(DoneJson { id: id.to_string(), what: if revoked { "revoked" } else { "already revoked" } })
}
