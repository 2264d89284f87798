//! `assent keys`: what the Brands sign with. Private halves are never shown.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::confirm::Confirm;
use super::failure::Failure;
use super::grant::brand as brand_id;
use super::listing::{Listing, done, line};
use super::{command_line, with_app};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::id::{BrandId, InvalidId, KeyId};
use crate::domain::page::{ByTime, Direction, Paging};
use crate::domain::signing_key::KeyState;
use crate::flow::admin::keys::{self, Leaves, Left, Rotated};
use crate::flow::admin::{By, Run, shown};
use crate::protocol::admin::KeyJson;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The keys of one Brand or of all, newest first.
    List {
        /// Of this Brand, by its id; one that was removed, too.
        #[arg(long, value_name = "ID", value_parser = brand_id)]
        brand: Option<BrandId>,
        #[command(flatten)]
        listing: Listing,
    },
    /// A Brand's public keys as a JWKS, to verify receipts with; of a Brand that was removed, too.
    Jwks {
        /// Its id.
        #[arg(value_parser = brand_id)]
        brand: BrandId,
    },
    /// Give a Brand a new key. It is published now and signs after a day; then the old one retires.
    Rotate {
        /// Its id.
        #[arg(value_parser = brand_id)]
        brand: BrandId,
        /// Let it sign as soon as every node knows it: whoever keeps an older JWKS refuses it for up to five minutes.
        #[arg(long)]
        now: bool,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a key sign no more. What it signed stays good.
    Retire {
        /// Its kid.
        #[arg(value_parser = key_id)]
        key: KeyId,
        /// Where it is the Brand's last one, let another sign in its place at once.
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        confirm: Confirm,
    },
    /// Give a key up that may be in other hands: it leaves the JWKS, and whatever it signed is refused, receipts too.
    Compromise {
        /// Its kid.
        #[arg(value_parser = key_id)]
        key: KeyId,
        /// Where it is the Brand's last one, let another sign in its place at once.
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        confirm: Confirm,
    },
}

fn key_id(text: &str) -> Result<KeyId, InvalidId> {
    KeyId::parse(text)
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        let now = app.clock.now();
        match command {
            Command::List { brand, listing } => {
                let order = (ByTime, Direction::Descending);
                let fetch = async |paging| keys::list(app, &by, brand.as_ref(), &paging).await;
                listing.write(order, HEADER, out, fetch, (|key| shown::key(key, now), as_row)).await
            }
            Command::Jwks { brand } => jwks(app, &by, &brand, out).await,
            Command::Rotate { brand, now: at_once, json } => {
                let rotated = done(keys::rotate(app, &by, &brand, at_once).await?, format!("Brand {brand}"))?;
                let (what, key, signs_from) = match rotated {
                    Rotated::Made { key, signs_from } => ("made", key, signs_from),
                    Rotated::Advanced { key, signs_from } => ("advanced", key, signs_from),
                    Rotated::UnderWay { key, signs_from } => ("already under way:", key, signs_from),
                };
                let signs_from = signs_from.to_rfc3339();
                if json {
                    let what = what.trim_end_matches(':');
                    line(out, &json!({ "what": what, "kid": key, "brandId": brand, "signsFrom": signs_from }))
                } else {
                    Ok(writeln!(out, "{what} {key}, which signs from {signs_from}")?)
                }
            }
            Command::Retire { key, now, confirm } => take_out(app, &by, &key, Leaves::Retired, now, confirm, out).await,
            Command::Compromise { key, now, confirm } => {
                take_out(app, &by, &key, Leaves::Compromised, now, confirm, out).await
            }
        }
    })
}

async fn take_out(
    app: &App,
    by: &By,
    key: &KeyId,
    leaves: Leaves,
    replace: bool,
    confirm: Confirm,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let (would, what, consequence) = match leaves {
        Leaves::Retired => ("would retire", "retired", "it signs no more, and what it signed stays good"),
        Leaves::Compromised => ("would give up", "given up", "whatever it signed is refused from now on, receipts too"),
    };
    let taken_out =
        async |run| match done(keys::take_out(app, by, key, leaves, replace, run).await?, format!("key {key}"))? {
            Left::Done { replaced_by } => Ok(Some(replaced_by)),
            Left::Already => Ok(None),
            Left::WouldLeaveNone => Err(Failure::Said(format!(
                "{key} is the last key that signs for its Brand: rotate first, or give --now to replace it at once; \
                 nothing was done"
            ))),
        };
    // Whoever is asked is asked about something that can be done.
    let Some(planned) = taken_out(Run::Dry).await? else { return Ok(writeln!(out, "already {what} {key}")?) };
    if confirm.dry_run {
        let next = planned.map_or_else(String::new, |next| format!("; {}", replaced(&next)));
        return Ok(writeln!(out, "{would} {key}: {consequence}{next}")?);
    }
    confirm.ask(&format!("{key}: {consequence}."), "yes")?;
    match taken_out(Run::Real).await? {
        None => writeln!(out, "already {what} {key}")?,
        Some(replaced_by) => {
            writeln!(out, "{what} {key}")?;
            if let Some(next) = replaced_by {
                writeln!(out, "{}", replaced(&next))?;
            }
        }
    }
    Ok(())
}

fn replaced((key, signs_from): &(KeyId, Timestamp)) -> String {
    format!("{key} signs in its place from {}", signs_from.to_rfc3339())
}

async fn jwks(app: &App, by: &By, brand: &BrandId, out: &mut impl Write) -> Result<(), Failure> {
    let (mut keys, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let paging = Paging::new(ByTime, Direction::Descending, Paging::<ByTime>::MOST, cursor.as_deref());
        let paging = paging.map_err(|invalid| Failure::Said(invalid.to_string()))?;
        let page = done(keys::list(app, by, Some(brand), &paging).await?, format!("Brand {brand}"))?;
        let published = page.items.into_iter().filter(|key| !matches!(key.state, KeyState::Compromised { .. }));
        keys.extend(published.map(|key| shown::key(key, app.clock.now()).jwk));
        cursor = page.next;
        if cursor.is_none() {
            return line(out, &json!({ "keys": keys }));
        }
    }
}

const HEADER: [&str; 7] = ["KEY", "BRAND", "ALG", "STATE", "CREATED", "SIGNS FROM", "UNTIL"];

fn as_row(key: &KeyJson) -> [String; 7] {
    let at = |at: Option<crate::protocol::admin::At>| at.map_or_else(|| "-".to_owned(), |at| at.0.to_rfc3339());
    [
        key.kid.to_string(),
        key.brand_id.to_string(),
        key.alg.to_owned(),
        key.state.to_owned(),
        key.created_at.0.to_rfc3339(),
        at(key.signs_from),
        at(key.retires_at.or(key.compromised_at)),
    ]
}
