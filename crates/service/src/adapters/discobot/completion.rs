//! Completions: what an agent is asked for. Nothing is stored of them but their messages and turns.
//!
//! A completion begins with a message of the user whose `request_id` is its own id. It ends with the turn of the same id, or
//! with any later turn. Other messages with a `request_id` neither begin nor end one: a person may save any.

use chrono::{DateTime, Utc};
use persistence::{MessageRange, ResumePointFilter, Store, StoreError, Transcript};
use records::{
    ChatId, EventId, Message, MessageBody, NewTurn, Permission, Scope, StackFrame, StackId, Step,
    StepKind, StepStatus, TurnId, TurnOutcome,
};

use crate::problem::{Problem, ProblemKind};

/// How many messages are read at a time.
const READ_AT_ONCE: usize = 100;
/// The most messages that are examined. A completion with more messages after it that belong to no turn is not found.
const MAX_EXAMINED: usize = 5_000;

/// The last completion of a session.
#[derive(Debug)]
pub(super) struct Completion {
    pub(super) id: TurnId,
    /// When its message was stored; `None` if it is a turn that no message has begun.
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) state: CompletionState,
}

/// Whether a completion has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompletionState {
    Running,
    Ended { error: Option<String> },
}

/// The last completion of a session, and the number of messages that the session had when it was looked for.
#[derive(Debug)]
pub(super) struct LastCompletion {
    pub(super) completion: Option<Completion>,
    pub(super) last_sequence: u64,
}

impl LastCompletion {
    /// Finds the last completion of a chat.
    pub(super) async fn find(
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Self, StoreError> {
        let scope = &scope.needing(Permission::Read);
        let (newest, last_sequence) = newest_of_turn(store, scope, chat_id).await?;
        let id = newest.as_ref().and_then(|it| it.body.extra_text(MessageBody::REQUEST_ID));
        let (Some(newest), Some(Ok(id))) = (&newest, id.map(TurnId::parse)) else {
            return Ok(Self { completion: None, last_sequence });
        };
        let ended = ending_of(store, scope, chat_id, &id).await?;
        let (started_at, state) = if begins(newest, id.as_str()) {
            (Some(newest.created_at), ended.unwrap_or(CompletionState::Running))
        } else {
            let first = first_message(store, scope, chat_id, &id).await?;
            let ended = ended.unwrap_or(CompletionState::Ended { error: None });
            (first.map(|first| first.created_at), ended)
        };
        Ok(Self { completion: Some(Completion { id, started_at, state }), last_sequence })
    }

    /// Takes the completion that is running.
    pub(super) fn running(self) -> Option<Completion> {
        self.completion.filter(|completion| completion.state == CompletionState::Running)
    }
}

/// Finds the newest message that belongs to a turn or begins one, and the number of messages of the chat.
async fn newest_of_turn(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<(Option<Message>, u64), StoreError> {
    let (mut examined, mut before, mut counter) = (0, None, None);
    loop {
        let range = MessageRange::Newest { before, limit: READ_AT_ONCE };
        let page = store.messages(scope, chat_id, range).await?;
        let Transcript { last_sequence, messages, has_more } = page;
        let last_sequence = *counter.get_or_insert(last_sequence);
        examined += messages.len();
        before = messages.first().map(|message| message.sequence);
        let of_turn = |it: &Message| {
            let id = it.body.extra_text(MessageBody::REQUEST_ID);
            id.is_some_and(|id| it.event_id.is_of_turn() || begins(it, id))
        };
        let found = messages.into_iter().rev().find(of_turn);
        if found.is_some() || !has_more || examined >= MAX_EXAMINED {
            return Ok((found, last_sequence));
        }
    }
}

/// Returns whether a message begins the completion with an id.
fn begins(message: &Message, id: &str) -> bool {
    let names_itself = message.body.extra_text(MessageBody::REQUEST_ID) == Some(id);
    names_itself && message.event_id.as_str() == id && message.body.role == "user"
}

/// Returns how a completion has ended, as far as its turn tells without messages.
async fn ending_of(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    id: &TurnId,
) -> Result<Option<CompletionState>, StoreError> {
    let filter = ResumePointFilter { request_id: Some(id.clone()), ..ResumePointFilter::default() };
    let mut points = store.list_resume_points(scope, chat_id, &filter, 1, None).await?.points;
    if let Some(point) = points.pop() {
        return Ok(Some(CompletionState::Ended { error: point.step.error }));
    }
    // Its resume points may have been deleted.
    let chat = store.get_chat(scope, chat_id).await?;
    let last_turn = chat.and_then(|chat| chat.last_turn);
    let has_ended = last_turn.is_some_and(|turn| turn.request_id == *id);
    Ok(has_ended.then_some(CompletionState::Ended { error: None }))
}

async fn first_message(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    id: &TurnId,
) -> Result<Option<Message>, StoreError> {
    let Ok(event_id) = EventId::parse(id.as_str()) else { return Ok(None) };
    let found = store.get_message_by_id(scope, chat_id, &event_id).await?;
    Ok(found.filter(|message| message.deleted_at.is_none() && begins(message, id.as_str())))
}

/// Refuses an id that is not that of a completion.
pub(super) async fn check_begun(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    id: &TurnId,
) -> Result<(), Problem> {
    let scope = &scope.needing(Permission::Read);
    if first_message(store, scope, chat_id, id).await?.is_some() {
        return Ok(());
    }
    let detail = format!("completion {id} of session {chat_id} not found");
    Err(Problem::new(ProblemKind::MESSAGE_NOT_FOUND, detail))
}

/// Returns the turn that ends a completion without messages, and from which it can be resumed.
pub(super) fn turn_without_messages(
    id: TurnId,
    outcome: TurnOutcome,
    error: Option<String>,
) -> Result<NewTurn, Problem> {
    let stack_id = StackId::parse(id.as_str())
        .map_err(|error| Problem::invalid_parameter("request_id", error.to_string()))?;
    let step = Step {
        status: StepStatus::Running,
        error,
        ..Step::new(StepKind::Llm, StackFrame::root(stack_id))
    };
    Ok(NewTurn {
        request_id: id,
        outcome,
        messages: Vec::new(),
        steps: vec![step],
        connector: None,
        mode: None,
    })
}
