use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{ChatId, DisplayName, Participant, Scope, UserId};

use super::Outcome;
use crate::StoreError;

/// Keeps who takes part in chats.
///
/// Taking part gives no access: a chat's [`Visibility`](records::Visibility) does. Whom a caller may
/// name is for who calls to say.
#[async_trait]
pub trait Participants: Send + Sync {
    /// Has a user take part in a chat, whatever its status.
    ///
    /// One who does already keeps the place, and is called by the new name if there is one. Beyond
    /// [`Limits::PARTICIPANTS`](records::Limits::PARTICIPANTS) it is
    /// [`TooManyParticipants`](StoreError::TooManyParticipants).
    async fn join_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        display_name: Option<&DisplayName>,
    ) -> Result<Joined, StoreError>;

    /// Has a user take part no longer; nothing is left of it but their messages.
    ///
    /// Leaving twice is leaving once.
    async fn leave_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError>;

    /// Lists who takes part, oldest first; those who joined at the same moment, by id.
    async fn list_participants(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&ParticipantCursor>,
    ) -> Result<ParticipantPage, StoreError>;
}

/// What came of joining.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The participant as kept.
    pub participant: Participant,
    /// Whether they take part since now, or did already.
    pub outcome: Outcome,
}

/// A position in a list of participants: right after the one it names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParticipantCursor {
    /// When that one joined.
    pub joined_at: DateTime<Utc>,
    /// Who it is.
    pub user_id: UserId,
}

/// A page of participants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantPage {
    /// The participants.
    pub participants: Vec<Participant>,
    /// Where the next page begins, when there is one.
    pub next: Option<ParticipantCursor>,
}

impl ParticipantPage {
    /// Makes a page of the first `limit` after a position, of all there are in any order.
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
