use records::{AppId, Caller, TeamId, UserId};
use serde::Deserialize;

use super::{Apps, Identity};

/// What a token says about its bearer; other claims are ignored.
#[derive(Deserialize)]
pub(super) struct Claims {
    /// The user, or the program.
    sub: UserId,
    /// The team the user acts for.
    team: Option<TeamId>,
    /// The apps the bearer may touch; `"*"` stands for all.
    #[serde(default)]
    apps: Vec<String>,
    /// `service` for a program that acts for a whole app; `operator` for who watches the service and
    /// keeps the registry of apps: to the chats of an app an operator is a user.
    role: Option<String>,
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
