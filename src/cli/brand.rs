//! `assent brand`: what is hosted. `assent apply` makes and changes Brands.

use std::io::Write;
use std::path::Path;

use super::confirm::Confirm;
use super::failure::Failure;
use super::grant::brand as brand_id;
use super::listing::{Listing, counted, done, line, sort};
use super::table::printable;
use super::{command_line, with_app};
use crate::app::App;
use crate::domain::brand::Agent;
use crate::domain::id::BrandId;
use crate::domain::page::Direction;
use crate::flow::admin::By;
use crate::flow::admin::brands::{self, Removed};
use crate::protocol::admin::BrandJson;
use crate::store::{BrandFilter, BrandSort};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The Brands that fit, by name, with their live grants.
    List {
        /// Whose name has a word that begins so, or whose id does.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Only those that were removed, in place of those that are served.
        #[arg(long)]
        removed: bool,
        /// By this column: name or created.
        #[arg(long, default_value = "name", value_parser = sort::<BrandSort>)]
        sort: BrandSort,
        #[command(flatten)]
        listing: Listing,
    },
    /// One Brand, with everything that an apply file says of it.
    Show {
        /// Its id.
        #[arg(value_parser = brand_id)]
        brand: BrandId,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Serve a Brand no more and end its grants, for good. What auditors ask for stays: grants, receipts, keys, the audit log.
    Remove {
        /// Its id.
        #[arg(value_parser = brand_id)]
        brand: BrandId,
        /// What it is called, which confirms that it is this one.
        #[arg(long)]
        name: String,
        #[command(flatten)]
        confirm: Confirm,
    },
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        match command {
            Command::List { search, removed, sort, listing } => {
                let filter = BrandFilter { search, removed: Some(removed), id: None };
                let order = (sort, Direction::Ascending);
                let fetch = async |paging| brands::list(app, &by, &filter, &paging).await;
                listing.write(order, HEADER, out, fetch, (BrandJson::from, as_row)).await
            }
            Command::Show { brand, json } => {
                let shown = done(brands::show(app, &by, &brand).await?, format!("Brand {brand}"))?;
                let shown = BrandJson::from(shown);
                if json { line(out, &shown) } else { write_brand(out, &shown) }
            }
            Command::Remove { brand, name, confirm } => remove(app, &by, &brand, &name, confirm, out).await,
        }
    })
}

async fn remove(
    app: &App,
    by: &By,
    id: &BrandId,
    name: &str,
    confirm: Confirm,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let shown = done(brands::show(app, by, id).await?, format!("Brand {id}"))?;
    let other_name = || Failure::Said(format!("Brand {id} is not called {name:?}; nothing was done"));
    if shown.removed_at.is_none() {
        if shown.brand.name != name {
            return Err(other_name());
        }
        let grants = counted(shown.live_grants, "live grant");
        if confirm.dry_run {
            writeln!(out, "would remove {id} {} and end {grants}", printable(name))?;
            return Ok(());
        }
        confirm.ask(&format!("This removes {name} and ends {grants}, for good."), name)?;
    }
    match done(brands::remove(app, by, id, name).await?, format!("Brand {id}"))? {
        Removed::Done { ended } => writeln!(out, "removed {id}\nended {}", counted(ended, "live grant"))?,
        Removed::Already => writeln!(out, "already removed {id}")?,
        Removed::OtherName => return Err(other_name()),
    }
    Ok(())
}

const HEADER: [&str; 6] = ["BRAND", "STATE", "LIVE GRANTS", "DELEGATION", "CREATED", "NAME"];

fn delegation(brand: &BrandJson) -> String {
    brand.delegation.as_ref().map_or_else(|| "no".to_owned(), |delegation| counted_scopes(delegation.scopes.len()))
}

fn counted_scopes(count: usize) -> String {
    counted(i64::try_from(count).unwrap_or(i64::MAX), "scope")
}

fn as_row(brand: &BrandJson) -> [String; 6] {
    [
        brand.brand_id.to_string(),
        brand.state.to_owned(),
        brand.live_grants.to_string(),
        delegation(brand),
        brand.created_at.0.to_rfc3339(),
        brand.name.clone(),
    ]
}

fn write_brand(out: &mut impl Write, brand: &BrandJson) -> Result<(), Failure> {
    let agent = match &brand.profile.agent {
        Agent::Http(agent) => agent.url.to_string(),
        Agent::Builtin(_) => "built in".to_owned(),
    };
    let mut lines = vec![
        ("brand", brand.brand_id.to_string()),
        ("name", brand.name.clone()),
        ("state", brand.state.to_owned()),
        ("live grants", brand.live_grants.to_string()),
        ("agent", agent),
        ("created", brand.created_at.0.to_rfc3339()),
        ("changed", brand.updated_at.0.to_rfc3339()),
    ];
    if let Some(at) = brand.removed_at {
        lines.push(("removed", at.0.to_rfc3339()));
    }
    if let Some(delegation) = &brand.delegation {
        lines.push(("login", delegation.login_url.to_string()));
        if let Some(origin) = &delegation.auth_origin {
            lines.push(("auth origin", origin.to_string()));
        }
        lines.push(("grants last", counted(i64::from(delegation.grant_days), "day")));
        lines.extend(delegation.scopes.iter().map(|scope| ("scope", format!("{}  {}", scope.id, scope.description))));
    }
    for (name, value) in lines {
        writeln!(out, "{name:<14}  {}", printable(&value))?;
    }
    Ok(())
}
