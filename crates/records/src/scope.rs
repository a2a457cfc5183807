use serde::{Deserialize, Serialize};

use crate::{AppId, TeamId, UserId};

/// The app to which a store call is restricted, and the caller on whose behalf it is made.
///
/// Every store call takes a scope. Records outside the scope do not exist for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The app; the call never reads or writes records of another app.
    pub app_id: AppId,
    /// The caller.
    pub caller: Caller,
    /// The fencing token of the [`Lease`](crate::Lease) with which the caller writes to its chat, if any.
    ///
    /// A write is refused if the chat has another lease by then, or none. Reads ignore the token.
    pub fencing_token: Option<u64>,
}

impl Scope {
    /// Creates the scope of the service itself, which sees all records of the app.
    pub fn service(app_id: AppId) -> Self {
        Self { app_id, caller: Caller::Service, fencing_token: None }
    }

    /// Returns the same scope without a fencing token, for a write that needs no lease.
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self { fencing_token: None, ..self.clone() }
    }

    /// Returns the same scope with the fencing token of a lease.
    #[must_use]
    pub fn fenced(self, fencing_token: u64) -> Self {
        Self { fencing_token: Some(fencing_token), ..self }
    }
}

/// The caller on whose behalf a store call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A trusted program, such as an orchestrator, which may use every chat of the app.
    Service,
    /// A person, who may use the chats whose [`Visibility`] allows it.
    User {
        /// The person.
        user_id: UserId,
        /// The team for which the person acts, if any.
        team_id: Option<TeamId>,
    },
}

/// The callers of an app that may see and change a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Every user of the app who knows the id of the chat.
    #[default]
    App,
    /// The user who owns the chat, and the members of its team.
    Team,
    /// The user who owns the chat.
    Private,
}

impl Visibility {
    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Team => "team",
            Self::Private => "private",
        }
    }
}

impl Caller {
    /// Returns whether this caller may see a chat with this owner, team and visibility.
    pub fn may_see(
        &self,
        visibility: Visibility,
        owner: Option<&UserId>,
        team: Option<&TeamId>,
    ) -> bool {
        let Self::User { user_id, team_id } = self else {
            return true;
        };
        let owns = owner == Some(user_id);
        match visibility {
            Visibility::App => true,
            Visibility::Team => owns || (team.is_some() && team == team_id.as_ref()),
            Visibility::Private => owns,
        }
    }

    /// Returns whether this caller may act for a user: a person may act only for themselves.
    pub fn may_act_for(&self, user: &UserId) -> bool {
        self.person().is_none_or(|user_id| user_id == user)
    }

    /// Returns the person, or `None` for a service.
    pub fn person(&self) -> Option<&UserId> {
        match self {
            Self::Service => None,
            Self::User { user_id, .. } => Some(user_id),
        }
    }
}
