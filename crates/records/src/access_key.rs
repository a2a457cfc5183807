use std::fmt;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::{
    AccessKeyLabel, AppId, NewRevocation, RevocationKey, RevocationTarget, TeamId, TokenId, UserId,
};

/// A key that Reprise has issued, and what its bearer may do. The key itself is not stored, only its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// The public part of the key, by which it is found and revoked.
    pub id: AccessKeyId,
    /// The digest of the whole key.
    pub digest: AccessKeyDigest,
    /// What the key is for.
    pub kind: AccessKeyKind,
    /// A name for people.
    pub label: Option<AccessKeyLabel>,
    /// Who the bearer is.
    pub bearer: Bearer,
    /// The apps that the bearer may use; `None` for every app.
    pub apps: Option<Vec<AppId>>,
    /// When the key was created.
    pub created_at: DateTime<Utc>,
    /// When the key expires; `None` for never.
    pub expires_at: Option<DateTime<Utc>>,
    /// When the key was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When the key was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

impl AccessKey {
    /// The most apps of a key that is not for every app.
    pub const MAX_APPS: usize = 256;

    /// Returns the revocation with which the streams end that were opened with this key.
    pub fn revocation(&self) -> Option<NewRevocation> {
        let target = RevocationTarget::Token(TokenId::parse(self.id.as_str()).ok()?);
        let key = RevocationKey { target, app_id: None };
        Some(NewRevocation { key, issued_until: None, expires_at: self.expires_at })
    }

    /// Returns whether the key is valid at this time.
    pub fn is_valid(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

/// An access key to store.
#[derive(Debug, Clone)]
pub struct NewAccessKey {
    /// The key itself.
    pub secret: AccessKeySecret,
    /// What the key is for.
    pub kind: AccessKeyKind,
    /// A name for people.
    pub label: Option<AccessKeyLabel>,
    /// Who the bearer is.
    pub bearer: Bearer,
    /// The apps that the bearer may use, at most [`AccessKey::MAX_APPS`]; `None` for every app.
    pub apps: Option<Vec<AppId>>,
    /// When the key expires; `None` for never.
    pub expires_at: Option<DateTime<Utc>>,
}

/// What an access key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKeyKind {
    /// A program sends the key as a bearer token.
    Api,
    /// A person has signed in, and their browser sends the key as a cookie.
    SignIn,
}

impl AccessKeyKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Api, Self::SignIn];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::SignIn => "sign_in",
        }
    }
}

/// Who the bearer of an access key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bearer {
    /// A program that acts for whole apps.
    Service,
    /// A person who monitors the service and manages the registry of apps.
    Operator {
        /// The person.
        user_id: UserId,
    },
    /// A person who helps the users of apps.
    Support {
        /// The person.
        user_id: UserId,
    },
    /// A person.
    User {
        /// The person.
        user_id: UserId,
        /// The team that the person acts for.
        team_id: Option<TeamId>,
    },
}

impl Bearer {
    /// Returns the name of the role, on the wire and in the store.
    pub fn role(&self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Operator { .. } => "operator",
            Self::Support { .. } => "support",
            Self::User { .. } => "user",
        }
    }

    /// Returns the person; `None` for a program.
    pub fn person(&self) -> Option<&UserId> {
        match self {
            Self::Service => None,
            Self::Operator { user_id } | Self::Support { user_id } | Self::User { user_id, .. } => {
                Some(user_id)
            }
        }
    }
}

/// The text of an access key: `reprise_<id>_<secret>`, where the id has 16 and the secret 64 hexadecimal digits.
///
/// The beginning lets scanners of repositories recognise a key that was published by mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKeySecret(String);

impl AccessKeySecret {
    /// What every key begins with.
    pub const PREFIX: &str = "reprise_";
    /// How many random bytes make a key.
    pub const RANDOM_BYTES: usize = AccessKeyId::BYTES + 32;
    const SEPARATOR: char = '_';

    /// Makes a key of random bytes.
    pub fn from_random(bytes: &[u8; Self::RANDOM_BYTES]) -> Self {
        let (id, secret) = bytes.split_at(AccessKeyId::BYTES);
        Self(format!(
            "{}{}{}{}",
            Self::PREFIX,
            hex::encode(id),
            Self::SEPARATOR,
            hex::encode(secret)
        ))
    }

    /// Returns the key in a text; `None` if the text has not the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(Self::PREFIX)?;
        let (id, secret) = digits.split_once(Self::SEPARATOR)?;
        let are_digits = |part: &str, bytes: usize| {
            part.len() == 2 * bytes && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_key = are_digits(id, AccessKeyId::BYTES)
            && are_digits(secret, Self::RANDOM_BYTES - AccessKeyId::BYTES);
        is_key.then(|| Self(text.to_owned()))
    }

    /// Returns the public part.
    pub fn id(&self) -> AccessKeyId {
        let digits = self.0.trim_start_matches(Self::PREFIX);
        AccessKeyId(digits.chars().take(2 * AccessKeyId::BYTES).collect())
    }

    /// Returns the digest that is stored.
    pub fn digest(&self) -> AccessKeyDigest {
        AccessKeyDigest::of(&self.0)
    }

    /// Returns the whole text, for the person or the program that the key was issued to.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccessKeySecret").field(&self.id().as_str()).finish()
    }
}

/// The public part of an access key: 16 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessKeyId(String);

impl AccessKeyId {
    const BYTES: usize = 8;

    /// Checks that the text is 16 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, crate::IdError> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 2 * Self::BYTES && text.bytes().all(is_digit) {
            return Ok(Self(text.to_owned()));
        }
        let rule = "must be 16 hexadecimal digits in lower case";
        Err(crate::IdError { kind: "key_id", rule })
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for AccessKeyId {
    type Err = crate::IdError;

    fn from_str(text: &str) -> Result<Self, crate::IdError> {
        Self::parse(text)
    }
}

impl fmt::Display for AccessKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 of an access key. A key has 256 random bits, so its digest cannot be guessed back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessKeyDigest([u8; 32]);

impl AccessKeyDigest {
    /// Returns the digest of a text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads 64 hexadecimal digits; `None` if the text is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

/// Writes 64 hexadecimal digits.
impl fmt::Display for AccessKeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for AccessKeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_id_and_a_secret() {
        let key = AccessKeySecret::from_random(&[0xab; AccessKeySecret::RANDOM_BYTES]);
        assert_eq!(key.expose(), format!("reprise_{}_{}", "ab".repeat(8), "ab".repeat(32)));
        assert_eq!(key.id().as_str(), "ab".repeat(8));
        assert_eq!(AccessKeySecret::parse(key.expose()), Some(key.clone()));
        assert_eq!(AccessKeyDigest::parse(&key.digest().to_string()), Some(key.digest()));
        assert!(!format!("{key:?}").contains(&"ab".repeat(9)), "only the id may be logged");
    }

    #[test]
    fn other_texts_are_no_keys() {
        let key = AccessKeySecret::from_random(&[1; AccessKeySecret::RANDOM_BYTES]);
        let text = key.expose();
        for other in
            ["", "reprise_", &text[1..], &text[..88], &format!("{text}0"), &text.to_uppercase()]
        {
            assert_eq!(AccessKeySecret::parse(other), None, "{other}");
        }
    }
}
