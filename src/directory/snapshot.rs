//! One revision of the directory, with everything that is derived from it made ready.

use std::collections::HashMap;
use std::sync::Arc;

use crate::crypto::codes;
use crate::crypto::jwks::KeySet;
use crate::crypto::ring::{InvalidKeyRing, KeyRing};
use crate::crypto::seal::MasterKey;
use crate::domain::addresses::Addresses;
use crate::domain::brand::{Brand, Delegation};
use crate::domain::id::{BrandId, Issuer};
use crate::domain::personal_agent::PersonalAgent;
use crate::domain::signing_key::SealedKey;
use crate::protocol::card::AgentCard;
use crate::protocol::oauth::ServerMetadata;
use crate::store::DirectoryRows;

/// One revision of the directory.
#[derive(Default)]
pub struct Snapshot {
    /// Which.
    pub revision: i64,
    /// Whether it was read from the database at all.
    pub is_loaded: bool,
    brands: HashMap<BrandId, Arc<HostedBrand>>,
    by_auth_origin: HashMap<String, BrandId>,
    personal_agents: HashMap<Issuer, Arc<PersonalAgent>>,
}

/// A Brand with what is derived from it.
pub struct HostedBrand {
    /// As configured.
    pub brand: Brand,
    /// Where it is served.
    pub addresses: Addresses,
    /// Its keys.
    pub ring: KeyRing,
    /// Its Agent Card.
    pub card: Document,
    /// Its `jwks.json`.
    pub jwks: Document,
    /// What a Brand that offers delegation has.
    pub offer: Option<Offer>,
    keys: Vec<SealedKey>,
}

/// What a Brand that offers delegation has.
pub struct Offer {
    /// Its authorization server's metadata.
    pub metadata: Document,
    /// The keys of its login, where they are inline.
    pub inline_keys: KeySet,
}

/// A public document and its entity tag (RFC 9110 §8.8.3).
pub struct Document {
    /// The JSON.
    pub body: String,
    /// Quoted.
    pub etag: String,
}

impl Document {
    fn new(body: String) -> Self {
        let etag = format!("\"{}\"", codes::digest(&body).to_hex());
        Self { body, etag }
    }
}

impl HostedBrand {
    /// What the Brand needs to offer delegation, if it does.
    pub fn delegation(&self) -> Option<(&Delegation, &Offer)> {
        self.brand.delegation.as_ref().zip(self.offer.as_ref())
    }
}

impl Snapshot {
    /// Makes `rows` ready. What is as in `before` is taken over, since opening a key costs.
    pub(super) fn new(
        rows: &DirectoryRows,
        before: &Self,
        public_url: &str,
        provider_name: &str,
        master: &MasterKey,
    ) -> Result<Self, InvalidKeyRing> {
        let mut keys: HashMap<&BrandId, Vec<SealedKey>> = HashMap::new();
        for key in &rows.keys {
            keys.entry(&key.brand).or_default().push(key.clone());
        }
        let mut snapshot = Self { revision: rows.revision, is_loaded: true, ..Self::default() };
        for brand in &rows.brands {
            let keys = keys.remove(&brand.id).unwrap_or_default();
            // A Brand that is as it was is taken over whole: what others change costs nothing here.
            let as_before = before.brand(&brand.id).filter(|hosted| hosted.keys == keys && hosted.brand == *brand);
            let hosted = match as_before {
                Some(hosted) => Arc::clone(hosted),
                None => {
                    let ring = match before.brand(&brand.id) {
                        Some(hosted) if hosted.keys == keys => hosted.ring.clone(),
                        known => match (KeyRing::open(&brand.id, &keys, master), known) {
                            (Ok(ring), _) => ring,
                            // At the start such a key is refused; later it must not keep everything else from being seen.
                            (Err(error), Some(hosted)) => {
                                tracing::error!(%error, "a Brand's new keys cannot be used; its old ones stay in use");
                                hosted.ring.clone()
                            }
                            (Err(error), None) if before.is_loaded => {
                                tracing::error!(%error, "a Brand's keys cannot be used; the Brand is not served");
                                continue;
                            }
                            (Err(error), None) => return Err(error),
                        },
                    };
                    Arc::new(HostedBrand::new(brand.clone(), ring, keys, public_url, provider_name))
                }
            };
            if let Some(origin) = brand.delegation.as_ref().and_then(|delegation| delegation.auth_origin.as_ref()) {
                snapshot.by_auth_origin.insert(origin.origin().ascii_serialization(), brand.id.clone());
            }
            snapshot.brands.insert(brand.id.clone(), hosted);
        }
        let agents = rows.personal_agents.iter().map(|agent| (agent.issuer.clone(), Arc::new(agent.clone())));
        snapshot.personal_agents = agents.collect();
        Ok(snapshot)
    }

    /// The Brand with this id.
    pub fn brand(&self, id: &BrandId) -> Option<&Arc<HostedBrand>> {
        self.brands.get(id)
    }

    /// The Brand whose `auth_origin` this is (`https://auth.brand.example`, with a port where it is not the default).
    pub fn brand_at_origin(&self, origin: &str) -> Option<&Arc<HostedBrand>> {
        self.by_auth_origin.get(origin).and_then(|id| self.brands.get(id))
    }

    /// All Brands, in no order.
    pub fn brands(&self) -> impl Iterator<Item = &Arc<HostedBrand>> {
        self.brands.values()
    }

    /// How many personal agents there are, disabled ones included.
    pub fn personal_agent_count(&self) -> usize {
        self.personal_agents.len()
    }

    /// All personal agents, disabled ones included, in no order.
    pub fn personal_agents(&self) -> impl Iterator<Item = &Arc<PersonalAgent>> {
        self.personal_agents.values()
    }

    /// The personal agent with this issuer, enabled or not.
    pub fn personal_agent(&self, issuer: &Issuer) -> Option<&Arc<PersonalAgent>> {
        self.personal_agents.get(issuer)
    }
}

impl HostedBrand {
    fn new(brand: Brand, ring: KeyRing, keys: Vec<SealedKey>, public_url: &str, provider_name: &str) -> Self {
        let addresses = Addresses::of(public_url, &brand);
        let json = |value: serde_json::Result<String>| Document::new(value.unwrap_or_default());
        let card = json(serde_json::to_string(&AgentCard::new(&brand, &addresses, provider_name, public_url)));
        let offer = brand.delegation.as_ref().map(|delegation| {
            let inline = delegation.assertion.jwks.as_ref().map(ToString::to_string);
            Offer {
                metadata: json(serde_json::to_string(&ServerMetadata::new(&addresses, delegation))),
                inline_keys: inline.and_then(|jwks| KeySet::parse(jwks.as_bytes()).ok()).unwrap_or_default(),
            }
        });
        let jwks = Document::new(ring.jwks_json().to_owned());
        Self { brand, addresses, ring, card, jwks, offer, keys }
    }
}
