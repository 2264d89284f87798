//! `assent admin`: administrators and API keys, for whoever can run the program on the Provider's machine. The first owner
//! is made here.
//!
//! A password comes from a file, standard input or the terminal, never from an argument.

mod key;
mod password;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::confirm::Confirm;
use super::failure::Failure;
use super::table::Table;
use super::{command_line, with_app};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::account::Administrator;
use crate::domain::administrator::{Access, Reach, Role, UnknownRole};
use crate::domain::id::{AdministratorName, BrandId, InvalidId};
use crate::flow::admin::administrators::{self, Change, Changed, Created};
use crate::flow::admin::{By, Verdict};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make an administrator. The password is read from FILE, or from standard input.
    Create {
        /// What they log in with.
        #[arg(long, value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        access: AccessArguments,
        #[command(flatten)]
        password: PasswordArguments,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// All administrators, by name.
    List {
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Give an administrator another role, or other Brands. They log in anew.
    Set {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        access: AccessArguments,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Give an administrator who has lost theirs another password. They log in anew.
    Password {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        password: PasswordArguments,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Turn off the second factor of an administrator who has lost it.
    TotpOff {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        deed: Deed,
    },
    /// Let an administrator in no longer, at once.
    Disable {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        deed: Deed,
    },
    /// Let an administrator in again.
    Enable {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Remove an administrator. Their name in the audit log stays.
    Remove {
        /// Who.
        #[arg(value_parser = name)]
        name: AdministratorName,
        #[command(flatten)]
        deed: Deed,
    },
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Key(key::Command),
}

/// A role, and where it holds.
#[derive(Debug, clap::Args)]
pub(super) struct AccessArguments {
    /// owner, operator or auditor.
    #[arg(long, value_parser = role)]
    role: Role,
    /// At this Brand alone, by its id; may be repeated. Without it, at all Brands, those to come included.
    #[arg(long, value_name = "ID", value_parser = brand)]
    brand: Vec<BrandId>,
}

impl AccessArguments {
    fn access(self) -> Access {
        let brands: BTreeSet<BrandId> = self.brand.into_iter().collect();
        Access { role: self.role, reach: if brands.is_empty() { Reach::All } else { Reach::Brands(brands) } }
    }
}

/// Where a password comes from.
#[derive(Debug, clap::Args)]
pub(super) struct PasswordArguments {
    /// A file whose first line it is; standard input by default.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// What a command takes that takes something away.
#[derive(Debug, clap::Args)]
pub(super) struct Deed {
    #[command(flatten)]
    confirm: Confirm,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

fn name(text: &str) -> Result<AdministratorName, InvalidId> {
    AdministratorName::typed(text)
}

fn role(text: &str) -> Result<Role, UnknownRole> {
    text.parse()
}

fn brand(text: &str) -> Result<BrandId, InvalidId> {
    BrandId::parse(text)
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        match command {
            Command::Create { name, access, password, json } => {
                let password = password::read(password.password_file.as_deref())?;
                let created = administrators::create(app, &by, &name, access.access(), &password).await?;
                match done(created, &name)? {
                    Created::Done => say(out, json, "created", &name),
                    Created::NameTaken => Err(Failure::Said(format!("there is an administrator {name} already"))),
                    Created::PoorPassword(poor) => Err(Failure::Said(format!("the password {poor}"))),
                    Created::NoBrand(brand) => Err(no_brand(&brand)),
                    Created::Busy(spent) => Err(Failure::Said(spent.to_string())),
                }
            }
            Command::List { json } => list(app, &by, json, out).await,
            Command::Set { name, access, json } => {
                change(app, &by, &name, &Change::Access(access.access()), "changed", json, out).await
            }
            Command::Password { name, password, json } => {
                let password = password::read(password.password_file.as_deref())?;
                change(app, &by, &name, &Change::Password(password), "changed", json, out).await
            }
            Command::Enable { name, json } => change(app, &by, &name, &Change::Enable, "enabled", json, out).await,
            Command::Disable { name, deed } => {
                let consequence = "nobody logs in as them any more, and their sessions end";
                take(app, &by, &name, deed, (&Change::Disable, "disabled", consequence), out).await
            }
            Command::TotpOff { name, deed } => {
                let consequence = "they log in with their password alone, and their sessions end";
                take(app, &by, &name, deed, (&Change::NoSecondFactor, "second factor off", consequence), out).await
            }
            Command::Remove { name, deed } => {
                let consequence = "they are gone; API keys that they made live on until they are revoked";
                take(app, &by, &name, deed, (&Change::Remove, "removed", consequence), out).await
            }
            Command::Key(command) => key::run(app, &by, command, out).await,
        }
    })
}

/// What was done for whom; anything but done is a failure.
fn done<T>(verdict: Verdict<T>, name: &AdministratorName) -> Result<T, Failure> {
    match verdict {
        Verdict::Done(done) => Ok(done),
        Verdict::Forbidden => Err(Failure::Said("this is not allowed".to_owned())),
        Verdict::NotThere => Err(Failure::Said(format!("there is no administrator {name}"))),
    }
}

fn no_brand(brand: &BrandId) -> Failure {
    Failure::Said(format!("there is no Brand {brand}; nothing was done"))
}

fn say(out: &mut impl Write, json: bool, what: &str, name: &AdministratorName) -> Result<(), Failure> {
    if json {
        writeln!(out, "{}", json!({ "what": what.trim_end_matches(':'), "name": name }))?;
    } else {
        writeln!(out, "{what} {name}")?;
    }
    Ok(())
}

/// Something that takes something away, once it was confirmed.
async fn take(
    app: &App,
    by: &By,
    name: &AdministratorName,
    deed: Deed,
    (change_it, what, consequence): (&Change, &str, &str),
    out: &mut impl Write,
) -> Result<(), Failure> {
    done(administrators::show(app, by, name).await?, name)?;
    if deed.confirm.dry_run {
        let outcome = done(administrators::would_change(app, by, name, change_it).await?, name)?;
        return tell(outcome, &format!("would be {what}:"), name, deed.json, out);
    }
    deed.confirm.ask(&format!("{name}: {consequence}."), "yes")?;
    change(app, by, name, change_it, what, deed.json, out).await
}

async fn change(
    app: &App,
    by: &By,
    name: &AdministratorName,
    change: &Change,
    what: &str,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let outcome = done(administrators::change(app, by, name, change).await?, name)?;
    tell(outcome, what, name, json, out)
}

fn tell(
    outcome: Changed,
    what: &str,
    name: &AdministratorName,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match outcome {
        Changed::Done => say(out, json, what, name),
        Changed::AsBefore => say(out, json, "unchanged", name),
        Changed::LastOwner => Err(Failure::Said(format!(
            "{name} is the last enabled owner of all Brands: make another first; nothing was done"
        ))),
        Changed::PoorPassword(poor) => Err(Failure::Said(format!("the password {poor}; nothing was done"))),
        Changed::NoBrand(brand) => Err(no_brand(&brand)),
        Changed::Busy(spent) => Err(Failure::Said(spent.to_string())),
    }
}

async fn list(app: &App, by: &By, json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let accounts = administrators::list(app, by).await?;
    if json {
        for account in &accounts {
            writeln!(out, "{}", as_json(account))?;
        }
        return Ok(());
    }
    let mut table = Table::new(["NAME", "ROLE", "BRANDS", "STATE", "SECOND FACTOR", "LAST LOG-IN"]);
    for account in &accounts {
        table.push([
            account.name.to_string(),
            account.access.role.to_string(),
            account.access.reach.to_text(),
            if account.is_enabled() { "enabled" } else { "disabled" }.to_owned(),
            if account.has_second_factor() { "on" } else { "off" }.to_owned(),
            account.logged_in_at.map_or_else(|| "-".to_owned(), Timestamp::to_rfc3339),
        ]);
    }
    if table.is_empty() {
        tracing::warn!("there are no administrators; make an owner with `assent admin create`");
    }
    Ok(table.write(out)?)
}

fn as_json(account: &Administrator) -> Value {
    json!({
        "name": account.name,
        "role": account.access.role,
        "brands": brands(&account.access.reach),
        "enabled": account.is_enabled(),
        "secondFactor": account.has_second_factor(),
        "createdAt": account.created_at.to_rfc3339(),
        "changedAt": account.changed_at.to_rfc3339(),
        "loggedInAt": account.logged_in_at.map(Timestamp::to_rfc3339),
    })
}

/// `"*"`, or a list of ids.
fn brands(reach: &Reach) -> Value {
    match reach {
        Reach::All => json!("*"),
        Reach::Brands(brands) => json!(brands),
    }
}
