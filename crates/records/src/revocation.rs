use chrono::{DateTime, TimeDelta, Utc};

use crate::{AppId, TokenId, UserId};

/// What identifies a token, as far as it may lose its validity before it expires.
///
/// Everything is missing if callers send no tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// The id of the token; `None` if it has none that could be revoked.
    pub token_id: Option<TokenId>,
    /// The user or the program that the token was issued to.
    pub subject: Option<UserId>,
    /// When the token was issued.
    pub issued_at: Option<DateTime<Utc>>,
    /// A digest of the public key with which the token was verified; `None` for a key that cannot be removed.
    pub key_digest: Option<String>,
}

/// Whose tokens are revoked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RevocationTarget {
    /// One token.
    Token(TokenId),
    /// The tokens of a user, or of a program.
    User(UserId),
}

/// Identifies a revocation: there is at most one for each target in each app, and one in all apps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RevocationKey {
    /// Whose tokens are revoked.
    pub target: RevocationTarget,
    /// The app in which they are revoked; `None` for every app.
    pub app_id: Option<AppId>,
}

/// A revocation to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRevocation {
    /// Whose tokens are revoked, and where.
    pub key: RevocationKey,
    /// For a user: only the tokens that were issued at this moment or before it are revoked. `None` for every token.
    pub issued_until: Option<DateTime<Utc>>,
    /// When every revoked token has expired. `None` if that is not known.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A revocation of one token, or of the tokens of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Whose tokens are revoked, and where.
    pub key: RevocationKey,
    /// For a user: only the tokens that were issued at this moment or before it are revoked. `None` for every token.
    pub issued_until: Option<DateTime<Utc>>,
    /// When the tokens were last revoked.
    pub revoked_at: DateTime<Utc>,
    /// When the revocation may be forgotten. `None` if it stays until it is lifted.
    pub expires_at: Option<DateTime<Utc>>,
}

impl NewRevocation {
    /// How long a revocation is kept if it is not known when the revoked tokens expire, in days.
    pub const DEFAULT_DAYS: i64 = 366;

    /// How long a revocation is kept after the revoked tokens have expired. The database forgets it by a clock of its own, which may
    /// be ahead of those by which services accept tokens.
    pub const MARGIN: TimeDelta = TimeDelta::days(1);

    /// Returns when the revocation may be forgotten. One of every token of a user stays until it is lifted, because new
    /// tokens are refused as well.
    pub fn kept_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let covers_new_tokens =
            matches!(self.key.target, RevocationTarget::User(_)) && self.issued_until.is_none();
        let default = || now + TimeDelta::days(Self::DEFAULT_DAYS);
        let kept_until = |expired: DateTime<Utc>| {
            expired.checked_add_signed(Self::MARGIN).unwrap_or(DateTime::<Utc>::MAX_UTC)
        };
        (!covers_new_tokens).then(|| kept_until(self.expires_at.unwrap_or_else(default)))
    }
}

impl Revocation {
    /// The most revocations that a store holds.
    ///
    /// Every service process holds all of them in memory.
    pub const MAX: usize = 100_000;

    /// Tells whether a token of the target is revoked, by the time at which it was issued. A token that does not say
    /// when it was issued may be an old one, so it is revoked.
    pub fn covers(&self, issued_at: Option<DateTime<Utc>>) -> bool {
        self.issued_until.is_none_or(|until| issued_at.is_none_or(|issued_at| issued_at <= until))
    }

    /// Tells whether the revocation may be forgotten.
    pub fn has_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_secs(seconds).unwrap()
    }

    fn of_user(issued_until: Option<DateTime<Utc>>) -> NewRevocation {
        let target = RevocationTarget::User(UserId::parse("alice").unwrap());
        let key = RevocationKey { target, app_id: None };
        NewRevocation { key, issued_until, expires_at: None }
    }

    #[test]
    fn a_moment_covers_the_tokens_up_to_it_and_those_without_a_time() {
        let NewRevocation { key, issued_until, .. } = of_user(Some(at(10)));
        let revocation = Revocation { key, issued_until, revoked_at: at(10), expires_at: None };
        for (issued_at, is_covered) in
            [(Some(at(9)), true), (Some(at(10)), true), (Some(at(11)), false), (None, true)]
        {
            assert_eq!(revocation.covers(issued_at), is_covered, "{issued_at:?}");
        }
        let of_all = Revocation { issued_until: None, ..revocation };
        assert!(of_all.covers(Some(at(i32::MAX.into()))));
    }

    #[test]
    fn only_a_revocation_of_every_token_of_a_user_is_kept_forever() {
        assert_eq!(of_user(None).kept_until(at(0)), None);
        let default = at((NewRevocation::DEFAULT_DAYS + 1) * 86_400);
        assert_eq!(of_user(Some(at(5))).kept_until(at(0)), Some(default));
        let known = NewRevocation { expires_at: Some(at(7)), ..of_user(Some(at(5))) };
        assert_eq!(known.kept_until(at(0)), Some(at(7 + 86_400)));
    }
}
