//! `assent personal-agent`: who may call.

use std::io::Write;
use std::path::Path;

use url::Url;

use super::confirm::Confirm;
use super::failure::Failure;
use super::grant::{issuer, revoke_fitting};
use super::listing::{Listing, counted, done, line, sort};
use super::table::printable;
use super::{command_line, with_app};
use crate::app::App;
use crate::domain::id::Issuer;
use crate::domain::page::Direction;
use crate::flow::admin::By;
use crate::flow::admin::personal_agents::{self, Put, Wanted};
use crate::protocol::admin::PersonalAgentJson;
use crate::store::{GrantFilter, PersonalAgentFilter, PersonalAgentSort};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The personal agents that fit, by name, with their live grants.
    List {
        /// Whose name has a word that begins so, or whose issuer does, with or without https://.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Only those that may call.
        #[arg(long)]
        enabled: bool,
        /// Only those that get 401.
        #[arg(long, conflicts_with = "enabled")]
        disabled: bool,
        /// By this column: name or created.
        #[arg(long, default_value = "name", value_parser = sort::<PersonalAgentSort>)]
        sort: PersonalAgentSort,
        #[command(flatten)]
        listing: Listing,
    },
    /// One personal agent.
    Show {
        /// Its issuer.
        #[arg(value_parser = issuer)]
        issuer: Issuer,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let a personal agent call.
    Register {
        /// Its issuer: the exact `iss` of its JWTs.
        #[arg(value_parser = issuer)]
        issuer: Issuer,
        /// What Users read.
        #[arg(long)]
        name: String,
        /// Where its public keys are.
        #[arg(long, value_name = "URL")]
        jwks_uri: Url,
    },
    /// Change a personal agent's name or the address of its keys.
    Change {
        /// Its issuer.
        #[arg(value_parser = issuer)]
        issuer: Issuer,
        /// What Users read.
        #[arg(long, required_unless_present = "jwks_uri")]
        name: Option<String>,
        /// Where its public keys are.
        #[arg(long, value_name = "URL")]
        jwks_uri: Option<Url>,
    },
    /// Answer a personal agent with 401, on every node within two seconds. Its grants stay, unless they are revoked too.
    Disable {
        /// Its issuer.
        #[arg(value_parser = issuer)]
        issuer: Issuer,
        /// End all its live grants too, at every Brand.
        #[arg(long)]
        revoke_grants: bool,
        #[command(flatten)]
        confirm: Confirm,
    },
    /// Let a personal agent call again.
    Enable {
        /// Its issuer.
        #[arg(value_parser = issuer)]
        issuer: Issuer,
    },
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        match command {
            Command::List { search, enabled, disabled, sort, listing } => {
                let enabled = if enabled || disabled { Some(enabled) } else { None };
                let filter = PersonalAgentFilter { search, enabled };
                let order = (sort, Direction::Ascending);
                let fetch = async |paging| personal_agents::list(app, &by, &filter, &paging).await;
                listing.write(order, HEADER, out, fetch, (PersonalAgentJson::from, as_row)).await
            }
            Command::Show { issuer, json } => {
                let agent = done(personal_agents::show(app, &by, &issuer).await?, none(&issuer))?;
                let agent = PersonalAgentJson::from(agent);
                if json { line(out, &agent) } else { write_agent(out, &agent) }
            }
            Command::Register { issuer, name, jwks_uri } => {
                put(app, &by, &issuer, &Wanted::Registered { name, jwks_uri }, "registered", out).await
            }
            Command::Change { issuer, name, jwks_uri } => {
                put(app, &by, &issuer, &Wanted::Changed { name, jwks_uri }, "changed", out).await
            }
            Command::Disable { issuer, revoke_grants, confirm } => {
                disable(app, &by, &issuer, revoke_grants, confirm, out).await
            }
            Command::Enable { issuer } => put(app, &by, &issuer, &Wanted::Enabled(true), "enabled", out).await,
        }
    })
}

async fn disable(
    app: &App,
    by: &By,
    issuer: &Issuer,
    revoke_grants: bool,
    confirm: Confirm,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let agent = done(personal_agents::show(app, by, issuer).await?, none(issuer))?;
    let filter = GrantFilter { issuer: Some(issuer.clone()), ..GrantFilter::default() };
    if confirm.dry_run {
        let state = if agent.agent.enabled { "would be disabled" } else { "is disabled already" };
        writeln!(out, "{issuer} {state}")?;
    } else {
        if revoke_grants {
            let (grants, brands) = (counted(agent.live_grants, "live grant"), counted(agent.brands, "Brand"));
            let what = format!("This disables {issuer} and ends its {grants} of {brands}, for good.");
            confirm.ask(&what, &agent.live_grants.to_string())?;
        }
        put(app, by, issuer, &Wanted::Enabled(false), "disabled", out).await?;
    }
    if revoke_grants {
        // Confirmed above; what was allowed since then, before the personal agent was disabled, ends too.
        revoke_fitting(app, by, &filter, confirm.confirmed(), false, out).await?;
    }
    Ok(())
}

async fn put(
    app: &App,
    by: &By,
    issuer: &Issuer,
    wanted: &Wanted,
    what: &str,
    out: &mut impl Write,
) -> Result<(), Failure> {
    match done(personal_agents::put(app, by, issuer, wanted).await?, none(issuer))? {
        Put::Done(_) => writeln!(out, "{what} {issuer}")?,
        Put::Unchanged(_) => writeln!(out, "unchanged {issuer}")?,
        Put::Taken => return Err(Failure::Said(format!("there is a personal agent {issuer} already; use `change`"))),
        Put::Invalid(invalid) => return Err(Failure::Said(format!("{invalid}; nothing was done"))),
    }
    Ok(())
}

fn none(issuer: &Issuer) -> String {
    format!("personal agent {issuer}")
}

const HEADER: [&str; 6] = ["PERSONAL AGENT", "STATE", "LIVE GRANTS", "BRANDS", "REGISTERED", "NAME"];

fn state(agent: &PersonalAgentJson) -> &'static str {
    if agent.enabled { "enabled" } else { "disabled" }
}

fn as_row(agent: &PersonalAgentJson) -> [String; 6] {
    [
        agent.issuer.to_string(),
        state(agent).to_owned(),
        agent.live_grants.to_string(),
        agent.brands.to_string(),
        agent.created_at.0.to_rfc3339(),
        agent.name.clone(),
    ]
}

fn write_agent(out: &mut impl Write, agent: &PersonalAgentJson) -> Result<(), Failure> {
    for (name, value) in [
        ("personal agent", agent.issuer.to_string()),
        ("name", agent.name.clone()),
        ("state", state(agent).to_owned()),
        ("keys", agent.jwks_uri.clone()),
        ("live grants", agent.live_grants.to_string()),
        ("brands", agent.brands.to_string()),
        ("registered", agent.created_at.0.to_rfc3339()),
        ("changed", agent.updated_at.0.to_rfc3339()),
    ] {
        writeln!(out, "{name:<14}  {}", printable(&value))?;
    }
    Ok(())
}
