//! The rules of the cache, with a host that counts and a clock that stands.

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
async fn a_set_is_fetched_once_in_eight_minutes() {
    let (host, keys) = cache();
    for seconds in [0, 1, 300, 479] {
        assert_eq!(got(&keys, seconds).await, Ok(1));
    }
    assert_eq!(host.count(), 1);
}

// case 17
#[tokio::test]
async fn after_ten_minutes_a_set_is_not_served_before_a_newer_one_was_asked_for() {
    let (host, keys) = cache();
    assert_eq!(keys.get(&url("/keys"), at(0)).await.as_deref(), Ok(&1));
    assert_eq!(keys.get(&url("/keys"), at(600)).await.as_deref(), Ok(&2));
    assert_eq!(host.count(), 2);
}

#[tokio::test]
async fn an_older_set_is_served_while_a_newer_one_is_fetched() {
    let (host, keys) = cache();
    host.gate.add_permits(1);
    assert_eq!(keys.get(&url("/slow"), at(0)).await.as_deref(), Ok(&1));
    for _ in 0..5 {
        assert_eq!(keys.get(&url("/slow"), at(480)).await.as_deref(), Ok(&1));
        settle().await;
    }
    assert_eq!(host.count(), 2);
    host.gate.add_permits(1);
    settle().await;
    assert_eq!(keys.get(&url("/slow"), at(599)).await.as_deref(), Ok(&2));
    assert_eq!(host.count(), 2);
}

// case 14
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

// case 14
// case 17
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

// case 16
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

// case 16
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

// case 16
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

// case 16
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
