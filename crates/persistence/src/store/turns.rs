use async_trait::async_trait;
use records::{ChatId, NewTurn, ResumePoint, Scope, StackId, TurnId};

use super::Appended;
use crate::StoreError;

/// Stores the turns of chats, and the resume points of unfinished turns.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Writes a turn at its end, all or nothing: its messages, the chat's record of its last turn,
    /// and, unless the turn was completed, its unfinished steps.
    ///
    /// Readers see all messages of the turn or none, however many there are. The ids of the
    /// messages are derived from the id of the turn, and each message has the turn as `request_id`.
    ///
    /// Safe to repeat: a turn with a known `request_id` gets the first result. With other content
    /// it is [`EventConflict`](StoreError::EventConflict) or, without messages,
    /// [`TurnConflict`](StoreError::TurnConflict). Other errors are those of
    /// [`append`](super::Messages::append).
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError>;

    /// Lists at most `limit` resume points of a chat, latest first: by turn, then by sequence. A
    /// page is shorter if the resume points are large.
    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError>;

    /// Returns the last resume point of a chat: the last step of the latest turn with resume points.
    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError>;

    /// Deletes the resume points of a turn, or of all turns. Returns how many it deleted.
    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError>;
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedTurn {
    /// The turn.
    pub request_id: TurnId,
    /// The chat's counter after the turn: the sequence of the next message.
    pub last_sequence: u64,
    /// One result for each message, in their order.
    pub messages: Vec<Appended>,
    /// The number of resume points of the turn.
    pub resume_points: usize,
    /// Whether this call stored the turn.
    pub outcome: super::Outcome,
}

/// Selects the resume points to list. A field that is `None` does not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResumePointFilter {
    /// Only those of this turn.
    pub request_id: Option<TurnId>,
    /// Only those of this call in a call stack.
    pub stack_id: Option<StackId>,
}

/// A page of resume points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResumePointPage {
    /// The resume points, latest first.
    pub points: Vec<ResumePoint>,
    /// The position of the next page; `None` on the last page.
    pub next: Option<ResumePointCursor>,
}

/// A position in a list of resume points: right after this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResumePointCursor {
    /// The turn of the resume point.
    pub turn: u64,
    /// The sequence of the resume point within its turn.
    pub sequence: u32,
}

impl ResumePointCursor {
    /// Returns the position after a resume point.
    pub fn after(point: &ResumePoint) -> Self {
        Self { turn: point.turn, sequence: point.sequence }
    }
}

impl ResumePointFilter {
    /// Returns whether a resume point matches.
    pub fn admits(&self, point: &ResumePoint) -> bool {
        self.request_id.as_ref().is_none_or(|id| *id == point.request_id)
            && self.stack_id.as_ref().is_none_or(|id| *id == point.step.frame.stack_id)
    }
}
