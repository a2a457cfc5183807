use async_trait::async_trait;
use records::{ChatId, NewTurn, ResumePoint, Scope, StackId, TurnId};

use super::Appended;
use crate::StoreError;

/// Keeps the turns of chats, and the points from which those that broke off can be resumed.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Writes a turn at its end, all of it or nothing: its messages, what the chat notes of its last
    /// turn, and, unless it was completed, the steps that were not done.
    ///
    /// Readers see all its messages or none, however many they are. The messages get ids that follow
    /// from the turn's, and their turn as `request_id`.
    ///
    /// Safe to repeat: a turn that is known by its `request_id` is answered as the first time. With
    /// anything else in it, it is [`EventConflict`](StoreError::EventConflict) or, where it has no
    /// messages, [`TurnConflict`](StoreError::TurnConflict). Errors besides: those of
    /// [`append`](super::Messages::append).
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError>;

    /// Lists at most `limit` resume points of a chat, the latest first: by turn, then by sequence. A page
    /// is shorter where they are large.
    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError>;

    /// Returns the last resume point of a chat: of the latest turn that has any, the last step.
    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError>;

    /// Deletes the resume points of a turn, or all, and says how many there were.
    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError>;
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedTurn {
    /// The turn.
    pub request_id: TurnId,
    /// The chat's counter after it: the sequence the next message gets.
    pub last_sequence: u64,
    /// One for each message, in their order.
    pub messages: Vec<Appended>,
    /// How many steps there are to resume from.
    pub resume_points: usize,
    /// Whether it was stored now, or had been before.
    pub outcome: super::Outcome,
}

/// Which resume points to list; what is `None` does not restrict.
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
    /// The latest first.
    pub points: Vec<ResumePoint>,
    /// Where the next page begins; none if this is the last one.
    pub next: Option<ResumePointCursor>,
}

/// The place after a resume point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResumePointCursor {
    /// Its turn.
    pub turn: u64,
    /// Its place in the turn.
    pub sequence: u32,
}

impl ResumePointCursor {
    /// The place after a resume point.
    pub fn after(point: &ResumePoint) -> Self {
        Self { turn: point.turn, sequence: point.sequence }
    }
}

impl ResumePointFilter {
    /// Tells whether a resume point passes.
    pub fn admits(&self, point: &ResumePoint) -> bool {
        self.request_id.as_ref().is_none_or(|id| *id == point.request_id)
            && self.stack_id.as_ref().is_none_or(|id| *id == point.step.frame.stack_id)
    }
}
