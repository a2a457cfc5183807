use crate::{
    Assistant, Caller, ChatSession, DocumentHead, MessageBody, TeamId, UserId, Visibility,
};

/// What a call does with a chat or an app, as a right that its caller must have.
///
/// A [`Scope`](crate::Scope) carries one permission, and the filters of the store admit only the chats in which the
/// caller has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Start a chat, or fork one.
    Create,
    /// Read messages, history, events, context and artifact; see who is present.
    Read,
    /// Append messages of the role `user` as oneself, edit and delete one's own, be present, answer questions.
    Say,
    /// Append messages of any role and write what a workflow writes: turns, context, artifact, questions, leases.
    Run,
    /// Record and delete calls; credit and debit wallets.
    Bill,
    /// Change the members of a chat, complete or fail it, and see what it costs.
    Manage,
    /// Read statistics and metrics.
    Observe,
    /// Manage the registry of apps.
    Administer,
}

impl Permission {
    /// Every permission.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Read,
        Self::Say,
        Self::Run,
        Self::Bill,
        Self::Manage,
        Self::Observe,
        Self::Administer,
    ];

    /// Those that a caller may have towards a chat; with [`Permission::Create`] they fork it.
    pub const OF_CHATS: [Self; 6] =
        [Self::Create, Self::Read, Self::Say, Self::Run, Self::Bill, Self::Manage];

    /// Returns the permission that appending these messages needs.
    pub fn to_append<'a>(mut messages: impl Iterator<Item = &'a MessageBody>) -> Self {
        let is_said = |message: &MessageBody| message.role == "user" && !message.acts();
        if messages.all(is_said) { Self::Say } else { Self::Run }
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Say => "say",
            Self::Run => "run",
            Self::Bill => "bill",
            Self::Manage => "manage",
            Self::Observe => "observe",
            Self::Administer => "administer",
        }
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A user who was added to a chat, or has joined it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The user.
    pub user_id: UserId,
    /// What the user may do.
    pub role: MemberRole,
}

impl Member {
    /// The most members of a chat. Other users may only read.
    pub const MAX: usize = 256;
}

/// What a member may do in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberRole {
    /// The user may read and say.
    Member,
    /// The user may read.
    Reader,
}

impl MemberRole {
    /// Every role.
    pub const ALL: [Self; 2] = [Self::Member, Self::Reader];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Reader => "reader",
        }
    }
}

/// What a caller may use of their permissions. A ticket may narrow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// Every permission that the caller has.
    #[default]
    Everything,
    /// Those of these permissions that the caller has: read and say.
    ReadAndSay,
    /// Only to read.
    Read,
}

impl Grant {
    /// Returns the grant of a list of permissions, in any order; `None` if no ticket can be for them. Without a list it is
    /// everything.
    pub fn of(permissions: Option<&[Permission]>) -> Option<Self> {
        let Some(permissions) = permissions else { return Some(Self::Everything) };
        let has = |permission| permissions.contains(&permission);
        let others = permissions.iter().any(|it| !matches!(it, Permission::Read | Permission::Say));
        match (has(Permission::Read), has(Permission::Say)) {
            _ if others => None,
            (true, true) => Some(Self::ReadAndSay),
            (true, false) => Some(Self::Read),
            (false, _) => None,
        }
    }

    /// Returns the permissions; `None` for everything.
    pub fn permissions(self) -> Option<&'static [Permission]> {
        match self {
            Self::Everything => None,
            Self::ReadAndSay => Some(&[Permission::Read, Permission::Say]),
            Self::Read => Some(&[Permission::Read]),
        }
    }

    /// Returns whether a permission of the caller may be used.
    pub fn admits(self, permission: Permission) -> bool {
        self.permissions().is_none_or(|permissions| permissions.contains(&permission))
    }
}

/// The chats of an app in which a caller has a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach<'a> {
    /// Every chat.
    Every,
    /// No chat.
    None,
    /// Chats of a person: each has one of these relations to them.
    Related(Relations<'a>),
}

/// The relations of a person to a chat that give a permission. A person may have several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relations<'a> {
    /// The person.
    pub user_id: &'a UserId,
    /// Whether the owner of the chat has the permission.
    pub owner: bool,
    /// The roles of the members that have it.
    pub members: &'static [MemberRole],
    /// The team of the person, if the members of the team of a [`Visibility::Team`] chat have it.
    pub team: Option<&'a TeamId>,
    /// Whether every user who knows the id of an open chat has it; see [`Visibility::is_open`].
    pub visitors: bool,
}

/// What decides who else than its members has a permission in a record.
#[derive(Debug, Clone, Copy)]
pub struct Sharing<'a> {
    user_id: Option<&'a UserId>,
    team_id: Option<&'a TeamId>,
    visibility: Visibility,
}

impl<'a> Sharing<'a> {
    /// Not a conversion: the members of the chat decide, too.
    fn of_chat(chat: &'a ChatSession) -> Self {
        let ChatSession { user_id, team_id, visibility, .. } = chat;
        Self { user_id: user_id.as_ref(), team_id: team_id.as_ref(), visibility: *visibility }
    }
}

impl<'a> From<&'a Assistant> for Sharing<'a> {
    fn from(assistant: &'a Assistant) -> Self {
        let (content, user_id) = (&assistant.content, assistant.user_id.as_ref());
        Self { user_id, team_id: content.team_id.as_ref(), visibility: content.visibility }
    }
}

impl<'a> From<&'a DocumentHead> for Sharing<'a> {
    fn from(document: &'a DocumentHead) -> Self {
        let binding = &document.binding;
        let (user_id, team_id) = (binding.user_id.as_ref(), binding.team_id.as_ref());
        Self { user_id, team_id, visibility: binding.visibility }
    }
}

impl Caller {
    /// Returns the chats in which this caller has a permission. This is the one table of rights in chats: the
    /// filters of the store and [`Caller::may`] follow from it.
    pub fn reach(&self, permission: Permission) -> Reach<'_> {
        use Permission::{Manage, Read, Run, Say};
        let (user_id, team_id, may_run) = match self {
            Self::Service => return Reach::Every,
            Self::Support { .. } if matches!(permission, Read | Say | Manage) => {
                return Reach::Every;
            }
            Self::Support { user_id } => (user_id, None, false),
            Self::User { user_id, team_id, may_run } => (user_id, team_id.as_ref(), *may_run),
        };
        let none = Relations { user_id, owner: false, members: &[], team: None, visitors: false };
        let owner = Relations { owner: true, ..none };
        Reach::Related(match permission {
            _ if matches!(self, Self::Support { .. }) => none,
            Read => Relations { members: &MemberRole::ALL, team: team_id, visitors: true, ..owner },
            Say => Relations { members: &[MemberRole::Member], team: team_id, ..owner },
            Manage => owner,
            Run if may_run => owner,
            _ => none,
        })
    }

    /// Returns whether this caller has a permission in a chat with these members.
    pub fn may(&self, permission: Permission, chat: &ChatSession, members: &[Member]) -> bool {
        self.reach(permission).includes(chat, members)
    }

    /// Returns whether this caller starts chats, and forks those that it may read.
    pub fn may_create(&self) -> bool {
        !matches!(self, Self::Support { .. })
    }

    /// Returns whether a user becomes a member of a chat with these members when this caller makes them join: a service
    /// adds any user, and a person joins an open chat. The owner needs no membership, a member keeps their role, and a
    /// full chat takes no more members.
    pub fn makes_member(&self, user_id: &UserId, chat: &ChatSession, members: &[Member]) -> bool {
        (*self == Self::Service || chat.visibility.is_open())
            && chat.user_id.as_ref() != Some(user_id)
            && members.len() < Member::MAX
            && members.iter().all(|member| member.user_id != *user_id)
    }
}

impl Reach<'_> {
    /// Returns whether a chat with these members is in the list of the caller: it is theirs, they are a member, or their
    /// team shares it. Others than persons list every chat.
    pub fn lists(&self, chat: &ChatSession, members: &[Member]) -> bool {
        match *self {
            Self::Every => true,
            Self::None => false,
            Self::Related(related) => {
                Relations { visitors: false, ..related }.hold(Sharing::of_chat(chat), members)
            }
        }
    }

    /// Returns whether a chat with these members is one of the chats.
    pub fn includes(&self, chat: &ChatSession, members: &[Member]) -> bool {
        match self {
            Self::Every => true,
            Self::None => false,
            Self::Related(related) => related.hold(Sharing::of_chat(chat), members),
        }
    }

    /// Returns whether a record without members, an assistant or a document of no chat, is one of the records: it has otherwise
    /// the same relations as a chat.
    pub fn includes_record<'r>(&self, record: impl Into<Sharing<'r>>) -> bool {
        match self {
            Self::Every => true,
            Self::None => false,
            Self::Related(related) => related.hold(record.into(), &[]),
        }
    }

    /// Returns whether such a record is in the list of the caller. Persons do not list one of another that is open to those who
    /// know its id.
    pub fn lists_record<'r>(&self, record: impl Into<Sharing<'r>>) -> bool {
        let record = record.into();
        match *self {
            Self::Related(related) => {
                let visitors = related.visitors && record.visibility == Visibility::App;
                Relations { visitors, ..related }.hold(record, &[])
            }
            Self::Every | Self::None => self.includes_record(record),
        }
    }
}

impl Relations<'_> {
    /// Returns whether the person has one of these relations to a record with these members.
    fn hold(&self, record: Sharing<'_>, members: &[Member]) -> bool {
        let role = members.iter().find(|member| member.user_id == *self.user_id);
        let is_teammate = record.visibility == Visibility::Team
            && self.team.is_some()
            && record.team_id == self.team;
        (self.owner && record.user_id == Some(self.user_id))
            || role.is_some_and(|member| self.members.contains(&member.role))
            || is_teammate
            || (self.visitors && record.visibility.is_open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_can_only_be_for_reading_and_saying() {
        use Permission::{Manage, Read, Run, Say};
        for (permissions, grant) in [
            (None, Some(Grant::Everything)),
            (Some(&[Read][..]), Some(Grant::Read)),
            (Some(&[Say, Read]), Some(Grant::ReadAndSay)),
            (Some(&[Read, Read]), Some(Grant::Read)),
            (Some(&[]), None),
            (Some(&[Say]), None),
            (Some(&[Read, Run]), None),
            (Some(&[Manage, Read, Say]), None),
        ] {
            assert_eq!(Grant::of(permissions), grant, "{permissions:?}");
        }
        for grant in [Grant::Everything, Grant::ReadAndSay, Grant::Read] {
            assert_eq!(Grant::of(grant.permissions()), Some(grant));
            assert!(grant.admits(Read));
            assert_eq!(grant.admits(Say), grant != Grant::Read);
            assert_eq!(grant.admits(Manage), grant == Grant::Everything);
        }
    }
}
