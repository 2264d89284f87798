//! The Brands' keys, as administrators rotate, retire and give them up.
//!
//! A new key is published a day before it signs, and its predecessor gives way at that instant by itself
//! ([`SealedKey::gives_way_at`]): there is nothing to be run then, on however many nodes. A Brand is never left without a
//! key that signs, unless a new one takes its place at once.

use std::time::Duration;

use serde_json::{Value, json};

use super::{By, Run, Verdict, see_change};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::ring;
use crate::domain::administrator::Role;
use crate::domain::audit::{Action, Entry};
use crate::domain::brand::SigningAlg;
use crate::domain::id::{BrandId, KeyId};
use crate::domain::page::{ByTime, Direction, Key, Page, Paging, Place};
use crate::domain::signing_key::{KeyState, PUBLISHED_BEFORE_SIGNING, SEEN_EVERYWHERE_WITHIN, SealedKey};
use crate::flow::{ATTEMPTS, Fault, RESTLESS};
use crate::store::{Applied, Apply, DirectoryRows};

/// A key as administrators see it: its public half alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRecord {
    /// Its `kid`.
    pub id: KeyId,
    /// Whose.
    pub brand: BrandId,
    /// What it signs with.
    pub alg: SigningAlg,
    /// Where in its life it is.
    pub state: KeyState,
    /// Whether it is the one that signs.
    pub signs: bool,
    /// When its successor starts.
    pub gives_way_at: Option<Timestamp>,
    /// The public half, a JWK as JSON.
    pub public_jwk: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A page of the keys of one Brand, or of all within reach; of removed Brands too.
///
/// # Errors
/// [`Fault`].
pub async fn list(
    app: &App,
    by: &By,
    brand: Option<&BrandId>,
    paging: &Paging<ByTime>,
) -> Result<Verdict<Page<KeyRecord>>, Fault> {
    if let Some(Err(denied)) = brand.map(|brand| by.access.read(Some(brand))) {
        return Ok(denied.into());
    }
    let directory = app.store.directory().await?;
    let is_wanted = |key: &&SealedKey| match brand {
        Some(brand) => key.brand == *brand,
        None => by.access.reach.covers(&key.brand),
    };
    let now = app.clock.now();
    let mut keys: Vec<&SealedKey> = directory.keys.iter().filter(is_wanted).collect();
    keys.sort_by(|one, other| (one.created_at, one.id.as_str()).cmp(&(other.created_at, other.id.as_str())));
    if paging.direction == Direction::Descending {
        keys.reverse();
    }
    let place = |key: &SealedKey| Place { key: Key::Number(key.created_at.millis()), id: key.id.to_string() };
    let is_behind = |key: &&SealedKey| match (&paging.after, paging.direction) {
        (Some(Place { key: Key::Number(at), id }), Direction::Ascending) => {
            (key.created_at.millis(), key.id.as_str()) > (*at, id.as_str())
        }
        (Some(Place { key: Key::Number(at), id }), Direction::Descending) => {
            (key.created_at.millis(), key.id.as_str()) < (*at, id.as_str())
        }
        (Some(Place { key: Key::Text(_), .. }) | None, _) => true,
    };
    let limit = usize::try_from(paging.limit()).unwrap_or(usize::MAX);
    let rows: Vec<&SealedKey> = keys.into_iter().filter(is_behind).take(limit).collect();
    let page = paging.page(rows, |key| place(key));
    Ok(Verdict::Done(page.map(|key| record(&directory, key, now))))
}

/// One key, of a Brand that was removed too.
///
/// # Errors
/// [`Fault`].
pub async fn show(app: &App, by: &By, id: &KeyId) -> Result<Verdict<KeyRecord>, Fault> {
    let directory = app.store.directory().await?;
    Ok(match directory.keys.iter().find(|key| key.id == *id) {
        Some(key) if by.access.read(Some(&key.brand)).is_ok() => {
            Verdict::Done(record(&directory, key, app.clock.now()))
        }
        Some(_) | None => Verdict::NotThere,
    })
}

fn record(directory: &DirectoryRows, key: &SealedKey, now: Timestamp) -> KeyRecord {
    KeyRecord {
        id: key.id.clone(),
        brand: key.brand.clone(),
        alg: key.alg,
        state: key.state.settled(key.gives_way_at(&directory.keys), now),
        signs: signer(&directory.keys, &key.brand, alg_of(directory, &key.brand), now) == Some(&key.id),
        gives_way_at: key.gives_way_at(&directory.keys),
        public_jwk: key.public_jwk.clone(),
        created_at: key.created_at,
    }
}

/// What became of a rotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rotated {
    /// A new key is published.
    Made {
        /// Its `kid`.
        key: KeyId,
        /// When it starts to sign, and those before it give way.
        signs_from: Timestamp,
    },
    /// The key of a rotation that was under way starts sooner.
    Advanced {
        /// Its `kid`.
        key: KeyId,
        /// When it starts now.
        signs_from: Timestamp,
    },
    /// A rotation is under way already: nothing was done.
    UnderWay {
        /// The new key.
        key: KeyId,
        /// When it starts.
        signs_from: Timestamp,
    },
}

/// Gives a Brand a new key, which signs after a day; or, where it must be `at_once`, as soon as every node has seen it. Then
/// whoever keeps an older `jwks.json` for its five minutes refuses what the new key signs.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn rotate(app: &App, by: &By, brand: &BrandId, at_once: bool) -> Result<Verdict<Rotated>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator).and_then(|()| by.access.change(Some(brand))) {
        return Ok(denied.into());
    }
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let directory = app.store.directory().await?;
        let Some(alg) = directory.brands.iter().find(|known| known.id == *brand).map(|brand| brand.signing_alg())
        else {
            return Ok(Verdict::NotThere);
        };
        let has_signer = signer(&directory.keys, brand, alg, now).is_some();
        let signs_from = match (has_signer, at_once) {
            (false, _) => now,
            (true, true) => now.plus(SEEN_EVERYWHERE_WITHIN),
            (true, false) => now.plus(PUBLISHED_BEFORE_SIGNING),
        };
        let mut unit = by.change(directory.revision, now);
        let rotated = match upcoming(&directory.keys, brand, alg, now) {
            Some((key, under_way)) if under_way <= signs_from || (has_signer && !at_once) => {
                return Ok(Verdict::Done(Rotated::UnderWay { key: key.clone(), signs_from: under_way }));
            }
            Some((key, under_way)) => {
                let payload = json!({ "before": starts(under_way), "after": starts(signs_from) });
                unit.audit.push(by.entry(Some(brand), now, Action::KeyAdvanced, key, payload));
                unit.key_states.push((key.clone(), KeyState::Live { signs_from }));
                Rotated::Advanced { key: key.clone(), signs_from }
            }
            None => Rotated::Made {
                key: make_key(app, by, &mut unit, &directory.keys, (brand, alg), signs_from)?,
                signs_from,
            },
        };
        if let Applied::Done { .. } = app.store.apply(&unit).await? {
            see_change(app).await;
            return Ok(Verdict::Done(rotated));
        }
    }
    Err(RESTLESS)
}

/// How a key leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// It signs no more, and verifies what it signed.
    Retired,
    /// It may be in other hands: it leaves the JWKS, and whatever it signed is refused.
    Compromised,
}

/// What became of a key that was to leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left {
    /// It has left; on this node at once, on the others within two seconds.
    Done {
        /// The key that was made in its place, and when it starts.
        replaced_by: Option<(KeyId, Timestamp)>,
    },
    /// It had left before: nothing was done.
    Already,
    /// The Brand would have no key that signs: nothing was done.
    WouldLeaveNone,
}

/// Takes a key out of use. Where the Brand would be left without a key that signs, nothing is done, or, if `replace`, the
/// next key takes its place at once, and a new one where there is no next.
///
/// # Errors
/// [`Fault`]; nothing is done.
pub async fn take_out(
    app: &App,
    by: &By,
    key: &KeyId,
    leaves: Leaves,
    replace: bool,
    run: Run,
) -> Result<Verdict<Left>, Fault> {
    if let Err(denied) = by.access.at_least(Role::Operator) {
        return Ok(denied.into());
    }
    for _ in 0..ATTEMPTS {
        let now = app.clock.now();
        let directory = app.store.directory().await?;
        let row = match directory.keys.iter().find(|row| row.id == *key) {
            Some(row) if by.access.change(Some(&row.brand)).is_ok() => row,
            Some(_) | None => return Ok(Verdict::NotThere),
        };
        let brand = &row.brand;
        let before = row.state.settled(row.gives_way_at(&directory.keys), now);
        let (action, after) = match (leaves, before) {
            (_, KeyState::Compromised { .. }) | (Leaves::Retired, KeyState::Retired { .. }) => {
                return Ok(Verdict::Done(Left::Already));
            }
            (Leaves::Retired, KeyState::Live { .. }) => (Action::KeyRetired, KeyState::Retired { at: now }),
            (Leaves::Compromised, KeyState::Live { .. } | KeyState::Retired { .. }) => {
                (Action::KeyCompromised, KeyState::Compromised { at: now })
            }
        };
        let mut unit = by.change(directory.revision, now);
        let mut keys = settle(&mut unit, &directory.keys, brand, now);
        for row in keys.iter_mut().filter(|row| row.id == *key) {
            row.state = after;
        }
        let alg = alg_of(&directory, brand);
        let is_the_last = !directory.removed.contains(brand) && signer(&keys, brand, alg, now).is_none();
        if is_the_last && !replace {
            return Ok(Verdict::Done(Left::WouldLeaveNone));
        }
        // Its successor makes a key of the same algorithm retire by itself, and so late that every node knows the successor.
        let gives_way = is_the_last && leaves == Leaves::Retired && row.alg == alg;
        let starts_at = if gives_way { now.plus(SEEN_EVERYWHERE_WITHIN) } else { now };
        let after = if gives_way { KeyState::Retired { at: starts_at } } else { after };
        if !gives_way {
            unit.key_states.retain(|(id, _)| id != key);
            unit.key_states.push((key.clone(), after));
        }
        unit.audit.push(by.entry(
            Some(brand),
            now,
            action,
            key,
            json!({ "before": state(before), "after": state(after) }),
        ));
        let mut replaced_by = None;
        if is_the_last {
            let next = upcoming(&keys, brand, alg, now).map(|(next, under_way)| (next.clone(), under_way));
            replaced_by = match (run, next) {
                (_, Some((next, under_way))) => {
                    let starts_at = starts_at.min(under_way);
                    let payload = json!({ "before": starts(under_way), "after": starts(starts_at) });
                    unit.audit.push(by.entry(Some(brand), now, Action::KeyAdvanced, &next, payload));
                    unit.key_states.push((next.clone(), KeyState::Live { signs_from: starts_at }));
                    Some((next, starts_at))
                }
                (Run::Real, None) => {
                    Some((make_key(app, by, &mut unit, &directory.keys, (brand, alg), starts_at)?, starts_at))
                }
                (Run::Dry, None) => None,
            };
        }
        if run == Run::Dry {
            return Ok(Verdict::Done(Left::Done { replaced_by }));
        }
        if let Applied::Done { .. } = app.store.apply(&unit).await? {
            see_change(app).await;
            return Ok(Verdict::Done(Left::Done { replaced_by }));
        }
    }
    Err(RESTLESS)
}

/// Retires every live key of a Brand that goes.
pub(super) fn retire_all(
    by: &By,
    keys: &[SealedKey],
    brand: &BrandId,
    now: Timestamp,
) -> (Vec<(KeyId, KeyState)>, Vec<Entry>) {
    let (mut states, mut audit) = (Vec::new(), Vec::new());
    for key in keys.iter().filter(|key| key.brand == *brand) {
        let before = key.state.settled(key.gives_way_at(keys), now);
        let after = match before {
            KeyState::Live { .. } => KeyState::Retired { at: now },
            KeyState::Retired { .. } | KeyState::Compromised { .. } => before,
        };
        if after != before {
            let payload = json!({ "before": state(before), "after": state(after) });
            audit.push(by.entry(Some(brand), now, Action::KeyRetired, &key.id, payload));
        }
        if after != key.state {
            states.push((key.id.clone(), after));
        }
    }
    (states, audit)
}

/// Writes down that the keys which have given way are retired, so that none comes back when its successor leaves. Returns
/// the Brand's keys as they then are.
fn settle(unit: &mut Apply, keys: &[SealedKey], brand: &BrandId, now: Timestamp) -> Vec<SealedKey> {
    let mut settled = Vec::new();
    for key in keys.iter().filter(|key| key.brand == *brand) {
        let state = key.state.settled(key.gives_way_at(keys), now);
        if state != key.state {
            unit.key_states.push((key.id.clone(), state));
        }
        settled.push(SealedKey { state, ..key.clone() });
    }
    settled
}

/// Puts a new key of a Brand, beside those in `keys`, into `unit`.
fn make_key(
    app: &App,
    by: &By,
    unit: &mut Apply,
    keys: &[SealedKey],
    (brand, alg): (&BrandId, SigningAlg),
    signs_from: Timestamp,
) -> Result<KeyId, Fault> {
    // The newest is who signs, also when it is made in the same millisecond, or by a clock that was set back.
    let newest = keys.iter().filter(|key| key.brand == *brand).map(|key| key.created_at).max();
    let made_at = newest.map_or(unit.at, |newest| unit.at.max(newest.plus(Duration::from_millis(1))));
    let id = KeyId::from_ulid(app.entropy.ulid(unit.at));
    let state = KeyState::Live { signs_from };
    unit.keys.push(ring::generate(alg, brand, id.clone(), state, made_at, &app.master, &app.entropy)?);
    let payload = json!({ "alg": alg.name(), "signs_from": signs_from.to_rfc3339() });
    unit.audit.push(by.entry(Some(brand), unit.at, Action::KeyCreated, &id, payload));
    Ok(id)
}

/// The key that signs at `now`, by the rule of [`ring::KeyRing::signer`].
fn signer<'a>(keys: &'a [SealedKey], brand: &BrandId, alg: SigningAlg, now: Timestamp) -> Option<&'a KeyId> {
    let is_ready = |key: &&SealedKey| key.brand == *brand && key.state.settled(key.gives_way_at(keys), now).signs(now);
    let ready = keys.iter().filter(is_ready);
    ready.max_by_key(|key| (key.alg == alg, key.created_at, key.id.as_str())).map(|key| &key.id)
}

/// The key of `alg` that will be the next to sign, and when it starts.
fn upcoming<'a>(
    keys: &'a [SealedKey],
    brand: &BrandId,
    alg: SigningAlg,
    now: Timestamp,
) -> Option<(&'a KeyId, Timestamp)> {
    let mine = keys.iter().filter(|key| key.brand == *brand && key.alg == alg);
    let starting = mine.filter_map(|key| match key.state.settled(key.gives_way_at(keys), now) {
        KeyState::Live { signs_from } if signs_from > now => Some((&key.id, signs_from)),
        KeyState::Live { .. } | KeyState::Retired { .. } | KeyState::Compromised { .. } => None,
    });
    starting.min_by_key(|(_, signs_from)| *signs_from)
}

fn alg_of(directory: &DirectoryRows, brand: &BrandId) -> SigningAlg {
    directory.brands.iter().find(|known| known.id == *brand).map(|brand| brand.signing_alg()).unwrap_or_default()
}

fn starts(at: Timestamp) -> Value {
    json!({ "signs_from": at.to_rfc3339() })
}

fn state(state: KeyState) -> Value {
    match state {
        KeyState::Live { signs_from } => json!({ "state": "live", "signs_from": signs_from.to_rfc3339() }),
        KeyState::Retired { at } => json!({ "state": "retired", "at": at.to_rfc3339() }),
        KeyState::Compromised { at } => json!({ "state": "compromised", "at": at.to_rfc3339() }),
    }
}
