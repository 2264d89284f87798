//! Grants: listed, counted, shown, exported and revoked.

use schemars::JsonSchema;
use serde::Deserialize;

use super::input::{Fields, Listing, Time, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::id::{BrandId, BrandUser, GrantId, Issuer};
use crate::domain::page::ByTime;
use crate::flow::Fault;
use crate::flow::admin::evidence::{Exported, export};
use crate::flow::admin::grants::{self, RevokedAll, RevokedGrant};
use crate::flow::admin::shown;
use crate::protocol::admin::{
    CountJson, EvidenceJson, GrantDetailsJson, GrantJson, PageJson, RevokedAllJson, RevokedJson, TokenJson,
};
use crate::store::{GrantFilter, GrantSort, GrantStanding};

/// Which grant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneGrant {
    /// Its id.
    grant_id: GrantId,
}

impl Fields for OneGrant {}

/// The state of a grant.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It allows something.
    Live,
    /// Nobody ended it, and its time is over.
    Expired,
    /// Somebody ended it.
    Ended,
}

impl From<State> for GrantStanding {
    fn from(state: State) -> Self {
        match state {
            State::Live => Self::Live,
            State::Expired => Self::Expired,
            State::Ended => Self::Ended,
        }
    }
}

/// Which grants.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Which {
    /// Of this Brand.
    brand: Option<BrandId>,
    /// Of this Brand user.
    user: Option<BrandUser>,
    /// Of this personal agent, by its issuer.
    personal_agent: Option<Issuer>,
    /// In this state.
    state: Option<State>,
    /// Made at this instant or later.
    since: Option<Time>,
    /// Made before this instant.
    until: Option<Time>,
}

impl Fields for Which {}

impl From<Which> for GrantFilter {
    fn from(which: Which) -> Self {
        Self {
            brand: which.brand,
            brand_user: which.user,
            issuer: which.personal_agent,
            state: which.state.map(GrantStanding::from),
            since: which.since.map(|Time(at)| at),
            until: which.until.map(|Time(at)| at),
        }
    }
}

/// Which live grants are to end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhichLive {
    /// Of this Brand.
    brand: Option<BrandId>,
    /// Of this Brand user.
    user: Option<BrandUser>,
    /// Of this personal agent, by its issuer.
    personal_agent: Option<Issuer>,
    /// Made at this instant or later.
    since: Option<Time>,
    /// Made before this instant.
    until: Option<Time>,
}

/// Live grants that are to end, and how many they were.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeGrants {
    /// Which. All of them with nothing in it.
    filter: WhichLive,
    /// The count that was confirmed, as `countGrants` with `state=live` gives it: when more fit by now, nothing is done.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    shown: u64,
}

impl Written for RevokeGrants {}

/// A page of the grants that fit.
pub async fn list(call: Call<(), (Which, Listing<GrantSort>)>) -> Answer<PageJson<GrantJson>> {
    let (which, Listing(paging)) = call.query;
    let now = call.app.clock.now();
    let page = done(grants::list(&call.app, &call.by, &which.into(), &paging).await?, "such Brand")?;
    Ok(page.map(|grant| GrantJson::new(grant, now)).into())
}

/// How many fit.
pub async fn count(call: Call<(), Which>) -> Answer<CountJson> {
    Ok(done(grants::count(&call.app, &call.by, &call.query.into()).await?, "such Brand")?.into())
}

/// One, with what happened under it.
pub async fn show(call: Call<OneGrant>) -> Answer<GrantDetailsJson> {
    let details = done(grants::show(&call.app, &call.by, &call.path.grant_id).await?, "such grant")?;
    Ok(shown::grant_details(details, call.app.clock.now()))
}

/// The tokens that were issued under it.
pub async fn tokens(call: Call<OneGrant, Listing<ByTime>>) -> Answer<PageJson<TokenJson>> {
    let Listing(paging) = call.query;
    let page = done(grants::tokens(&call.app, &call.by, &call.path.grant_id, &paging).await?, "such grant")?;
    Ok(page.map(TokenJson::from).into())
}

/// All that is kept of it, signed.
pub async fn evidence(call: Call<OneGrant>) -> Answer<EvidenceJson> {
    match done(export(&call.app, &call.by, &call.path.grant_id).await?, "such grant")? {
        Exported::Done { document, warnings } => {
            let evidence = serde_json::to_value(&document).map_err(Fault::from)?;
            Ok(EvidenceJson { evidence, warnings })
        }
        Exported::Altered(problems) => Err(Problem::conflict(format!(
            "nothing was exported, since the record was altered: {}",
            problems.join("; ")
        ))),
        Exported::NoKey => Err(Problem::conflict(
            "nothing was exported: every key of the Brand was given up, and nobody can sign for it",
        )),
    }
}

/// Ends one.
pub async fn revoke(call: Call<OneGrant>) -> Answer<RevokedJson> {
    let grant_id = call.path.grant_id;
    let what = match done(grants::revoke(&call.app, &call.by, &grant_id).await?, "such grant")? {
        RevokedGrant::Ended => "ended",
        RevokedGrant::AlreadyEnded => "already ended",
    };
    Ok(RevokedJson { grant_id, what })
}

/// Ends all live ones that fit, once their count was seen.
pub async fn revoke_all(call: Call<(), (), RevokeGrants>) -> Answer<RevokedAllJson> {
    let RevokeGrants { filter, shown } = call.body;
    let WhichLive { brand, user, personal_agent, since, until } = filter;
    let which = Which { brand, user, personal_agent, state: None, since, until };
    let shown = i64::try_from(shown).unwrap_or(i64::MAX);
    match done(grants::revoke_all(&call.app, &call.by, &which.into(), Some(shown)).await?, "such Brand")? {
        RevokedAll::Done { ended, already_ended, brands } => Ok(RevokedAllJson { ended, already_ended, brands }),
        RevokedAll::MoreFit(now) => Err(Problem::Conflict {
            detail: format!("{} live grants fit by now, more than were counted; nothing was done", now.grants),
            parameter: Some("shown".to_owned()),
        }),
    }
}
