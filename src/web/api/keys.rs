//! The Brands' keys: their public halves, rotation, and how they leave.

use schemars::JsonSchema;
use serde::Deserialize;

use super::brands::OneBrand;
use super::input::{Fields, Listing, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::id::{BrandId, KeyId};
use crate::domain::page::{ByTime, Paging};
use crate::flow::admin::keys::{self, Leaves, Left, Rotated};
use crate::flow::admin::{Run, shown};
use crate::protocol::admin::{At, KeyJson, LeftJson, PageJson, RotatedJson, SuccessorJson};

/// Which key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OneKey {
    /// Its `kid`.
    kid: KeyId,
}

impl Fields for OneKey {}

/// Which keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Which {
    /// Of this Brand; one that was removed, too.
    brand: Option<BrandId>,
}

impl Fields for Which {}

/// How soon.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Soon {
    /// As soon as every node knows the key that is to sign, in place of a day after it was published; where a key leaves, so
    /// that another takes the place of the last one.
    #[serde(default)]
    now: bool,
}

impl Written for Soon {}

/// A page of the keys of one Brand, or of all within reach.
pub async fn list(call: Call<(), (Which, Listing<ByTime>)>) -> Answer<PageJson<KeyJson>> {
    let (which, Listing(paging)) = call.query;
    listed(Call { app: call.app, by: call.by, path: (), query: (), body: () }, which.brand, paging).await
}

/// A page of a Brand's keys.
pub async fn list_of_brand(call: Call<OneBrand, Listing<ByTime>>) -> Answer<PageJson<KeyJson>> {
    let Call { app, by, path, query: Listing(paging), .. } = call;
    let call = Call { app, by, path: (), query: (), body: () };
    let page = listed(call.clone(), Some(path.brand_id.clone()), paging).await?;
    // Each Brand has keys: where there are none there may be no such Brand.
    if page.items.is_empty() {
        super::brands::show(Call { app: call.app, by: call.by, path, query: (), body: () }).await?;
    }
    Ok(page)
}

async fn listed(call: Call, brand: Option<BrandId>, paging: Paging<ByTime>) -> Answer<PageJson<KeyJson>> {
    let now = call.app.clock.now();
    let page = done(keys::list(&call.app, &call.by, brand.as_ref(), &paging).await?, "such Brand")?;
    Ok(page.map(|key| shown::key(key, now)).into())
}

/// Gives a Brand a new key.
pub async fn rotate(call: Call<OneBrand, (), Soon>) -> Answer<RotatedJson> {
    let brand_id = call.path.brand_id;
    let rotated = done(keys::rotate(&call.app, &call.by, &brand_id, call.body.now).await?, "such Brand")?;
    let (what, kid, signs_from) = match rotated {
        Rotated::Made { key, signs_from } => ("made", key, signs_from),
        Rotated::Advanced { key, signs_from } => ("advanced", key, signs_from),
        Rotated::UnderWay { key, signs_from } => ("already under way", key, signs_from),
    };
    Ok(RotatedJson { what, kid, brand_id, signs_from: At(signs_from) })
}

/// Lets a key sign no more. What it signed stays good.
pub async fn retire(call: Call<OneKey, (), Soon>) -> Answer<LeftJson> {
    take_out(call, Leaves::Retired, ["retired", "already retired"]).await
}

/// Gives a key up that may be in other hands.
pub async fn compromise(call: Call<OneKey, (), Soon>) -> Answer<LeftJson> {
    take_out(call, Leaves::Compromised, ["given up", "already given up"]).await
}

async fn take_out(call: Call<OneKey, (), Soon>, leaves: Leaves, words: [&'static str; 2]) -> Answer<LeftJson> {
    let (kid, [what, already]) = (call.path.kid, words);
    match done(keys::take_out(&call.app, &call.by, &kid, leaves, call.body.now, Run::Real).await?, "such key")? {
        Left::Done { replaced_by } => {
            let replaced_by = replaced_by.map(|(kid, signs_from)| SuccessorJson { kid, signs_from: At(signs_from) });
            Ok(LeftJson { kid, what, replaced_by })
        }
        Left::Already => Ok(LeftJson { kid, what: already, replaced_by: None }),
        Left::WouldLeaveNone => Err(Problem::Conflict {
            detail:
                "it is the last key that signs for its Brand: rotate first, or replace it at once; nothing was done"
                    .to_owned(),
            parameter: Some("now".to_owned()),
        }),
    }
}
