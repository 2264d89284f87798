//! `assent resource-server-key`: the keys with which a Brand's own account API may ask about tokens.
//!
//! A key is printed once, when it is made. It is kept as a digest, so nothing prints it again.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::confirm::Confirm;
use super::failure::Failure;
use super::{command_line, with_app};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::id::{BrandId, InvalidId, ResourceServerKeyId};
use crate::domain::resource_server_key::ResourceServerKey;
use crate::flow::admin::resource_server_keys::{self as keys, CreatedKey, RevokedKey};
use crate::flow::admin::{By, Verdict};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a key and print it, once.
    Create {
        /// The Brand whose delegation tokens it may ask about, by its id.
        #[arg(long, value_name = "ID", value_parser = brand)]
        brand: BrandId,
        /// What it is for, in a few words.
        #[arg(long)]
        name: String,
        /// In how many days it ends; left out, it is good until it is revoked.
        #[arg(long, value_name = "N")]
        days: Option<u32>,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// All keys, the newest first, at most 1 000.
    List {
        /// Of this Brand, by its id.
        #[arg(long, value_name = "ID", value_parser = brand)]
        brand: Option<BrandId>,
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key, at once and on every node.
    Revoke {
        /// Its id.
        #[arg(value_parser = key_id)]
        key: ResourceServerKeyId,
        #[command(flatten)]
        confirm: Confirm,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
}

fn brand(text: &str) -> Result<BrandId, InvalidId> {
    BrandId::parse(text)
}

fn key_id(text: &str) -> Result<ResourceServerKeyId, InvalidId> {
    ResourceServerKeyId::parse(text)
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        let now = app.clock.now();
        match command {
            Command::Create { brand, name, days, json } => {
                let created = done(keys::create(app, &by, &brand, &name, days).await?, "Brand", &brand)?;
                let (key, secret) = match created {
                    CreatedKey::Done { key, secret } => (key, secret),
                    CreatedKey::Invalid(invalid) => return Err(Failure::Said(format!("--{invalid}"))),
                };
                if json {
                    let mut shown = as_json(&key, now);
                    shown.insert("key".to_owned(), json!(secret.expose()));
                    writeln!(out, "{}", Value::Object(shown))?;
                } else {
                    writeln!(out, "{}", as_line(&key, now))?;
                    writeln!(out, "{}", secret.expose())?;
                    eprintln!("assent: keep this key; it is not shown again");
                }
            }
            Command::List { brand, json } => {
                let Verdict::Done(keys) = keys::list(app, &by, brand.as_ref()).await? else { return Ok(()) };
                for key in keys {
                    let line = if json { Value::Object(as_json(&key, now)).to_string() } else { as_line(&key, now) };
                    writeln!(out, "{line}")?;
                }
            }
            Command::Revoke { key: id, confirm, json } => {
                let mut key = done(keys::show(app, &by, &id).await?, "resource-server key", &id)?;
                let mut what = "would be revoked";
                if !confirm.dry_run {
                    let line = as_line(&key, now);
                    confirm.ask(&format!("This revokes, for good: {line}."), "revoke")?;
                    what = revoked(app, &by, &id).await?;
                    key = done(keys::show(app, &by, &id).await?, "resource-server key", &id)?;
                }
                if json {
                    let mut shown = as_json(&key, now);
                    shown.insert("what".to_owned(), json!(what));
                    writeln!(out, "{}", Value::Object(shown))?;
                } else {
                    writeln!(out, "{what} {}", as_line(&key, now))?;
                }
            }
        }
        Ok(())
    })
}

async fn revoked(app: &App, by: &By, id: &ResourceServerKeyId) -> Result<&'static str, Failure> {
    Ok(match done(keys::revoke(app, by, id).await?, "resource-server key", id)? {
        RevokedKey::Revoked => "revoked",
        RevokedKey::AlreadyRevoked => "revoked before",
    })
}

fn done<T>(verdict: Verdict<T>, kind: &str, id: &impl ToString) -> Result<T, Failure> {
    match verdict {
        Verdict::Done(value) => Ok(value),
        Verdict::Forbidden => Err(Failure::Said("that is not allowed".to_owned())),
        Verdict::NotThere => Err(Failure::Said(format!("there is no {kind} {}", id.to_string()))),
    }
}

/// `live`, `expired` or `revoked`.
fn state(key: &ResourceServerKey, now: Timestamp) -> &'static str {
    match key.revoked_at {
        Some(_) => "revoked",
        None if key.is_live(now) => "live",
        None => "expired",
    }
}

fn as_json(key: &ResourceServerKey, now: Timestamp) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut show = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    show("keyId", json!(key.id));
    show("state", json!(state(key, now)));
    show("brandId", json!(key.brand));
    show("name", json!(key.name));
    show("createdAt", json!(key.created_at.to_rfc3339()));
    for (name, at) in [("expiresAt", key.expires_at), ("revokedAt", key.revoked_at)] {
        if let Some(at) = at {
            show(name, json!(at.to_rfc3339()));
        }
    }
    shown
}

fn as_line(key: &ResourceServerKey, now: Timestamp) -> String {
    let until = key.expires_at.map_or_else(String::new, |at| format!(" until {}", at.to_rfc3339()));
    format!("{} {:<7} {} {}{until}", key.id, state(key, now), key.brand, key.name)
}
