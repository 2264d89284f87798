//! The numbers an operator asks for first, and what does not work.
//!
//! What one Brand alone concerns is for those within reach of it; what concerns the Provider as a whole, such as whose
//! credentials were refused, for those of all Brands.

use std::collections::HashMap;

use super::{By, Verdict};
use crate::app::App;
use crate::clock::Timestamp;
use crate::directory::Snapshot;
use crate::domain::id::{BrandId, Issuer};
use crate::flow::Fault;
use crate::metrics::{AgentTurn, RefusalCount};
use crate::store::{Overview, WaitingEvents};

/// How things stand at the Brands within reach.
///
/// # Errors
/// [`Fault`].
pub async fn overview(app: &App, by: &By) -> Result<Verdict<Overview>, Fault> {
    Ok(Verdict::Done(app.store.overview(&by.access.reach, app.clock.now()).await?))
}

/// Whose keys are meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeysOf {
    /// Those of a Brand's login.
    Brand(BrandId),
    /// A personal agent's.
    PersonalAgent(Issuer),
}

/// A key set of which the latest fetch failed on this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailingKeys {
    /// Where it should be.
    pub address: String,
    /// When it was not.
    pub failed_at: Timestamp,
    /// Whose keys they are; nobody's any more when it is empty.
    pub of: Vec<KeysOf>,
}

/// The turns of a Brand's agent that came to nothing, on this node since its start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentTrouble {
    /// Whose agent.
    pub brand: BrandId,
    /// It did not answer in time.
    pub timed_out: u64,
    /// It could not be reached, or its answer was none.
    pub failed: u64,
    /// It had as many turns as it may have.
    pub busy: u64,
    /// It claimed authority that it did not have.
    pub overreached: u64,
    /// It answered.
    pub answered: u64,
}

/// How things stand, and what does not work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The numbers.
    pub numbers: Overview,
    /// Which credentials this node refused; `None` to somebody who is not of all Brands.
    pub refusals: Option<Vec<RefusalCount>>,
    /// The key sets that do not load on this node.
    pub failing_keys: Vec<FailingKeys>,
    /// The agents that fail, of those within reach.
    pub agents: Vec<AgentTrouble>,
    /// What Brands are still to be told of.
    pub waiting: Vec<WaitingEvents>,
    /// The names of the Brands that are named above.
    pub names: HashMap<BrandId, String>,
    /// Since when this node counts.
    pub since: Timestamp,
}

/// How things stand at the Brands within reach, and what does not work there.
///
/// # Errors
/// [`Fault`].
pub async fn standing(app: &App, by: &By) -> Result<Verdict<Standing>, Fault> {
    let (reach, now) = (&by.access.reach, app.clock.now());
    let is_of_all = by.access.read(None).is_ok();
    let snapshot = app.directory.current();
    let mut agents = Vec::new();
    let mut names = HashMap::new();
    for hosted in snapshot.brands().filter(|hosted| reach.covers(&hosted.brand.id)) {
        let brand = &hosted.brand.id;
        let turns = |outcome| app.metrics.turns_of(brand.as_str(), outcome);
        agents.push(AgentTrouble {
            brand: brand.clone(),
            timed_out: turns(AgentTurn::TimedOut),
            failed: turns(AgentTurn::Failed),
            busy: turns(AgentTurn::Busy),
            overreached: turns(AgentTurn::Overreached),
            answered: turns(AgentTurn::Answered),
        });
        names.insert(brand.clone(), hosted.brand.name.clone());
    }
    agents.retain(|agent| agent.timed_out + agent.failed + agent.busy + agent.overreached > 0);
    agents.sort_by(|one, other| (other.timed_out, &one.brand).cmp(&(one.timed_out, &other.brand)));
    let failing = app.directory.failing_key_sets().into_iter();
    let failing = failing.map(|(address, failed_at)| {
        let of = owners(&snapshot, address.as_str());
        FailingKeys { address: address.into(), failed_at, of }
    });
    // Of several whose keys are at one address, only those are told of which somebody may know.
    let within = |keys: FailingKeys| {
        let of: Vec<KeysOf> = keys.of.into_iter().filter(|owner| is_of_all || is_covered(by, owner)).collect();
        (is_of_all || !of.is_empty()).then_some(FailingKeys { of, ..keys })
    };
    Ok(Verdict::Done(Standing {
        numbers: app.store.overview(reach, now).await?,
        refusals: is_of_all.then(|| app.metrics.refusals()),
        failing_keys: failing.filter_map(within).collect(),
        agents,
        waiting: app.store.waiting_events(reach).await?,
        names,
        since: now.minus(app.clock.uptime()),
    }))
}

fn is_covered(by: &By, owner: &KeysOf) -> bool {
    match owner {
        KeysOf::Brand(brand) => by.access.read(Some(brand)).is_ok(),
        KeysOf::PersonalAgent(_) => by.access.read(None).is_ok(),
    }
}

/// Whose keys are at `address`.
fn owners(snapshot: &Snapshot, address: &str) -> Vec<KeysOf> {
    let brands = snapshot.brands().filter(|hosted| {
        let login = hosted.brand.delegation.as_ref().and_then(|delegation| delegation.assertion.jwks_uri.as_ref());
        login.is_some_and(|url| url.as_str() == address)
    });
    let agents = snapshot.personal_agents().filter(|agent| agent.jwks_uri.as_str() == address);
    let brands = brands.map(|hosted| KeysOf::Brand(hosted.brand.id.clone()));
    let mut owners: Vec<KeysOf> =
        brands.chain(agents.map(|agent| KeysOf::PersonalAgent(agent.issuer.clone()))).collect();
    owners.sort();
    owners
}
