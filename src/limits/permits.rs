//! Work of which only so much goes on at once, and for which only so many wait: checking passwords.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Spent;

/// How long to wait when even the places of those who wait are taken: by then most of them are done.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// So many at once, and so many more that wait.
#[derive(Debug)]
pub struct Permits {
    working: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// Leave to do the work. It goes with the work to wherever that is done, so that a request that is given up in between
/// does not make room for another while its work goes on.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    _working: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Permits {
    /// `at_once` at once, and `waiting` more that wait.
    pub fn new(at_once: usize, waiting: usize) -> Self {
        let places = at_once.saturating_add(waiting).min(Semaphore::MAX_PERMITS);
        Self { working: Arc::new(Semaphore::new(at_once)), places: Arc::new(Semaphore::new(places)) }
    }

    /// Waits for leave to do the work.
    ///
    /// # Errors
    /// [`Spent`], at once, when as many wait as may.
    pub async fn acquire(&self) -> Result<Permit, Spent> {
        let spent = Spent { retry_after: RETRY_AFTER };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| spent)?;
        let working = Arc::clone(&self.working).acquire_owned().await.map_err(|_| spent)?;
        Ok(Permit { _working: working, _place: place })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    // case 75
    #[tokio::test]
    async fn so_many_work_so_many_wait_and_whoever_is_beyond_is_told_at_once() {
        let permits = Permits::new(2, 1);
        let (first, second) = (permits.acquire().await.unwrap(), permits.acquire().await.unwrap());
        let mut third = Box::pin(permits.acquire());
        assert!(third.as_mut().now_or_never().is_none(), "it waits");
        assert_eq!(permits.acquire().await.err(), Some(Spent { retry_after: RETRY_AFTER }));
        drop(first);
        let third = third.await.unwrap();
        let mut fourth = Box::pin(permits.acquire());
        assert!(fourth.as_mut().now_or_never().is_none());
        // Whoever goes away leaves the place to another.
        drop(fourth);
        let mut fifth = Box::pin(permits.acquire());
        assert!(fifth.as_mut().now_or_never().is_none());
        drop((second, third));
        assert!(fifth.await.is_ok());
    }
}
