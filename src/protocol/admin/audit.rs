//! The audit log and what is taken out of it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::At;
use crate::domain::audit::Chain;
use crate::domain::audit::chain::{Finding, Head, Report};
use crate::domain::audit::recorded::Recorded;

/// A row of the audit log.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct AuditRowJson {
    /// Whose chain: `provider` or a Brand's id.
    pub chain: String,
    /// Its place in the chain, from 1.
    pub sequence: i64,
    /// When.
    pub at: At,
    /// Who did it.
    pub actor: ActorJson,
    /// What was done.
    pub action: String,
    /// To what: an id.
    pub subject: String,
    /// During which request.
    pub request: String,
    /// Whether its payload was erased.
    pub erased: bool,
    /// What was before and after; null once it was erased.
    pub payload: Value,
    /// SHA-256 over this row and the one before it.
    pub digest: String,
}

/// Who did something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ActorJson {
    /// `user`, `personal_agent`, `administrator` or `assent`.
    pub kind: String,
    /// Which one of the kind.
    pub name: String,
}

impl From<Recorded> for AuditRowJson {
    fn from(row: Recorded) -> Self {
        let payload = row.payload.as_deref();
        Self {
            chain: named(&row.brand),
            sequence: row.sequence,
            at: At(row.at),
            erased: payload.is_none(),
            payload: payload.map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| text.into())),
            actor: ActorJson { kind: row.actor_kind, name: row.actor },
            action: row.action,
            subject: row.subject,
            request: row.request,
            digest: row.digest,
        }
    }
}

/// A chain as people know it.
fn named(column: &str) -> String {
    Chain::from_column(column).map_or_else(|_| column.to_owned(), |chain| chain.to_string())
}

/// What a verification of the audit log found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedJson {
    /// Whether nothing is wrong.
    pub is_whole: bool,
    /// What there is to tell, in the order in which it was found.
    pub reports: Vec<ReportJson>,
    /// Whether there was more to tell than is told here.
    pub more: bool,
}

/// One thing that a verification tells.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ReportJson {
    /// A chain was walked to its end.
    Head {
        /// Which.
        chain: String,
        /// Its length.
        sequence: i64,
        /// The digest of its newest row: keep it elsewhere, and give it to a later verification.
        digest: String,
    },
    /// These rows' payloads were erased, as other rows say.
    Erased {
        /// In which chain.
        chain: String,
        /// The first of them.
        first: i64,
        /// The last of them.
        last: i64,
    },
    /// Something is wrong.
    Wrong {
        /// In which chain.
        chain: String,
        /// What kind of thing.
        problem: &'static str,
        /// The first row that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        first: Option<i64>,
        /// The last row that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<i64>,
        /// What else it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        about: Option<FoundAboutJson>,
        /// In words.
        text: String,
    },
}

/// What a finding is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct FoundAboutJson {
    /// `receipt`, `evidence`, `grant` or `bound`.
    pub kind: &'static str,
    /// Which.
    pub id: String,
}

impl From<Report> for ReportJson {
    fn from(report: Report) -> Self {
        match report {
            Report::Walked(Head { chain, sequence, digest }) => Self::Head { chain: named(&chain), sequence, digest },
            Report::Erased { chain, rows: (first, last) } => Self::Erased { chain: named(&chain), first, last },
            Report::Wrong(Finding { chain, rows, problem }) => Self::Wrong {
                chain: named(&chain),
                problem: problem.name(),
                first: rows.map(|(first, _)| first),
                last: rows.map(|(_, last)| last),
                about: problem.subject().map(|(kind, id)| FoundAboutJson { kind, id: id.to_owned() }),
                text: problem.to_string(),
            },
        }
    }
}

/// What became of an erasure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ErasedJson {
    /// In which chain.
    pub chain: String,
    /// Of which row.
    pub sequence: i64,
    /// `erased`, or `already erased`.
    #[schemars(extend("enum" = ["erased", "already erased"]))]
    pub what: &'static str,
}

/// All that is kept of a grant.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EvidenceJson {
    /// The document that the Brand's key signed; `assent evidence verify` reads it.
    #[schemars(extend("type" = "object"))]
    pub evidence: Value,
    /// Receipts in it that prove nothing any more, in words.
    pub warnings: Vec<String>,
}
