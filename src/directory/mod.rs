//! What a node may cache: Brands with all that is derived from them, personal agents, and the key sets of others.
//!
//! A snapshot is whole and immutable; a change anywhere is seen within two seconds, when [`Directory::refresh`] finds
//! that the revision has grown. Grants, codes and tokens are never cached.

pub mod discovery;
pub mod remote_keys;
mod snapshot;

use std::sync::{Arc, PoisonError, RwLock};

use crate::clock::Timestamp;
use crate::config::Config;
use crate::crypto::jwks::KeySet;
use crate::crypto::jws::Refused;
use crate::crypto::ring::InvalidKeyRing;
use crate::crypto::seal::MasterKey;
use crate::domain::brand::AssertionIssuer;
use crate::outbound::Outbound;
use crate::store::{DirectoryRows, Store, StoreError};
use discovery::Discovery;
use remote_keys::{KeysUnavailable, RemoteKeys};
pub use snapshot::{Document, HostedBrand, Offer, Snapshot};

/// The cache of one node.
pub struct Directory {
    public_url: String,
    provider_name: String,
    master: Arc<MasterKey>,
    current: RwLock<Arc<Snapshot>>,
    /// Held while the directory is read, so that an older one never follows a newer one.
    reading: tokio::sync::Mutex<()>,
    remote: RemoteKeys<KeySet>,
    /// Who is behind an origin that nobody registered.
    pub discovery: Discovery,
}

/// Why the directory could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The database did not give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A Brand's keys cannot be opened.
    #[error(transparent)]
    Keys(#[from] InvalidKeyRing),
}

impl Directory {
    /// An empty directory of the Provider that `config` describes.
    pub fn new(config: &Config, master: Arc<MasterKey>, outbound: Outbound) -> Self {
        let outbound = Arc::new(outbound);
        Self {
            public_url: config.public_url.clone(),
            provider_name: config.provider_name.clone(),
            master,
            current: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            remote: RemoteKeys::new(Arc::<Outbound>::clone(&outbound), |bytes| KeySet::parse(bytes).ok()),
            discovery: Discovery::new(outbound, config),
        }
    }

    /// What is known now. The value does not change under its holder.
    pub fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the directory anew if it has changed since. Returns whether it had.
    ///
    /// # Errors
    /// [`DirectoryError`]; what was known before stays in use.
    pub async fn refresh(&self, store: &Store) -> Result<bool, DirectoryError> {
        let _reading = self.reading.lock().await;
        if store.directory_revision().await? == self.current().revision && self.current().is_loaded {
            return Ok(false);
        }
        self.load(&store.directory().await?)?;
        Ok(true)
    }

    fn load(&self, rows: &DirectoryRows) -> Result<(), InvalidKeyRing> {
        let snapshot = Snapshot::new(rows, &self.current(), &self.public_url, &self.provider_name, &self.master)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        Ok(())
    }

    /// Runs `verify` with the key set at `url`, and once more with a newer set when it finds no key that fits.
    ///
    /// # Errors
    /// `None` when there is no key set to be had; otherwise what `verify` refuses with.
    pub async fn with_remote_keys<T>(
        &self,
        url: &url::Url,
        now: Timestamp,
        verify: impl Fn(&KeySet) -> Result<T, Refused>,
    ) -> Result<T, Option<Refused>> {
        let keys = self.remote.get(url, now).await.map_err(|KeysUnavailable| None)?;
        match verify(&keys) {
            Err(refused) if refused.may_need_newer_keys() => {
                match self.remote.refresh_for_unknown_key(url, now, &keys).await {
                    Some(newer) => verify(&newer).map_err(Some),
                    None => Err(Some(refused)),
                }
            }
            outcome => outcome.map_err(Some),
        }
    }

    /// The key sets of others of which the last fetch failed on this node, with the instant at which it did.
    pub fn failing_key_sets(&self) -> Vec<(url::Url, Timestamp)> {
        self.remote.failing()
    }

    /// Runs `verify` with the keys of a Brand's login, wherever they are.
    ///
    /// # Errors
    /// As [`Directory::with_remote_keys`].
    pub async fn with_assertion_keys<T>(
        &self,
        issuer: &AssertionIssuer,
        offer: &Offer,
        now: Timestamp,
        verify: impl Fn(&KeySet) -> Result<T, Refused>,
    ) -> Result<T, Option<Refused>> {
        match &issuer.jwks_uri {
            Some(url) => self.with_remote_keys(url, now, verify).await,
            None => verify(&offer.inline_keys).map_err(Some),
        }
    }
}
