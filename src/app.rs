//! Everything a request needs, made once when the program starts.

use std::fs;
use std::sync::Arc;

use crate::agent::{AgentBounds, Agents};
use crate::clock::Clock;
use crate::config::Config;
use crate::crypto::password::{Cost, Passwords};
use crate::crypto::seal::{InvalidMasterKey, MasterKey};
use crate::directory::{Directory, DirectoryError};
use crate::entropy::Entropy;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::outbound::{Outbound, OutboundError, Resolver, SystemResolver};
use crate::secret::Secret;
use crate::store::{Schema, Store, StoreError};

/// Everything a request needs.
pub struct App {
    /// The database.
    pub store: Store,
    /// What may be cached of it.
    pub directory: Directory,
    /// The Brands' agents.
    pub agents: Agents,
    /// The way out to everybody else.
    pub outbound: Outbound,
    /// Bounds that are kept in memory.
    pub limits: Limits,
    /// What this node has counted.
    pub metrics: Metrics,
    /// Administrators' passwords.
    pub passwords: Passwords,
    /// Time.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// Under which private keys and user codes are kept.
    pub master: Arc<MasterKey>,
    /// As it was read at the start.
    pub config: Config,
}

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The file with the master key cannot be read.
    #[error(
        "master_key_file: {file} cannot be read: {error}. Make one with \
         `head -c 32 /dev/urandom | base64 > {file}` and keep a copy in a safe place, or set ASSENT_MASTER_KEY"
    )]
    NoMasterKey {
        /// Its path.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// What it holds is no master key.
    #[error("master key: {0}")]
    MasterKey(#[from] InvalidMasterKey),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema is older than this program.
    #[error("the database is {0} migrations behind; run `assent migrate`")]
    Behind(usize),
    /// The schema is of a newer program.
    #[error("the database was migrated by a newer version of this program; run that one")]
    Ahead,
    /// The directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The certificates for outbound calls.
    #[error("outbound: {0}")]
    Outbound(#[from] OutboundError),
}

/// Reads the master key from where `config` says it is.
///
/// # Errors
/// [`StartError`] says what is wrong and what to do.
pub fn master_key(config: &Config) -> Result<MasterKey, StartError> {
    let text = match &config.master_key {
        Some(text) => text.0.clone(),
        None => {
            let file = &config.master_key_file;
            let read = fs::read_to_string(file);
            Secret::new(read.map_err(|error| StartError::NoMasterKey { file: file.display().to_string(), error })?)
        }
    };
    Ok(MasterKey::parse(text.expose().trim())?)
}

impl App {
    /// Opens everything that `config` names, and reads the directory.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to do.
    pub async fn open(config: Config, clock: Clock, entropy: Entropy) -> Result<Self, StartError> {
        Self::open_with_resolver(config, clock, entropy, Arc::new(SystemResolver)).await
    }

    /// As [`App::open`], with another way to find the addresses of those who are called.
    ///
    /// # Errors
    /// As [`App::open`].
    pub async fn open_with_resolver(
        config: Config,
        clock: Clock,
        entropy: Entropy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, StartError> {
        let master = Arc::new(master_key(&config)?);
        let store = Store::open(config.database_url.expose(), &config.database).await?;
        let store = store.sealing_with(master.audit_key().clone());
        match store.schema().await? {
            Schema::Current => {}
            Schema::Behind(behind) => return Err(StartError::Behind(behind)),
            Schema::Ahead => return Err(StartError::Ahead),
        }
        let outbound = Outbound::new(&config.outbound, resolver)?;
        let directory = Directory::new(&config, Arc::clone(&master), outbound.clone());
        directory.refresh(&store).await?;
        let bounds = AgentBounds {
            turns_in_flight: config.limits.turns_in_flight,
            max_answer_bytes: config.outbound.agent_max_bytes,
        };
        let agents = Agents::new(outbound.clone(), bounds);
        let limits = Limits::new(&config.limits, &config.administrators, &clock);
        let metrics = Metrics::default();
        let passwords = Passwords::at(Cost::PRODUCTION);
        Ok(Self { store, directory, agents, outbound, limits, metrics, passwords, clock, entropy, master, config })
    }
}
