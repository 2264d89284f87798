//! The two databases, and the few places where they differ: opening, transactions, locks, migrations, error codes.

use std::str::FromStr;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, PgConnection, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use super::{Schema, StoreError};
use crate::config::DatabaseConfig;
use crate::domain::audit::seal::AuditKey;

/// The database, and the key with which its audit rows are sealed, where it was opened with one.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) pools: Pools,
    audit_key: Option<AuditKey>,
}

/// The pools of whichever database it is.
#[derive(Clone, Debug)]
pub(super) enum Pools {
    /// One writer, so that no transaction meets a lock, and several readers.
    Sqlite { writer: SqlitePool, reader: SqlitePool },
    /// One pool for both.
    Postgres(PgPool),
}

/// A transaction, and the key with which it seals audit rows.
pub(super) struct Tx {
    pub(super) inner: Inner,
    audit_key: Option<AuditKey>,
}

/// A transaction of whichever database it is.
pub(super) enum Inner {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// Runs a query in a transaction: `in_tx!(tx, c => query_as::<_, Row>(SQL).bind(x).fetch_optional(c))`.
macro_rules! in_tx {
    ($tx:expr, $connection:ident => $query:expr) => {
        match &mut $tx.inner {
            $crate::store::dialect::Inner::Sqlite(tx) => {
                let $connection = &mut **tx;
                $query.await
            }
            $crate::store::dialect::Inner::Postgres(tx) => {
                let $connection = &mut **tx;
                $query.await
            }
        }
    };
}

/// Runs a statement in a transaction and counts the rows it changed: `execute!(tx, query(SQL).bind(x))`.
macro_rules! execute {
    ($tx:expr, $query:expr) => {
        match &mut $tx.inner {
            $crate::store::dialect::Inner::Sqlite(tx) => {
                $query.execute(&mut **tx).await.map(|done| done.rows_affected())
            }
            $crate::store::dialect::Inner::Postgres(tx) => {
                $query.execute(&mut **tx).await.map(|done| done.rows_affected())
            }
        }
    };
}

/// Runs a query outside a transaction, on a connection that is not used for writing.
macro_rules! read {
    ($store:expr, $pool:ident => $query:expr) => {
        match &$store.0.pools {
            $crate::store::dialect::Pools::Sqlite { reader: $pool, .. } => $query.await,
            $crate::store::dialect::Pools::Postgres($pool) => $query.await,
        }
    };
}

pub(super) use {execute, in_tx, read};

static COMMON: Migrator = sqlx::migrate!("migrations/common");
static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

impl Database {
    pub(super) async fn open(url: &str, bounds: &DatabaseConfig) -> Result<Self, StoreError> {
        let wait = bounds.wait();
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                // Once answered, a decision survives a power cut; NORMAL would lose the last ones in WAL mode.
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(wait)
                .foreign_keys(true);
            let writer = SqlitePoolOptions::new()
                .max_connections(1)
                .acquire_timeout(wait)
                .test_before_acquire(false)
                .connect_with(options.clone())
                .await?;
            let reader = SqlitePoolOptions::new()
                .max_connections(bounds.readers)
                .acquire_timeout(wait)
                .test_before_acquire(false)
                .connect_with(options.read_only(true).create_if_missing(false))
                .await?;
            return Ok(Self { pools: Pools::Sqlite { writer, reader }, audit_key: None });
        }
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(url)?;
            let pool = PgPoolOptions::new()
                .max_connections(bounds.connections)
                .acquire_timeout(wait)
                .after_connect(move |connection, _| Box::pin(wait_for_locks(connection, wait)))
                .connect_with(options)
                .await?;
            return Ok(Self { pools: Pools::Postgres(pool), audit_key: None });
        }
        Err(StoreError::UnknownDatabase)
    }

    pub(super) async fn begin(&self) -> Result<Tx, StoreError> {
        let inner = match &self.pools {
            Pools::Sqlite { writer, .. } => Inner::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.begin().await?),
        };
        Ok(Tx { inner, audit_key: self.audit_key.clone() })
    }

    /// The key with which audit rows are sealed.
    pub(super) fn audit_key(&self) -> Result<&AuditKey, StoreError> {
        self.audit_key.as_ref().ok_or(StoreError::NoAuditKey)
    }

    /// A transaction that only reads, and sees everything as of one instant. It holds nobody up.
    pub(super) async fn snapshot(&self) -> Result<Tx, StoreError> {
        const PG: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let inner = match &self.pools {
            Pools::Sqlite { reader, .. } => Inner::Sqlite(reader.begin().await?),
            Pools::Postgres(pool) => Inner::Postgres(pool.begin_with(PG).await?),
        };
        Ok(Tx { inner, audit_key: self.audit_key.clone() })
    }

    pub(super) fn seal_with(&mut self, key: AuditKey) {
        self.audit_key = Some(key);
    }

    fn migrator(&self) -> Migrator {
        let own = match &self.pools {
            Pools::Sqlite { .. } => &SQLITE,
            Pools::Postgres(_) => &POSTGRES,
        };
        Migrator::with_migrations(COMMON.iter().chain(own.iter()).cloned().collect())
    }

    pub(super) async fn migrate(&self) -> Result<(), StoreError> {
        let migrator = self.migrator();
        match &self.pools {
            // SQLite's migrator takes no lock, so the writer's own keeps a second process out from first to last.
            Pools::Sqlite { writer, .. } => {
                let mut tx = writer.begin_with("BEGIN IMMEDIATE").await?;
                migrator.run(&mut *tx).await?;
                tx.commit().await?;
            }
            Pools::Postgres(pool) => {
                // Another node's migration is waited for, however long it takes.
                let mut connection = pool.acquire().await?.detach();
                sqlx::query("SET lock_timeout = 0").execute(&mut connection).await?;
                migrator.run(&mut connection).await?;
                connection.close().await?;
            }
        }
        Ok(())
    }

    pub(super) async fn schema(&self) -> Result<Schema, StoreError> {
        const TABLES: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
        const EXISTS: &str = "SELECT COUNT(to_regclass('_sqlx_migrations'))";
        const DONE: &str = "SELECT version FROM _sqlx_migrations WHERE success = TRUE";
        let done: Vec<i64> = match &self.pools {
            Pools::Sqlite { reader, .. } => match sqlx::query_scalar::<_, i64>(TABLES).fetch_one(reader).await? {
                0 => Vec::new(),
                _ => sqlx::query_scalar(DONE).fetch_all(reader).await?,
            },
            Pools::Postgres(pool) => match sqlx::query_scalar::<_, i64>(EXISTS).fetch_one(pool).await? {
                0 => Vec::new(),
                _ => sqlx::query_scalar(DONE).fetch_all(pool).await?,
            },
        };
        let known: Vec<i64> = self.migrator().iter().map(|migration| migration.version).collect();
        if done.iter().any(|version| !known.contains(version)) {
            return Ok(Schema::Ahead);
        }
        Ok(match known.iter().filter(|version| !done.contains(version)).count() {
            0 => Schema::Current,
            behind => Schema::Behind(behind),
        })
    }

    pub(super) const fn kind(&self) -> &'static str {
        match &self.pools {
            Pools::Sqlite { .. } => "sqlite",
            Pools::Postgres(_) => "postgres",
        }
    }

    pub(super) async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, reader } => {
                reader.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// Has `connection` wait no longer than `wait` for a lock, unless `database_url` says how long.
async fn wait_for_locks(connection: &mut PgConnection, wait: Duration) -> sqlx::Result<()> {
    const SQL: &str = "SELECT set_config('lock_timeout', $1, FALSE) WHERE current_setting('lock_timeout') = '0'";
    sqlx::query(SQL).bind(wait.as_millis().to_string()).execute(connection).await?;
    Ok(())
}

impl Tx {
    /// The key with which audit rows are sealed.
    pub(super) fn audit_key(&self) -> Result<&AuditKey, StoreError> {
        self.audit_key.as_ref().ok_or(StoreError::NoAuditKey)
    }

    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self.inner {
            Inner::Sqlite(tx) => tx.commit().await?,
            Inner::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }

    /// Lets no other transaction that locks or shares `key` run beside this one. SQLite's writers are one anyway.
    pub(super) async fn lock(&mut self, key: &str) -> Result<(), StoreError> {
        const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        if let Inner::Postgres(tx) = &mut self.inner {
            sqlx::query(LOCK).bind(key).execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Lets no transaction that locks `key` run beside this one; others that share it may.
    pub(super) async fn share(&mut self, key: &str) -> Result<(), StoreError> {
        const SHARE: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))";
        if let Inner::Postgres(tx) = &mut self.inner {
            sqlx::query(SHARE).bind(key).execute(&mut **tx).await?;
        }
        Ok(())
    }
}

/// Whether an error says that the database is away, busy or full, by SQLite's primary result codes and PostgreSQL's
/// error classes.
pub(super) fn is_passing(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else { return false };
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        // 5 busy, 6 locked, 10 I/O, 13 full, 14 cannot open; the low byte is the primary code.
        return code.parse::<i32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13 | 14));
    }
    // 08 connection, 40 rolled back, 53 out of resources, 55 in use, 57 shut down.
    ["08", "40", "53", "55", "57"].iter().any(|class| code.starts_with(class))
}
