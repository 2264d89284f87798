//! A Brand's key, and the forms that rotate it, retire it or give it up.

use super::form::{Button, Choice, Field};
use super::parts::{Block, Holds, Link, Value, fact, path};
use super::{DonePage, FormPage, Frame, Section, ThingPage, Wrong, sampled};
use crate::clock::Timestamp;
use crate::domain::administrator::Access;
use crate::domain::id::{BrandId, KeyId};
use crate::domain::signing_key::KeyState;
use crate::flow::admin::keys::{KeyRecord, Leaves, Left, Rotated};

/// Where a key is in its life, in one word.
pub fn key_state(key: &KeyRecord, now: Timestamp) -> &'static str {
    match key.state {
        KeyState::Live { signs_from } if signs_from > now => "next",
        KeyState::Live { .. } if key.signs => "signing",
        KeyState::Live { .. } => "spare",
        KeyState::Retired { .. } => "retired",
        KeyState::Compromised { .. } => "compromised",
    }
}

/// What that means.
fn means(key: &KeyRecord, now: Timestamp) -> &'static str {
    match key_state(key, now) {
        "next" => "It is published, and signs from the time below on.",
        "signing" => "It signs the Brand's delegation tokens, receipts and turns.",
        "spare" => "It could sign, and another does.",
        "retired" => "It signs no more. It stays in the JWKS, and the receipts it signed stay good.",
        _ => "It was given up: it is not in the JWKS, and whatever it signed is refused.",
    }
}

/// When a key starts to sign, and when it stops.
pub fn key_dates(key: &KeyRecord) -> (Option<Timestamp>, Option<Timestamp>) {
    match key.state {
        KeyState::Live { signs_from } => (Some(signs_from), key.gives_way_at),
        KeyState::Retired { at } | KeyState::Compromised { at } => (None, Some(at)),
    }
}

/// A key by its page.
pub(super) fn key_link(key: &KeyId) -> Link {
    Link::new(key.as_str(), path(&["keys", key.as_str()]))
}

/// A Brand by its page.
pub(super) fn brand_link(name: &str, brand: &BrandId) -> Link {
    Link::new(if name.is_empty() { brand.as_str() } else { name }, path(&["brands", brand.as_str()]))
}

/// The page of a key of the Brand that is called `brand`.
pub fn key_page(frame: Frame, access: &Access, key: &KeyRecord, brand: &str, now: Timestamp) -> ThingPage {
    let (signs_from, until) = key_dates(key);
    let facts = vec![
        fact("Key (kid)", Value::id(&key.id)),
        fact("Brand", Value::Link(brand_link(brand, &key.brand))),
        fact("State", Value::text(key_state(key, now))),
        fact("Which means", Value::text(means(key, now))),
        fact("Algorithm", Value::text(key.alg.name())),
        fact("Made", Value::instant(key.created_at)),
        fact("Signs from", Value::at(signs_from)),
        fact("Until", Value::at(until)),
    ];
    let pretty = serde_json::from_str::<serde_json::Value>(&key.public_jwk);
    let jwk = pretty.and_then(|jwk| serde_json::to_string_pretty(&jwk)).unwrap_or_else(|_| key.public_jwk.clone());
    let mut deeds = Vec::new();
    if access.change(Some(&key.brand)).is_ok() {
        let at = |deed| path(&["keys", key.id.as_str(), deed]);
        match key.state {
            KeyState::Live { .. } => {
                deeds.push(Link::new("Retire", at("retire")));
                deeds.push(Link::new("Give up as compromised", at("compromise")));
            }
            KeyState::Retired { .. } => deeds.push(Link::new("Give up as compromised", at("compromise"))),
            KeyState::Compromised { .. } => {}
        }
    }
    let mut jwk = Block::new("Public key", Holds::Text(jwk));
    jwk.hint = "A JWK (RFC 7517), as it stands in the Brand's JWKS. The private half is shown to nobody.";
    ThingPage {
        frame,
        title: "Key".to_owned(),
        back: Some(Link::new("Keys", "/keys")),
        blocks: vec![Block::new("What it is", Holds::Facts(facts)), jwk],
        deeds,
    }
}

/// The form that gives a Brand a new key.
pub fn rotate_form(frame: Frame, name: &str, brand: &BrandId, at_once: bool) -> FormPage {
    let options = vec![
        Choice::new(
            "later",
            "In a day: published now, signs in 24 hours; nobody meets a key they have not fetched",
            !at_once,
        ),
        Choice::new(
            "now",
            "At once: signs in a few seconds; whoever keeps an older JWKS refuses what it signs for up to five minutes",
            at_once,
        ),
    ];
    FormPage {
        frame,
        title: format!("A new key for {name}"),
        wrong: None,
        says: vec![
            "A new key is made and published. When it starts to sign, the present one retires by itself.".to_owned(),
            "Receipts and tokens that the present key signed stay good: it stays in the JWKS, and tokens end by themselves \
             within the hour."
                .to_owned(),
        ],
        facts: vec![fact("Brand", Value::Link(brand_link(name, brand)))],
        fields: vec![Field::Choice { name: "when", legend: "When it starts to sign", several: false, options }],
        hidden: Vec::new(),
        action: path(&["brands", brand.as_str(), "rotate"]),
        buttons: vec![Button { step: "", label: "Make the new key" }],
        cancel: brand_link(name, brand),
    }
}

/// What became of a rotation.
pub fn rotated_page(frame: Frame, name: &str, brand: &BrandId, rotated: &Rotated) -> DonePage {
    let (title, says, key, from) = match rotated {
        Rotated::Made { key, signs_from } => ("A new key is made", "It is published now.", key, signs_from),
        Rotated::Advanced { key, signs_from } => {
            ("The next key starts sooner", "It had been published before.", key, signs_from)
        }
        Rotated::UnderWay { key, signs_from } => {
            ("A rotation is under way", "Nothing was done: this key was made before.", key, signs_from)
        }
    };
    let facts = vec![fact("Key (kid)", Value::Link(key_link(key))), fact("Signs from", Value::instant(*from))];
    let mut page = DonePage::new(frame, title, &[says], vec![brand_link(name, brand), Link::new("Keys", "/keys")]);
    page.is_good = !matches!(rotated, Rotated::UnderWay { .. });
    page.blocks = vec![Block::new("The key", Holds::Facts(facts))];
    page
}

/// The form that takes a key out of use, as far as it can be; `planned` is what would become of it.
pub fn leave_form(
    frame: Frame,
    key: &KeyRecord,
    brand: &str,
    leaves: Leaves,
    planned: &Left,
    is_replaced: bool,
) -> FormPage {
    let (deed, title, button) = match leaves {
        Leaves::Retired => ("retire", "Retire a key", "Retire the key"),
        Leaves::Compromised => ("compromise", "Give a key up as compromised", "Give the key up"),
    };
    let mut says = match leaves {
        Leaves::Retired => vec![
            "The key signs no more. It stays in the JWKS: receipts that it signed stay good, and tokens until they end, \
             within the hour."
                .to_owned(),
        ],
        Leaves::Compromised => vec![
            "The key may be in other hands. It leaves the JWKS at once, on every node, and cannot come back.".to_owned(),
            "Every delegation token that it signed is refused from now on; personal agents get new ones with their refresh \
             tokens."
                .to_owned(),
            "Every receipt that it signed can no longer be verified with the Brand's JWKS. The audit log still vouches for \
             them."
                .to_owned(),
        ],
    };
    let mut fields = Vec::new();
    let mut wrong = None;
    let mut can = true;
    match planned {
        Left::Done { replaced_by: Some((next, from)) } => {
            says.push(format!("Key {next} signs in its place, from {} on.", from.to_rfc3339()));
        }
        Left::Done { replaced_by: None } => {}
        Left::WouldLeaveNone => {
            let label = "Let another key sign in its place at once; whoever keeps an older JWKS refuses it for up to five \
                         minutes";
            says.push("It is the last key that signs for its Brand, so another must take its place.".to_owned());
            let options = vec![Choice::new("yes", label, is_replaced)];
            fields.push(Field::Choice { name: "replace", legend: "Its successor", several: true, options });
        }
        Left::Already => {
            can = false;
            wrong = Some(Wrong::conflict("The key has left already."));
        }
    }
    if can && leaves == Leaves::Compromised {
        fields.push(Field::typed("Type the key's id to go on"));
    }
    FormPage {
        frame,
        title: title.to_owned(),
        wrong,
        says,
        facts: vec![
            fact("Key (kid)", Value::id(&key.id)),
            fact("Brand", Value::Link(brand_link(brand, &key.brand))),
            fact("Made", Value::instant(key.created_at)),
        ],
        fields,
        hidden: Vec::new(),
        action: path(&["keys", key.id.as_str(), deed]),
        buttons: if can { vec![Button { step: "", label: button }] } else { Vec::new() },
        cancel: Link::new("Back to the key", path(&["keys", key.id.as_str()])),
    }
}

/// What became of a key that was to leave.
pub fn left_page(frame: Frame, key: &KeyId, leaves: Leaves, replaced_by: Option<&(KeyId, Timestamp)>) -> DonePage {
    let (title, says) = match leaves {
        Leaves::Retired => ("The key is retired", "It signs no more, and what it signed stays good."),
        Leaves::Compromised => ("The key is given up", "Whatever it signed is refused from now on."),
    };
    let mut facts = vec![fact("Key (kid)", Value::Link(key_link(key)))];
    if let Some((next, from)) = replaced_by {
        facts.push(fact("Signs in its place", Value::Link(key_link(next))));
        facts.push(fact("From", Value::instant(*from)));
    }
    let mut page = DonePage::new(frame, title, &[says], vec![Link::new("Keys", "/keys")]);
    page.blocks = vec![Block::new("The key", Holds::Facts(facts))];
    page
}

/// The page in each state, by name.
pub(super) fn samples() -> Vec<(&'static str, ThingPage)> {
    let page = |access: &Access, state, signs| {
        let frame = Frame::sample_in(Section::Keys);
        key_page(frame, access, &sampled::key(state, signs), "Example Shop", sampled::NOW)
    };
    let (auditor, live) = (sampled::auditor(), KeyState::Live { signs_from: sampled::NOW });
    vec![
        ("key", page(&Access::EVERYTHING, live, true)),
        ("key-to-an-auditor", page(&auditor, live, true)),
        ("key-retired", page(&Access::EVERYTHING, KeyState::Retired { at: sampled::NOW }, false)),
        ("key-compromised", page(&Access::EVERYTHING, KeyState::Compromised { at: sampled::NOW }, false)),
    ]
}

/// The forms in each state, by name.
pub(super) fn form_samples() -> Vec<(&'static str, FormPage)> {
    let frame = || Frame::sample_in(Section::Keys);
    let key = sampled::key(KeyState::Live { signs_from: sampled::NOW }, true);
    let form = |leaves, planned: &Left| leave_form(frame(), &key, "Example Shop", leaves, planned, false);
    let replaced = Left::Done { replaced_by: Some((key.id.clone(), sampled::NOW)) };
    vec![
        ("rotate", rotate_form(frame(), "Example Shop", &key.brand, false)),
        ("retire", form(Leaves::Retired, &Left::WouldLeaveNone)),
        ("retire-replaced", form(Leaves::Retired, &replaced)),
        ("compromise", form(Leaves::Compromised, &Left::Done { replaced_by: None })),
        ("compromise-the-last", form(Leaves::Compromised, &Left::WouldLeaveNone)),
        ("compromise-again", form(Leaves::Compromised, &Left::Already)),
    ]
}

/// What was done, by name.
pub(super) fn done_samples() -> Vec<(&'static str, DonePage)> {
    let frame = || Frame::sample_in(Section::Keys);
    let (key, brand) = (sampled::key(KeyState::Retired { at: sampled::NOW }, false), sampled::brand().brand.id);
    let next = (key.id.clone(), sampled::NOW);
    let rotated = |rotated: &Rotated| rotated_page(frame(), "Example Shop", &brand, rotated);
    let (id, signs_from) = next.clone();
    vec![
        ("rotated", rotated(&Rotated::Made { key: id.clone(), signs_from })),
        ("rotation-under-way", rotated(&Rotated::UnderWay { key: id, signs_from })),
        ("compromised", left_page(frame(), &key.id, Leaves::Compromised, Some(&next))),
    ]
}
