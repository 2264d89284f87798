//! Administrators' accounts. Each change names the version it saw, and none leaves the Provider without an enabled owner
//! of all Brands: the condition stands in the statement, under a lock that all such changes take.

use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit};
use crate::clock::Timestamp;
use crate::domain::account::Administrator;
use crate::domain::administrator::{Access, Reach};
use crate::domain::audit::Entry;
use crate::domain::id::{AdministratorName, Digest};
use crate::secret::Secret;

/// What changes who is an owner locks.
const LOCK: &str = "administrators";

const TABLE: &str = "administrator";

#[derive(FromRow)]
struct AdministratorRow {
    name: String,
    password_hash: String,
    role: String,
    reach: String,
    sealed_totp: Option<String>,
    totp_step: Option<i64>,
    version: i64,
    created_at: i64,
    changed_at: i64,
    logged_in_at: Option<i64>,
    disabled_at: Option<i64>,
}

impl TryFrom<AdministratorRow> for Administrator {
    type Error = StoreError;
    fn try_from(row: AdministratorRow) -> Result<Self, StoreError> {
        let key = row.name.clone();
        Ok(Self {
            name: AdministratorName::parse(row.name).consistent(TABLE, &key)?,
            password_hash: Secret::new(row.password_hash),
            access: Access {
                role: row.role.parse().consistent(TABLE, &key)?,
                reach: Reach::parse(&row.reach).consistent(TABLE, &key)?,
            },
            sealed_totp: row.sealed_totp,
            totp_step: row.totp_step,
            version: row.version,
            created_at: Timestamp::from_millis(row.created_at),
            changed_at: Timestamp::from_millis(row.changed_at),
            logged_in_at: row.logged_in_at.map(Timestamp::from_millis),
            disabled_at: row.disabled_at.map(Timestamp::from_millis),
        })
    }
}

/// One change of an account.
#[derive(Clone, Debug)]
pub enum AccountChange {
    /// Another role, or other Brands.
    Access(Access),
    /// Nobody is let in any more.
    Disable,
    /// They are let in again.
    Enable,
    /// Another password, by its hash.
    Password(Secret<String>),
    /// A second factor, by its sealed secret, and the step that proved it.
    SecondFactor(String, i64),
    /// No second factor any more.
    NoSecondFactor,
    /// It goes.
    Remove,
}

impl AccountChange {
    /// Whether whoever was let in before must log in anew.
    const fn ends_sessions(&self) -> bool {
        !matches!(self, Self::Enable)
    }
}

/// A change of an account, as it was seen.
#[derive(Clone, Debug)]
pub struct ChangeAccount<'a> {
    /// Whose.
    pub name: &'a AdministratorName,
    /// Which version of it was seen.
    pub version: i64,
    /// What.
    pub change: &'a AccountChange,
    /// The session that asks for it: it goes on under another digest.
    pub renews: Option<Renewal>,
    /// What the audit log says of it, and when.
    pub entry: &'a Entry,
}

/// A session that gets another value: whoever has a copy of the old one is logged in no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renewal {
    /// What the old value digests to.
    pub from: Digest,
    /// What the new one does.
    pub to: Digest,
}

/// What became of a change of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangedAccount {
    /// It is done.
    Done,
    /// It has another version by now, or is gone, or the session that asks for it is.
    Stale,
    /// Nobody would be left who can do all there is to do.
    LastOwner,
}

const BY_NAME: &str =
    "SELECT name, password_hash, role, reach, sealed_totp, totp_step, version, created_at, changed_at,
    logged_in_at, disabled_at FROM administrator WHERE name = $1";

impl Store {
    /// The administrator of this name.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn administrator(&self, name: &AdministratorName) -> Result<Option<Administrator>, StoreError> {
        let row = read!(self, c => query_as::<_, AdministratorRow>(BY_NAME).bind(name.as_str()).fetch_optional(c))?;
        row.map(Administrator::try_from).transpose()
    }

    /// All administrators, by name.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn administrators(&self) -> Result<Vec<Administrator>, StoreError> {
        const SQL: &str = "SELECT name, password_hash, role, reach, sealed_totp, totp_step, version, created_at,
            changed_at, logged_in_at, disabled_at FROM administrator ORDER BY name";
        let rows = read!(self, c => query_as::<_, AdministratorRow>(SQL).fetch_all(c))?;
        rows.into_iter().map(Administrator::try_from).collect()
    }

    /// Makes an account. `false` when the name is taken: then nothing is done.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn create_administrator(&self, account: &Administrator, entry: &Entry) -> Result<bool, StoreError> {
        const SQL: &str =
            "INSERT INTO administrator (name, password_hash, role, reach, version, created_at, changed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (name) DO NOTHING RETURNING name";
        let mut tx = self.0.begin().await?;
        let made = in_tx!(&mut tx, c => query_scalar::<_, String>(SQL)
            .bind(account.name.as_str())
            .bind(account.password_hash.expose())
            .bind(account.access.role.name())
            .bind(account.access.reach.to_text())
            .bind(account.version)
            .bind(account.created_at.millis())
            .fetch_optional(c))?;
        if made.is_none() {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Changes an account, and ends its sessions; the one that asks for it goes on under another digest.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn change_account(&self, asked: &ChangeAccount<'_>) -> Result<ChangedAccount, StoreError> {
        const VERSION: &str = "SELECT version FROM administrator WHERE name = $1";
        let mut tx = self.0.begin().await?;
        tx.lock(LOCK).await?;
        if !write(&mut tx, asked).await? {
            let name = asked.name.as_str();
            let version = in_tx!(&mut tx, c => query_scalar::<_, i64>(VERSION).bind(name).fetch_optional(c))?;
            let is_as_seen = version == Some(asked.version);
            return Ok(if is_as_seen { ChangedAccount::LastOwner } else { ChangedAccount::Stale });
        }
        if let Some(renewal) = &asked.renews
            && !renew(&mut tx, asked.name, renewal).await?
        {
            return Ok(ChangedAccount::Stale);
        }
        if asked.change.ends_sessions() {
            end_sessions(&mut tx, asked.name, asked.renews.map(|renewal| renewal.to)).await?;
        }
        audit::append(&mut tx, asked.entry).await?;
        tx.commit().await?;
        Ok(ChangedAccount::Done)
    }

    /// Puts another hash of the same password in the place of the one that was seen. Nothing else changes.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn rehash_password(&self, seen: &Administrator, hash: &Secret<String>) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE administrator SET password_hash = $1 WHERE name = $2 AND version = $3";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(SQL).bind(hash.expose()).bind(seen.name.as_str()).bind(seen.version))?;
        tx.commit().await
    }
}

/// Whether the guarded write found its row.
async fn write(tx: &mut Tx, asked: &ChangeAccount<'_>) -> Result<bool, StoreError> {
    // Each of the three that take authority away leaves an enabled owner of all Brands: the row was none, or another is.
    const ACCESS: &str = "UPDATE administrator SET role = $1, reach = $2, version = version + 1, changed_at = $3
        WHERE name = $4 AND version = $5 AND (role <> 'owner' OR reach <> '*' OR disabled_at IS NOT NULL
        OR (CAST($1 AS TEXT) = 'owner' AND CAST($2 AS TEXT) = '*') OR EXISTS (SELECT 1 FROM administrator AS other
        WHERE other.name <> $4 AND other.role = 'owner' AND other.reach = '*' AND other.disabled_at IS NULL))
        RETURNING name";
    const DISABLE: &str = "UPDATE administrator SET disabled_at = $1, version = version + 1, changed_at = $1
        WHERE name = $2 AND version = $3 AND disabled_at IS NULL AND (role <> 'owner' OR reach <> '*'
        OR EXISTS (SELECT 1 FROM administrator AS other
        WHERE other.name <> $2 AND other.role = 'owner' AND other.reach = '*' AND other.disabled_at IS NULL))
        RETURNING name";
    const REMOVE: &str = "DELETE FROM administrator WHERE name = $1 AND version = $2
        AND (role <> 'owner' OR reach <> '*' OR disabled_at IS NOT NULL OR EXISTS (SELECT 1 FROM administrator AS other
        WHERE other.name <> $1 AND other.role = 'owner' AND other.reach = '*' AND other.disabled_at IS NULL))
        RETURNING name";
    const ENABLE: &str = "UPDATE administrator SET disabled_at = NULL, version = version + 1, changed_at = $1
        WHERE name = $2 AND version = $3 AND disabled_at IS NOT NULL RETURNING name";
    const PASSWORD: &str = "UPDATE administrator SET password_hash = $1, version = version + 1, changed_at = $2
        WHERE name = $3 AND version = $4 RETURNING name";
    const FACTOR: &str = "UPDATE administrator SET sealed_totp = $1, totp_step = $2, version = version + 1,
        changed_at = $3 WHERE name = $4 AND version = $5 RETURNING name";
    let (name, version, at) = (asked.name.as_str(), asked.version, asked.entry.at.millis());
    let row = match asked.change {
        AccountChange::Access(access) => in_tx!(tx, c => query_scalar::<_, String>(ACCESS)
            .bind(access.role.name())
            .bind(access.reach.to_text())
            .bind(at)
            .bind(name)
            .bind(version)
            .fetch_optional(c)),
        AccountChange::Disable => {
            in_tx!(tx, c => query_scalar::<_, String>(DISABLE).bind(at).bind(name).bind(version).fetch_optional(c))
        }
        AccountChange::Enable => {
            in_tx!(tx, c => query_scalar::<_, String>(ENABLE).bind(at).bind(name).bind(version).fetch_optional(c))
        }
        AccountChange::Remove => {
            in_tx!(tx, c => query_scalar::<_, String>(REMOVE).bind(name).bind(version).fetch_optional(c))
        }
        AccountChange::Password(hash) => in_tx!(tx, c => query_scalar::<_, String>(PASSWORD)
            .bind(hash.expose())
            .bind(at)
            .bind(name)
            .bind(version)
            .fetch_optional(c)),
        AccountChange::SecondFactor(sealed, step) => in_tx!(tx, c => query_scalar::<_, String>(FACTOR)
            .bind(sealed)
            .bind(*step)
            .bind(at)
            .bind(name)
            .bind(version)
            .fetch_optional(c)),
        AccountChange::NoSecondFactor => in_tx!(tx, c => query_scalar::<_, String>(FACTOR)
            .bind(None::<String>)
            .bind(None::<i64>)
            .bind(at)
            .bind(name)
            .bind(version)
            .fetch_optional(c)),
    };
    Ok(row?.is_some())
}

/// Whether the session was still there to be renewed.
async fn renew(tx: &mut Tx, name: &AdministratorName, renewal: &Renewal) -> Result<bool, StoreError> {
    const SQL: &str = "UPDATE administrator_session SET digest = $1
        WHERE digest = $2 AND administrator = $3 AND stage = 'live'";
    let renewed = execute!(tx, query(SQL).bind(renewal.to.to_hex()).bind(renewal.from.to_hex()).bind(name.as_str()))?;
    Ok(renewed > 0)
}

async fn end_sessions(tx: &mut Tx, name: &AdministratorName, keep: Option<Digest>) -> Result<(), StoreError> {
    const SQL: &str = "DELETE FROM administrator_session
        WHERE administrator = $1 AND (CAST($2 AS TEXT) IS NULL OR digest <> $2)";
    execute!(tx, query(SQL).bind(name.as_str()).bind(keep.map(|digest| digest.to_hex())))?;
    Ok(())
}
