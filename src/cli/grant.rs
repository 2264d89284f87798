//! `assent grant`: lists, shows and revokes grants, one or all that fit.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::confirm::Confirm;
use super::failure::Failure;
use super::listing::{Listing, counted, done, instant, line, sort};
use super::table::{Table, printable};
use super::{command_line, with_app};
use crate::app::App;
use crate::clock::Timestamp;
use crate::domain::id::{BrandId, BrandUser, GrantId, InvalidId, Issuer};
use crate::domain::page::Direction;
use crate::flow::admin::By;
use crate::flow::admin::grants::{self, RevokedAll, RevokedGrant};
use crate::flow::admin::shown;
use crate::protocol::admin::{CountJson, GrantDetailsJson, GrantJson, RevokedAllJson, RevokedJson};
use crate::store::{GrantCount, GrantFilter, GrantSort, GrantStanding};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// The grants that fit, newest first.
    List {
        #[command(flatten)]
        filter: Filter,
        /// In this state: live, expired or ended.
        #[arg(long, value_parser = state)]
        state: Option<GrantStanding>,
        /// Only those that allow something now: the same as --state live.
        #[arg(long, conflicts_with = "state")]
        live: bool,
        /// By this column: created, expires or used.
        #[arg(long, default_value = "created", value_parser = sort::<GrantSort>)]
        sort: GrantSort,
        #[command(flatten)]
        listing: Listing,
    },
    /// One grant with what was decided, issued and done under it.
    Show {
        /// Its id.
        #[arg(value_parser = grant_id)]
        grant: GrantId,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// End grants, at once and on every node: those that are named, or all live ones that fit.
    Revoke {
        /// Their ids.
        #[arg(value_parser = grant_id)]
        grants: Vec<GrantId>,
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        confirm: Confirm,
        /// JSON: one object per grant that is named, one in all for those that fit.
        #[arg(long)]
        json: bool,
    },
}

/// Which grants.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Filter {
    /// Of this Brand, by its id.
    #[arg(long, value_name = "ID", value_parser = brand)]
    brand: Option<BrandId>,
    /// Of this Brand user.
    #[arg(long, value_name = "ID", value_parser = user)]
    user: Option<BrandUser>,
    /// Of this personal agent, by its issuer.
    #[arg(long, value_name = "ISSUER", value_parser = issuer)]
    personal_agent: Option<Issuer>,
    /// Made at this instant or later.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    since: Option<Timestamp>,
    /// Made before this instant.
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<Timestamp>,
}

impl Filter {
    fn into_filter(self, state: Option<GrantStanding>) -> GrantFilter {
        let Self { brand, user, personal_agent, since, until } = self;
        GrantFilter { brand, brand_user: user, issuer: personal_agent, state, since, until }
    }
}

pub(super) fn brand(text: &str) -> Result<BrandId, InvalidId> {
    BrandId::parse(text)
}

fn user(text: &str) -> Result<BrandUser, InvalidId> {
    BrandUser::parse(text)
}

pub(super) fn issuer(text: &str) -> Result<Issuer, InvalidId> {
    Issuer::parse(text)
}

fn grant_id(text: &str) -> Result<GrantId, InvalidId> {
    GrantId::parse(text)
}

fn state(text: &str) -> Result<GrantStanding, &'static str> {
    let named = GrantStanding::ALL.into_iter().find(|state| state.name() == text);
    named.ok_or("is none of live, expired, ended")
}

pub(super) fn run(config: &Path, command: Command, out: &mut impl Write) -> Result<(), Failure> {
    with_app(config, async |app| {
        let by = command_line(app);
        let now = app.clock.now();
        match command {
            Command::List { filter, state, live, sort, listing } => {
                let filter = filter.into_filter(state.or_else(|| live.then_some(GrantStanding::Live)));
                let order = (sort, Direction::Descending);
                let fetch = async |paging| grants::list(app, &by, &filter, &paging).await;
                listing.write(order, HEADER, out, fetch, (|grant| GrantJson::new(grant, now), as_row)).await
            }
            Command::Show { grant: id, json } => {
                let details = done(grants::show(app, &by, &id).await?, format!("grant {id}"))?;
                let details = shown::grant_details(details, now);
                if json { line(out, &details) } else { write_details(out, &details) }
            }
            Command::Revoke { grants, filter, confirm, json } => {
                let filter = filter.into_filter(None);
                match (grants.is_empty(), filter == GrantFilter::default()) {
                    (false, true) => revoke_named(app, &by, &grants, confirm, json, out).await,
                    (true, false) => revoke_fitting(app, &by, &filter, confirm, json, out).await,
                    (true, true) => {
                        Err(Failure::Usage("name grants by their ids, or say which by a filter".to_owned()))
                    }
                    (false, false) => Err(Failure::Usage("name grants or say which by a filter, not both".to_owned())),
                }
            }
        }
    })
}

async fn revoke_named(
    app: &App,
    by: &By,
    ids: &[GrantId],
    confirm: Confirm,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    // All of them are looked at first, so that a mistyped one leaves the others alone.
    let now = app.clock.now();
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        all.push(GrantJson::new(done(grants::show(app, by, id).await?, format!("grant {id}"))?.grant, now));
    }
    if !confirm.dry_run && all.iter().any(|grant| grant.state != "ended") {
        let many = counted(i64::try_from(ids.len()).unwrap_or(i64::MAX), "grant");
        confirm.ask(&format!("This ends {many}, for good."), "yes")?;
    }
    for grant in all {
        let id = grant.grant_id;
        let what = if confirm.dry_run {
            if grant.state == "ended" { "already ended" } else { "would end" }
        } else {
            match done(grants::revoke(app, by, &id).await?, format!("grant {id}"))? {
                RevokedGrant::Ended => "ended",
                RevokedGrant::AlreadyEnded => "already ended",
            }
        };
        if json {
            line(out, &RevokedJson { grant_id: id, what })?;
        } else {
            writeln!(out, "{what} {id}")?;
        }
    }
    Ok(())
}

/// The count first, and then the deed, which is held to it.
pub(super) async fn revoke_fitting(
    app: &App,
    by: &By,
    filter: &GrantFilter,
    confirm: Confirm,
    json: bool,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let count = done(grants::count_live(app, by, filter).await?, "such grant")?;
    let said = said(count);
    if confirm.dry_run {
        if json {
            let CountJson { grants, brands } = count.into();
            writeln!(out, "{}", json!({ "grants": grants, "brands": brands, "dryRun": true }))?;
        } else {
            writeln!(out, "would end {said}")?;
        }
        return Ok(());
    }
    if count.grants > 0 {
        confirm.ask(&format!("This ends {said}, for good."), &count.grants.to_string())?;
    }
    match done(grants::revoke_all(app, by, filter, Some(count.grants)).await?, "such grant")? {
        RevokedAll::Done { ended, already_ended, brands } if json => {
            line(out, &RevokedAllJson { ended, already_ended, brands })
        }
        RevokedAll::Done { ended, already_ended, brands } => {
            writeln!(out, "ended {}", self::said(GrantCount { grants: ended, brands }))?;
            if already_ended > 0 {
                writeln!(out, "{} ended otherwise meanwhile", counted(already_ended, "grant"))?;
            }
            Ok(())
        }
        RevokedAll::MoreFit(now) => Err(Failure::Said(format!(
            "there are {} by now, more than were counted; nothing was done. Try again",
            self::said(now)
        ))),
    }
}

fn said(GrantCount { grants, brands }: GrantCount) -> String {
    format!("{} of {}", counted(grants, "live grant"), counted(brands, "Brand"))
}

const HEADER: [&str; 8] = ["GRANT", "STATE", "BRAND", "USER", "PERSONAL AGENT", "SUB", "EXPIRES", "SCOPES"];

fn as_row(grant: &GrantJson) -> [String; 8] {
    [
        grant.grant_id.to_string(),
        grant.state.to_owned(),
        grant.brand_id.to_string(),
        grant.user.to_string(),
        grant.personal_agent.to_string(),
        grant.sub.to_string(),
        grant.expires_at.0.to_rfc3339(),
        joined(&grant.scopes),
    ]
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn write_details(out: &mut impl Write, details: &GrantDetailsJson) -> Result<(), Failure> {
    let grant = &details.grant;
    let at = |at: Option<crate::protocol::admin::At>| at.map(|at| at.0.to_rfc3339());
    for (name, value) in [
        ("grant", Some(grant.grant_id.to_string())),
        ("state", Some(grant.state.to_owned())),
        ("brand", Some(grant.brand_id.to_string())),
        ("user", Some(grant.user.to_string())),
        ("personal agent", Some(grant.personal_agent.to_string())),
        ("sub", Some(grant.sub.to_string())),
        ("scopes", Some(joined(&grant.scopes))),
        ("created", at(Some(grant.created_at))),
        ("decided", at(Some(grant.decided_at))),
        ("expires", at(Some(grant.expires_at))),
        ("last used", at(grant.last_used_at)),
        ("ended", at(grant.ended_at)),
        ("ended by", grant.ended_by.clone()),
    ] {
        if let Some(value) = value {
            writeln!(out, "{name:<14}  {}", printable(&value))?;
        }
    }
    let mut decisions = Table::new(["DECIDED", "DECISION", "LANGUAGE", "SCOPES"]);
    for decision in &details.decisions {
        let at = decision.decided_at.0.to_rfc3339();
        decisions.push([at, decision.decision.clone(), decision.language.clone(), joined(&decision.scopes)]);
    }
    let mut tokens = Table::new(["ISSUED", "TOKEN", "EXPIRES", "REFRESHED", "SCOPES"]);
    for token in &details.tokens {
        tokens.push([
            token.issued_at.0.to_rfc3339(),
            token.jti.clone(),
            token.expires_at.0.to_rfc3339(),
            at(token.refreshed_at).unwrap_or_else(|| "-".to_owned()),
            joined(&token.scopes),
        ]);
    }
    let mut receipts = Table::new(["RECEIPT", "SCOPES USED", "ACTIONS", "JWS"]);
    for receipt in &details.receipts {
        let (used, actions) = receipt.claims.as_ref().map_or_else(Default::default, |claims| {
            let tools: Vec<_> = claims.actions.iter().map(|action| &action.tool).collect();
            (joined(&claims.scopes_used), joined(&tools))
        });
        receipts.push([receipt.created_at.0.to_rfc3339(), used, actions, receipt.jws.clone()]);
    }
    section(out, &decisions, false)?;
    section(out, &tokens, details.more_tokens)?;
    section(out, &receipts, details.more_receipts)
}

fn section<const COLUMNS: usize>(out: &mut impl Write, table: &Table<COLUMNS>, has_more: bool) -> Result<(), Failure> {
    if !table.is_empty() {
        writeln!(out)?;
        table.write(out)?;
    }
    if has_more {
        writeln!(out, "… and older ones")?;
    }
    Ok(())
}
