//! Decisions about questions and their answers, shared by both stores.

use chrono::{DateTime, TimeDelta, Utc};
use records::json::Digest;
use records::{
    BoundToolCall, ChatId, ChatSession, ChatStatus, Clock, Closed, Closing, EventId, Ids,
    InputAnswer, InputRequest, InputRequestId, Invalid, NewInputAnswer, NewInputRequest, Scope,
};

use crate::StoreError;
use crate::rules::batch::{Batch, Entry};
use crate::rules::rights::check_answer;
use crate::rules::stored_digest::ERASED;
use crate::store::{Append, Appended, Outcome};

/// A request as stored.
#[derive(Debug, Clone)]
pub(crate) struct KeptInput {
    pub(crate) request: InputRequest,
    /// Decides whether a repeated request is the same.
    pub(crate) digest: Digest,
    /// Decides whether a repeated answer is the same.
    pub(crate) answer_digest: Option<Digest>,
}

/// The decision about an answer.
#[derive(Debug)]
pub(crate) enum AnswerDecision {
    /// The answer is the first; it is accepted.
    Take,
    /// The answer was given before, as the message with this sequence.
    Repeat { sequence: u64 },
    /// The request is overdue and must be closed as expired.
    Expire,
}

impl KeptInput {
    /// Checks a question, and completes it to the record that is stored.
    pub(crate) fn asked(
        chat_id: &ChatId,
        new: NewInputRequest,
        clock: &dyn Clock,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        new.check()?;
        let digest = new.digest();
        let created_at = clock.now();
        let expires_in = new.expires_in_sec.map(|seconds| TimeDelta::seconds(seconds.into()));
        let request = InputRequest {
            chat_id: chat_id.clone(),
            request_id: new.request_id.unwrap_or_else(|| InputRequestId::mint(ids)),
            question: new.question,
            created_at,
            expires_at: expires_in.map(|expires_in| created_at + expires_in),
            closing: None,
        };
        Ok(Self { request, digest, answer_digest: None })
    }

    /// Refuses a different question with the same id.
    pub(crate) fn repeated_by(&self, asked: &Self) -> Result<(), StoreError> {
        if self.digest == asked.digest {
            return Ok(());
        }
        let InputRequest { chat_id, request_id, .. } = &self.request;
        let (chat_id, request_id) = (chat_id.clone(), request_id.clone());
        Err(StoreError::InputConflict { chat_id, request_id })
    }

    /// Decides about an answer.
    pub(crate) fn decide_answer(
        &self,
        reply: &Reply,
        now: DateTime<Utc>,
    ) -> Result<AnswerDecision, StoreError> {
        let request = &self.request;
        let repeated = match &request.closing {
            Some(Closing { how: Closed::Answered(answer), .. })
                if answer.event_id == *reply.event_id() =>
            {
                Some(answer)
            }
            Some(_) => return Err(closed(request)),
            None if request.is_overdue(now) => return Ok(AnswerDecision::Expire),
            None => None,
        };
        let bound_to = request.question.tool_call.as_ref().map(BoundToolCall::reference);
        if bound_to != reply.answer.tool_call {
            let InputRequest { chat_id, request_id, .. } = request.clone();
            let bound_to = bound_to.map(|call| call.id);
            return Err(StoreError::ToolCallMismatch { chat_id, request_id, bound_to });
        }
        if let Some(answer) = repeated {
            return self.repeat(reply, answer);
        }
        request.question.admits(&reply.answer.content)?;
        Ok(AnswerDecision::Take)
    }

    fn repeat(&self, reply: &Reply, answer: &InputAnswer) -> Result<AnswerDecision, StoreError> {
        let sequence = answer.sequence;
        if [Some(reply.entry().digest), Some(ERASED)].contains(&self.answer_digest) {
            return Ok(AnswerDecision::Repeat { sequence });
        }
        let (chat_id, event_id) = (self.request.chat_id.clone(), answer.event_id.clone());
        Err(StoreError::EventConflict { chat_id, event_id, sequence, index: 0 })
    }

    /// Decides about the cancellation of the question.
    pub(crate) fn cancel(&self, reason: Option<&str>, now: DateTime<Utc>) -> Cancel {
        match &self.request.closing {
            Some(Closing { how: Closed::Cancelled { .. }, .. }) => Cancel::Done,
            Some(_) => Cancel::Refuse(closed(&self.request)),
            None if self.request.is_overdue(now) => Cancel::Expire,
            None => {
                let how = Closed::Cancelled { reason: reason.map(str::to_owned) };
                Cancel::Close(Closing { at: now, how })
            }
        }
    }

    /// Returns how the request is closed once it is overdue.
    pub(crate) fn expiry(&self) -> Option<Closing> {
        self.request.expires_at.map(|at| Closing { at, how: Closed::Expired })
    }
}

/// The decision about a cancellation.
#[derive(Debug)]
pub(crate) enum Cancel {
    /// The question was cancelled before.
    Done,
    /// The request was closed otherwise.
    Refuse(StoreError),
    /// The request is overdue and must be closed as expired.
    Expire,
    /// The request must be closed like this.
    Close(Closing),
}

fn closed(request: &InputRequest) -> StoreError {
    StoreError::InputClosed(Box::new(request.clone()))
}

/// Returns whether a chat is paused only for input and has no pending request left, so that it runs
/// again.
pub(crate) fn should_run_again(chat: &ChatSession) -> bool {
    chat.status == ChatStatus::Paused
        && chat.status_reason.as_deref() == Some(InputRequest::PAUSE_REASON)
        && chat.pending_inputs.is_empty()
}

/// A checked answer, and the message that it becomes.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: NewInputAnswer,
    pub(crate) batch: Batch,
}

impl Reply {
    /// Checks an answer against the limits of a message.
    pub(crate) fn check(
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
        ids: &dyn Ids,
    ) -> Result<Self, StoreError> {
        check_answer(scope, chat_id, &answer.content)?;
        let message = answer.message(request_id, scope.caller.person());
        Ok(Self { batch: Batch::check_one(&scope.caller, message, ids)?, answer })
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.batch.entries()[0]
    }

    pub(crate) fn event_id(&self) -> &EventId {
        &self.entry().event_id
    }

    /// Returns the answer for the caller, if the message has this sequence and the chat this counter.
    pub(crate) fn append(&self, sequence: u64, outcome: Outcome, counter: u64) -> Append {
        let message = Appended { event_id: self.event_id().clone(), sequence, outcome };
        Append { last_sequence: counter.max(sequence + 1), messages: vec![message] }
    }

    /// Returns how the answer closes the request, if its message has this sequence.
    pub(crate) fn closing(&self, sequence: u64, now: DateTime<Utc>) -> Closing {
        let answer = InputAnswer {
            content: self.answer.content.clone(),
            name: self.entry().body.name.clone().unwrap_or_default(),
            author: self.entry().author.clone(),
            event_id: self.event_id().clone(),
            sequence,
        };
        Closing { at: now, how: Closed::Answered(answer) }
    }
}
