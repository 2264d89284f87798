//! The key sets of others, fetched by URL and kept for a while (RFC 7517 §5; PACT §3.1).
//!
//! A set serves for 10 minutes, and is fetched anew in the background for its last two; so a key that its owner takes away
//! stops working within 10 minutes, also where nobody called in between. When the fetch fails, the set serves for an hour. A signer's unknown `kid` is worth one fetch per 30 seconds and URL. Refuses to fetch one URL twice at the
//! same time, and to ask a host again that has just failed. No URL waits for another.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::OwnedMutexGuard;
use url::Url;

use crate::clock::Timestamp;
use crate::outbound::Outbound;

/// A set older than this is fetched anew in the background.
pub const REFETCHED_AFTER: Duration = Duration::from_secs(480);

/// A set older than this is served only after a newer one was asked for in vain.
pub const FRESH_FOR: Duration = Duration::from_secs(600);

/// A set older than this is not served, whatever the reason that no newer one could be fetched.
pub const USABLE_FOR: Duration = Duration::from_secs(3600);

/// The least time between two fetches for the sake of an unknown `kid`.
pub const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(30);

/// A host that failed is not asked again for so long. Longer than a fetch may take, so that whoever waited for a fetch
/// that failed does not start the next.
pub const FAILURE_REMEMBERED: Duration = Duration::from_secs(10);

/// How many URLs are remembered. Above it, the one that was asked for longest ago is forgotten.
pub const CAPACITY: usize = 10_000;

/// There is no usable key set, and none can be fetched now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key set is not available")]
pub struct KeysUnavailable;

/// Where key sets come from.
pub trait FetchKeys: Send + Sync + 'static {
    /// The bytes at `url`, or `None`; who fetches says why in the log.
    fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>>;
}

impl FetchKeys for Outbound {
    fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let outcome = self.get_json(url).await;
            outcome.inspect_err(|error| tracing::warn!(%error, "a key set could not be fetched")).ok()
        })
    }
}

/// Key sets by URL, each parsed into an `S` once.
pub struct RemoteKeys<S> {
    source: Arc<dyn FetchKeys>,
    parse: fn(&[u8]) -> Option<S>,
    capacity: usize,
    entries: Mutex<HashMap<Url, Arc<Entry<S>>>>,
}

struct Entry<S> {
    state: Mutex<State<S>>,
    /// Held while this URL is fetched.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

struct State<S> {
    current: Option<Current<S>>,
    failed_at: Option<Timestamp>,
    refreshed_for_unknown_key_at: Option<Timestamp>,
    asked_at: Timestamp,
}

struct Current<S> {
    set: Arc<S>,
    fetched_at: Timestamp,
}

impl<S> Entry<S> {
    fn new(now: Timestamp) -> Self {
        let state = State { current: None, failed_at: None, refreshed_for_unknown_key_at: None, asked_at: now };
        Self { state: Mutex::new(state), fetching: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> State<S> {
    fn within(&self, age: Duration, now: Timestamp) -> Option<Arc<S>> {
        self.current.as_ref().filter(|current| now.since(current.fetched_at) < age).map(|found| Arc::clone(&found.set))
    }

    /// What can be answered at once, if anything, and whether a background fetch is due: a fresh set, or what there is
    /// while the host is left alone after a failure.
    fn without_a_fetch(&self, now: Timestamp) -> (Option<Result<Arc<S>, KeysUnavailable>>, bool) {
        if let Some(fresh) = self.within(FRESH_FOR, now) {
            let is_due = self.within(REFETCHED_AFTER, now).is_none() && !self.failed_lately(now);
            return (Some(Ok(fresh)), is_due);
        }
        let left_alone = self.failed_lately(now).then(|| self.within(USABLE_FOR, now).ok_or(KeysUnavailable));
        (left_alone, false)
    }

    fn failed_lately(&self, now: Timestamp) -> bool {
        self.failed_at.is_some_and(|at| now.since(at) < FAILURE_REMEMBERED)
    }

    /// Whether an unknown key is worth a fetch.
    fn may_refresh(&self, now: Timestamp) -> bool {
        let spent = self.refreshed_for_unknown_key_at.is_some_and(|at| now.since(at) < UNKNOWN_KEY_INTERVAL);
        !spent && !self.failed_lately(now)
    }

    /// A usable set that is not `seen`.
    fn newer_than(&self, seen: &Arc<S>, now: Timestamp) -> Option<Arc<S>> {
        self.within(USABLE_FOR, now).filter(|set| !Arc::ptr_eq(set, seen))
    }
}

impl<S: Send + Sync + 'static> RemoteKeys<S> {
    /// An empty cache of at most [`CAPACITY`] sets that are fetched from `source` and read by `parse`, which gives
    /// `None` for bytes that are no key set.
    pub fn new(source: Arc<dyn FetchKeys>, parse: fn(&[u8]) -> Option<S>) -> Self {
        Self { source, parse, capacity: CAPACITY, entries: Mutex::default() }
    }

    /// The set at `url`. Waits for a fetch only when there is no fresh one.
    ///
    /// # Errors
    /// [`KeysUnavailable`] when the fetch fails or has failed lately.
    pub async fn get(&self, url: &Url, now: Timestamp) -> Result<Arc<S>, KeysUnavailable> {
        let entry = self.entry(url, now);
        let (known, is_due) = entry.state().without_a_fetch(now);
        if let Some(known) = known {
            if is_due && let Ok(permit) = Arc::clone(&entry.fetching).try_lock_owned() {
                drop(self.fetch(&entry, url, now, permit));
            }
            return known;
        }
        let permit = Arc::clone(&entry.fetching).lock_owned().await;
        if let (Some(known), _) = entry.state().without_a_fetch(now) {
            return known;
        }
        let _ = self.fetch(&entry, url, now, permit).await;
        entry.state().within(USABLE_FOR, now).ok_or(KeysUnavailable)
    }

    /// The set at `url` after `seen` turned out to lack a key: a newer one that is already here, or one that is fetched
    /// for it. `None` when no newer one may be fetched now or the fetch failed.
    pub async fn refresh_for_unknown_key(&self, url: &Url, now: Timestamp, seen: &Arc<S>) -> Option<Arc<S>> {
        let entry = self.entry(url, now);
        if let Some(newer) = entry.state().newer_than(seen, now) {
            return Some(newer);
        }
        // Whoever comes while a fetch is running waits for it whatever was spent: it may bring the key.
        let idle = entry.fetching.try_lock().is_ok();
        if idle && !entry.state().may_refresh(now) {
            return None;
        }
        let permit = Arc::clone(&entry.fetching).lock_owned().await;
        {
            let mut state = entry.state();
            let newer = state.newer_than(seen, now);
            if newer.is_some() || !state.may_refresh(now) {
                return newer;
            }
            state.refreshed_for_unknown_key_at = Some(now);
        }
        let _ = self.fetch(&entry, url, now, permit).await;
        entry.state().newer_than(seen, now)
    }

    /// The URLs of which the last fetch failed, with the instant at which it did.
    pub fn failing(&self) -> Vec<(Url, Timestamp)> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let failing = entries.iter().filter_map(|(url, entry)| Some((url.clone(), entry.state().failed_at?)));
        failing.collect()
    }

    /// Fetches in a task of its own, which ends even when the request that began it is dropped: no budget is spent for
    /// nothing.
    fn fetch(
        &self,
        entry: &Arc<Entry<S>>,
        url: &Url,
        now: Timestamp,
        permit: OwnedMutexGuard<()>,
    ) -> tokio::task::JoinHandle<()> {
        let (source, parse, entry, url) = (Arc::clone(&self.source), self.parse, Arc::clone(entry), url.clone());
        tokio::spawn(async move {
            let bytes = source.fetch(&url).await;
            let set = bytes.as_deref().and_then(parse);
            if bytes.is_some() && set.is_none() {
                tracing::warn!(host = url.host_str().unwrap_or_default(), "what was fetched is not a key set");
            }
            {
                let mut state = entry.state();
                match set {
                    Some(set) => {
                        state.current = Some(Current { set: Arc::new(set), fetched_at: now });
                        state.failed_at = None;
                    }
                    None => state.failed_at = Some(now),
                }
            }
            drop(permit);
        })
    }

    fn entry(&self, url: &Url, now: Timestamp) -> Arc<Entry<S>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(url) {
            entry.state().asked_at = now;
            return Arc::clone(entry);
        }
        if entries.len() >= self.capacity {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.state().asked_at).map(|(url, _)| url.clone());
            if let Some(oldest) = oldest {
                entries.remove(&oldest);
            }
        }
        Arc::clone(entries.entry(url.clone()).or_insert_with(|| Arc::new(Entry::new(now))))
    }
}
