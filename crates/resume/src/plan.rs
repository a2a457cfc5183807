//! What is to be done to go on with a chat.

use std::collections::HashSet;

use records::{
    ChatStatus, JsonObject, LastTurn, Message, MessageBody, ResumePoint, ResumeState, StackId,
    StepStatus, TurnOutcome,
};
use serde_json::Value;

use crate::Dropped;
use crate::call_stack::{self, CallStackError};
use crate::pending_calls::{self, PendingCall};

/// What an orchestrator is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// In a word.
    pub action: Action,
    /// The step to run again, for [`Action::Retry`] and [`Action::Continue`] where one is known.
    pub step: Option<StepToRun>,
    /// What the shared space is to hold before anything runs.
    pub space: JsonObject,
    /// Who is to speak next, where that follows from what there is.
    pub next_speaker: Option<String>,
    /// The calls of tools that no message answers, in order.
    pub pending_calls: Vec<PendingCall>,
    /// Whether the chat must be reopened before anything is written to it.
    pub must_reopen: bool,
}

/// What is to be done, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run the step again: it has failed.
    Retry,
    /// Go on where it broke off.
    Continue,
    /// Wait for the answer to a question.
    AwaitInput,
    /// Begin: there is nothing that broke off.
    Start,
    /// Nothing: what was begun was done.
    NothingToDo,
}

/// A step that was not done, and the calls that lead to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepToRun {
    /// The step, with what it was given.
    pub point: ResumePoint,
    /// The calls from the outermost one to that of the step.
    pub stack_path: Result<Vec<StackId>, CallStackError>,
}

/// A message that ends a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    /// Where it is in the chat.
    pub sequence: u64,
    /// What it says to end it.
    pub text: String,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 5] =
        [Self::Retry, Self::Continue, Self::AwaitInput, Self::Start, Self::NothingToDo];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Continue => "continue",
            Self::AwaitInput => "await_input",
            Self::Start => "start",
            Self::NothingToDo => "nothing_to_do",
        }
    }
}

/// Makes the plan.
///
/// Questions come first: while the chat waits on one, nothing else is to be done, but for a chat that
/// was completed. Then counts the turn written last, if nothing was said after it: the step to run again is its
/// last one that was not done. Steps of earlier turns were left behind when a newer one was written. A
/// chat that is written to without turns goes on where its messages end.
pub fn plan(state: &ResumeState, default_user_name: &str) -> Plan {
    let last = state.messages.iter().rfind(|message| message.deleted_at.is_none());
    let pending_calls = pending_calls::of(&state.messages);
    let view = View { state, last, turn: last_turn(state, last) };
    let step = view.step_to_run();
    let open_call = view.open_call(&pending_calls);
    let action = view.action(step.as_ref(), open_call.is_some());
    let step = step.filter(|_| matches!(action, Action::Retry | Action::Continue));
    Plan {
        next_speaker: view.next_speaker(action, step.as_ref(), open_call, default_user_name),
        space: step.as_ref().map(|it| it.point.step.space_snapshot.clone()).unwrap_or_default(),
        must_reopen: state.chat.status.is_ended() && action != Action::NothingToDo,
        action,
        step,
        pending_calls,
    }
}

/// Returns the turn written last, unless something was said after it.
fn last_turn<'a>(state: &'a ResumeState, last: Option<&Message>) -> Option<&'a LastTurn> {
    let turn = state.chat.last_turn.as_ref()?;
    let Some(last) = last else { return Some(turn) };
    let is_of_turn = |message: &Message| request_of(message) == Some(turn.request_id.as_str());
    let is_last = is_of_turn(last)
        // A turn without messages: only its steps say when it was.
        || !state.messages.iter().any(is_of_turn)
            && state.resume_points.first().is_some_and(|point| last.created_at <= point.created_at);
    is_last.then_some(turn)
}

fn request_of(message: &Message) -> Option<&str> {
    message.body.extra.get(MessageBody::REQUEST_ID).and_then(Value::as_str)
}

/// A chat, as a plan looks at it.
struct View<'a> {
    state: &'a ResumeState,
    /// The last message that was not deleted.
    last: Option<&'a Message>,
    /// The turn that ends the chat, if one does.
    turn: Option<&'a LastTurn>,
}

impl View<'_> {
    fn action(&self, step: Option<&StepToRun>, has_open_call: bool) -> Action {
        if self.state.chat.status == ChatStatus::Completed {
            return Action::NothingToDo;
        }
        if self.state.pending_inputs.iter().any(|request| request.closing.is_none()) {
            return Action::AwaitInput;
        }
        if let Some(step) = step {
            let has_failed = step.point.step.status == StepStatus::Failed;
            return if has_failed { Action::Retry } else { Action::Continue };
        }
        match (self.turn.map(|turn| turn.outcome), self.last) {
            (Some(TurnOutcome::Completed), _) => Action::NothingToDo,
            (Some(TurnOutcome::Failed), _) => Action::Retry,
            (None, None) => Action::Start,
            (None, Some(last)) if last.body.role == "user" && !has_open_call => Action::Start,
            (Some(TurnOutcome::Interrupted), _) | (None, Some(_)) => Action::Continue,
        }
    }

    /// Returns the last step that was not done of a turn that was not.
    fn step_to_run(&self) -> Option<StepToRun> {
        let turn = self.turn.filter(|turn| turn.outcome != TurnOutcome::Completed)?;
        let is_of_turn =
            |point: &&ResumePoint| point.turn == turn.turn && point.request_id == turn.request_id;
        let point = self.state.resume_points.iter().rfind(is_of_turn)?;
        let stack_path = call_stack::path_of(point, &self.state.resume_points);
        Some(StepToRun { point: point.clone(), stack_path })
    }

    /// Returns the last call that waits for its result: what came before the user spoke last, or within a
    /// turn that was completed, waits no longer.
    fn open_call<'c>(&self, pending: &'c [PendingCall]) -> Option<&'c PendingCall> {
        let spoke_last = self.spoke_last("user");
        let since = spoke_last.map_or(0, |message| message.sequence);
        let is_completed = self.turn.is_some_and(|turn| turn.outcome == TurnOutcome::Completed);
        pending.last().filter(|call| call.sequence >= since && !is_completed)
    }

    fn next_speaker(
        &self,
        action: Action,
        step: Option<&StepToRun>,
        open_call: Option<&PendingCall>,
        default_user_name: &str,
    ) -> Option<String> {
        match action {
            Action::NothingToDo => return None,
            Action::AwaitInput => {
                let user = self.last_name("user");
                return Some(user.unwrap_or_else(|| default_user_name.to_owned()));
            }
            Action::Retry | Action::Continue | Action::Start => {}
        }
        if let Some(assistant) = step.and_then(|it| it.point.step.assistant_id.clone()) {
            return Some(assistant);
        }
        if let Some(call) = open_call {
            return call.speaker.clone();
        }
        match &*self.last?.body.role {
            // Whoever asked for a result takes it; whoever spoke with the user answers.
            "tool" | "function" | "user" => self.last_name("assistant"),
            _ => None,
        }
    }

    /// Returns the name of who spoke last in a role.
    fn last_name(&self, role: &str) -> Option<String> {
        let spoke = self.spoke_last(role)?;
        spoke.body.name.clone().filter(|name| !name.is_empty())
    }

    /// Returns the last message in a role that was not deleted.
    fn spoke_last(&self, role: &str) -> Option<&Message> {
        let mut messages = self.state.messages.iter().rev();
        messages.find(|message| message.body.role == role && message.deleted_at.is_none())
    }
}

/// Which messages of a chat say at their end what ends a conversation.
#[derive(Debug, Clone)]
pub struct Endings {
    text: String,
    /// The positions of all messages, each with whether it ends a conversation.
    messages: Vec<(u64, bool)>,
}

impl Endings {
    /// Looks for a text; an empty one ends nothing.
    pub fn of(messages: &[Message], text: &str) -> Self {
        let messages = messages.iter().map(|it| (it.sequence, ends_with(it, text))).collect();
        Self { text: text.to_owned(), messages }
    }

    /// Returns the last message that is not dropped from a rendering, if it would end a replay at once.
    pub fn last(&self, dropped: &[Dropped]) -> Option<Termination> {
        let dropped: HashSet<_> = dropped.iter().filter_map(|dropped| dropped.sequence).collect();
        let mut messages = self.messages.iter().rev();
        let (sequence, ends) = *messages.find(|(sequence, _)| !dropped.contains(sequence))?;
        ends.then(|| Termination { sequence, text: self.text.clone() })
    }
}

fn ends_with(message: &Message, text: &str) -> bool {
    let content = match &message.body.content {
        Value::String(content) => Some(content.as_str()),
        Value::Array(parts) => parts.last().and_then(|part| part.get("text")?.as_str()),
        _ => None,
    };
    !text.is_empty() && content.is_some_and(|content| content.trim_end().ends_with(text))
}
