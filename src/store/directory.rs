//! Brands, personal agents and keys: what a node may cache, with the revision that tells it when to read anew.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::{FromRow, query, query_as, query_scalar};
use url::Url;

use super::dialect::{Tx, execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit, event, grant};
use crate::clock::Timestamp;
use crate::domain::audit::{Action, Actor, Entry, RequestId};
use crate::domain::brand::{Brand, Delegation, SigningAlg};
use crate::domain::id::{BrandId, Issuer, KeyId};
use crate::domain::personal_agent::PersonalAgent;
use crate::domain::scope::ScopeSet;
use crate::domain::signing_key::{KeyState, SealedKey};

/// Everything a node may cache, as of one revision.
#[derive(Clone, Debug, Default)]
pub struct DirectoryRows {
    /// Grows with every change.
    pub revision: i64,
    /// All Brands that are served.
    pub brands: Vec<Brand>,
    /// The ids of those that were removed, which are not given away again.
    pub removed: BTreeSet<BrandId>,
    /// All personal agents, disabled ones included.
    pub personal_agents: Vec<PersonalAgent>,
    /// All keys, compromised ones included.
    pub keys: Vec<SealedKey>,
}

/// A change of the directory, all of it or nothing.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The revision that the change was computed from.
    pub revision: i64,
    /// Created or replaced.
    pub brands: Vec<Brand>,
    /// Created or replaced.
    pub personal_agents: Vec<PersonalAgent>,
    /// Created.
    pub keys: Vec<SealedKey>,
    /// Keys with what becomes of them.
    pub key_states: Vec<(KeyId, KeyState)>,
    /// Brands that are served no more, whose last form stands in `brands`.
    pub removed: Vec<BrandId>,
    /// One per thing that changed.
    pub audit: Vec<Entry>,
    /// Who changes it.
    pub actor: Actor,
    /// During which request.
    pub request: RequestId,
    /// When.
    pub at: Timestamp,
}

/// What became of an [`Apply`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// Done; so many live grants lost scopes and so many ended.
    Done {
        /// Live grants that lost some scopes.
        narrowed: usize,
        /// Live grants that lost all of them.
        ended: usize,
    },
    /// The directory changed meanwhile: nothing was done.
    Stale,
}

#[derive(FromRow)]
pub(super) struct BrandRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) profile: String,
    pub(super) delegation: Option<String>,
}

impl TryFrom<BrandRow> for Brand {
    type Error = StoreError;
    fn try_from(row: BrandRow) -> Result<Self, StoreError> {
        let key = row.id.clone();
        let delegation = row.delegation.as_deref().map(serde_json::from_str).transpose();
        Ok(Self {
            id: BrandId::parse(row.id).consistent("brand", &key)?,
            name: row.name,
            profile: serde_json::from_str(&row.profile).consistent("brand", &key)?,
            delegation: delegation.consistent("brand", &key)?,
        })
    }
}

#[derive(FromRow)]
pub(super) struct PersonalAgentRow {
    pub(super) issuer: String,
    pub(super) name: String,
    pub(super) jwks_uri: String,
    pub(super) enabled: bool,
}

impl TryFrom<PersonalAgentRow> for PersonalAgent {
    type Error = StoreError;
    fn try_from(row: PersonalAgentRow) -> Result<Self, StoreError> {
        let key = row.issuer.clone();
        Ok(Self {
            issuer: Issuer::parse(row.issuer).consistent("personal_agent", &key)?,
            name: row.name,
            jwks_uri: Url::parse(&row.jwks_uri).consistent("personal_agent", &key)?,
            enabled: row.enabled,
        })
    }
}

#[derive(FromRow)]
struct KeyRow {
    kid: String,
    brand_id: String,
    alg: String,
    public_jwk: String,
    sealed_private: String,
    state: String,
    state_at: i64,
    created_at: i64,
}

impl TryFrom<KeyRow> for SealedKey {
    type Error = StoreError;
    fn try_from(row: KeyRow) -> Result<Self, StoreError> {
        const TABLE: &str = "signing_key";
        let key = row.kid.clone();
        let at = Timestamp::from_millis(row.state_at);
        let state = match row.state.as_str() {
            "live" => Some(KeyState::Live { signs_from: at }),
            "retired" => Some(KeyState::Retired { at }),
            "compromised" => Some(KeyState::Compromised { at }),
            _ => None,
        };
        let alg = match row.alg.as_str() {
            "ES256" => Some(SigningAlg::Es256),
            "RS256" => Some(SigningAlg::Rs256),
            _ => None,
        };
        Ok(Self {
            id: KeyId::parse(row.kid).consistent(TABLE, &key)?,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            alg: alg.consistent(TABLE, &key)?,
            public_jwk: row.public_jwk,
            sealed_private: row.sealed_private,
            state: state.consistent(TABLE, &key)?,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}

const REVISION: &str = "SELECT revision FROM directory_revision";

impl Store {
    /// The present revision of the directory.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub async fn directory_revision(&self) -> Result<i64, StoreError> {
        Ok(read!(self, c => query_scalar::<_, i64>(REVISION).fetch_one(c))?)
    }

    /// The whole directory. The revision is read first: a change in between is seen at the next look.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or a row is inconsistent.
    pub async fn directory(&self) -> Result<DirectoryRows, StoreError> {
        const BRANDS: &str = "SELECT id, name, profile, delegation FROM brand WHERE removed_at IS NULL ORDER BY id";
        const REMOVED: &str = "SELECT id FROM brand WHERE removed_at IS NOT NULL";
        const AGENTS: &str = "SELECT issuer, name, jwks_uri, enabled FROM personal_agent ORDER BY issuer";
        const KEYS: &str = "SELECT kid, brand_id, alg, public_jwk, sealed_private, state, state_at, created_at
            FROM signing_key ORDER BY created_at, kid";
        let revision = self.directory_revision().await?;
        let brands = read!(self, c => query_as::<_, BrandRow>(BRANDS).fetch_all(c))?;
        let removed = read!(self, c => query_scalar::<_, String>(REMOVED).fetch_all(c))?;
        let removed = removed.into_iter().map(|id| BrandId::parse(id.clone()).consistent("brand", &id));
        let agents = read!(self, c => query_as::<_, PersonalAgentRow>(AGENTS).fetch_all(c))?;
        let keys = read!(self, c => query_as::<_, KeyRow>(KEYS).fetch_all(c))?;
        Ok(DirectoryRows {
            revision,
            brands: brands.into_iter().map(Brand::try_from).collect::<Result<_, _>>()?,
            removed: removed.collect::<Result<_, _>>()?,
            personal_agents: agents.into_iter().map(PersonalAgent::try_from).collect::<Result<_, _>>()?,
            keys: keys.into_iter().map(SealedKey::try_from).collect::<Result<_, _>>()?,
        })
    }

    /// Carries out a change of the directory, with what it means for live grants: a scope that a Brand no longer has
    /// leaves its grants, and a grant that is left without scopes ends.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn apply(&self, apply: &Apply) -> Result<Applied, StoreError> {
        const BUMP: &str =
            "UPDATE directory_revision SET revision = revision + 1 WHERE revision = $1 RETURNING revision";
        let mut tx = self.0.begin().await?;
        let bumped = in_tx!(&mut tx, c => query_scalar::<_, i64>(BUMP).bind(apply.revision).fetch_optional(c))?;
        if bumped.is_none() {
            return Ok(Applied::Stale);
        }
        let (mut narrowed, mut ended, mut grants) = (0, 0, Vec::new());
        for agent in &apply.personal_agents {
            put_personal_agent(&mut tx, agent, apply.at).await?;
        }
        // Brands of one file may pass an origin on to each other, in whatever order they stand.
        for brand in &apply.brands {
            give_up_origin(&mut tx, &brand.id).await?;
        }
        for brand in &apply.brands {
            // No decision of the Brand is under way now, so none can allow what is taken away here.
            tx.lock(&brand_lock(&brand.id)).await?;
            put_brand(&mut tx, brand, apply.at).await?;
            for change in grant::follow_brand(&mut tx, brand, apply.at).await? {
                let action = if change.left.is_empty() { Action::GrantEnded } else { Action::GrantChanged };
                *(if change.left.is_empty() { &mut ended } else { &mut narrowed }) += 1;
                grants.push(Entry {
                    brand: Some(brand.id.clone()),
                    at: apply.at,
                    actor: apply.actor.clone(),
                    action,
                    subject: change.grant.to_string(),
                    request: apply.request.clone(),
                    payload: json!({
                        "before": { "scopes": change.before.to_string() },
                        "after": (!change.left.is_empty()).then(|| json!({ "scopes": change.left.to_string() })),
                    }),
                });
            }
        }
        for brand in &apply.removed {
            remove_brand(&mut tx, brand, apply.at).await?;
        }
        for key in &apply.keys {
            put_key(&mut tx, key).await?;
        }
        for (key, state) in &apply.key_states {
            put_key_state(&mut tx, key, *state).await?;
        }
        for entry in apply.audit.iter().chain(&grants) {
            audit::append(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(Applied::Done { narrowed, ended })
    }
}

/// What a change of a Brand locks and a decision at it shares.
pub(super) fn brand_lock(brand: &BrandId) -> String {
    format!("brand {brand}")
}

/// Whether the Brand, as the transaction sees it, offers all of `scopes`.
pub(super) async fn offers(tx: &mut Tx, brand: &BrandId, scopes: &ScopeSet) -> Result<bool, StoreError> {
    const SQL: &str = "SELECT delegation FROM brand WHERE id = $1 AND delegation IS NOT NULL";
    let row = in_tx!(tx, c => query_scalar::<_, String>(SQL).bind(brand.as_str()).fetch_optional(c))?;
    let Some(text) = row else { return Ok(false) };
    let delegation: Delegation = serde_json::from_str(&text).consistent("brand", brand.as_str())?;
    Ok(scopes.is_subset_of(&delegation.scope_ids()))
}

async fn put_personal_agent(tx: &mut Tx, agent: &PersonalAgent, at: Timestamp) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO personal_agent (issuer, name, jwks_uri, enabled, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $5)
        ON CONFLICT (issuer) DO UPDATE SET name = $2, jwks_uri = $3, enabled = $4, updated_at = $5";
    execute!(
        tx,
        query(SQL)
            .bind(agent.issuer.as_str())
            .bind(&agent.name)
            .bind(agent.jwks_uri.as_str())
            .bind(agent.enabled)
            .bind(at.millis())
    )?;
    Ok(())
}

async fn give_up_origin(tx: &mut Tx, brand: &BrandId) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE brand SET auth_origin = NULL WHERE id = $1";
    execute!(tx, query(SQL).bind(brand.as_str()))?;
    Ok(())
}

async fn put_brand(tx: &mut Tx, brand: &Brand, at: Timestamp) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO brand (id, name, profile, delegation, auth_origin, created_at, updated_at, sends_events)
        VALUES ($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT (id) DO UPDATE SET name = $2, profile = $3,
        delegation = $4, auth_origin = $5, updated_at = $6, sends_events = $7
        WHERE brand.removed_at IS NULL";
    let profile = serde_json::to_string(&brand.profile)?;
    let delegation = brand.delegation.as_ref().map(serde_json::to_string).transpose()?;
    let origin = brand.delegation.as_ref().and_then(|delegation| delegation.auth_origin.as_ref());
    let sends_events = brand.delegation.as_ref().is_some_and(|delegation| delegation.events.is_some());
    execute!(
        &mut *tx,
        query(SQL)
            .bind(brand.id.as_str())
            .bind(&brand.name)
            .bind(&profile)
            .bind(&delegation)
            .bind(origin.map(|origin| origin.origin().ascii_serialization()))
            .bind(at.millis())
            .bind(sends_events)
    )?;
    if !sends_events {
        event::forget_of(tx, &brand.id).await?;
    }
    Ok(())
}

async fn remove_brand(tx: &mut Tx, brand: &BrandId, at: Timestamp) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE brand SET removed_at = $1 WHERE id = $2 AND removed_at IS NULL";
    execute!(tx, query(SQL).bind(at.millis()).bind(brand.as_str()))?;
    Ok(())
}

/// A key's state as its two columns.
const fn state_columns(state: KeyState) -> (&'static str, Timestamp) {
    match state {
        KeyState::Live { signs_from } => ("live", signs_from),
        KeyState::Retired { at } => ("retired", at),
        KeyState::Compromised { at } => ("compromised", at),
    }
}

async fn put_key_state(tx: &mut Tx, key: &KeyId, state: KeyState) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE signing_key SET state = $1, state_at = $2 WHERE kid = $3";
    let (state, at) = state_columns(state);
    execute!(tx, query(SQL).bind(state).bind(at.millis()).bind(key.as_str()))?;
    Ok(())
}

async fn put_key(tx: &mut Tx, key: &SealedKey) -> Result<(), StoreError> {
    const SQL: &str =
        "INSERT INTO signing_key (kid, brand_id, alg, public_jwk, sealed_private, state, state_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (state, at) = state_columns(key.state);
    execute!(
        tx,
        query(SQL)
            .bind(key.id.as_str())
            .bind(key.brand.as_str())
            .bind(key.alg.name())
            .bind(&key.public_jwk)
            .bind(&key.sealed_private)
            .bind(state)
            .bind(at.millis())
            .bind(key.created_at.millis())
    )?;
    Ok(())
}
