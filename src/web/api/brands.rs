//! Brands: listed, made and changed as by an apply file, and removed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::input::{Fields, Listing, Search, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::app::App;
use crate::domain::check::LINE;
use crate::domain::id::BrandId;
use crate::flow::admin::apply::{ApplyFile, ApplyOutcome, BrandTable, NAME_TAKEN, apply_at_node};
use crate::flow::admin::brands::{self, Removed};
use crate::flow::admin::{By, Run};
use crate::protocol::admin::{AppliedJson, BrandJson, ChangeJson, PageJson, RemovedJson};
use crate::store::{BrandFilter, BrandSort};

const WHAT: &str = "such Brand";

/// Which Brand.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneBrand {
    /// Its id.
    pub(super) brand_id: BrandId,
}

impl Fields for OneBrand {}

/// Which Brands.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Which {
    /// Whose name has a word that begins so, or whose id does.
    search: Option<Search>,
    /// Those that were removed, or those that are served.
    removed: Option<bool>,
}

impl Fields for Which {}

/// Whether it is done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct How {
    /// Say what would be done, and do nothing.
    dry_run: Option<bool>,
}

impl Fields for How {}

impl Written for BrandTable {}

/// The confirmation of a removal.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirmed {
    /// What the Brand is called.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    name: String,
}

impl Written for Confirmed {}

/// A page of those that fit.
pub async fn list(call: Call<(), (Which, Listing<BrandSort>)>) -> Answer<PageJson<BrandJson>> {
    let (which, Listing(paging)) = call.query;
    let filter = BrandFilter { search: which.search.map(Search::into_text), removed: which.removed, id: None };
    let page = done(brands::list(&call.app, &call.by, &filter, &paging).await?, WHAT)?;
    Ok(page.map(BrandJson::from).into())
}

/// One, removed or not.
pub async fn show(call: Call<OneBrand>) -> Answer<BrandJson> {
    Ok(done(brands::show(&call.app, &call.by, &call.path.brand_id).await?, WHAT)?.into())
}

/// Makes one, with an id that is minted.
pub async fn create(call: Call<(), How, BrandTable>) -> Answer<AppliedJson> {
    let Call { app, by, query, body, .. } = call;
    let id = BrandId::from_ulid(app.entropy.ulid(app.clock.now()));
    let table = body.made(id).ok_or_else(no_id)?;
    let mut applied = applied(&app, &by, &query, table).await?;
    if applied.dry_run {
        // An id that is minted now is not the one that the Brand will have.
        applied.changes.iter_mut().for_each(|change| change.id = "(new)".to_owned());
    }
    Ok(applied)
}

/// Makes one with this id, or changes it to what the body says.
pub async fn put(call: Call<OneBrand, How, BrandTable>) -> Answer<AppliedJson> {
    let Call { app, by, path, query, body } = call;
    let table = body.identified(path.brand_id).ok_or_else(no_id)?;
    applied(&app, &by, &query, table).await
}

fn no_id() -> Problem {
    Problem::invalid("id", "stands in the path, or is minted")
}

async fn applied(app: &App, by: &By, query: &How, table: BrandTable) -> Answer<AppliedJson> {
    let dry_run = query.dry_run == Some(true);
    let run = if dry_run { Run::Dry } else { Run::Real };
    let file = ApplyFile { brand: vec![table], ..ApplyFile::default() };
    match done(apply_at_node(app, &file, by, run).await?, WHAT)? {
        ApplyOutcome::Done { changes, narrowed, ended } => Ok(AppliedJson {
            changes: changes.into_iter().map(ChangeJson::from).collect(),
            grants_narrowed: narrowed,
            grants_ended: ended,
            dry_run,
        }),
        ApplyOutcome::Refused(problem) => {
            let problem = problem.strip_prefix("brand[0].").unwrap_or(&problem);
            if problem == NAME_TAKEN {
                let detail = problem.split_once(": ").map_or(problem, |(_, detail)| detail).to_owned();
                return Err(Problem::Conflict { detail, parameter: Some("name".to_owned()) });
            }
            let (parameter, detail) = problem.split_once(": ").unwrap_or(("body", problem));
            // What is wrong with several Brands together names one of them first.
            let parameter = if parameter.starts_with("brand ") { "delegation.auth_origin" } else { parameter };
            Err(Problem::invalid(parameter, detail))
        }
    }
}

/// Removes one: it is served no more, and its grants end.
pub async fn remove(call: Call<OneBrand, (), Confirmed>) -> Answer<RemovedJson> {
    let brand_id = call.path.brand_id;
    if call.body.name.trim().is_empty() || call.body.name.chars().any(char::is_control) {
        return Err(Problem::invalid("name", "is what no Brand is called"));
    }
    match done(brands::remove(&call.app, &call.by, &brand_id, &call.body.name).await?, WHAT)? {
        Removed::Done { ended } => Ok(RemovedJson { brand_id, what: "removed", grants_ended: ended }),
        Removed::Already => Ok(RemovedJson { brand_id, what: "already removed", grants_ended: 0 }),
        Removed::OtherName => Err(Problem::Conflict {
            detail: "the Brand is not called so; nothing was done".to_owned(),
            parameter: Some("name".to_owned()),
        }),
    }
}
