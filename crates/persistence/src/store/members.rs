use async_trait::async_trait;
use records::{ChatId, Member, MemberRole, Scope, UserId};

use super::Outcome;
use crate::StoreError;

/// Stores the members of chats: the users with whom a chat is shared by name.
///
/// [`Participants::join_chat`](super::Participants::join_chat) makes a user a member, too.
#[async_trait]
pub trait Members: Send + Sync {
    /// Adds a user to a chat, or changes the role of a member. Idempotent.
    ///
    /// A chat with [`Member::MAX`] members is [`TooManyMembers`](StoreError::TooManyMembers).
    async fn put_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        role: MemberRole,
    ) -> Result<Outcome, StoreError>;

    /// Removes a member; the user's messages stay. Idempotent.
    ///
    /// The user may join an open chat again. The members of the chat's team keep their access, too.
    async fn remove_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError>;

    /// Returns the members, in the order in which they were added.
    async fn list_members(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Member>, StoreError>;
}
