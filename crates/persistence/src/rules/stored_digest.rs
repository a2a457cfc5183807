//! Digests as they are stored (decision 0048).

use records::json::{Digest, Salt, salted};

use crate::StoreError;

/// Stands for the digest of an erased text.
pub(crate) const ERASED: Digest = [0; 16];

/// The digest of a body, or the digest of that and of the salt that is stored beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredDigest {
    pub(crate) digest: Digest,
    /// Missing in what earlier releases have stored.
    pub(crate) salt: Option<Salt>,
}

impl StoredDigest {
    /// Stands for the digest of an erased text. Every repeat is a duplicate: there is nothing left to compare it with.
    pub(crate) const ERASED: Self = Self { digest: ERASED, salt: None };

    /// Makes what is stored for the digest of a body.
    pub(crate) fn new(digest: Digest, salt: Option<Salt>) -> Self {
        let digest = salt.map_or(digest, |salt| salted(&digest, &salt));
        Self { digest, salt }
    }

    /// Returns the version of a document with this digest: one version for a digest with a salt, the other without.
    pub(crate) fn version(&self, with_salt: i64, without: i64) -> i64 {
        if self.salt.is_some() { with_salt } else { without }
    }

    /// Returns whether this was stored for a body with that digest.
    pub(crate) fn is_of(&self, digest: &Digest) -> bool {
        *self == Self::ERASED || *self == Self::new(*digest, self.salt)
    }
}

/// Makes a salt.
pub(crate) fn random_salt() -> Result<Salt, StoreError> {
    let mut salt = Salt::default();
    let filled = getrandom::fill(&mut salt);
    filled.map_err(|error| StoreError::Refused { source: error.into() })?;
    Ok(salt)
}

/// Whether new digests get salts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Salting {
    /// They get none: an older release may still run.
    None,
    /// Each gets a random one.
    Random,
}

impl Salting {
    /// Makes what is stored for a digest.
    pub(crate) fn apply(self, digest: Digest) -> Result<StoredDigest, StoreError> {
        let salt = match self {
            Self::None => None,
            Self::Random => Some(random_salt()?),
        };
        Ok(StoredDigest::new(digest, salt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_digest_is_of_one_body() {
        for salt in [None, Some([7; 16])] {
            let stored = StoredDigest::new([1; 16], salt);
            assert!(stored.is_of(&[1; 16]));
            assert!(!stored.is_of(&[2; 16]));
        }
    }

    #[test]
    fn a_salted_digest_tells_nothing_of_the_body_without_the_salt() {
        let [one, two] = [[7; 16], [8; 16]].map(|salt| StoredDigest::new([1; 16], Some(salt)));
        assert_ne!(one.digest, two.digest);
        assert_ne!(one.digest, [1; 16]);
    }
}
