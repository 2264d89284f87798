//! The audit log: read, verified, and personal data erased from it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::input::{Fields, Page, Search, Time, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Head, Report};
use crate::flow::admin::audit;
use crate::protocol::admin::{AuditRowJson, ErasedJson, PageJson, ReportJson, VerifiedJson};
use crate::store::{AuditCursor, AuditFilter, Erased};

/// The most that a verification tells.
const MOST_REPORTS: usize = 1000;

/// A chain: `provider`, or a Brand's id.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct ChainName(Chain);

impl JsonSchema for ChainName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Chain".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": "^(provider|[0-7][0-9A-HJKMNP-TV-Z]{25})$", "examples": ["provider"],
        })
    }
}

impl TryFrom<String> for ChainName {
    type Error = crate::domain::id::InvalidId;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Which row.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct OneRow {
    /// Its chain.
    chain: ChainName,
    /// Its place in it.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_i64))]
    sequence: i64,
}

impl Fields for OneRow {}

/// Which rows.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Which {
    /// Of this chain: `provider`, or a Brand's id.
    chain: Option<ChainName>,
    /// By this actor: a Brand user's id, a personal agent's issuer, an administrator's name.
    actor: Option<Search>,
    /// Of this action, by its name.
    action: Option<Search>,
    /// About this id.
    subject: Option<Search>,
    /// During this request.
    request: Option<Search>,
    /// Not before this instant.
    since: Option<Time>,
    /// Before this instant.
    until: Option<Time>,
}

impl Fields for Which {}

/// What is to be verified.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// This chain alone; all within reach when it is left out.
    chain: Option<ChainName>,
    /// Heads that were printed earlier: they must still stand where they stood.
    #[serde(default)]
    #[schemars(length(max = 300))]
    heads: Vec<KnownHead>,
}

impl Written for Verify {}

/// A head that a verification told earlier.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownHead {
    /// Its chain.
    chain: ChainName,
    /// How long the chain was.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_i64))]
    sequence: i64,
    /// The digest of its newest row.
    #[schemars(extend("pattern" = "^[0-9a-f]{64}$"))]
    digest: String,
}

/// A page of the log, newest row first.
pub async fn list(call: Call<(), (Which, Page)>) -> Answer<PageJson<AuditRowJson>> {
    let (which, Page { limit, cursor }) = call.query;
    let text = |text: Option<Search>| text.map(Search::into_text);
    let filter = AuditFilter {
        chain: which.chain.map(|ChainName(chain)| chain),
        actor: text(which.actor),
        action: text(which.action),
        subject: text(which.subject),
        request: text(which.request),
        since: which.since.map(|Time(at)| at),
        until: which.until.map(|Time(at)| at),
    };
    let after: Option<AuditCursor> = cursor
        .map(|cursor| cursor.parse())
        .transpose()
        .map_err(|_| Problem::invalid("cursor", "is not that of a page of this list"))?;
    let page = audit::list(&call.app, &call.by, &filter, after.as_ref(), u32::from(limit)).await?;
    let page = done(page, "such chain")?;
    Ok(PageJson {
        items: page.rows.into_iter().map(AuditRowJson::from).collect(),
        next_cursor: page.next.map(|next| next.to_string()),
    })
}

/// Verifies one chain or all within reach.
pub async fn verify(call: Call<(), (), Verify>) -> Answer<VerifiedJson> {
    let Verify { chain, heads } = call.body;
    let chain = chain.map(|ChainName(chain)| chain);
    let mut expected = Vec::with_capacity(heads.len());
    for (index, KnownHead { chain: ChainName(chain), sequence, digest }) in heads.into_iter().enumerate() {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_digest || sequence < 1 {
            return Err(Problem::invalid(format!("heads[{index}]"), "is not a head that a verification told"));
        }
        // Of a chain out of reach nothing is told.
        if call.by.access.read(chain.brand()).is_ok() {
            expected.push(Head { chain: chain.column().to_owned(), sequence, digest });
        }
    }
    let (mut reports, mut is_whole, mut more) = (Vec::new(), true, false);
    let mut tell = |report: Report| {
        is_whole &= !matches!(report, Report::Wrong(_));
        if reports.len() < MOST_REPORTS {
            reports.push(ReportJson::from(report));
        } else {
            more = true;
        }
    };
    done(audit::verify(&call.app, &call.by, chain.as_ref(), &expected, &mut tell).await?, "such chain")?;
    Ok(VerifiedJson { is_whole, reports, more })
}

/// Erases the payload of a row; the row stays.
pub async fn erase(call: Call<OneRow>) -> Answer<ErasedJson> {
    let OneRow { chain: ChainName(chain), sequence } = call.path;
    let what = match done(audit::erase(&call.app, &call.by, &chain, sequence).await?, "such row")? {
        Erased::Done => "erased",
        Erased::Already => "already erased",
        Erased::NotThere => return Err(Problem::NotThere { what: "such row".to_owned(), parameter: None }),
    };
    Ok(ErasedJson { chain: chain.to_string(), sequence, what })
}
