use std::time::Duration;

use chrono::{DateTime, Utc};
use records::{AppId, Caller, TeamId, UserId};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Apps, Identity};

/// What a token says about its bearer; other claims are ignored.
#[derive(Deserialize)]
pub(super) struct Claims {
    /// The user, or the program.
    sub: UserId,
    /// The team the user acts for.
    team: Option<TeamId>,
    /// The apps the bearer may touch; `"*"` stands for all, in the list or instead of it.
    #[serde(default, deserialize_with = "names")]
    apps: Vec<String>,
    /// `service` for a program that acts for a whole app; `operator` for who watches the service and
    /// keeps the registry of apps: to the chats of an app an operator is a user.
    role: Option<String>,
    /// When the token expires, in seconds since 1970, with fractions or without.
    exp: f64,
}

/// The forms that lists of names come in.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    Word(String),
    List(Vec<String>),
}

/// Reads the names of apps; a word alone is `"*"`, since one app alone is a list, too.
fn names<'de, D: Deserializer<'de>>(claim: D) -> Result<Vec<String>, D::Error> {
    match Names::deserialize(claim)? {
        Names::List(names) => Ok(names),
        Names::Word(word) if word == "*" => Ok(vec![word]),
        Names::Word(_) => Err(D::Error::custom("neither a list nor \"*\"")),
    }
}

impl Claims {
    /// Returns who the bearer is, and until when: `leeway_sec` after the token expires.
    pub(super) fn identity(self, leeway_sec: u64) -> Identity {
        let caller = match self.role.as_deref() {
            Some("service") => Caller::Service,
            _ => Caller::User { user_id: self.sub, team_id: self.team },
        };
        let is_operator = self.role.as_deref() == Some("operator");
        let expires_at = refused_from(self.exp, leeway_sec);
        Identity { caller, is_operator, expires_at, apps: Apps::named(self.apps) }
    }
}

/// Returns the first moment at which a token is refused; `None` where it is too far off to be one.
///
/// Times are compared in whole seconds, so it is good for all of the last one.
fn refused_from(exp: f64, leeway_sec: u64) -> Option<DateTime<Utc>> {
    let since_1970 = Duration::try_from_secs_f64(exp).ok()?.as_secs();
    let refused_from = since_1970.checked_add(leeway_sec)?.checked_add(1)?;
    DateTime::from_timestamp_secs(i64::try_from(refused_from).ok()?)
}

impl Apps {
    /// What is not the name of an app admits none.
    fn named(names: Vec<String>) -> Self {
        if names.iter().any(|name| name == "*") {
            return Self::All;
        }
        let ids = names.into_iter().filter_map(|name| AppId::parse(name).ok());
        Self::These(ids.collect())
    }
}
