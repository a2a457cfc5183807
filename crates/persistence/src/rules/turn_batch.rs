//! A checked turn to write to a chat.

use chrono::{DateTime, Utc};
use records::json::{Digest, Hasher};
use records::{
    Caller, ChatId, EventId, Ids, Invalid, LastTurn, MessageBody, NewMessage, NewTurn, OpenStep,
    ResumePoint, TurnId, TurnMessage, TurnOutcome,
};

use crate::StoreError;
use crate::rules::batch::Batch;
use crate::rules::stream::StreamEnd;
use crate::store::{Append, AppendedTurn, Outcome};

/// A turn within the limits, its messages with ids.
#[derive(Debug)]
pub(crate) struct TurnBatch {
    pub(crate) messages: Batch,
    pub(crate) mark: TurnMark,
    /// The unfinished steps, from which the turn can be resumed.
    pub(crate) open_steps: Vec<OpenStep>,
    /// The stream that ends with the turn.
    pub(crate) ends: Option<StreamEnd>,
}

/// The record of a turn that its chat keeps besides the messages.
#[derive(Debug)]
pub(crate) struct TurnMark {
    pub(crate) request_id: TurnId,
    /// The digest of the turn as requested.
    pub(crate) digest: Digest,
    pub(crate) outcome: TurnOutcome,
    pub(crate) connector: Option<String>,
    pub(crate) mode: Option<String>,
}

impl TurnBatch {
    /// Checks a turn, derives the ids of its messages from its own id, and sets their authors.
    ///
    /// The digest of each message contains the whole turn, so a repeat with any difference conflicts.
    pub(crate) fn check(
        caller: &Caller,
        mut turn: NewTurn,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        turn.check()?;
        let open_steps = turn.take_open_steps();
        let NewTurn { request_id, outcome, messages, connector, mode, .. } = turn;
        let named = messages.into_iter().enumerate();
        let messages =
            named.map(|(index, message)| named_message(&request_id, index, message)).collect();
        let (most, most_bytes) = (NewTurn::MAX_MESSAGES, NewTurn::MAX_MESSAGE_BYTES);
        let mut messages = Batch::check_within(caller, messages, ids, most, most_bytes)?;
        let digest = digest(outcome, connector.as_deref(), mode.as_deref(), &messages, &open_steps);
        messages.bind_to(&digest);
        let mark = TurnMark { request_id, digest, outcome, connector, mode };
        Ok(Self { messages, mark, open_steps, ends: None })
    }

    /// Returns the answer, once the messages have their sequences.
    pub(crate) fn answer(&self, append: Append, outcome: Outcome) -> AppendedTurn {
        AppendedTurn {
            request_id: self.mark.request_id.clone(),
            last_sequence: append.last_sequence,
            messages: append.messages,
            resume_points: self.open_steps.len(),
            outcome,
        }
    }
}

impl TurnBatch {
    /// Returns the resume points of the turn with this number.
    pub(crate) fn into_resume_points(
        self,
        chat_id: &ChatId,
        turn: u64,
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = ResumePoint> {
        self.open_steps.into_iter().map(move |open| ResumePoint {
            chat_id: chat_id.clone(),
            request_id: self.mark.request_id.clone(),
            turn,
            sequence: open.sequence,
            step: open.step,
            stack_path: open.stack_path,
            created_at: now,
        })
    }

    /// Returns the id that the turn's first message has, or would have.
    pub(crate) fn first_message_id(&self) -> EventId {
        first_message_id(&self.mark.request_id)
    }

    /// Returns the error for another turn with the same id.
    pub(crate) fn conflict(&self, chat_id: &ChatId) -> StoreError {
        let (chat_id, request_id) = (chat_id.clone(), self.mark.request_id.clone());
        StoreError::TurnConflict { chat_id, request_id }
    }
}

impl TurnMark {
    /// Returns the turn as the chat names its last turn.
    pub(crate) fn last_turn(&self, turn: u64) -> LastTurn {
        let (request_id, outcome) = (self.request_id.clone(), self.outcome);
        LastTurn { request_id, outcome, turn }
    }
}

/// Returns the digest that distinguishes a repeated turn from a different one with the same id.
fn digest(
    outcome: TurnOutcome,
    connector: Option<&str>,
    mode: Option<&str>,
    messages: &Batch,
    open_steps: &[OpenStep],
) -> Digest {
    let mut hasher = Hasher::default();
    hasher.field("outcome", &outcome.as_str().into());
    hasher.field("connector", &connector.into());
    hasher.field("mode", &mode.into());
    for message in messages.entries() {
        hasher.digest("message", &message.digest);
    }
    for open in open_steps {
        hasher.digest("step", &open.digest());
    }
    hasher.finish()
}

fn named_message(request_id: &TurnId, index: usize, message: TurnMessage) -> NewMessage {
    let TurnMessage { mut body, author } = message;
    body.extra.insert(MessageBody::REQUEST_ID.to_owned(), request_id.as_str().into());
    NewMessage { event_id: Some(message_id(request_id, index)), body, author }
}

/// Returns the id that the first message of a turn has, or would have.
pub(crate) fn first_message_id(request_id: &TurnId) -> EventId {
    message_id(request_id, 0)
}

/// Returns the id of a message of a turn.
fn message_id(request_id: &TurnId, index: usize) -> EventId {
    let mut hasher = Hasher::default();
    hasher.field("request_id", &request_id.as_str().into());
    EventId::of_turn(&hasher.finish(), index)
}
