use std::time::Duration;

use chrono::{DateTime, Utc};
use records::{AppId, Credential, Grant, TeamId, TokenId, UserId};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Apps, Identity, Role};

/// The claims of a token that the service uses; others are ignored.
#[derive(Deserialize)]
pub(super) struct Claims {
    /// The user, or the name of a program.
    sub: UserId,
    /// The team the user acts for.
    team: Option<TeamId>,
    /// The apps that the bearer may use; `"*"`, in the list or instead of it, means all.
    #[serde(default, deserialize_with = "names")]
    apps: Vec<String>,
    /// `service` for a program that acts for a whole app; `operator` for a person who monitors the service
    /// and manages the registry of apps; `support` for a person who helps the users of the apps.
    role: Option<String>,
    /// When the token expires, in seconds since 1970; fractions are allowed.
    exp: f64,
    /// The id of the token. One that is not a valid id is ignored: such a token cannot be revoked by its id.
    #[serde(default)]
    jti: Value,
    /// When the token was issued, in seconds since 1970. One that is not a number is ignored.
    #[serde(default)]
    iat: Value,
}

/// The claims of an ID token that the service uses.
#[derive(Deserialize)]
pub(super) struct IdClaims {
    #[serde(flatten)]
    pub(super) claims: Claims,
    /// Proves that the token was issued for this sign-in.
    pub(super) nonce: String,
    /// The program for which it was issued, of several that may read it (OIDC Core 1.0, section 3.1.3.7).
    pub(super) azp: Option<String>,
}

/// A list of names, or a single word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Word(String),
    List(Vec<String>),
}

/// Reads the names of apps. The only valid single word is `"*"`; a single app must be in a list too.
fn names<'de, D: Deserializer<'de>>(claim: D) -> Result<Vec<String>, D::Error> {
    match Names::deserialize(claim)? {
        Names::List(names) => Ok(names),
        Names::Word(word) if word == "*" => Ok(vec![word]),
        Names::Word(_) => Err(D::Error::custom("must be a list or \"*\"")),
    }
}

impl Claims {
    /// Returns the identity of the bearer. It expires `leeway_sec` after the token.
    pub(super) fn identity(self, leeway_sec: u64, key_digest: Option<String>) -> Identity {
        let issued_at = self.iat.as_f64().and_then(|iat| Duration::try_from_secs_f64(iat).ok());
        let credential = Credential {
            token_id: self.jti.as_str().and_then(|jti| TokenId::parse(jti).ok()),
            subject: Some(self.sub.clone()),
            issued_at: issued_at.and_then(|iat| whole_seconds(iat.as_secs())),
            key_digest,
        };
        let user_id = self.sub;
        let role = match self.role.as_deref() {
            Some("service") => Role::Service,
            Some("operator") => Role::Operator { user_id },
            Some("support") => Role::Support { user_id },
            _ => Role::User { user_id, team_id: self.team },
        };
        let expires_at = refused_from(self.exp, leeway_sec);
        Identity {
            role,
            expires_at,
            apps: Apps::from_names(self.apps),
            credentials: vec![credential],
            revoked_in: Vec::new(),
            grant: Grant::Everything,
            origin: None,
        }
    }
}

/// Returns the first moment at which a token is refused; `None` if it is too far in the future.
///
/// The verifier compares whole seconds, so a token is valid until the end of its last second.
fn refused_from(exp: f64, leeway_sec: u64) -> Option<DateTime<Utc>> {
    let since_1970 = Duration::try_from_secs_f64(exp).ok()?.as_secs();
    let refused_from = since_1970.checked_add(leeway_sec)?.checked_add(1)?;
    whole_seconds(refused_from)
}

fn whole_seconds(since_1970: u64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_secs(i64::try_from(since_1970).ok()?)
}

impl Apps {
    /// A name that is not a valid app id is ignored: it grants nothing.
    fn from_names(names: Vec<String>) -> Self {
        if names.iter().any(|name| name == "*") {
            return Self::All;
        }
        let ids = names.into_iter().filter_map(|name| AppId::parse(name).ok());
        Self::These(ids.collect())
    }
}
