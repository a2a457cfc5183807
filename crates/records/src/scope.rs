use serde::{Deserialize, Serialize};

use crate::{AppId, TeamId, UserId};

/// Says which app a call is bound to, and on whose behalf it is made.
///
/// Every store call takes one. What lies outside it does not exist for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The app; nothing of another app is ever read or written.
    pub app_id: AppId,
    /// Who is asking.
    pub caller: Caller,
    /// The fencing token of the [`Lease`](crate::Lease) under which the caller writes to its chat, if
    /// under one: when another has taken its place, or none, the write is refused. Reads do not ask.
    pub fencing_token: Option<u64>,
}

impl Scope {
    /// Binds a call to an app on behalf of the service itself, which sees all of that app.
    pub fn service(app_id: AppId) -> Self {
        Self { app_id, caller: Caller::Service, fencing_token: None }
    }

    /// Returns the same for a write that needs no lease.
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self { fencing_token: None, ..self.clone() }
    }

    /// Returns the same with the fencing token of a lease.
    #[must_use]
    pub fn fenced(self, fencing_token: u64) -> Self {
        Self { fencing_token: Some(fencing_token), ..self }
    }
}

/// Who a call is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A trusted program, such as an orchestrator: every chat of the app.
    Service,
    /// A person: the chats whose [`Visibility`] admits them.
    User {
        /// The person.
        user_id: UserId,
        /// The team they act for, if any.
        team_id: Option<TeamId>,
    },
}

/// Who, within its app, may see and change a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Everyone who may use the app and knows the chat's id.
    #[default]
    App,
    /// The user who owns the chat, and the members of its team.
    Team,
    /// The user who owns the chat.
    Private,
}

impl Visibility {
    /// Returns the word for it, as it stands on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Team => "team",
            Self::Private => "private",
        }
    }
}

impl Caller {
    /// Tells whether a chat of the given owner, team and visibility is open to this caller.
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

    /// Tells whether this caller may act for a user: a person only for themselves.
    pub fn may_act_for(&self, user: &UserId) -> bool {
        self.person().is_none_or(|user_id| user_id == user)
    }

    /// Returns the person who calls; `None` for a service.
    pub fn person(&self) -> Option<&UserId> {
        match self {
            Self::Service => None,
            Self::User { user_id, .. } => Some(user_id),
        }
    }
}
