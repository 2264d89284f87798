//! Administrators' passwords: argon2id (RFC 9106) with 64 MiB, three passes and one lane, stored as a PHC string.
//!
//! Where there is nobody of a name, a hash of the same cost that fits no password is verified in the place of theirs, so
//! that both take the same work. The cost is a constant of the program: no setting makes guessing cheaper.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use argon2::password_hash::PasswordHasher as _;
use argon2::password_hash::PasswordVerifier as _;
use argon2::password_hash::phc::{Output, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Params, Version};

use super::CryptoFailure;
use crate::entropy::Entropy;
use crate::secret::Secret;

/// What one hash costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
}

impl Cost {
    /// What passwords are hashed with.
    pub const PRODUCTION: Self = Self { memory_kib: 64 * 1024, passes: 3 };
}

/// Hashes and verifies passwords. Each takes a core and the memory of its cost for about a fifth of a second: never on a
/// thread that answers requests.
#[derive(Clone, Debug)]
pub struct Passwords {
    cost: Cost,
    verifications: Arc<AtomicU64>,
}

/// How a password fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It does.
    Right,
    /// It does, and was hashed at another cost than today's: time to hash it anew.
    RightAtAnotherCost,
    /// It does not.
    Wrong,
}

impl Passwords {
    /// At this cost. Everything but tests is at [`Cost::PRODUCTION`].
    pub fn at(cost: Cost) -> Self {
        Self { cost, verifications: Arc::default() }
    }

    fn argon2(&self) -> Result<Argon2<'static>, CryptoFailure> {
        let params = Params::new(self.cost.memory_kib, self.cost.passes, 1, None);
        let params = params.map_err(|_| CryptoFailure::at("prepare a password hash"))?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }

    /// What is stored of `password`: a PHC string with a new salt.
    ///
    /// # Errors
    /// [`CryptoFailure`] when there is no memory for it.
    pub fn hash(&self, password: &Secret<String>, entropy: &Entropy) -> Result<Secret<String>, CryptoFailure> {
        let salt: [u8; 16] = entropy.bytes();
        let hash = self.argon2()?.hash_password_with_salt(password.expose().as_bytes(), &salt);
        let hash = hash.map_err(|_| CryptoFailure::at("hash a password"))?;
        Ok(Secret::new(hash.to_string()))
    }

    /// Whether `password` is the one of `stored`; without one, the same work, and it is not.
    ///
    /// # Errors
    /// [`CryptoFailure`] when what is stored is no hash, or there is no memory for it.
    pub fn verify(&self, password: &Secret<String>, stored: Option<&Secret<String>>) -> Result<Fit, CryptoFailure> {
        self.verifications.fetch_add(1, Ordering::Relaxed);
        let argon2 = self.argon2()?;
        let hash = match stored {
            Some(stored) => {
                PasswordHash::new(stored.expose()).map_err(|_| CryptoFailure::at("read a password hash"))?
            }
            None => self.nobodys(&argon2)?,
        };
        let is_of_today = Params::try_from(&hash).is_ok_and(|params| {
            (params.m_cost(), params.t_cost(), params.p_cost()) == (self.cost.memory_kib, self.cost.passes, 1)
        });
        match argon2.verify_password(password.expose().as_bytes(), &hash) {
            // A password that fits nobody's hash, against all odds, is still nobody's.
            Ok(()) if stored.is_some() => Ok(if is_of_today { Fit::Right } else { Fit::RightAtAnotherCost }),
            Ok(()) | Err(argon2::password_hash::Error::PasswordInvalid) => Ok(Fit::Wrong),
            Err(_) => Err(CryptoFailure::at("verify a password")),
        }
    }

    /// A hash of this cost that fits no password.
    fn nobodys(&self, argon2: &Argon2<'_>) -> Result<PasswordHash, CryptoFailure> {
        let failure = || CryptoFailure::at("prepare a password hash");
        Ok(PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: argon2.params().try_into().map_err(|_| failure())?,
            salt: Some(Salt::new(&[0x5a; 16]).map_err(|_| failure())?),
            hash: Some(Output::new(&[0x5a; 32]).map_err(|_| failure())?),
        })
    }

    /// How many passwords were verified since the start.
    pub fn verifications(&self) -> u64 {
        self.verifications.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_hash_says_its_cost_and_fits_its_password_alone() {
        let (passwords, entropy) = (Passwords::at(Cost::PRODUCTION), Entropy::seeded(1));
        let hash = passwords.hash(&secret("correct horse battery"), &entropy).unwrap();
        assert!(hash.expose().starts_with("$argon2id$v=19$m=65536,t=3,p=1$"), "{}", hash.expose());
        assert_eq!(passwords.verify(&secret("correct horse battery"), Some(&hash)), Ok(Fit::Right));
        assert_eq!(passwords.verify(&secret("correct horse batterz"), Some(&hash)), Ok(Fit::Wrong));
        assert_eq!(passwords.verify(&secret(""), Some(&hash)), Ok(Fit::Wrong));
    }

    #[test]
    fn the_same_password_is_never_stored_twice_alike() {
        let (passwords, entropy) = (Passwords::at(CHEAP), Entropy::seeded(1));
        let [one, other] = [(); 2].map(|()| passwords.hash(&secret("correct horse battery"), &entropy).unwrap());
        assert_ne!(one.expose(), other.expose());
    }

    #[test]
    fn a_hash_of_another_cost_is_told_apart() {
        let hash = Passwords::at(CHEAP).hash(&secret("correct horse battery"), &Entropy::seeded(1)).unwrap();
        let dearer = Passwords::at(Cost { passes: 2, ..CHEAP });
        assert_eq!(dearer.verify(&secret("correct horse battery"), Some(&hash)), Ok(Fit::RightAtAnotherCost));
        assert_eq!(dearer.verify(&secret("another"), Some(&hash)), Ok(Fit::Wrong));
    }

    // case 75
    #[test]
    fn nobodys_password_takes_one_verification_at_the_same_cost() {
        let passwords = Passwords::at(CHEAP);
        assert_eq!(passwords.verify(&secret("correct horse battery"), None), Ok(Fit::Wrong));
        assert_eq!(passwords.verifications(), 1);
        let nobodys = Passwords::at(Cost::PRODUCTION);
        let nobodys = nobodys.nobodys(&nobodys.argon2().unwrap()).unwrap().to_string();
        assert!(nobodys.starts_with("$argon2id$v=19$m=65536,t=3,p=1$"), "{nobodys}");
        let somebodys = passwords.hash(&secret("x"), &Entropy::seeded(1)).unwrap();
        let parts = |hash: &str| hash.rsplit('$').take(2).map(str::len).collect::<Vec<_>>();
        assert_eq!(parts(&nobodys), parts(somebodys.expose()));
    }

    #[test]
    fn what_is_no_hash_is_a_failure_and_no_wrong_password() {
        assert!(Passwords::at(CHEAP).verify(&secret("x"), Some(&secret("plain text"))).is_err());
    }
}
