//! `assent grant`: lists, shows and revokes grants.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::{command_line, with_app};
use crate::clock::Timestamp;
use crate::domain::grant::{Grant, GrantState};
use crate::domain::id::{BrandId, BrandUser, GrantId, InvalidId, Issuer};
use crate::flow::admin::grants::{self, RevokedGrant};
use crate::store::GrantFilter;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The grants that fit, newest first, at most 1 000.
    List {
        /// Of this Brand, by its id.
        #[arg(long, value_name = "ID", value_parser = brand)]
        brand: Option<BrandId>,
        /// Of this Brand user.
        #[arg(long, value_name = "ID", value_parser = user)]
        user: Option<BrandUser>,
        /// Of this personal agent, by its issuer.
        #[arg(long, value_name = "ISSUER", value_parser = issuer)]
        personal_agent: Option<Issuer>,
        /// Only those that allow something now.
        #[arg(long)]
        live: bool,
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// One grant with its receipts, oldest first.
    Show {
        /// Its id.
        #[arg(value_parser = grant_id)]
        grant: GrantId,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// End a grant, at once and on every node.
    Revoke {
        /// Its id.
        #[arg(value_parser = grant_id)]
        grant: GrantId,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
}

fn brand(text: &str) -> Result<BrandId, InvalidId> {
    BrandId::parse(text)
}

fn user(text: &str) -> Result<BrandUser, InvalidId> {
    BrandUser::parse(text)
}

fn issuer(text: &str) -> Result<Issuer, InvalidId> {
    Issuer::parse(text)
}

fn grant_id(text: &str) -> Result<GrantId, InvalidId> {
    GrantId::parse(text)
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let now = app.clock.now();
        match command {
            Command::List { brand, user, personal_agent, live, json } => {
                let live_at = live.then_some(now);
                let filter = GrantFilter { brand, brand_user: user, issuer: personal_agent, live_at };
                for grant in grants::list(app, &filter).await? {
                    let line =
                        if json { Value::Object(as_json(&grant, now)).to_string() } else { as_line(&grant, now) };
                    writeln!(out, "{line}")?;
                }
            }
            Command::Show { grant: id, json } => {
                let Some((grant, receipts)) = grants::show(app, &id).await? else { return Err(unknown(&id)) };
                let mut shown = as_json(&grant, now);
                if json {
                    shown.insert("receipts".to_owned(), receipts.into());
                    writeln!(out, "{}", Value::Object(shown))?;
                } else {
                    for (name, value) in shown {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        writeln!(out, "{name:<14} {value}")?;
                    }
                    for receipt in receipts {
                        writeln!(out, "{:<14} {receipt}", "receipt")?;
                    }
                }
            }
            Command::Revoke { grant: id, json } => {
                let (actor, request) = command_line(app);
                let what = match grants::revoke(app, &id, &actor, &request).await? {
                    RevokedGrant::Ended => "ended",
                    RevokedGrant::AlreadyEnded => "already ended",
                    RevokedGrant::Unknown => return Err(unknown(&id)),
                };
                if json {
                    writeln!(out, "{}", json!({ "grantId": id, "what": what }))?;
                } else {
                    writeln!(out, "{what} {id}")?;
                }
            }
        }
        Ok(())
    })
}

fn unknown(id: &GrantId) -> Failure {
    Failure::Said(format!("there is no grant {id}"))
}

/// `live`, `expired` or `ended`.
fn state(grant: &Grant, now: Timestamp) -> &'static str {
    match grant.state {
        GrantState::Ended { .. } => "ended",
        GrantState::Live if grant.is_live(now) => "live",
        GrantState::Live => "expired",
    }
}

fn as_json(grant: &Grant, now: Timestamp) -> Map<String, Value> {
    let scopes: Vec<_> = grant.scopes.iter().collect();
    let mut shown = Map::new();
    let mut show = |name: &str, value: Value| shown.insert(name.to_owned(), value);
    show("grantId", json!(grant.id));
    show("state", json!(state(grant, now)));
    show("brandId", json!(grant.brand));
    show("user", json!(grant.brand_user));
    show("personalAgent", json!(grant.caller.issuer));
    show("sub", json!(grant.caller.sub));
    show("scopes", json!(scopes));
    show("createdAt", json!(grant.created_at.to_rfc3339()));
    show("decidedAt", json!(grant.decided_at.to_rfc3339()));
    show("expiresAt", json!(grant.expires_at.to_rfc3339()));
    if let Some(at) = grant.last_used_at {
        show("lastUsedAt", json!(at.to_rfc3339()));
    }
    if let GrantState::Ended { at, by } = grant.state {
        show("endedAt", json!(at.to_rfc3339()));
        show("endedBy", json!(by.to_string()));
    }
    shown
}

fn as_line(grant: &Grant, now: Timestamp) -> String {
    let scopes: Vec<_> = grant.scopes.iter().map(ToString::to_string).collect();
    format!(
        "{} {:<7} {} {} {} {} until {} [{}]",
        grant.id,
        state(grant, now),
        grant.brand,
        grant.brand_user,
        grant.caller.issuer,
        grant.caller.sub,
        grant.expires_at.to_rfc3339(),
        scopes.join(" ")
    )
}
