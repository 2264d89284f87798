//! `assent apply FILE`: Brands and personal agents as they are written in a file, in one transaction.
//!
//! Refuses a file as a whole when any part of it could not be served, by the name of the parameter.

mod difference;
mod written;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::{By, Run, Verdict, personal_agents, see_change};
use crate::app::App;
use crate::clock::Timestamp;
use crate::config::Config;
use crate::crypto::jwks::KeySet;
use crate::crypto::{codes, ring};
use crate::domain::administrator::{Access, Denied, Role};
use crate::domain::audit::{Action, Entry};
use crate::domain::brand::{Agent, Brand, Delegation, Profile, Skill};
use crate::domain::check::{InvalidParameter, LINE};
use crate::domain::id::{BrandId, Issuer, KeyId};
use crate::domain::personal_agent::PersonalAgent;
use crate::domain::signing_key::{KeyState, PUBLISHED_BEFORE_SIGNING, SealedKey};
use crate::entropy::Entropy;
use crate::flow::{ATTEMPTS, Fault, RESTLESS};
use crate::store::{Applied, Apply, DirectoryRows};

pub use written::{one_brand, written};

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyFile {
    /// Personal agents, by `issuer`.
    #[serde(default)]
    pub personal_agent: Vec<PersonalAgentTable>,
    /// Brands, by `id`, or by `name` where there is no `id`.
    #[serde(default)]
    pub brand: Vec<BrandTable>,
}

/// A personal agent in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonalAgentTable {
    name: String,
    issuer: Issuer,
    jwks_uri: Url,
    #[serde(default = "enabled")]
    enabled: bool,
}

const fn enabled() -> bool {
    true
}

/// A Brand in the file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrandTable {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    id: Option<BrandId>,
    /// What the card and the pages call it.
    #[schemars(extend("minLength" = 1, "maxLength" = 80, "pattern" = LINE))]
    name: String,
    /// A sentence for the card.
    #[schemars(extend("minLength" = 1, "maxLength" = 500, "pattern" = LINE))]
    description: String,
    /// The version of the Brand's agent, for the card.
    #[schemars(extend("minLength" = 1, "maxLength" = 40, "pattern" = LINE))]
    version: String,
    /// What its agent can do.
    #[schemars(length(min = 1))]
    skills: Vec<Skill>,
    /// The backend behind the interface.
    agent: Agent,
    /// Left out for a Brand of the Identity profile alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegation: Option<Delegation>,
    /// Whether it makes a Brand, and changes none that has its name.
    #[serde(skip)]
    makes: bool,
    /// What the Brand must still be: the mark of what somebody looked at.
    #[serde(skip)]
    seen: Option<String>,
}

/// Why a table that makes a Brand is refused beside one of its name.
pub const NAME_TAKEN: &str = "name: is that of a Brand already; to change it, put it by its id";

/// Why a table is refused whose Brand is not any more what somebody looked at.
pub const NOT_AS_SEEN: &str = "has changed since it was looked at";

/// What stands for a Brand as it is.
pub fn mark(brand: &Brand) -> String {
    codes::digest(&recorded(brand).to_string()).to_hex()
}

impl BrandTable {
    /// A Brand that is made, and none that is changed.
    pub fn of_new(self) -> Self {
        Self { makes: true, ..self }
    }

    /// The same for a Brand that still is what `seen` is the [`mark`] of; applied to any other it is refused.
    pub fn as_seen(self, seen: &str) -> Self {
        Self { seen: Some(seen.to_owned()), ..self }
    }

    /// A Brand that is made with this id. `None` when the table names one.
    pub fn made(self, id: BrandId) -> Option<Self> {
        Some(self.identified(id)?.of_new())
    }

    /// The same Brand, by its id. `None` when the table names one.
    pub fn identified(self, id: BrandId) -> Option<Self> {
        self.id.is_none().then_some(Self { id: Some(id), ..self })
    }
}

/// One line of what was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// `brand` or `personal_agent`.
    pub kind: &'static str,
    /// The Brand's id or the personal agent's issuer.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// `created`, `changed` or `unchanged`.
    pub what: &'static str,
    /// Of what was changed, the parameters that differ.
    pub fields: Vec<String>,
}

/// What became of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApplyOutcome {
    /// All of it is done.
    Done {
        /// One per table of the file, in its order.
        changes: Vec<Change>,
        /// Live grants that lost some scopes.
        narrowed: usize,
        /// Live grants that lost all of them.
        ended: usize,
    },
    /// None of it is, because of this.
    Refused(String),
}

/// Reads a file's text.
///
/// # Errors
/// What is wrong, with its line.
pub fn parse(text: &str) -> Result<ApplyFile, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// As [`apply`], on a node that serves: it sees the change at once.
///
/// # Errors
/// As [`apply`].
pub async fn apply_at_node(app: &App, file: &ApplyFile, by: &By, run: Run) -> Result<Verdict<ApplyOutcome>, Fault> {
    let outcome = apply(app, file, by, run).await?;
    if run == Run::Real && matches!(outcome, Verdict::Done(ApplyOutcome::Done { .. })) {
        see_change(app).await;
    }
    Ok(outcome)
}

/// Creates or changes what `file` names, and leaves everything else as it is; every node sees it within two seconds. A dry
/// run says what it would do.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn apply(app: &App, file: &ApplyFile, by: &By, run: Run) -> Result<Verdict<ApplyOutcome>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator) {
        return Ok(denied.into());
    }
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let before = app.store.directory().await?;
        if let Err(denied) = may_apply(by, file, &before) {
            return Ok(denied.into());
        }
        let plan = match Plan::new(&app.config, &app.entropy, file, &before, &by.access, now) {
            Ok(plan) => plan,
            Err(problem) => return Ok(Verdict::Done(ApplyOutcome::Refused(problem))),
        };
        let (mut narrowed, mut ended) = (0, 0);
        if run == Run::Dry || (plan.brands.is_empty() && plan.personal_agents.is_empty()) {
            for brand in &plan.brands {
                let (fewer, none) = app.store.would_follow(brand).await?;
                (narrowed, ended) = (narrowed + fewer, ended + none);
            }
            let mut changes = plan.changes;
            // An id that is made now is not the one that the Brand will have.
            let tables = changes.iter_mut().filter(|change| change.kind == "brand").zip(&file.brand);
            for (change, _) in tables.filter(|(change, table)| change.what == "created" && table.id.is_none()) {
                change.id = "(new)".to_owned();
            }
            return Ok(Verdict::Done(ApplyOutcome::Done { changes, narrowed, ended }));
        }
        let keys = plan.new_keys(app, &before, now)?;
        let audit = plan.audit(&before, &keys, by, now);
        let Plan { brands, personal_agents, changes } = plan;
        let unit = Apply { brands, personal_agents, keys, audit, ..by.change(before.revision, now) };
        match app.store.apply(&unit).await? {
            Applied::Done { narrowed, ended } => {
                return Ok(Verdict::Done(ApplyOutcome::Done { changes, narrowed, ended }));
            }
            Applied::Stale => {}
        }
    }
    Err(RESTLESS)
}

/// Personal agents and new Brands are the Provider's; a Brand that is there is for whoever it is within reach of.
fn may_apply(by: &By, file: &ApplyFile, before: &DirectoryRows) -> Result<(), Denied> {
    if !file.personal_agent.is_empty() {
        by.access.change(None)?;
    }
    for table in &file.brand {
        let is_meant = |known: &&Brand| table.id.as_ref().map_or(known.name == table.name, |id| known.id == *id);
        by.access.change(before.brands.iter().find(is_meant).map(|known| &known.id))?;
    }
    Ok(())
}

/// What a file would change of what is there. It has not been done.
#[derive(Debug)]
pub struct Plan {
    /// The Brands that are new or differ.
    pub brands: Vec<Brand>,
    /// The personal agents that are new or differ.
    pub personal_agents: Vec<PersonalAgent>,
    /// One per table of the file, in its order.
    pub changes: Vec<Change>,
}

impl Plan {
    /// Compares `file` with what is there `before`. A Brand without an id gets one from `entropy`.
    ///
    /// # Errors
    /// What could not be served, by the name of the parameter.
    pub fn new(
        config: &Config,
        entropy: &Entropy,
        file: &ApplyFile,
        before: &DirectoryRows,
        access: &Access,
        now: Timestamp,
    ) -> Result<Self, String> {
        let allow_http = config.outbound.allow_private;
        let mut plan = Self { brands: Vec::new(), personal_agents: Vec::new(), changes: Vec::new() };
        for (index, table) in file.personal_agent.iter().enumerate() {
            let agent =
                personal_agent(table, allow_http).map_err(|problem| format!("personal_agent[{index}].{problem}"))?;
            if plan.changes.iter().any(|change| change.id == agent.issuer.as_str()) {
                return Err(format!("personal_agent[{index}].issuer: stands before in this file"));
            }
            let known = before.personal_agents.iter().find(|known| known.issuer == agent.issuer);
            let (id, name) = (agent.issuer.to_string(), agent.name.clone());
            let recorded = personal_agents::recorded;
            plan.note("personal_agent", id, name, known.map(|known| (recorded(known), recorded(&agent))));
            if known != Some(&agent) {
                plan.personal_agents.push(agent);
            }
        }
        for (index, table) in file.brand.iter().enumerate() {
            let brand = brand(entropy, table, before, now).map_err(|problem| format!("brand[{index}].{problem}"))?;
            if plan.changes.iter().any(|change| change.kind == "brand" && change.id == brand.id.as_str()) {
                return Err(format!("brand[{index}].id: the same Brand stands before in this file"));
            }
            // Applied again, a table without an id would be whichever Brand then has its name.
            let is_namesake =
                |earlier: &BrandTable| earlier.name == table.name && (earlier.id.is_none() || table.id.is_none());
            if file.brand.iter().take(index).any(is_namesake) {
                return Err(format!("brand[{index}].id: is needed here and above, since both have one name"));
            }
            brand.check(allow_http).map_err(|problem| format!("brand[{index}].{problem}"))?;
            if has_no_usable_key(&brand) {
                return Err(format!("brand[{index}].delegation.assertion.jwks: has no key that can be used"));
            }
            let known = before.brands.iter().find(|known| known.id == brand.id);
            if table.seen.is_some() && table.seen != known.map(mark) {
                return Err(format!("brand[{index}]: {NOT_AS_SEEN}"));
            }
            let forms = known.map(|known| (recorded(known), recorded(&brand)));
            plan.note("brand", brand.id.to_string(), brand.name.clone(), forms);
            if known != Some(&brand) {
                plan.brands.push(brand);
            }
        }
        plan.check_origins(&config.public_url, before, access)?;
        Ok(plan)
    }

    /// Notes what becomes of a thing with these forms, before and after.
    fn note(&mut self, kind: &'static str, id: String, name: String, forms: Option<(Value, Value)>) {
        let fields = forms.as_ref().map_or_else(Vec::new, |(before, after)| difference::difference(before, after));
        let what = match forms {
            None => "created",
            Some((before, after)) if before == after => "unchanged",
            Some(_) => "changed",
        };
        self.changes.push(Change { kind, id, name, what, fields });
    }

    /// No two Brands may have one `auth_origin`, and none the Provider's own origin. A Brand out of reach is not named.
    fn check_origins(&self, public_url: &str, before: &DirectoryRows, access: &Access) -> Result<(), String> {
        let untouched = before.brands.iter().filter(|known| self.brands.iter().all(|brand| brand.id != known.id));
        let mut owners: HashMap<String, &str> = HashMap::from([(public_url.to_owned(), "public_url")]);
        for brand in untouched.chain(&self.brands) {
            let origin = brand.delegation.as_ref().and_then(|delegation| delegation.auth_origin.as_ref());
            let Some(origin) = origin.map(|origin| origin.origin().ascii_serialization()) else { continue };
            if let Some(owner) = owners.insert(origin.clone(), seen_name(brand, access)) {
                return Err(format!(
                    "brand \"{}\": delegation.auth_origin: {origin} is already that of {owner}",
                    brand.name
                ));
            }
        }
        Ok(())
    }

    /// A key for each Brand that has none of its algorithm. A Brand's first key signs at once, since nobody can have
    /// fetched an older set.
    fn new_keys(&self, app: &App, before: &DirectoryRows, now: Timestamp) -> Result<Vec<SealedKey>, Fault> {
        let mut keys = Vec::new();
        for brand in &self.brands {
            let alg = brand.signing_alg();
            let is_live = |key: &&SealedKey| key.brand == brand.id && matches!(key.state, KeyState::Live { .. });
            let mut live = before.keys.iter().filter(is_live).peekable();
            let signs_from = if live.peek().is_none() { now } else { now.plus(PUBLISHED_BEFORE_SIGNING) };
            if live.any(|key| key.alg == alg) {
                continue;
            }
            let id = KeyId::from_ulid(app.entropy.ulid(now));
            let state = KeyState::Live { signs_from };
            keys.push(ring::generate(alg, &brand.id, id, state, now, &app.master, &app.entropy)?);
        }
        Ok(keys)
    }

    fn audit(&self, before: &DirectoryRows, keys: &[SealedKey], by: &By, now: Timestamp) -> Vec<Entry> {
        let agents = self.personal_agents.iter().map(|agent| {
            let known = before.personal_agents.iter().find(|known| known.issuer == agent.issuer);
            let recorded = personal_agents::recorded;
            let payload = json!({ "before": known.map(recorded), "after": recorded(agent) });
            by.entry(None, now, Action::PersonalAgentApplied, &agent.issuer, payload)
        });
        let brands = self.brands.iter().map(|brand| {
            let known = before.brands.iter().find(|known| known.id == brand.id);
            let payload = json!({ "before": known.map(recorded), "after": recorded(brand) });
            by.entry(Some(&brand.id), now, Action::BrandApplied, &brand.id, payload)
        });
        let keys = keys.iter().map(|key| {
            let payload = json!({ "before": null, "after": { "alg": key.alg.name() } });
            by.entry(Some(&key.brand), now, Action::KeyCreated, &key.id, payload)
        });
        agents.chain(brands).chain(keys).collect()
    }
}

/// What somebody with this access may be told of a Brand's name.
fn seen_name<'a>(brand: &'a Brand, access: &Access) -> &'a str {
    if access.read(Some(&brand.id)).is_ok() { &brand.name } else { "another Brand" }
}

/// What the audit log keeps of a Brand.
pub(super) fn recorded(brand: &Brand) -> Value {
    json!({ "name": brand.name, "profile": brand.profile, "delegation": brand.delegation })
}

/// Whether a Brand's login has its keys inline and none of them can verify anything.
fn has_no_usable_key(brand: &Brand) -> bool {
    let inline = brand.delegation.as_ref().and_then(|delegation| delegation.assertion.jwks.as_ref());
    inline.is_some_and(|jwks| KeySet::parse(jwks.to_string().as_bytes()).is_ok_and(|keys| keys.is_empty()))
}

fn personal_agent(table: &PersonalAgentTable, allow_http: bool) -> Result<PersonalAgent, InvalidParameter> {
    let agent = PersonalAgent {
        issuer: table.issuer.clone(),
        name: table.name.clone(),
        jwks_uri: table.jwks_uri.clone(),
        enabled: table.enabled,
    };
    agent.check(allow_http)?;
    Ok(agent)
}

/// The Brand of a table, with the id that it has, that the Brand of the same name has, or a new one.
fn brand(entropy: &Entropy, table: &BrandTable, before: &DirectoryRows, now: Timestamp) -> Result<Brand, String> {
    if table.id.as_ref().is_some_and(|id| before.removed.contains(id)) {
        return Err("id: is that of a Brand that was removed; leave it out, and a new one is made".to_owned());
    }
    let mut namesakes = before.brands.iter().filter(|brand| brand.name == table.name);
    let id = match (&table.id, namesakes.next(), namesakes.next()) {
        (_, Some(_), _) if table.makes => return Err(NAME_TAKEN.to_owned()),
        (Some(id), ..) => id.clone(),
        (None, None, _) => BrandId::from_ulid(entropy.ulid(now)),
        (None, Some(namesake), None) => namesake.id.clone(),
        (None, Some(_), Some(_)) => return Err("id: is needed, since several Brands have this name".to_owned()),
    };
    Ok(Brand {
        id,
        name: table.name.clone(),
        profile: Profile {
            description: table.description.clone(),
            version: table.version.clone(),
            skills: table.skills.clone(),
            agent: table.agent.clone(),
        },
        delegation: table.delegation.clone(),
    })
}
