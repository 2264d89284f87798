//! The sessions of administrators' browsers. Each is found by the digest of a random value.

use serde_json::json;
use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::account::{AdministratorSession, Stage};
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::id::{AdministratorName, Digest};

#[derive(FromRow)]
struct SessionRow {
    administrator: String,
    stage: String,
    created_at: i64,
    last_seen_at: i64,
    expires_at: i64,
}

impl TryFrom<SessionRow> for AdministratorSession {
    type Error = StoreError;
    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "administrator_session";
        let key = row.administrator.clone();
        let stage = [Stage::SecondFactor, Stage::Live].into_iter().find(|stage| stage.name() == row.stage);
        Ok(Self {
            administrator: AdministratorName::parse(row.administrator).consistent(TABLE, &key)?,
            stage: stage.consistent(TABLE, &key)?,
            created_at: Timestamp::from_millis(row.created_at),
            last_seen_at: Timestamp::from_millis(row.last_seen_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        })
    }
}

/// A log-in, or the first half of one.
#[derive(Clone, Debug)]
pub struct OpenSession<'a> {
    /// What the browser's value digests to.
    pub digest: Digest,
    /// What it stands for.
    pub session: &'a AdministratorSession,
    /// Which version of the account was seen when the password was right.
    pub version: i64,
    /// The step whose code was right. It must be later than every one before it.
    pub step: Option<i64>,
    /// The first half, which is spent.
    pub pending: Option<Digest>,
    /// A session that this browser had before; it ends.
    pub replaces: Option<Digest>,
    /// During which request.
    pub request: &'a RequestId,
    /// What the audit log says of it.
    pub entry: Option<&'a Entry>,
}

impl OpenSession<'_> {
    /// What the audit log says of whoever was logged in in this browser before.
    fn logged_out(&self, name: String) -> Entry {
        Entry {
            brand: None,
            at: self.session.created_at,
            actor: Actor::Administrator(name.clone()),
            action: Action::LoggedOut,
            subject: name,
            request: self.request.clone(),
            payload: json!({ "by": "another log-in" }),
        }
    }
}

impl Store {
    /// Opens a session. `false` when the account has changed meanwhile, its code was used before, or the first half was
    /// spent: then nothing is done.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn open_session(&self, opening: &OpenSession<'_>) -> Result<bool, StoreError> {
        const SPEND: &str =
            "DELETE FROM administrator_session WHERE digest = $1 AND stage = 'second_factor' RETURNING administrator";
        // Holds the row, so that a change of the account either sees this session or is seen here.
        const NOTE: &str = "UPDATE administrator SET totp_step = COALESCE(CAST($1 AS BIGINT), totp_step),
            logged_in_at = CASE WHEN $2 = 'live' THEN $3 ELSE logged_in_at END
            WHERE name = $4 AND version = $5 AND disabled_at IS NULL
            AND (CAST($1 AS BIGINT) IS NULL OR totp_step IS NULL OR totp_step < $1) RETURNING name";
        const OPEN: &str = "INSERT INTO administrator_session (digest, administrator, stage, created_at, last_seen_at,
            expires_at) VALUES ($1, $2, $3, $4, $5, $6)";
        const REPLACE: &str = "DELETE FROM administrator_session WHERE digest = $1
            RETURNING administrator, stage = 'live' AND expires_at > $2";
        let session = opening.session;
        let name = session.administrator.as_str();
        let mut tx = self.0.begin().await?;
        let noted = in_tx!(&mut tx, c => query_scalar::<_, String>(NOTE)
            .bind(opening.step)
            .bind(session.stage.name())
            .bind(session.created_at.millis())
            .bind(name)
            .bind(opening.version)
            .fetch_optional(c))?;
        if noted.is_none() {
            return Ok(false);
        }
        if let Some(pending) = opening.pending {
            let spent =
                in_tx!(&mut tx, c => query_scalar::<_, String>(SPEND).bind(pending.to_hex()).fetch_optional(c))?;
            if spent.as_deref() != Some(name) {
                return Ok(false);
            }
        }
        let replaced = match opening.replaces {
            Some(digest) => in_tx!(&mut tx, c => query_as::<_, (String, bool)>(REPLACE)
                .bind(digest.to_hex())
                .bind(session.created_at.millis())
                .fetch_optional(c))?,
            None => None,
        };
        execute!(
            &mut tx,
            query(OPEN)
                .bind(opening.digest.to_hex())
                .bind(name)
                .bind(session.stage.name())
                .bind(session.created_at.millis())
                .bind(session.last_seen_at.millis())
                .bind(session.expires_at.millis())
        )?;
        if let Some((name, true)) = replaced {
            audit::append(&mut tx, &opening.logged_out(name)).await?;
        }
        if let Some(entry) = opening.entry {
            audit::append(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// The session with this digest, whether it is live or not.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn administrator_session(&self, digest: Digest) -> Result<Option<AdministratorSession>, StoreError> {
        const SQL: &str = "SELECT administrator, stage, created_at, last_seen_at, expires_at
            FROM administrator_session WHERE digest = $1";
        let row = read!(self, c => query_as::<_, SessionRow>(SQL).bind(digest.to_hex()).fetch_optional(c))?;
        row.map(AdministratorSession::try_from).transpose()
    }

    /// Notes that a session was used, unless that was noted after `before`.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn touch_session(&self, digest: Digest, now: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE administrator_session SET last_seen_at = $1 WHERE digest = $2 AND last_seen_at <= $3";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(SQL).bind(now.millis()).bind(digest.to_hex()).bind(before.millis()))?;
        tx.commit().await
    }

    /// Ends a session. `false` when there is none: then nothing is recorded.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn end_session(&self, digest: Digest, entry: &Entry) -> Result<bool, StoreError> {
        const SQL: &str = "DELETE FROM administrator_session WHERE digest = $1 AND stage = 'live'";
        let mut tx = self.0.begin().await?;
        if execute!(&mut tx, query(SQL).bind(digest.to_hex()))? == 0 {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }
}
