//! The keys of one Brand, ready to sign and verify (PACT §5.4, §5.6), made from their rows.
//!
//! Refuses a ring in which one published key cannot be opened or is not the key whose public half stands beside it: a
//! row that was moved or edited, or a wrong master key, shows at start and not at the first signature.

use serde::Serialize;
use serde_json::{Value, json};

use super::CryptoFailure;
use super::jwks::{KeySet, PublicKey};
use super::jws::{Refused, Unverified};
use super::seal::{MasterKey, SealError};
use super::signer::{Signer, generate_key};
use crate::clock::Timestamp;
use crate::domain::brand::SigningAlg;
use crate::domain::id::{BrandId, KeyId};
use crate::domain::signing_key::{KeyState, SealedKey};
use crate::entropy::Entropy;
use crate::protocol::json as strict_json;

/// A Brand's keys that could not be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("signing key {kid} of Brand {brand} cannot be used: {problem}")]
pub struct InvalidKeyRing {
    /// The Brand of the ring.
    pub brand: BrandId,
    /// The key.
    pub kid: KeyId,
    /// What is wrong, and what to do.
    pub problem: KeyProblem,
}

/// What is wrong with a stored key, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// The row belongs to another Brand.
    #[error("its row is another Brand's; restore the row from a backup")]
    ForeignBrand,
    /// The private half cannot be read.
    #[error("{0}")]
    Seal(#[from] SealError),
    /// What was sealed is no private JWK of the row's algorithm.
    #[error("what was sealed is not a private key for its algorithm; restore the row from a backup")]
    PrivateHalf,
    /// The public half is not the one of the sealed key.
    #[error("its public half does not belong to its private half; restore the row from a backup")]
    PublicHalf,
}

/// Why nothing was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The Brand has no live key yet.
    #[error("the Brand has no key that may sign now; make one with `assent keys rotate`")]
    NoKey,
    /// OpenSSL failed.
    #[error(transparent)]
    Library(#[from] CryptoFailure),
}

/// One published key of a Brand.
#[derive(Clone, Debug)]
pub struct RingKey {
    id: KeyId,
    state: KeyState,
    gives_way_at: Option<Timestamp>,
    created_at: Timestamp,
    public: PublicKey,
    signer: Signer,
}

impl RingKey {
    /// Its `kid`.
    pub const fn id(&self) -> &KeyId {
        &self.id
    }

    /// What it signs with.
    pub const fn alg(&self) -> SigningAlg {
        self.public.alg()
    }

    /// Where in its life it is at `now`: a predecessor retires when its successor starts, without anybody doing it.
    pub fn state(&self, now: Timestamp) -> KeyState {
        self.state.settled(self.gives_way_at, now)
    }

    fn open(brand: &BrandId, row: &SealedKey, rows: &[SealedKey], master: &MasterKey) -> Result<Self, KeyProblem> {
        if row.brand != *brand {
            return Err(KeyProblem::ForeignBrand);
        }
        let private = master.open(&row.sealed_private, &binding(brand, &row.id))?;
        let private = std::str::from_utf8(private.expose()).map_err(|_| KeyProblem::PrivateHalf)?;
        let signer = Signer::from_private_jwk(private).map_err(|_| KeyProblem::PrivateHalf)?;
        let of_this_row = |key: &PublicKey| key.alg() == row.alg && key.kid() == Some(row.id.as_str());
        if !of_this_row(signer.public()) {
            return Err(KeyProblem::PrivateHalf);
        }
        let public = match strict_json::parse(row.public_jwk.as_bytes()) {
            Ok(Value::Object(jwk)) => PublicKey::from_jwk(&jwk),
            _ => None,
        };
        let public = public.filter(|key| of_this_row(key) && key.is_same_key(signer.public()));
        let public = public.ok_or(KeyProblem::PublicHalf)?;
        let gives_way_at = row.gives_way_at(rows);
        Ok(Self { id: row.id.clone(), state: row.state, gives_way_at, created_at: row.created_at, public, signer })
    }
}

fn binding(brand: &BrandId, id: &KeyId) -> String {
    format!("signing_key/{brand}/{id}")
}

/// Makes a key of `brand` and seals its private half. RSA takes about a tenth of a second.
///
/// # Errors
/// [`CryptoFailure`] when OpenSSL fails.
pub fn generate(
    alg: SigningAlg,
    brand: &BrandId,
    id: KeyId,
    state: KeyState,
    now: Timestamp,
    master: &MasterKey,
    entropy: &Entropy,
) -> Result<SealedKey, CryptoFailure> {
    let key = generate_key(alg, id.as_str())?;
    let sealed_private = master.seal(key.private_jwk.expose().as_bytes(), &binding(brand, &id), entropy)?;
    Ok(SealedKey { id, brand: brand.clone(), alg, public_jwk: key.public_jwk, sealed_private, state, created_at: now })
}

/// A Brand's published keys, newest first. Signers and verifiers are built once.
#[derive(Clone, Debug)]
pub struct KeyRing {
    brand: BrandId,
    keys: Vec<RingKey>,
    published: KeySet,
    jwks_json: String,
}

impl KeyRing {
    /// Opens the keys of `brand`. Compromised ones are left out.
    ///
    /// # Errors
    /// [`InvalidKeyRing`] names the first key that cannot be used, why, and what to do.
    pub fn open(brand: &BrandId, rows: &[SealedKey], master: &MasterKey) -> Result<Self, InvalidKeyRing> {
        let mut keys = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| row.state.is_published()) {
            let key = RingKey::open(brand, row, rows, master);
            keys.push(key.map_err(|problem| InvalidKeyRing { brand: brand.clone(), kid: row.id.clone(), problem })?);
        }
        keys.sort_by(|one, other| (other.created_at, other.id.as_str()).cmp(&(one.created_at, one.id.as_str())));
        let published: KeySet = keys.iter().map(|key| key.public.clone()).collect();
        let jwks: Vec<_> = published.iter().map(PublicKey::to_jwk).collect();
        Ok(Self { brand: brand.clone(), keys, published, jwks_json: json!({ "keys": jwks }).to_string() })
    }

    /// Whose keys these are.
    pub const fn brand(&self) -> &BrandId {
        &self.brand
    }

    /// The published keys, newest first.
    pub fn keys(&self) -> impl Iterator<Item = &RingKey> {
        self.keys.iter()
    }

    /// The key that signs at `now`: the newest live one of `alg`; while there is none, because the Brand changed its
    /// algorithm and the new key has not been published long enough, the newest live one of the other.
    pub fn signer(&self, now: Timestamp, alg: SigningAlg) -> Option<&RingKey> {
        let mut ready = self.keys.iter().filter(|key| key.state(now).signs(now));
        ready.clone().find(|key| key.alg() == alg).or_else(|| ready.next())
    }

    /// Signs `payload` as it is, under a header of `alg`, `kid` and `typ`.
    ///
    /// # Errors
    /// [`SignError`].
    pub fn sign(&self, now: Timestamp, alg: SigningAlg, typ: &str, payload: &[u8]) -> Result<String, SignError> {
        let key = self.signer(now, alg).ok_or(SignError::NoKey)?;
        Ok(key.signer.sign(typ, payload)?)
    }

    /// Signs `claims` as JSON, as [`KeyRing::sign`] does.
    ///
    /// # Errors
    /// [`SignError`].
    pub fn sign_claims(
        &self,
        now: Timestamp,
        alg: SigningAlg,
        typ: &str,
        claims: &impl Serialize,
    ) -> Result<String, SignError> {
        let claims = serde_json::to_vec(claims).map_err(|_| CryptoFailure::at("write claims"))?;
        self.sign(now, alg, typ, &claims)
    }

    /// Signs `claims` about what has been, as [`KeyRing::sign_claims`] does while a key may sign, and with the key that was
    /// retired last where none may: for whoever was removed, somebody must still be able to say what is kept.
    ///
    /// # Errors
    /// [`SignError`]; [`SignError::NoKey`] when all keys were given up as compromised.
    pub fn sign_record(
        &self,
        now: Timestamp,
        alg: SigningAlg,
        typ: &str,
        claims: &impl Serialize,
    ) -> Result<String, SignError> {
        let retired = |key: &&RingKey| match key.state(now) {
            KeyState::Retired { at } => Some(at),
            KeyState::Live { .. } | KeyState::Compromised { .. } => None,
        };
        let last = || self.keys.iter().filter(|key| retired(key).is_some()).max_by_key(retired);
        let key = self.signer(now, alg).or_else(last).ok_or(SignError::NoKey)?;
        let claims = serde_json::to_vec(claims).map_err(|_| CryptoFailure::at("write claims"))?;
        Ok(key.signer.sign(typ, &claims)?)
    }

    /// Whether a key of this ring that still verifies delegation tokens at `now` signed `token`.
    ///
    /// # Errors
    /// [`Refused::UnknownKey`], [`Refused::Algorithm`] and [`Refused::Signature`].
    pub fn verify(&self, token: &Unverified<'_>, now: Timestamp) -> Result<(), Refused> {
        let kid = token.kid().ok_or(Refused::Header)?;
        let key = self.keys.iter().find(|key| key.id.as_str() == kid && key.state(now).verifies_tokens(now));
        key.ok_or(Refused::UnknownKey)?.public.verify(token)
    }

    /// The published keys, with which receipts are verified: a retired key's too, a compromised key's not.
    pub const fn published(&self) -> &KeySet {
        &self.published
    }

    /// The body of the Brand's `jwks.json` (RFC 7517 §5), newest key first.
    pub fn jwks_json(&self) -> &str {
        &self.jwks_json
    }
}

#[cfg(test)]
mod tests;
