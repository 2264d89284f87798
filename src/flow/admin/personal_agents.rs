//! Personal agents, as administrators register, change and disable them. They belong to the Provider as a whole, so these
//! flows are for those whose role holds at all Brands.

use serde_json::{Value, json};
use url::Url;

use super::{By, Verdict, see_change};
use crate::app::App;
use crate::domain::administrator::Role;
use crate::domain::audit::Action;
use crate::domain::check::InvalidParameter;
use crate::domain::id::Issuer;
use crate::domain::page::{Page, Paging};
use crate::domain::personal_agent::PersonalAgent;
use crate::flow::{ATTEMPTS, Fault, RESTLESS};
use crate::store::{Applied, Apply, PersonalAgentFilter, PersonalAgentRecord, PersonalAgentSort};

/// A page of the personal agents that fit `filter`.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    filter: &PersonalAgentFilter,
    paging: &Paging<PersonalAgentSort>,
) -> Result<Verdict<Page<PersonalAgentRecord>>, Fault> {
    if let Err(denied) = by.access.read(None) {
        return Ok(denied.into());
    }
    Ok(Verdict::Done(app.store.personal_agents(filter, paging, app.clock.now()).await?))
}

/// One personal agent.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, issuer: &Issuer) -> Result<Verdict<PersonalAgentRecord>, Fault> {
    if let Err(denied) = by.access.read(None) {
        return Ok(denied.into());
    }
    let record = app.store.personal_agent(issuer, app.clock.now()).await?;
    Ok(record.map_or(Verdict::NotThere, Verdict::Done))
}

/// What becomes of a personal agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// It has a row, with these values.
    Registered {
        /// What Users read.
        name: String,
        /// Where its public keys are.
        jwks_uri: Url,
    },
    /// The one that there is gets these values; what is absent stays as it is.
    Changed {
        /// What Users read.
        name: Option<String>,
        /// Where its public keys are.
        jwks_uri: Option<Url>,
    },
    /// It may call, or it gets 401.
    Enabled(bool),
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Put {
    /// It is so now; on this node at once, on the others within two seconds.
    Done(PersonalAgent),
    /// It was so before: nothing was done.
    Unchanged(PersonalAgent),
    /// There is one with this issuer already: nothing was done.
    Taken,
    /// It could not be used: nothing was done.
    Invalid(InvalidParameter),
}

/// Registers a personal agent, changes it, disables or enables it.
///
/// Disabling keeps its grants, for when it is enabled again; [`super::grants::revoke_all`] ends them.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn put(app: &App, by: &By, issuer: &Issuer, wanted: &Wanted) -> Result<Verdict<Put>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator).and_then(|()| by.access.change(None)) {
        return Ok(denied.into());
    }
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let directory = app.store.directory().await?;
        let before = directory.personal_agents.iter().find(|agent| agent.issuer == *issuer);
        let after = match (wanted, before) {
            (Wanted::Registered { .. }, Some(_)) => return Ok(Verdict::Done(Put::Taken)),
            (Wanted::Changed { .. } | Wanted::Enabled(_), None) => return Ok(Verdict::NotThere),
            (Wanted::Registered { name, jwks_uri }, None) => {
                PersonalAgent { issuer: issuer.clone(), name: name.clone(), jwks_uri: jwks_uri.clone(), enabled: true }
            }
            (Wanted::Changed { name, jwks_uri }, Some(before)) => PersonalAgent {
                name: name.as_ref().unwrap_or(&before.name).clone(),
                jwks_uri: jwks_uri.as_ref().unwrap_or(&before.jwks_uri).clone(),
                ..before.clone()
            },
            (Wanted::Enabled(enabled), Some(before)) => PersonalAgent { enabled: *enabled, ..before.clone() },
        };
        if before == Some(&after) {
            return Ok(Verdict::Done(Put::Unchanged(after)));
        }
        if !matches!(wanted, Wanted::Enabled(_))
            && let Err(invalid) = after.check(app.config.outbound.allow_private)
        {
            return Ok(Verdict::Done(Put::Invalid(invalid)));
        }
        let action = match wanted {
            Wanted::Registered { .. } | Wanted::Changed { .. } => Action::PersonalAgentApplied,
            Wanted::Enabled(true) => Action::PersonalAgentEnabled,
            Wanted::Enabled(false) => Action::PersonalAgentDisabled,
        };
        let payload = json!({ "before": before.map(recorded), "after": recorded(&after) });
        let entry = by.entry(None, now, action, issuer, payload);
        let unit =
            Apply { personal_agents: vec![after.clone()], audit: vec![entry], ..by.change(directory.revision, now) };
        match app.store.apply(&unit).await? {
            Applied::Done { .. } => {
                see_change(app).await;
                return Ok(Verdict::Done(Put::Done(after)));
            }
            Applied::Stale => {}
        }
    }
    Err(RESTLESS)
}

/// What the audit log keeps of a personal agent.
pub(in crate::flow) fn recorded(agent: &PersonalAgent) -> Value {
    json!({ "name": agent.name, "jwks_uri": agent.jwks_uri.as_str(), "enabled": agent.enabled })
}
