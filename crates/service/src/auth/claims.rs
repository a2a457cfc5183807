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

impl From<Claims> for Identity {
    fn from(claims: Claims) -> Self {
        let caller = match claims.role.as_deref() {
            Some("service") => Caller::Service,
            _ => Caller::User { user_id: claims.sub, team_id: claims.team },
        };
        let is_operator = claims.role.as_deref() == Some("operator");
        Self { caller, is_operator, apps: Apps::named(claims.apps) }
    }
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
