//! What an administrator changes about the own account: the password and the second factor. Each asks for the password
//! once more, so that an open browser is not enough, and ends every session of theirs; the one that asks goes on under another
//! value, so that a copy of its cookie is worth nothing either.

use serde_json::json;

use super::super::Fault;
use super::administrators::described;
use super::log_in::{known, totp_row};
use super::passwords::{self, Queue, Worked};
use super::session::SessionCaller;
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::password::Fit;
use crate::crypto::{codes, totp};
use crate::domain::account::{Administrator, PoorPassword, check_password};
use crate::domain::audit::Action;
use crate::limits::{ClientAddress, LogIn, LogInTry, Spent};
use crate::secret::Secret;
use crate::store::{AccountChange, ChangeAccount, ChangedAccount, Renewal};

/// What became of a change of the own account.
#[derive(Clone, Debug)]
pub enum ChangedOwn {
    /// It is done, and every session of theirs has ended but this one, which goes on under another value.
    Done(Renewed),
    /// The present password is another.
    WrongPassword,
    /// The new password is not taken.
    PoorPassword(PoorPassword),
    /// The code is not the one that the app should show.
    WrongCode,
    /// The account was changed at this instant by somebody else, or what was offered is not good any more: look again.
    Stale,
    /// Too many wrong ones.
    TooManyTries(Spent),
    /// Too many passwords are checked at this moment.
    Busy(Spent),
}

/// What a browser gets in the place of what it had, whose copies are worth nothing now.
#[derive(Clone, Debug)]
pub struct Renewed {
    /// The value of the session cookie.
    pub session: Secret<String>,
    /// What tells later that this browser has logged in under this name.
    pub known: Secret<String>,
}

/// A second factor that is offered: for one session, and nothing is stored until it is proven.
#[derive(Debug)]
pub struct Offered {
    /// What comes back with the code: the secret, sealed for this session.
    pub sealed: String,
    /// The secret as it is typed into an app.
    pub secret: Secret<String>,
    /// What an app reads from a picture.
    pub uri: Secret<String>,
}

/// Offers a second factor.
///
/// # Errors
/// [`Fault`].
pub fn offer_second_factor(app: &App, caller: &SessionCaller) -> Result<Offered, Fault> {
    let secret = totp::secret(&app.entropy);
    let sealed = app.master.seal(secret.expose(), &offer_row(caller), &app.entropy)?;
    let uri = Secret::new(totp::uri(&secret, &app.config.provider_name, caller.name.as_str()));
    Ok(Offered { sealed, secret: Secret::new(totp::base32(&secret)), uri })
}

/// The same offer again, for whoever mistyped. `None` when it was not made for this session.
pub fn offered_again(app: &App, caller: &SessionCaller, sealed: &str) -> Option<Offered> {
    let secret = app.master.open(sealed, &offer_row(caller)).ok()?;
    let uri = Secret::new(totp::uri(&secret, &app.config.provider_name, caller.name.as_str()));
    Some(Offered { sealed: sealed.to_owned(), secret: Secret::new(totp::base32(&secret)), uri })
}

fn offer_row(caller: &SessionCaller) -> String {
    format!("administrator/{}/offer/{}", caller.name, caller.digest.to_hex())
}

/// Gives the administrator another password.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn change_password(
    app: &App,
    caller: &SessionCaller,
    address: ClientAddress,
    present: &Secret<String>,
    new: &Secret<String>,
) -> Result<ChangedOwn, Fault> {
    if let Err(poor) = check_password(&caller.name, new.expose()) {
        return Ok(ChangedOwn::PoorPassword(poor));
    }
    let (account, attempt) = match confirmed(app, caller, address, present).await? {
        Ok(confirmed) => confirmed,
        Err(refused) => return Ok(refused),
    };
    let hash = match passwords::hash(app, Queue::Known, new).await? {
        Worked::Done(hash) => hash,
        Worked::Busy(spent) => return Ok(ChangedOwn::Busy(spent)),
    };
    attempt.right();
    write(app, caller, &account, Action::PasswordChanged, &AccountChange::Password(hash)).await
}

/// Turns the second factor that was offered on, once the app shows its code.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn enable_second_factor(
    app: &App,
    caller: &SessionCaller,
    address: ClientAddress,
    present: &Secret<String>,
    sealed: &str,
    code: &str,
) -> Result<ChangedOwn, Fault> {
    let (account, attempt) = match confirmed(app, caller, address, present).await? {
        Ok(confirmed) => confirmed,
        Err(refused) => return Ok(refused),
    };
    let Ok(secret) = app.master.open(sealed, &offer_row(caller)) else { return Ok(ChangedOwn::Stale) };
    if account.has_second_factor() {
        return Ok(ChangedOwn::Stale);
    }
    let now = app.clock.now();
    // The secret is on the page: its code proves that the app has it, and is no secret to be guessed.
    let Some(step) = totp::accepted_step(&secret, code, now, None)? else { return Ok(ChangedOwn::WrongCode) };
    attempt.right();
    let sealed = app.master.seal(secret.expose(), &totp_row(&caller.name), &app.entropy)?;
    write(app, caller, &account, Action::SecondFactorChanged, &AccountChange::SecondFactor(sealed, step)).await
}

/// Turns the second factor off.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn disable_second_factor(
    app: &App,
    caller: &SessionCaller,
    address: ClientAddress,
    present: &Secret<String>,
) -> Result<ChangedOwn, Fault> {
    let (account, attempt) = match confirmed(app, caller, address, present).await? {
        Ok(confirmed) => confirmed,
        Err(refused) => return Ok(refused),
    };
    attempt.right();
    if !account.has_second_factor() {
        return Ok(ChangedOwn::Stale);
    }
    write(app, caller, &account, Action::SecondFactorChanged, &AccountChange::NoSecondFactor).await
}

/// The account, once its present password was given again. Wrong ones are counted against the session.
async fn confirmed<'a>(
    app: &'a App,
    caller: &SessionCaller,
    address: ClientAddress,
    present: &Secret<String>,
) -> Result<Result<(Administrator, LogInTry<'a>), ChangedOwn>, Fault> {
    let guess = LogIn { name: codes::digest(caller.name.as_str()), address, known: Some(caller.digest) };
    let attempt = match app.limits.log_ins.begin(&guess) {
        Ok(attempt) => attempt,
        Err(spent) => return Ok(Err(ChangedOwn::TooManyTries(spent))),
    };
    let account = app.store.administrator(&caller.name).await?.filter(Administrator::is_enabled);
    let Some(account) = account else { return Ok(Err(ChangedOwn::Stale)) };
    match passwords::verify(app, Queue::Known, present, Some(&account.password_hash)).await? {
        Worked::Done(Fit::Right | Fit::RightAtAnotherCost) => Ok(Ok((account, attempt))),
        Worked::Done(Fit::Wrong) => {
            attempt.wrong();
            Ok(Err(ChangedOwn::WrongPassword))
        }
        Worked::Busy(spent) => Ok(Err(ChangedOwn::Busy(spent))),
    }
}

async fn write(
    app: &App,
    caller: &SessionCaller,
    account: &Administrator,
    action: Action,
    change: &AccountChange,
) -> Result<ChangedOwn, Fault> {
    let now: Timestamp = app.clock.now();
    let mut after = account.clone();
    match change {
        AccountChange::SecondFactor(sealed, _) => after.sealed_totp = Some(sealed.clone()),
        AccountChange::NoSecondFactor => after.sealed_totp = None,
        _ => {}
    }
    let payload = match action {
        Action::PasswordChanged => json!({ "by": "themselves" }),
        _ => json!({ "before": described(account), "after": described(&after) }),
    };
    let entry = caller.by.entry(None, now, action, &caller.name, payload);
    let session = codes::session_token(&app.entropy);
    let known = known(app, &caller.name, account.version + 1, now)?;
    let renews = Some(Renewal { from: caller.digest, to: codes::digest(session.expose()) });
    let asked = ChangeAccount { name: &caller.name, version: account.version, change, renews, entry: &entry };
    Ok(match app.store.change_account(&asked).await? {
        ChangedAccount::Done => ChangedOwn::Done(Renewed { session, known }),
        ChangedAccount::Stale | ChangedAccount::LastOwner => ChangedOwn::Stale,
    })
}
