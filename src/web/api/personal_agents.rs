//! Personal agents: registered, changed, disabled and enabled. An issuer is percent-encoded where it stands in a path.

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::input::{Fields, Listing, Search, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::check::{LINE, optional_web_address, web_address};
use crate::domain::id::Issuer;
use crate::flow::admin::personal_agents::{self, Put, Wanted};
use crate::protocol::admin::{PageJson, PersonalAgentJson};
use crate::store::{PersonalAgentFilter, PersonalAgentSort};

const WHAT: &str = "such personal agent";

/// Which personal agent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OneAgent {
    /// Its issuer, percent-encoded.
    issuer: Issuer,
}

impl Fields for OneAgent {}

/// Which personal agents.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Which {
    /// Whose name has a word that begins so, or whose issuer does, with or without its scheme.
    search: Option<Search>,
    /// Whether it may call.
    enabled: Option<bool>,
}

impl Fields for Which {}

/// A personal agent that is to be registered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAgent {
    /// Its exact `iss`.
    issuer: Issuer,
    /// What Users read.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    name: String,
    /// Where its public keys are.
    #[schemars(schema_with = "web_address")]
    jwks_uri: Url,
}

impl Written for NewAgent {}

/// What changes; what is left out stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangedAgent {
    /// What Users read.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    name: Option<String>,
    /// Where its public keys are.
    #[serde(default)]
    #[schemars(schema_with = "optional_web_address")]
    jwks_uri: Option<Url>,
}

impl Written for ChangedAgent {}

/// A page of those that fit.
pub async fn list(call: Call<(), (Which, Listing<PersonalAgentSort>)>) -> Answer<PageJson<PersonalAgentJson>> {
    let (which, Listing(paging)) = call.query;
    let filter = PersonalAgentFilter { search: which.search.map(Search::into_text), enabled: which.enabled };
    let page = done(personal_agents::list(&call.app, &call.by, &filter, &paging).await?, WHAT)?;
    Ok(page.map(PersonalAgentJson::from).into())
}

/// One.
pub async fn show(call: Call<OneAgent>) -> Answer<PersonalAgentJson> {
    Ok(done(personal_agents::show(&call.app, &call.by, &call.path.issuer).await?, WHAT)?.into())
}

/// Registers one.
pub async fn register(call: Call<(), (), NewAgent>) -> Answer<PersonalAgentJson> {
    let NewAgent { issuer, name, jwks_uri } = call.body;
    let call = Call { app: call.app, by: call.by, path: OneAgent { issuer }, query: (), body: () };
    put(call, Wanted::Registered { name, jwks_uri }).await
}

/// Changes one.
pub async fn change(call: Call<OneAgent, (), ChangedAgent>) -> Answer<PersonalAgentJson> {
    let Call { app, by, path, query, body } = call;
    let wanted = Wanted::Changed { name: body.name, jwks_uri: body.jwks_uri };
    put(Call { app, by, path, query, body: () }, wanted).await
}

/// Disables one: its requests get 401.
pub async fn disable(call: Call<OneAgent>) -> Answer<PersonalAgentJson> {
    put(call, Wanted::Enabled(false)).await
}

/// Enables one again.
pub async fn enable(call: Call<OneAgent>) -> Answer<PersonalAgentJson> {
    put(call, Wanted::Enabled(true)).await
}

async fn put(call: Call<OneAgent>, wanted: Wanted) -> Answer<PersonalAgentJson> {
    match done(personal_agents::put(&call.app, &call.by, &call.path.issuer, &wanted).await?, WHAT)? {
        Put::Done(_) | Put::Unchanged(_) => show(call).await,
        Put::Taken => Err(Problem::Conflict {
            detail: "there is a personal agent with this issuer already".to_owned(),
            parameter: Some("issuer".to_owned()),
        }),
        Put::Invalid(mut invalid) => {
            if invalid.parameter == "jwks_uri" {
                invalid.parameter = "jwksUri".to_owned();
            }
            Err(invalid.into())
        }
    }
}
