//! Personal agents that register themselves, one row each, whoever comes first and on however many nodes at once.

use sqlx::{query, query_as, query_scalar};

use super::dialect::{execute, in_tx};
use super::directory::PersonalAgentRow;
use super::{Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::audit::Entry;
use crate::domain::personal_agent::PersonalAgent;

/// A personal agent that has proved who it is.
#[derive(Clone, Debug)]
pub struct Registration<'a> {
    /// What it would be.
    pub agent: &'a PersonalAgent,
    /// How many personal agents there may be.
    pub most: u32,
    /// The audit row.
    pub entry: &'a Entry,
    /// When.
    pub at: Timestamp,
}

/// What became of a [`Registration`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It has a row now.
    Done,
    /// Its issuer had one, enabled or not, which was left as it is.
    Known(PersonalAgent),
    /// There are as many as there may be.
    Full,
}

impl Store {
    /// Registers a personal agent unless its issuer has a row.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn register(&self, registration: &Registration<'_>) -> Result<Registered, StoreError> {
        // Holds up every other change of the directory until the commit, so that the count below is true until then.
        const BUMP: &str = "UPDATE directory_revision SET revision = revision + 1";
        const INSERT: &str = "INSERT INTO personal_agent (issuer, name, jwks_uri, enabled, created_at, updated_at)
            SELECT $1, $2, $3, $4, $5, $5 WHERE (SELECT COUNT(*) FROM personal_agent) < $6
            ON CONFLICT (issuer) DO NOTHING RETURNING issuer";
        const KNOWN: &str = "SELECT issuer, name, jwks_uri, enabled FROM personal_agent WHERE issuer = $1";
        let Registration { agent, most, entry, at } = registration;
        let issuer = agent.issuer.as_str();
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(BUMP))?;
        let inserted = in_tx!(&mut tx, c => query_scalar::<_, String>(INSERT)
            .bind(issuer)
            .bind(&agent.name)
            .bind(agent.jwks_uri.as_str())
            .bind(agent.enabled)
            .bind(at.millis())
            .bind(i64::from(*most))
            .fetch_optional(c))?;
        if inserted.is_none() {
            let known = in_tx!(&mut tx, c => query_as::<_, PersonalAgentRow>(KNOWN).bind(issuer).fetch_optional(c))?;
            return Ok(match known {
                Some(row) => Registered::Known(row.try_into()?),
                None => Registered::Full,
            });
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(Registered::Done)
    }
}
