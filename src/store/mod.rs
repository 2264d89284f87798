//! Storage: the only user of sqlx. SQLite embedded, PostgreSQL where one machine is outgrown, one SQL text for both.
//!
//! One file per group of tables. Each method is one read or one whole unit of work: it returns after its commit, so that
//! an answer never leaves before what it says is durable. State is written only under a guard in the SQL, and the row
//! that comes back is what decides.

mod administrator;
mod administrator_session;
mod api_key;
mod audit;
mod consent;
mod conversation;
mod device;
mod dialect;
mod directory;
mod directory_list;
mod event;
mod evidence;
mod grant;
mod grant_history;
mod grant_list;
mod grants_page;
mod idempotency;
mod overview;
mod refresh;
mod registration;
mod resource_server_key;
mod session;
mod step_up;
mod sweep;

pub use administrator::{AccountChange, ChangeAccount, ChangedAccount, Renewal};
pub use administrator_session::OpenSession;
pub use audit::{AuditCursor, AuditFilter, Erased};
pub use consent::{Decide, Decided, Evidence, Opens, SignIn, SignedIn};
pub use conversation::{Completed, ContextChoice, Reserve, Reserved, TurnDone};
pub use device::{Created, NewDeviceAuthorization};
pub use directory::{Applied, Apply, DirectoryRows};
pub use directory_list::{
    BrandFilter, BrandRecord, BrandSort, PersonalAgentFilter, PersonalAgentRecord, PersonalAgentSort,
};
pub use event::WaitingEvents;
pub use evidence::{GrantRecord, KeptDecision, KeptReceipt, KeptToken};
pub use grant_history::{DecisionRecord, ReceiptFilter, ReceiptRecord, TokenRecord};
pub use grant_list::{EndedBatch, GrantCount, GrantFilter, GrantSort, GrantStanding};
pub use grants_page::{GrantsPage, LoggedReceipt};
pub use idempotency::{Claim, Claimed};
pub use overview::{Hour, Overview};
pub use refresh::{NewTokens, Redeem, Redeemed, Rotate, Rotated};
pub use registration::{Registered, Registration};
pub use session::{BrowserSession, ConsentPage};
pub use step_up::{RenewStepUp, StepUpCode, StepUpDone, StepUpStored};

use std::time::Duration;

use dialect::Database;

use crate::config::DatabaseConfig;
use crate::domain::audit::seal::{AuditKey, SealFailed};

/// The database, whichever it is.
#[derive(Clone, Debug)]
pub struct Store(Database);

/// How a database's schema compares with this program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schema {
    /// It is this program's.
    Current,
    /// So many migrations are missing.
    Behind(usize),
    /// It has migrations that this program does not know.
    Ahead,
}

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database refused, failed or was not there.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("migration: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// The address is of neither kind.
    #[error("database_url: expected sqlite://… or postgres://…")]
    UnknownDatabase,
    /// A row that no state of the domain corresponds to.
    #[error("table {table}: the row {key} is inconsistent")]
    Inconsistent {
        /// Where.
        table: &'static str,
        /// Which row.
        key: String,
    },
    /// A value that could not be written as JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Something is to be audited, and the store was opened without the key that seals audit rows.
    #[error("the audit log cannot be written or verified without the master key")]
    NoAuditKey,
    /// An audit row could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealFailed),
}

impl StoreError {
    /// Whether waiting may help: the database is away, busy or full. Such a fault is answered with 503.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => true,
            Self::Database(sqlx::Error::WorkerCrashed | sqlx::Error::Tls(_)) => true,
            Self::Database(sqlx::Error::Database(error)) => dialect::is_passing(error.as_ref()),
            Self::Database(_) | Self::Migration(_) | Self::UnknownDatabase => false,
            Self::Inconsistent { .. } | Self::Json(_) | Self::NoAuditKey | Self::Seal(_) => false,
        }
    }
}

/// Names the row when a stored value is not one that the domain knows.
trait Consistent<T> {
    fn consistent(self, table: &'static str, key: &str) -> Result<T, StoreError>;
}

impl<T> Consistent<T> for Option<T> {
    fn consistent(self, table: &'static str, key: &str) -> Result<T, StoreError> {
        self.ok_or_else(|| StoreError::Inconsistent { table, key: key.to_owned() })
    }
}

impl<T, E> Consistent<T> for Result<T, E> {
    fn consistent(self, table: &'static str, key: &str) -> Result<T, StoreError> {
        self.map_err(|_| StoreError::Inconsistent { table, key: key.to_owned() })
    }
}

impl Store {
    /// Opens the database at `url` (`sqlite://path`, created when it is not there, or `postgres://…`) with as many
    /// connections as `bounds` allows. What is audited can be written once [`Store::sealing_with`] was called.
    ///
    /// # Errors
    /// [`StoreError`] when the address is of neither kind or the database cannot be opened.
    pub async fn open(url: &str, bounds: &DatabaseConfig) -> Result<Self, StoreError> {
        Database::open(url, bounds).await.map(Self)
    }

    /// The same, able to write what belongs into the audit log: its rows are sealed with `key`.
    #[must_use]
    pub fn sealing_with(mut self, key: AuditKey) -> Self {
        self.0.seal_with(key);
        self
    }

    /// Brings the schema up to date. Safe to run on several nodes at once.
    ///
    /// # Errors
    /// [`StoreError::Migration`] when a migration fails, or the database is of a newer version than this program.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        self.0.migrate().await
    }

    /// How the database's schema compares with this program.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn schema(&self) -> Result<Schema, StoreError> {
        self.0.schema().await
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError`] when it gives none within two seconds.
    pub async fn ping(&self) -> Result<(), StoreError> {
        tokio::time::timeout(Duration::from_secs(2), self.directory_revision())
            .await
            .unwrap_or(Err(StoreError::Database(sqlx::Error::PoolTimedOut)))
            .map(drop)
    }

    /// `sqlite` or `postgres`.
    pub const fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Ends all connections once they are idle.
    pub async fn close(&self) {
        self.0.close().await;
    }
}
