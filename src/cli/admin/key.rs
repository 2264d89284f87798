//! `assent admin key`: API keys. A key is printed once, when it is made.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::{AccessArguments, Deed, brands, no_brand};
use crate::app::App;
use crate::cli::failure::Failure;
use crate::cli::table::Table;
use crate::clock::Timestamp;
use crate::domain::account::ApiKey;
use crate::domain::id::{ApiKeyId, InvalidId};
use crate::flow::admin::api_keys::{self, MadeApiKey, NewApiKey};
use crate::flow::admin::{By, Verdict};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a key for a program, and print it: it is not stored, and cannot be shown again.
    Create {
        /// What it is for.
        #[arg(long)]
        name: String,
        #[command(flatten)]
        access: AccessArguments,
        /// For how many days it lives.
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// All keys, newest first, those that were revoked or have run out included.
    List {
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key, at once and on every node.
    Revoke {
        /// Its id, as the list shows it.
        #[arg(value_parser = key_id)]
        id: ApiKeyId,
        #[command(flatten)]
        deed: Deed,
    },
}

fn key_id(text: &str) -> Result<ApiKeyId, InvalidId> {
    ApiKeyId::parse(text)
}

pub(super) async fn run(app: &App, by: &By, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    match command {
        Command::Create { name, access, days, json } => {
            let life = Duration::from_secs(u64::from(days) * 86_400);
            let made = api_keys::create(app, by, &name, access.access(), life).await?;
            match made {
                Verdict::Done(MadeApiKey::Made(made)) => show_new(&made, json, out),
                Verdict::Done(MadeApiKey::Invalid(problem)) => Err(Failure::Usage(problem.to_owned())),
                Verdict::Done(MadeApiKey::NoBrand(brand)) => Err(no_brand(&brand)),
                Verdict::Forbidden | Verdict::NotThere => Err(Failure::Said("this is not allowed".to_owned())),
            }
        }
        Command::List { json } => list(app, by, json, out).await,
        Command::Revoke { id, deed } => revoke(app, by, &id, deed, out).await,
    }
}

fn show_new(NewApiKey { key, secret }: &NewApiKey, as_object: bool, out: &mut impl Write) -> Result<(), Failure> {
    if as_object {
        let shown = json!({ "id": key.id, "key": secret.expose(), "expiresAt": key.expires_at.to_rfc3339() });
        writeln!(out, "{shown}")?;
    } else {
        writeln!(out, "{}", secret.expose())?;
        tracing::info!(id = %key.id, "made; it is printed on standard output, this once");
    }
    Ok(())
}

async fn list(app: &App, by: &By, json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let now = app.clock.now();
    let keys = api_keys::list(app, by).await?;
    if json {
        for key in &keys {
            writeln!(out, "{}", as_json(key, now))?;
        }
        return Ok(());
    }
    let mut table = Table::new(["ID", "NAME", "ROLE", "BRANDS", "STATE", "EXPIRES", "LAST USED", "MADE BY"]);
    for key in &keys {
        table.push([
            key.id.to_string(),
            key.name.clone(),
            key.access.role.to_string(),
            key.access.reach.to_text(),
            key.state(now).to_owned(),
            key.expires_at.to_rfc3339(),
            key.last_used_at.map_or_else(|| "-".to_owned(), Timestamp::to_rfc3339),
            key.created_by.clone(),
        ]);
    }
    Ok(table.write(out)?)
}

fn as_json(key: &ApiKey, now: Timestamp) -> Value {
    json!({
        "id": key.id,
        "name": key.name,
        "role": key.access.role,
        "brands": brands(&key.access.reach),
        "state": key.state(now),
        "createdBy": key.created_by,
        "createdAt": key.created_at.to_rfc3339(),
        "expiresAt": key.expires_at.to_rfc3339(),
        "lastUsedAt": key.last_used_at.map(Timestamp::to_rfc3339),
        "revokedAt": key.revoked_at.map(Timestamp::to_rfc3339),
    })
}

async fn revoke(app: &App, by: &By, id: &ApiKeyId, deed: Deed, out: &mut impl Write) -> Result<(), Failure> {
    let unknown = || Failure::Said(format!("there is no API key {id}"));
    let Verdict::Done(key) = api_keys::show(app, by, id).await? else { return Err(unknown()) };
    let what = if deed.confirm.dry_run {
        "would be revoked:"
    } else {
        deed.confirm.ask(&format!("{id} ({}): whoever uses it is refused from now on.", key.name), "yes")?;
        match api_keys::revoke(app, by, id).await? {
            Verdict::Done(true) => "revoked",
            Verdict::Done(false) => "already revoked",
            Verdict::Forbidden | Verdict::NotThere => return Err(unknown()),
        }
    };
    if deed.json {
        writeln!(out, "{}", json!({ "what": what.trim_end_matches(':'), "id": id }))?;
    } else {
        writeln!(out, "{what} {id}")?;
    }
    Ok(())
}
