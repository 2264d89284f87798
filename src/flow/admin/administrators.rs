//! Administrators, as owners make, change and remove them. Nobody gives or takes what they have not, and one enabled owner
//! of all Brands is always left.

use serde_json::{Value, json};

use super::super::{ATTEMPTS, Fault, RESTLESS};
use super::api_keys::missing_brand;
use super::passwords::{self, Queue, Worked};
use super::{By, Verdict};
use crate::app::App;
use crate::domain::account::{Administrator, PoorPassword, check_password};
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::audit::Action;
use crate::domain::id::{AdministratorName, BrandId};
use crate::limits::Spent;
use crate::secret::Secret;
use crate::store::{AccountChange, ChangeAccount, ChangedAccount};

/// What became of making an administrator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Created {
    /// They are there.
    Done,
    /// There is one of this name.
    NameTaken,
    /// The password is not taken.
    PoorPassword(PoorPassword),
    /// There is no such Brand.
    NoBrand(BrandId),
    /// Too many passwords are hashed at this moment.
    Busy(Spent),
}

/// A change that owners make.
#[derive(Clone, Debug)]
pub enum Change {
    /// Another role, or other Brands. Ends their sessions.
    Access(Access),
    /// They are let in no longer, at once.
    Disable,
    /// They are let in again.
    Enable,
    /// Another password: they have forgotten theirs. Ends their sessions.
    Password(Secret<String>),
    /// No second factor any more: they have lost it. Ends their sessions.
    NoSecondFactor,
    /// They go. Their name in the audit log stays.
    Remove,
}

/// What became of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Changed {
    /// It is done.
    Done,
    /// It was so before.
    AsBefore,
    /// Nobody would be left who can do all there is to do; nothing was done.
    LastOwner,
    /// The password is not taken.
    PoorPassword(PoorPassword),
    /// There is no such Brand.
    NoBrand(BrandId),
    /// Too many passwords are hashed at this moment.
    Busy(Spent),
}

/// The administrators within reach, by name.
///
/// # Errors
/// [`Fault`].
pub async fn list(app: &App, by: &By) -> Result<Vec<Administrator>, Fault> {
    let all = app.store.administrators().await?;
    Ok(all.into_iter().filter(|account| by.access.see(&account.access).is_ok()).collect())
}

/// An administrator.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, name: &AdministratorName) -> Result<Verdict<Administrator>, Fault> {
    let account = app.store.administrator(name).await?;
    let account = account.filter(|account| by.access.see(&account.access).is_ok());
    Ok(account.map_or(Verdict::NotThere, Verdict::Done))
}

/// Makes an administrator.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn create(
    app: &App,
    by: &By,
    name: &AdministratorName,
    access: Access,
    password: &Secret<String>,
) -> Result<Verdict<Created>, Fault> {
    if let Err(denied) = by.access.administer(&access) {
        return Ok(denied.into());
    }
    if let Some(missing) = missing_brand(app, &access.reach) {
        return Ok(Verdict::Done(Created::NoBrand(missing)));
    }
    if let Err(poor) = check_password(name, password.expose()) {
        return Ok(Verdict::Done(Created::PoorPassword(poor)));
    }
    let password_hash = match passwords::hash(app, Queue::Known, password).await? {
        Worked::Done(hash) => hash,
        Worked::Busy(spent) => return Ok(Verdict::Done(Created::Busy(spent))),
    };
    let now = app.clock.now();
    let account = Administrator {
        name: name.clone(),
        password_hash,
        access,
        sealed_totp: None,
        totp_step: None,
        version: 1,
        created_at: now,
        changed_at: now,
        logged_in_at: None,
        disabled_at: None,
    };
    let payload = json!({ "after": described(&account) });
    let entry = by.entry(None, now, Action::AdministratorCreated, name, payload);
    let made = app.store.create_administrator(&account, &entry).await?;
    Ok(Verdict::Done(if made { Created::Done } else { Created::NameTaken }))
}

/// Changes an administrator.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn change(app: &App, by: &By, name: &AdministratorName, change: &Change) -> Result<Verdict<Changed>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Owner) {
        return Ok(denied.into());
    }
    let mut hashed = None;
    for _ in 0..ATTEMPTS {
        let Some(account) = app.store.administrator(name).await? else { return Ok(Verdict::NotThere) };
        if let Err(verdict) = judge(app, by, &account, change) {
            return Ok(verdict);
        }
        let (action, wanted) = match change {
            Change::Access(access) => (Action::AdministratorChanged, AccountChange::Access(access.clone())),
            Change::Disable => (Action::AdministratorChanged, AccountChange::Disable),
            Change::Enable => (Action::AdministratorChanged, AccountChange::Enable),
            Change::NoSecondFactor => (Action::SecondFactorChanged, AccountChange::NoSecondFactor),
            Change::Remove => (Action::AdministratorRemoved, AccountChange::Remove),
            Change::Password(password) => {
                let hash = match hashed.take() {
                    Some(hash) => hash,
                    None => match passwords::hash(app, Queue::Known, password).await? {
                        Worked::Done(hash) => hash,
                        Worked::Busy(spent) => return Ok(Verdict::Done(Changed::Busy(spent))),
                    },
                };
                hashed = Some(hash.clone());
                (Action::PasswordChanged, AccountChange::Password(hash))
            }
        };
        match write(app, by, &account, action, &wanted).await? {
            ChangedAccount::Done => return Ok(Verdict::Done(Changed::Done)),
            ChangedAccount::LastOwner => return Ok(Verdict::Done(Changed::LastOwner)),
            ChangedAccount::Stale => {}
        }
    }
    Err(RESTLESS)
}

/// What [`change`] would do now.
///
/// # Errors
/// [`Fault`].
pub async fn would_change(
    app: &App,
    by: &By,
    name: &AdministratorName,
    change: &Change,
) -> Result<Verdict<Changed>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Owner) {
        return Ok(denied.into());
    }
    let accounts = app.store.administrators().await?;
    let Some(account) = accounts.iter().find(|account| account.name == *name) else { return Ok(Verdict::NotThere) };
    if let Err(verdict) = judge(app, by, account, change) {
        return Ok(verdict);
    }
    let takes_an_owner = match change {
        Change::Access(access) => !access.is_everything(),
        Change::Disable | Change::Remove => true,
        Change::Enable | Change::NoSecondFactor | Change::Password(_) => false,
    };
    let is_other_owner = |other: &Administrator| other.name != *name && other.is_full_owner();
    let is_last = account.is_full_owner() && !accounts.iter().any(is_other_owner);
    Ok(Verdict::Done(if takes_an_owner && is_last { Changed::LastOwner } else { Changed::Done }))
}

/// Whether there is something to do, and for `by`.
fn judge(app: &App, by: &By, account: &Administrator, change: &Change) -> Result<(), Verdict<Changed>> {
    by.access.administer(&account.access)?;
    if let Change::Access(access) = change {
        by.access.administer(access)?;
        // A Brand that was removed may stay within the reach of whoever had it.
        let added = match (&access.reach, &account.access.reach) {
            (Reach::Brands(wanted), Reach::Brands(had)) => Reach::Brands(wanted.difference(had).cloned().collect()),
            (wanted, _) => wanted.clone(),
        };
        if let Some(missing) = missing_brand(app, &added) {
            return Err(Verdict::Done(Changed::NoBrand(missing)));
        }
    }
    let is_as_before = match change {
        Change::Access(access) => account.access == *access,
        Change::Disable => !account.is_enabled(),
        Change::Enable => account.is_enabled(),
        Change::NoSecondFactor => !account.has_second_factor(),
        Change::Remove => false,
        Change::Password(password) => {
            let poor = |poor| Verdict::Done(Changed::PoorPassword(poor));
            check_password(&account.name, password.expose()).map_err(poor)?;
            false
        }
    };
    if is_as_before { Err(Verdict::Done(Changed::AsBefore)) } else { Ok(()) }
}

async fn write(
    app: &App,
    by: &By,
    account: &Administrator,
    action: Action,
    change: &AccountChange,
) -> Result<ChangedAccount, Fault> {
    let now = app.clock.now();
    let mut after = account.clone();
    match change {
        AccountChange::Access(access) => after.access = access.clone(),
        AccountChange::Disable => after.disabled_at = Some(now),
        AccountChange::Enable => after.disabled_at = None,
        AccountChange::NoSecondFactor => after.sealed_totp = None,
        AccountChange::SecondFactor(sealed, _) => after.sealed_totp = Some(sealed.clone()),
        AccountChange::Password(_) | AccountChange::Remove => {}
    }
    let payload = match change {
        AccountChange::Remove => json!({ "before": described(account) }),
        // Of a password there is nothing to tell.
        AccountChange::Password(_) => json!({ "by": "reset" }),
        AccountChange::Access(_) | AccountChange::Disable | AccountChange::Enable => {
            json!({ "before": described(account), "after": described(&after) })
        }
        AccountChange::SecondFactor(..) | AccountChange::NoSecondFactor => {
            json!({ "before": described(account), "after": described(&after) })
        }
    };
    let entry = by.entry(None, now, action, &account.name, payload);
    let asked = ChangeAccount { name: &account.name, version: account.version, change, renews: None, entry: &entry };
    Ok(app.store.change_account(&asked).await?)
}

/// An account as the audit log keeps it.
pub(super) fn described(account: &Administrator) -> Value {
    json!({
        "role": account.access.role, "reach": account.access.reach.to_text(), "enabled": account.is_enabled(),
        "secondFactor": account.has_second_factor(),
    })
}
