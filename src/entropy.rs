//! Chance: the only door to the operating system's random numbers.
//!
//! Every code, token and id is drawn from an [`Entropy`]; tests hand in a seeded one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use ulid::Ulid;
use uuid::Uuid;

use crate::clock::Timestamp;

/// A source of random bytes, shared by everything that mints.
#[derive(Clone)]
pub struct Entropy(Source);

#[derive(Clone)]
enum Source {
    OperatingSystem,
    Seeded(Arc<Mutex<StdRng>>),
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

impl Entropy {
    /// A cryptographically secure generator that the operating system seeds and reseeds.
    pub const fn operating_system() -> Self {
        Self(Source::OperatingSystem)
    }

    /// A generator whose whole output follows from `seed`, for tests.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))))
    }

    /// `N` random bytes.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the machine's random numbers")]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        match &self.0 {
            Source::OperatingSystem => rand::rng().fill_bytes(&mut bytes),
            Source::Seeded(rng) => rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes),
        }
        bytes
    }

    /// A ULID for `now`: 48 bits of time, 80 bits of chance.
    pub fn ulid(&self, now: Timestamp) -> Ulid {
        Ulid::from_parts(u64::try_from(now.millis()).unwrap_or(0), u128::from_be_bytes(self.bytes()))
    }

    /// A random UUID (RFC 9562 §5.4, version 4).
    pub fn uuid(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }
}
