use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, ActorRole, AppId, ChatSession, Grant, IfMatch, Lifecycle, Member, Origin, Permission,
    Reach, TeamId, UserId,
};

/// The app to which a store call is restricted, and the caller on whose behalf it is made.
///
/// Every store call takes a scope. Records outside the scope do not exist for the caller. The permission is what the
/// call needs: a chat in which the caller does not have it is refused, and a chat that the caller may not read is not
/// found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The app; the call never reads or writes records of another app.
    pub app_id: AppId,
    /// The caller.
    pub caller: Caller,
    /// The permission that the call needs.
    pub permission: Permission,
    /// What the caller may use of their permissions.
    pub grant: Grant,
    /// The fencing token of the [`Lease`](crate::Lease) with which the caller writes to its chat, if any.
    ///
    /// A write is refused if the chat has another lease by then, or none. Reads ignore the token.
    pub fencing_token: Option<u64>,
    /// What the caller has seen of the record that it writes, if the write depends on it. Only writes of context snapshots,
    /// artifacts, messages, chat sessions and assistants look at it.
    pub if_match: Option<IfMatch>,
    /// The number of messages that the chat must have for the write, if it depends on that. Only appends, edits and
    /// deletions of messages look at it.
    pub expected_last_sequence: Option<u64>,
    /// Whether the call finds deleted chats as well. Without it they do not exist. No call finds a purged chat.
    pub finds_deleted: bool,
    /// Where the call comes from, for the audit log, if that is known.
    pub origin: Option<Arc<Origin>>,
}

impl Scope {
    /// Creates the scope of a caller, for a call that needs a permission.
    pub fn new(app_id: AppId, caller: Caller, permission: Permission) -> Self {
        let grant = Grant::Everything;
        Self {
            app_id,
            caller,
            permission,
            grant,
            fencing_token: None,
            if_match: None,
            expected_last_sequence: None,
            finds_deleted: false,
            origin: None,
        }
    }

    /// Creates the scope of the service itself, which may do everything with all records of the app.
    pub fn service(app_id: AppId) -> Self {
        // A person does not have this permission, so a scope that is made from this one is refused unless it names
        // another.
        Self::new(app_id, Caller::Service, Permission::Administer)
    }

    /// Returns the same scope for a call that needs another permission.
    #[must_use]
    pub fn needing(&self, permission: Permission) -> Self {
        Self { permission, ..self.clone() }
    }

    /// Returns the same scope without a fencing token, for a write that needs no lease.
    #[must_use]
    pub fn unfenced(&self) -> Self {
        Self { fencing_token: None, ..self.clone() }
    }

    /// Returns the same scope for a call that finds deleted chats as well.
    #[must_use]
    pub fn finding_deleted(&self) -> Self {
        Self { finds_deleted: true, ..self.clone() }
    }

    /// Returns the scope in which the caller learns that a chat exists and that they lack the permission of this scope: they
    /// may read it, and it is not deleted.
    #[must_use]
    pub fn reading(&self) -> Self {
        Self { permission: Permission::Read, finds_deleted: false, ..self.clone() }
    }

    /// Returns whether a chat in a lifecycle exists for the call.
    pub fn finds(&self, lifecycle: Lifecycle) -> bool {
        lifecycle < self.first_hidden()
    }

    /// Returns the first lifecycle in which a chat does not exist for the call. Neither does it in those after it.
    pub fn first_hidden(&self) -> Lifecycle {
        if self.finds_deleted { Lifecycle::Purged } else { Lifecycle::Deleted }
    }

    /// Returns the same scope without its origin, for a scope that is kept.
    #[must_use]
    pub fn without_origin(&self) -> Self {
        Self { origin: None, ..self.clone() }
    }

    /// Returns whether a call in either scope may do the same. The origin decides nothing. A call that depends on a state of
    /// the chat is like no other.
    pub fn has_same_rights(&self, other: &Self) -> bool {
        let depends = |it: &Self| it.if_match.is_some() || it.expected_last_sequence.is_some();
        let Self { app_id, caller, permission, grant, fencing_token, finds_deleted, .. } = self;
        !depends(self)
            && !depends(other)
            && (app_id, caller, permission, grant, fencing_token, finds_deleted)
                == (
                    &other.app_id,
                    &other.caller,
                    &other.permission,
                    &other.grant,
                    &other.fencing_token,
                    &other.finds_deleted,
                )
    }

    /// Returns the chats in which the caller has a permission and may use it.
    pub fn reach(&self, permission: Permission) -> Reach<'_> {
        if self.grant.admits(permission) { self.caller.reach(permission) } else { Reach::None }
    }

    /// Returns whether a chat with these members exists for the call, and the caller has a permission in it and may use
    /// it.
    pub fn may(&self, permission: Permission, chat: &ChatSession, members: &[Member]) -> bool {
        self.finds(chat.lifecycle) && self.reach(permission).includes(chat, members)
    }

    /// Returns whether a chat with these members is in the list of the chats in which the caller has the permission of the
    /// scope; see [`Reach::lists`].
    pub fn lists(&self, chat: &ChatSession, members: &[Member]) -> bool {
        self.reach(self.permission).lists(chat, members)
    }

    /// Returns whether a user becomes a member of a chat with these members when the caller makes them join; see
    /// [`Caller::makes_member`]. A caller that may only read makes no members.
    pub fn makes_member(&self, user_id: &UserId, chat: &ChatSession, members: &[Member]) -> bool {
        self.grant.admits(Permission::Say) && self.caller.makes_member(user_id, chat, members)
    }

    /// Returns the actor of an action in this scope.
    pub fn actor(&self) -> Actor {
        let role = match self.caller {
            Caller::Service => ActorRole::Service,
            Caller::User { .. } => ActorRole::User,
            Caller::Support { .. } => ActorRole::Support,
        };
        let person = self.caller.person().cloned();
        Actor { role, person, origin: self.origin.as_deref().cloned().unwrap_or_default() }
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
    /// A person. They may use their own chats, and those that others share with them.
    User {
        /// The person.
        user_id: UserId,
        /// The team for which the person acts, if any.
        team_id: Option<TeamId>,
        /// Whether the app lets its users run the workflows of their own chats.
        may_run: bool,
    },
    /// A person who helps the users of the app, and may read their chats, say something and manage them.
    Support {
        /// The person.
        user_id: UserId,
    },
}

/// Which users of an app may find and read a chat, besides its owner and its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// No other user.
    #[default]
    Private,
    /// The team of the chat, whose members may also say something.
    Team,
    /// Every user of the app who knows the id of the chat. Saying something makes them a member.
    Link,
    /// Every user of the app: they find the chat in the list of the app. Joining makes them a member.
    App,
}

impl Visibility {
    /// Every visibility.
    pub const ALL: [Self; 4] = [Self::Private, Self::Team, Self::Link, Self::App];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Team => "team",
            Self::Link => "link",
            Self::App => "app",
        }
    }

    /// Returns whether every user of the app who knows the id may read the chat and join it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Link | Self::App)
    }
}

impl Caller {
    /// Returns whether this caller may act for a user: a person may act only for themselves.
    pub fn may_act_for(&self, user: &UserId) -> bool {
        self.person().is_none_or(|user_id| user_id == user)
    }

    /// Returns the person, or `None` for a service.
    pub fn person(&self) -> Option<&UserId> {
        match self {
            Self::Service => None,
            Self::User { user_id, .. } | Self::Support { user_id } => Some(user_id),
        }
    }
}
