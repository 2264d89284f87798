//! The key sets of others, fetched by URL and kept for a while (RFC 7517 §5; PACT §3.1).
//!
//! A set serves for 10 minutes, then on while it is fetched anew in the background, and for an hour at most when the
//! fetch fails. A signer's unknown `kid` is worth one fetch per 30 seconds and URL. Refuses to fetch one URL twice at the
//! same time, and to ask a host again that has just failed. No URL waits for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::OwnedMutexGuard;
use url::Url;

use crate::clock::Timestamp;
use crate::outbound::Outbound;

/// A set younger than this is served without a further thought.
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

    /// The set at `url`. Waits for a fetch only when there is no usable one.
    ///
    /// # Errors
    /// [`KeysUnavailable`] when the fetch fails or has failed lately.
    pub async fn get(&self, url: &Url, now: Timestamp) -> Result<Arc<S>, KeysUnavailable> {
        let entry = self.entry(url, now);
        let usable = {
            let state = entry.state();
            if let Some(fresh) = state.within(FRESH_FOR, now) {
                return Ok(fresh);
            }
            let usable = state.within(USABLE_FOR, now);
            if state.failed_lately(now) {
                return usable.ok_or(KeysUnavailable);
            }
            usable
        };
        if let Some(usable) = usable {
            if let Ok(permit) = Arc::clone(&entry.fetching).try_lock_owned() {
                drop(self.fetch(&entry, url, now, permit));
            }
            return Ok(usable);
        }
        let permit = Arc::clone(&entry.fetching).lock_owned().await;
        {
            let state = entry.state();
            if let Some(usable) = state.within(USABLE_FOR, now) {
                return Ok(usable);
            }
            if state.failed_lately(now) {
                return Err(KeysUnavailable);
            }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::*;

    /// Key sets that are numbers: the n-th fetch finds n, unless the host is down or speaks nonsense.
    struct Host {
        fetches: AtomicUsize,
        answer: Mutex<Answer>,
        /// A permit for each fetch that may end.
        gate: Semaphore,
    }

    #[derive(Clone, Copy)]
    enum Answer {
        Number,
        Nonsense,
        Nothing,
    }

    impl FetchKeys for Host {
        fn fetch<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Option<Vec<u8>>> {
            Box::pin(async move {
                let number = self.fetches.fetch_add(1, Ordering::SeqCst) + 1;
                if url.path() == "/slow" {
                    self.gate.acquire().await.unwrap().forget();
                }
                match *self.answer.lock().unwrap() {
                    Answer::Number => Some(number.to_string().into_bytes()),
                    Answer::Nonsense => Some(b"<html>".to_vec()),
                    Answer::Nothing => None,
                }
            })
        }
    }

    impl Host {
        fn count(&self) -> usize {
            self.fetches.load(Ordering::SeqCst)
        }

        fn now_answers(&self, answer: Answer) {
            *self.answer.lock().unwrap() = answer;
        }
    }

    fn number(bytes: &[u8]) -> Option<usize> {
        std::str::from_utf8(bytes).ok()?.parse().ok()
    }

    fn cache() -> (Arc<Host>, Arc<RemoteKeys<usize>>) {
        let host = Host { fetches: AtomicUsize::new(0), answer: Mutex::new(Answer::Number), gate: Semaphore::new(0) };
        let host = Arc::new(host);
        (Arc::clone(&host), Arc::new(RemoteKeys::new(host, number)))
    }

    fn url(path: &str) -> Url {
        Url::parse("https://pa.example/").unwrap().join(path).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + seconds)
    }

    /// Lets every task that can go on do so.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    async fn got(keys: &RemoteKeys<usize>, seconds: i64) -> Result<usize, KeysUnavailable> {
        let set = keys.get(&url("/keys"), at(seconds)).await;
        settle().await;
        set.map(|set| *set)
    }

    #[tokio::test]
    async fn a_set_is_fetched_once_in_ten_minutes() {
        let (host, keys) = cache();
        for seconds in [0, 1, 300, 599] {
            assert_eq!(got(&keys, seconds).await, Ok(1));
        }
        assert_eq!(host.count(), 1);
    }

    #[tokio::test]
    async fn an_older_set_is_served_while_a_newer_one_is_fetched() {
        let (host, keys) = cache();
        host.gate.add_permits(1);
        assert_eq!(keys.get(&url("/slow"), at(0)).await.as_deref(), Ok(&1));
        for _ in 0..5 {
            assert_eq!(keys.get(&url("/slow"), at(600)).await.as_deref(), Ok(&1));
            settle().await;
        }
        assert_eq!(host.count(), 2);
        host.gate.add_permits(1);
        settle().await;
        assert_eq!(keys.get(&url("/slow"), at(601)).await.as_deref(), Ok(&2));
        assert_eq!(host.count(), 2);
    }

    #[tokio::test]
    async fn an_older_set_stays_in_use_for_an_hour_when_fetches_fail() {
        for failure in [Answer::Nothing, Answer::Nonsense] {
            let (host, keys) = cache();
            assert_eq!(got(&keys, 0).await, Ok(1));
            host.now_answers(failure);
            for seconds in [600, 601, 1800, 3599] {
                assert_eq!(got(&keys, seconds).await, Ok(1), "{seconds}");
            }
            assert_eq!(host.count(), 4);
            assert_eq!(got(&keys, 3611).await, Err(KeysUnavailable));
            host.now_answers(Answer::Number);
            assert_eq!(got(&keys, 3622).await, Ok(6));
        }
    }

    #[tokio::test]
    async fn a_set_older_than_an_hour_is_not_served_even_once() {
        let (host, keys) = cache();
        assert_eq!(got(&keys, 0).await, Ok(1));
        assert_eq!(got(&keys, 3600).await, Ok(2));
        assert_eq!(host.count(), 2);
    }

    #[tokio::test]
    async fn a_host_that_failed_is_left_alone_for_a_while() {
        let (host, keys) = cache();
        host.now_answers(Answer::Nothing);
        for seconds in [0, 1, 5, 9] {
            assert_eq!(got(&keys, seconds).await, Err(KeysUnavailable));
        }
        assert_eq!(host.count(), 1);
        host.now_answers(Answer::Number);
        assert_eq!(got(&keys, 10).await, Ok(2));
    }

    #[tokio::test]
    async fn fifty_callers_at_once_share_one_fetch_whether_it_succeeds_or_fails() {
        for (answer, expected) in [(Answer::Number, Ok(1)), (Answer::Nothing, Err(KeysUnavailable))] {
            let (host, keys) = cache();
            host.now_answers(answer);
            let mut callers = JoinSet::new();
            for _ in 0..50 {
                let keys = Arc::clone(&keys);
                callers.spawn(async move { keys.get(&url("/slow"), at(0)).await.map(|set| *set) });
            }
            settle().await;
            host.gate.add_permits(50);
            assert_eq!(callers.join_all().await, vec![expected; 50]);
            assert_eq!(host.count(), 1);
        }
    }

    #[tokio::test]
    async fn an_unknown_key_is_worth_one_fetch_in_thirty_seconds() {
        let (host, keys) = cache();
        let url = url("/keys");
        let first = keys.get(&url, at(0)).await.unwrap();
        let second = keys.refresh_for_unknown_key(&url, at(1), &first).await.unwrap();
        assert_eq!(*second, 2);
        for seconds in [1, 2, 15, 30] {
            assert_eq!(keys.refresh_for_unknown_key(&url, at(seconds), &second).await, None);
        }
        assert_eq!(keys.refresh_for_unknown_key(&url, at(30), &first).await.as_deref(), Some(&2));
        assert_eq!(host.count(), 2);
        assert_eq!(keys.refresh_for_unknown_key(&url, at(31), &second).await.as_deref(), Some(&3));
        assert_eq!(keys.get(&url, at(32)).await.as_deref(), Ok(&3));
    }

    #[tokio::test]
    async fn a_failed_fetch_for_an_unknown_key_keeps_the_set_and_spends_the_thirty_seconds() {
        let (host, keys) = cache();
        let url = url("/keys");
        let first = keys.get(&url, at(0)).await.unwrap();
        host.now_answers(Answer::Nonsense);
        for seconds in [1, 5, 20, 30] {
            assert_eq!(keys.refresh_for_unknown_key(&url, at(seconds), &first).await, None);
        }
        assert_eq!(host.count(), 2);
        assert_eq!(keys.get(&url, at(30)).await.as_deref(), Ok(&1));
    }

    #[tokio::test]
    async fn fifty_unknown_keys_at_once_share_one_fetch() {
        let (host, keys) = cache();
        host.gate.add_permits(1);
        let first = keys.get(&url("/slow"), at(0)).await.unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..50 {
            let (keys, first) = (Arc::clone(&keys), Arc::clone(&first));
            callers.spawn(async move { keys.refresh_for_unknown_key(&url("/slow"), at(1), &first).await });
        }
        settle().await;
        host.gate.add_permits(50);
        assert!(callers.join_all().await.into_iter().all(|set| set.as_deref() == Some(&2)));
        assert_eq!(host.count(), 2);
    }

    #[tokio::test]
    async fn a_slow_host_holds_up_neither_its_own_known_keys_nor_another_host() {
        let (host, keys) = cache();
        host.gate.add_permits(1);
        let first = keys.get(&url("/slow"), at(0)).await.unwrap();
        let stuck = tokio::spawn({
            let (keys, first) = (Arc::clone(&keys), Arc::clone(&first));
            async move { keys.refresh_for_unknown_key(&url("/slow"), at(1), &first).await }
        });
        settle().await;
        assert_eq!(host.count(), 2);
        assert_eq!(keys.get(&url("/slow"), at(1)).await.as_deref(), Ok(&1));
        assert_eq!(keys.get(&url("/keys"), at(1)).await.as_deref(), Ok(&3));
        assert!(!stuck.is_finished());
        stuck.abort();
    }

    #[tokio::test]
    async fn a_fetch_goes_on_when_the_request_that_began_it_is_gone() {
        let (host, keys) = cache();
        let gone = tokio::spawn({
            let keys = Arc::clone(&keys);
            async move { keys.get(&url("/slow"), at(0)).await }
        });
        settle().await;
        gone.abort();
        host.gate.add_permits(1);
        settle().await;
        assert_eq!(keys.get(&url("/slow"), at(1)).await.as_deref(), Ok(&1));
        assert_eq!(host.count(), 1);
    }

    #[tokio::test]
    async fn the_url_that_was_asked_for_longest_ago_makes_room() {
        let (host, _) = cache();
        let keys = RemoteKeys { capacity: 2, ..RemoteKeys::new(Arc::<Host>::clone(&host), number) };
        for (path, seconds) in [("/a", 0), ("/b", 1), ("/a", 2), ("/c", 3)] {
            keys.get(&url(path), at(seconds)).await.unwrap();
        }
        assert_eq!(host.count(), 3);
        assert_eq!(keys.get(&url("/a"), at(4)).await.as_deref(), Ok(&1));
        assert_eq!(keys.get(&url("/b"), at(5)).await.as_deref(), Ok(&4));
    }
}
