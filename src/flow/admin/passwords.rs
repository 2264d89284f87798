//! Passwords, checked and hashed off the threads that answer requests, behind permits: so many at once, so many that wait.

use super::super::Fault;
use crate::app::App;
use crate::crypto::CryptoFailure;
use crate::crypto::password::{Fit, Passwords};
use crate::limits::Spent;
use crate::secret::Secret;

/// What came of a password that was to be checked or hashed.
pub(super) enum Worked<T> {
    Done(T),
    /// As many wait as may.
    Busy(Spent),
}

/// Where one waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queue {
    /// With everybody who tries to log in.
    Anybody,
    /// With those who have a session, or a browser that has logged in before: nobody else can fill this one.
    Known,
}

/// Whether `password` is the one of `stored`; without one, the same work, and it is not.
pub(super) async fn verify(
    app: &App,
    queue: Queue,
    password: &Secret<String>,
    stored: Option<&Secret<String>>,
) -> Result<Worked<Fit>, Fault> {
    let (password, stored) = (password.clone(), stored.cloned());
    work(app, queue, move |passwords| passwords.verify(&password, stored.as_ref())).await
}

/// What is stored of `password`.
pub(super) async fn hash(app: &App, queue: Queue, password: &Secret<String>) -> Result<Worked<Secret<String>>, Fault> {
    let (password, entropy) = (password.clone(), app.entropy.clone());
    work(app, queue, move |passwords| passwords.hash(&password, &entropy)).await
}

async fn work<T: Send + 'static>(
    app: &App,
    queue: Queue,
    work: impl FnOnce(&Passwords) -> Result<T, CryptoFailure> + Send + 'static,
) -> Result<Worked<T>, Fault> {
    let permits = match queue {
        Queue::Anybody => &app.limits.passwords,
        Queue::Known => &app.limits.known_passwords,
    };
    let permit = match permits.acquire().await {
        Ok(permit) => permit,
        Err(spent) => return Ok(Worked::Busy(spent)),
    };
    let passwords = app.passwords.clone();
    let done = tokio::task::spawn_blocking(move || {
        // It goes on when the request is given up, and so does the permit.
        let _permit = permit;
        work(&passwords)
    });
    let done = done.await.map_err(|_| Fault::Impossible("a password check panicked"))?;
    Ok(Worked::Done(done?))
}
