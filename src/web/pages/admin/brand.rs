//! A Brand: what it is, where it is served, what it signs with, and who may ask about its tokens.

use super::key::{key_dates, key_link, key_state};
use super::parts::{Block, Fact, Holds, Link, Table, Value, fact, path, with_query};
use super::resource_server_key::resource_server_key_state;
use super::{Frame, Section, ThingPage, number, sampled};
use crate::clock::Timestamp;
use crate::domain::addresses::Addresses;
use crate::domain::administrator::Access;
use crate::domain::brand::{Agent, Brand, Delegation};
use crate::domain::resource_server_key::ResourceServerKey;
use crate::flow::admin::keys::KeyRecord;
use crate::store::BrandRecord;

/// What is known of a Brand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrandView {
    /// Itself.
    pub record: BrandRecord,
    /// Where it is served.
    pub addresses: Addresses,
    /// Its keys, the newest first.
    pub keys: Vec<KeyRecord>,
    /// Its resource-server keys, the newest first.
    pub resource_server_keys: Vec<ResourceServerKey>,
}

/// The page of a Brand.
pub fn brand_page(frame: Frame, access: &Access, view: &BrandView, now: Timestamp) -> ThingPage {
    let BrandView { record, addresses, keys, resource_server_keys } = view;
    let brand = &record.brand;
    let may_change = access.change(Some(&brand.id)).is_ok() && record.removed_at.is_none();
    let at = |deed: &str| path(&["brands", brand.id.as_str(), deed]);
    let mut blocks = vec![Block::new("What it is", Holds::Facts(facts(record)))];
    if record.removed_at.is_none() {
        let served = vec![
            fact("Interface", Value::id(&addresses.interface_url)),
            fact("Agent Card", Value::Id(addresses.card_url())),
            fact("Authorization server", Value::id(&addresses.issuer)),
            fact("JWKS", Value::Id(addresses.under_issuer("jwks.json"))),
            fact("Consent page", Value::Id(addresses.consent_url())),
            fact("Its Users' grants", Value::Id(addresses.grants_url())),
        ];
        blocks.push(Block::new("Where it is served", Holds::Facts(served)));
    }
    blocks.push(Block::new("Its agent", Holds::Facts(profile(brand))));
    if let Some(delegation) = &brand.delegation {
        blocks.push(Block::new("Delegation", Holds::Facts(delegated(delegation))));
        blocks.push(Block::new("Scopes", Holds::Table(scopes(delegation))));
    }
    let mut keys = Block::new("Keys", Holds::Table(key_table(keys, now)));
    let mut asking =
        Block::new("Resource-server keys", Holds::Table(asking_table(resource_server_keys, now, may_change)));
    asking.hint = "With one, the Brand's own account API may ask whether a delegation token is good.";
    let mut deeds = Vec::new();
    if may_change {
        keys.deeds.push(Link::new("Make a new key", at("rotate")));
        asking.deeds.push(Link::new("Make a resource-server key", at("resource-server-keys")));
        deeds.push(Link::new("Change", at("change")));
        deeds.push(Link::new("Remove", at("remove")));
    }
    blocks.extend([keys, asking]);
    ThingPage { frame, title: brand.name.clone(), back: Some(Link::new("Brands", "/brands")), blocks, deeds }
}

fn facts(record: &BrandRecord) -> Vec<Fact> {
    let id = record.brand.id.as_str();
    let live = with_query("/grants", &[("brand", id), ("state", "live")]);
    let mut facts = vec![
        fact("Brand id", Value::id(id)),
        fact("State", Value::text(if record.removed_at.is_some() { "removed" } else { "served" })),
        fact("Live grants", Value::Link(Link::new(number(record.live_grants), live))),
        fact("Receipts", Value::Link(Link::new("Its receipts", with_query("/receipts", &[("brand", id)])))),
        fact("Audit log", Value::Link(Link::new("Its chain", with_query("/audit", &[("chain", id)])))),
        fact("Made", Value::instant(record.created_at)),
        fact("Changed", Value::instant(record.updated_at)),
    ];
    if let Some(at) = record.removed_at {
        facts.push(fact("Removed", Value::instant(at)));
    }
    facts
}

fn profile(brand: &Brand) -> Vec<Fact> {
    let profile = &brand.profile;
    let agent = match &profile.agent {
        Agent::Http(agent) => vec![
            fact("Address", Value::id(&agent.url)),
            fact("A turn may take", Value::Text(format!("{} s", agent.timeout_seconds))),
            fact("Gets a token for the account API", Value::text(if agent.forward_token { "yes" } else { "no" })),
        ],
        Agent::Builtin(_) => vec![fact("Address", Value::text("none: the scripted demo agent of this program"))],
    };
    let skills = profile.skills.iter().map(|skill| format!("{}: {}", skill.name, skill.description)).collect();
    let mut facts = vec![
        fact("Description", Value::text(&profile.description)),
        fact("Version", Value::text(&profile.version)),
        fact("Skills", Value::Lines(skills)),
    ];
    facts.extend(agent);
    facts
}

fn delegated(delegation: &Delegation) -> Vec<Fact> {
    let address = |url: Option<&url::Url>| url.map_or(Value::Nothing, Value::id);
    let keys = match &delegation.assertion.jwks_uri {
        Some(url) => Value::id(url),
        None => Value::text("inside its definition"),
    };
    vec![
        fact("Host of its own", address(delegation.auth_origin.as_ref())),
        fact("Login", Value::id(&delegation.login_url)),
        fact("After the decision", address(delegation.return_url.as_ref())),
        fact("Assertions' issuer", Value::id(&delegation.assertion.issuer)),
        fact("Assertions' keys", keys),
        fact("Signs with", Value::text(delegation.signing_alg.name())),
        fact("A token lasts", Value::Text(format!("{} s", delegation.access_token_seconds))),
        fact("A grant lasts", Value::Text(super::parts::counted(i64::from(delegation.grant_days), "day"))),
        fact(
            "Signing in is enough where a grant covers it",
            Value::text(if delegation.skip_consent { "yes" } else { "no" }),
        ),
        fact("Told of its grants at", address(delegation.events.as_ref().map(|events| &events.url))),
    ]
}

fn scopes(delegation: &Delegation) -> Table {
    let rows = delegation.scopes.iter().map(|scope| {
        let mut words = vec![scope.description.clone()];
        words.extend(scope.detail.clone());
        let writes = if scope.writes { "changes things" } else { "reads" };
        vec![Value::id(&scope.id), Value::Lines(words), Value::text(writes)]
    });
    Table { columns: vec!["Scope", "What Users read", "What it does"], rows: rows.collect(), empty: "" }
}

fn key_table(keys: &[KeyRecord], now: Timestamp) -> Table {
    let rows = keys.iter().map(|key| {
        let (from, until) = key_dates(key);
        let state = Value::text(key_state(key, now));
        vec![Value::Link(key_link(&key.id)), state, Value::at(from), Value::at(until)]
    });
    Table { columns: vec!["Key", "State", "Signs from", "Until"], rows: rows.collect(), empty: "It has none." }
}

fn asking_table(keys: &[ResourceServerKey], now: Timestamp, may_change: bool) -> Table {
    let mut columns = vec!["Name", "Key's id", "State", "Made", "Ends"];
    if may_change {
        columns.push("Revoke");
    }
    let rows = keys.iter().map(|key| {
        let mut row = vec![
            Value::text(&key.name),
            Value::id(&key.id),
            Value::text(resource_server_key_state(key, now)),
            Value::instant(key.created_at),
            Value::at(key.revoked_at.or(key.expires_at)),
        ];
        if may_change {
            let revoke = path(&["resource-server-keys", key.id.as_str(), "revoke"]);
            let link = Link::new(format!("Revoke {}", key.name), revoke);
            row.push(if key.revoked_at.is_none() { Value::Link(link) } else { Value::Nothing });
        }
        row
    });
    Table { columns, rows: rows.collect(), empty: "There is none." }
}

/// The page in each state, by name.
pub(super) fn samples() -> Vec<(&'static str, ThingPage)> {
    use crate::domain::signing_key::KeyState;
    let record = sampled::brand();
    let view = BrandView {
        addresses: Addresses::of("https://provider.example.com", &record.brand),
        keys: vec![sampled::key(KeyState::Live { signs_from: sampled::NOW }, true)],
        resource_server_keys: vec![sampled::resource_server_key()],
        record,
    };
    let mut removed = view.clone();
    removed.record.removed_at = Some(sampled::NOW);
    removed.record.brand.delegation = None;
    removed.record.live_grants = 0;
    removed.keys = Vec::new();
    removed.resource_server_keys = Vec::new();
    let page = |access: &Access, view| brand_page(Frame::sample_in(Section::Brands), access, view, sampled::NOW);
    vec![
        ("brand", page(&Access::EVERYTHING, &view)),
        ("brand-to-an-auditor", page(&sampled::auditor(), &view)),
        ("brand-removed", page(&Access::EVERYTHING, &removed)),
    ]
}
