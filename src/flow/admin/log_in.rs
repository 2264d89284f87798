//! Administrators log in: with a password, and with a code where they have a second factor.
//!
//! Whoever is unknown, disabled or has another password gets one and the same answer after the same work. Every log-in
//! gives a session that was not there before; one that the browser brings ends.

use std::time::Duration;

use serde_json::json;

use super::super::Fault;
use super::By;
use super::passwords::{self, Queue, Worked};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::password::Fit;
use crate::crypto::{codes, totp};
use crate::domain::account::{Administrator, AdministratorSession, LONGEST_PASSWORD, Stage};
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::id::{AdministratorName, Digest};
use crate::limits::{ClientAddress, LogIn, Spent};
use crate::metrics::Credential;
use crate::secret::Secret;
use crate::store::OpenSession;

/// How long a second factor is waited for.
const SECOND_FACTOR_WITHIN: Duration = Duration::from_secs(300);

/// How long a browser that logged in is known to have.
pub const KNOWN_FOR: Duration = Duration::from_secs(180 * 86_400);

/// From where a log-in comes.
#[derive(Clone, Copy, Debug)]
pub struct Browser<'a> {
    /// Its address.
    pub address: ClientAddress,
    /// What it got when it logged in before.
    pub known: Option<&'a str>,
    /// The session that it has.
    pub session: Option<&'a str>,
    /// During which request.
    pub request: &'a RequestId,
}

/// What becomes of a log-in, or of its first half.
#[derive(Debug)]
pub enum LoggedIn {
    /// Logged in.
    Done {
        /// The value of the session cookie.
        session: Secret<String>,
        /// What tells later that this browser has logged in under this name.
        known: Secret<String>,
    },
    /// The password is right, and a code is asked for.
    SecondFactor {
        /// The value of the session cookie, with which nothing else can be done.
        session: Secret<String>,
    },
    /// There is no such name, or password, or code; which of them is not told.
    Refused,
    /// The half that was done before has run out, or never was.
    StartOver,
    /// Too many wrong ones.
    TooManyTries {
        /// For `Retry-After`.
        retry_after: Duration,
    },
    /// Too many log in at this moment.
    Busy {
        /// For `Retry-After`.
        retry_after: Duration,
    },
}

/// Counts and logs why a log-in was refused. It is not told.
fn note_refusal(app: &App, reason: &'static str) {
    app.metrics.refused(Credential::Password, reason);
    tracing::info!(reason, "a log-in was refused");
}

fn too_many(app: &App, Spent { retry_after }: Spent) -> LoggedIn {
    note_refusal(app, "too_many_tries");
    LoggedIn::TooManyTries { retry_after }
}

/// Checks a name and a password.
///
/// # Errors
/// [`Fault`]; nobody is logged in.
pub async fn log_in(
    app: &App,
    typed: &str,
    password: &Secret<String>,
    browser: &Browser<'_>,
) -> Result<LoggedIn, Fault> {
    let now = app.clock.now();
    let name = AdministratorName::typed(typed).ok();
    // What is no name is counted like one that nobody has.
    let counted = name.as_ref().map_or_else(|| typed.trim().to_lowercase(), AdministratorName::to_string);
    let account = match &name {
        Some(name) => app.store.administrator(name).await?,
        None => None,
    };
    let guess = guess(app, &counted, account.as_ref(), browser, now);
    let attempt = match app.limits.log_ins.begin(&guess) {
        Ok(attempt) => attempt,
        Err(spent) => return Ok(too_many(app, spent)),
    };
    let queue = if guess.known.is_some() { Queue::Known } else { Queue::Anybody };
    // No password is as long; whatever is typed takes the same work.
    let stored = account.as_ref().map(|account| &account.password_hash);
    let fit = match passwords::verify(app, queue, password, stored).await? {
        Worked::Done(fit) => fit,
        Worked::Busy(Spent { retry_after }) => return Ok(LoggedIn::Busy { retry_after }),
    };
    let account = account.filter(|account| account.is_enabled() && password.expose().len() <= LONGEST_PASSWORD);
    let (Some(account), Fit::Right | Fit::RightAtAnotherCost) = (account, fit) else {
        attempt.wrong();
        note_refusal(app, "wrong_password");
        return Ok(LoggedIn::Refused);
    };
    if fit == Fit::RightAtAnotherCost
        && let Worked::Done(hash) = passwords::hash(app, queue, password).await?
    {
        app.store.rehash_password(&account, &hash).await?;
    }
    if account.has_second_factor() {
        // The place is given back and nothing is forgotten: the codes are counted with the passwords.
        drop(attempt);
        let opened = open(app, &account, Half::First, browser, now).await?;
        return Ok(opened.map_or(LoggedIn::Refused, |session| LoggedIn::SecondFactor { session }));
    }
    match open(app, &account, Half::Whole, browser, now).await? {
        Some(session) => {
            attempt.right();
            Ok(LoggedIn::Done { session, known: known(app, &account.name, account.version, now)? })
        }
        // Changed while the password was checked.
        None => Ok(LoggedIn::Refused),
    }
}

/// Whose first half of a log-in waits for a code in this browser.
///
/// # Errors
/// [`Fault`].
pub async fn pending(app: &App, session: &str) -> Result<Option<AdministratorName>, Fault> {
    let found = app.store.administrator_session(codes::digest(session)).await?;
    Ok(found.filter(|session| session.is_pending(app.clock.now())).map(|session| session.administrator))
}

/// Checks the code of a second factor, after the password was right in this browser. Each code is good once.
///
/// # Errors
/// [`Fault`]; nobody is logged in.
pub async fn second_factor(app: &App, code: &str, browser: &Browser<'_>) -> Result<LoggedIn, Fault> {
    let now = app.clock.now();
    let Some(session) = browser.session else { return Ok(LoggedIn::StartOver) };
    let Some(name) = pending(app, session).await? else { return Ok(LoggedIn::StartOver) };
    let account = app.store.administrator(&name).await?.filter(Administrator::is_enabled);
    let Some(account) = account else { return Ok(LoggedIn::StartOver) };
    let attempt = match app.limits.log_ins.begin(&guess(app, name.as_str(), Some(&account), browser, now)) {
        Ok(attempt) => attempt,
        Err(spent) => return Ok(too_many(app, spent)),
    };
    let Some(sealed) = &account.sealed_totp else { return Ok(LoggedIn::StartOver) };
    let secret = app.master.open(sealed, &totp_row(&name))?;
    let Some(step) = totp::accepted_step(&secret, code, now, account.totp_step)? else {
        attempt.wrong();
        note_refusal(app, "wrong_code");
        return Ok(LoggedIn::Refused);
    };
    match open(app, &account, Half::Second { step, pending: codes::digest(session) }, browser, now).await? {
        Some(session) => {
            attempt.right();
            Ok(LoggedIn::Done { session, known: known(app, &name, account.version, now)? })
        }
        // The code was used by somebody else at this instant, or the account has changed.
        None => {
            attempt.wrong();
            Ok(LoggedIn::Refused)
        }
    }
}

/// To which row the secret of a second factor is sealed.
pub(super) fn totp_row(name: &AdministratorName) -> String {
    format!("administrator/{name}/totp")
}

fn guess(app: &App, name: &str, account: Option<&Administrator>, browser: &Browser<'_>, now: Timestamp) -> LogIn {
    let known = browser.known.filter(|known| account.is_some_and(|account| is_known(app, account, known, now)));
    LogIn { name: codes::digest(name), address: browser.address, known: known.map(codes::digest) }
}

fn known_row(name: &str) -> String {
    format!("administrator/{name}/browser")
}

/// What tells later that a browser has logged in under `name`, whose account has this `version`: sealed, so that nobody
/// else can make one, and worth nothing once the account is changed.
pub(super) fn known(
    app: &App,
    name: &AdministratorName,
    version: i64,
    now: Timestamp,
) -> Result<Secret<String>, Fault> {
    let nonce = u64::from_be_bytes(app.entropy.bytes());
    let content = format!("{} {version} {nonce:016x}", now.millis());
    Ok(Secret::new(app.master.seal(content.as_bytes(), &known_row(name.as_str()), &app.entropy)?))
}

fn is_known(app: &App, account: &Administrator, known: &str, now: Timestamp) -> bool {
    let Ok(content) = app.master.open(known, &known_row(account.name.as_str())) else { return false };
    let mut parts = std::str::from_utf8(content.expose()).unwrap_or_default().split(' ');
    let mut number = || parts.next()?.parse().ok();
    let (since, version) = (number().map(Timestamp::from_millis), number());
    since.is_some_and(|since| now < since.plus(KNOWN_FOR)) && version == Some(account.version)
}

/// Which part of a log-in opens a session.
enum Half {
    First,
    Second { step: i64, pending: Digest },
    Whole,
}

async fn open(
    app: &App,
    account: &Administrator,
    half: Half,
    browser: &Browser<'_>,
    now: Timestamp,
) -> Result<Option<Secret<String>>, Fault> {
    let (stage, life) = match half {
        Half::First => (Stage::SecondFactor, SECOND_FACTOR_WITHIN),
        Half::Second { .. } | Half::Whole => (Stage::Live, app.config.administrators.session()),
    };
    let cookie = codes::session_token(&app.entropy);
    let session = AdministratorSession {
        administrator: account.name.clone(),
        stage,
        created_at: now,
        last_seen_at: now,
        expires_at: now.plus(life),
    };
    let (step, pending) = match half {
        Half::Second { step, pending } => (Some(step), Some(pending)),
        Half::First | Half::Whole => (None, None),
    };
    let actor = Actor::Administrator(account.name.to_string());
    let by = By { actor, access: account.access.clone(), request: browser.request.clone() };
    let payload = json!({ "secondFactor": step.is_some() });
    let entry = by.entry(None, now, Action::LoggedIn, &account.name, payload);
    let opening = OpenSession {
        digest: codes::digest(cookie.expose()),
        session: &session,
        version: account.version,
        step,
        pending,
        replaces: browser.session.map(codes::digest),
        request: browser.request,
        entry: (stage == Stage::Live).then_some(&entry),
    };
    Ok(app.store.open_session(&opening).await?.then_some(cookie))
}
