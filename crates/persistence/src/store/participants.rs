use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{ChatId, DisplayName, Participant, Scope, UserId};

use super::Outcome;
use crate::StoreError;

/// Stores the participants of chats.
///
/// Participants are shown to each other; what they may do follows from the chat's owner, members and
/// [`Visibility`](records::Visibility). The caller of these methods decides which users a client may add or remove.
#[async_trait]
pub trait Participants: Send + Sync {
    /// Adds a user to a chat, in any status of the chat.
    ///
    /// The user becomes a [`Member`](records::Member), too, if a service adds them or the chat is open, and if the chat
    /// has room for a member; without, they may only read.
    ///
    /// A user who is already a participant keeps the time of joining, and gets the new name if one
    /// is given. A chat with [`Limits::PARTICIPANTS`](records::Limits::PARTICIPANTS) participants
    /// is [`TooManyParticipants`](StoreError::TooManyParticipants).
    async fn join_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        display_name: Option<&DisplayName>,
    ) -> Result<Joined, StoreError>;

    /// Removes a participant and member; the user's messages stay.
    ///
    /// Idempotent.
    async fn leave_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError>;

    /// Lists the participants, oldest first; those who joined at the same time, by id.
    async fn list_participants(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&ParticipantCursor>,
    ) -> Result<ParticipantPage, StoreError>;
}

/// The result of joining.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The participant as stored.
    pub participant: Participant,
    /// Whether this call added the participant.
    pub outcome: Outcome,
}

/// A position in a list of participants: right after this participant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParticipantCursor {
    /// When the participant joined.
    pub joined_at: DateTime<Utc>,
    /// The user.
    pub user_id: UserId,
}

/// A page of participants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantPage {
    /// The participants.
    pub participants: Vec<Participant>,
    /// The position of the next page, if there is a next page.
    pub next: Option<ParticipantCursor>,
}

impl ParticipantPage {
    /// Makes a page of the first `limit` participants after a position, from all participants in
    /// any order.
    pub(crate) fn of(
        mut all: Vec<Participant>,
        limit: usize,
        after: Option<&ParticipantCursor>,
    ) -> Self {
        let position = |of: &Participant| {
            let (joined_at, user_id) = (of.joined_at, of.user_id.clone());
            ParticipantCursor { joined_at, user_id }
        };
        all.retain(|of| after.is_none_or(|after| position(of) > *after));
        all.sort_by_key(position);
        let next = super::cut(&mut all, limit).map(position);
        Self { participants: all, next }
    }
}
