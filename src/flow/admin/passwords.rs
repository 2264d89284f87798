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

/// Whether `password` is the one of `stored`; without one, the same work, and it is not.
pub(super) async fn verify(
    app: &App,
    password: &Secret<String>,
    stored: Option<&Secret<String>>,
) -> Result<Worked<Fit>, Fault> {
    let (password, stored) = (password.clone(), stored.cloned());
    work(app, move |passwords| passwords.verify(&password, stored.as_ref())).await
}

/// What is stored of `password`.
pub(super) async fn hash(app: &App, password: &Secret<String>) -> Result<Worked<Secret<String>>, Fault> {
    let (password, entropy) = (password.clone(), app.entropy.clone());
    work(app, move |passwords| passwords.hash(&password, &entropy)).await
}

async fn work<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&Passwords) -> Result<T, CryptoFailure> + Send + 'static,
) -> Result<Worked<T>, Fault> {
    let permit = match app.limits.passwords.acquire().await {
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
