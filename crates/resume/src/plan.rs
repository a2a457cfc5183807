//! What is to be done to go on with a chat.

use records::{
    ChatStatus, JsonObject, Message, ResumePoint, ResumeState, StackId, StepStatus, TurnOutcome,
};
use serde_json::Value;

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
    /// The last message, if it would end a replay at once.
    pub termination: Option<Termination>,
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
    pub stack_path: Vec<StackId>,
}

/// A message that ends a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    /// Where it is in the chat.
    pub sequence: u64,
    /// What it says to end it.
    pub text: String,
}

/// What a plan depends on besides the chat.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a message says to end a conversation.
    pub termination: String,
    /// The name of the user where the chat does not say it.
    pub default_user_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { termination: "TERMINATE".to_owned(), default_user_name: "user".to_owned() }
    }
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
/// was completed. Then counts the turn written last. The step to run again is its last one that was not
/// done; steps of earlier turns were left behind when a newer one was written. A chat that is written
/// to without turns goes on where its messages end.
pub fn plan(state: &ResumeState, options: &Options) -> Result<Plan, CallStackError> {
    let last = state.messages.iter().rfind(|message| message.deleted_at.is_none());
    let step = step_to_run(state)?;
    let pending_calls = pending_calls::of(&state.messages);
    let action = action(state, step.as_ref(), last, !pending_calls.is_empty());
    let step = step.filter(|_| matches!(action, Action::Retry | Action::Continue));
    let speakers = Speakers { state, last, options, pending_calls: &pending_calls };
    Ok(Plan {
        next_speaker: speakers.next(action, step.as_ref()),
        space: step.as_ref().map(|it| it.point.step.space_snapshot.clone()).unwrap_or_default(),
        termination: last.and_then(|message| termination(message, &options.termination)),
        action,
        step,
        pending_calls,
    })
}

fn action(
    state: &ResumeState,
    step: Option<&StepToRun>,
    last: Option<&Message>,
    has_pending_calls: bool,
) -> Action {
    if state.chat.status == ChatStatus::Completed {
        return Action::NothingToDo;
    }
    if !state.pending_inputs.is_empty() {
        return Action::AwaitInput;
    }
    if let Some(step) = step {
        let has_failed = step.point.step.status == StepStatus::Failed;
        return if has_failed { Action::Retry } else { Action::Continue };
    }
    let Some(last) = last else { return Action::Start };
    if has_pending_calls {
        return Action::Continue;
    }
    if last.body.role == "user" {
        return Action::Start;
    }
    match &state.chat.last_turn {
        Some(turn) if turn.outcome == TurnOutcome::Failed => Action::Retry,
        Some(turn) if turn.outcome == TurnOutcome::Completed => Action::NothingToDo,
        _ => Action::Continue,
    }
}

/// Returns the last step of the turn written last that was not done.
fn step_to_run(state: &ResumeState) -> Result<Option<StepToRun>, CallStackError> {
    let Some(turn) = &state.chat.last_turn else { return Ok(None) };
    let is_of_turn = |point: &&ResumePoint| point.request_id == turn.request_id;
    let Some(point) = state.resume_points.iter().rfind(is_of_turn) else { return Ok(None) };
    let frames = state.resume_points.iter().map(|point| &point.step.frame);
    let stack_path = call_stack::path(frames, &point.step.frame.stack_id)?;
    Ok(Some(StepToRun { point: point.clone(), stack_path }))
}

struct Speakers<'a> {
    state: &'a ResumeState,
    last: Option<&'a Message>,
    options: &'a Options,
    pending_calls: &'a [PendingCall],
}

impl Speakers<'_> {
    fn next(&self, action: Action, step: Option<&StepToRun>) -> Option<String> {
        if action == Action::NothingToDo {
            return None;
        }
        if action == Action::AwaitInput {
            return Some(self.user());
        }
        if let Some(assistant) = step.and_then(|it| it.point.step.assistant_id.clone()) {
            return Some(assistant);
        }
        if let Some(call) = self.pending_calls.last() {
            return call.speaker.clone();
        }
        let last = self.last?;
        match &*last.body.role {
            // Whoever asked for a result takes it; whoever spoke with the user answers.
            "tool" | "function" | "user" => self.last_assistant(),
            _ => None,
        }
    }

    fn user(&self) -> String {
        let mut messages = self.state.messages.iter().rev();
        let name = messages.find(|message| message.body.role == "user");
        let name = name.and_then(|message| message.body.name.clone());
        name.filter(|name| !name.is_empty())
            .unwrap_or_else(|| self.options.default_user_name.clone())
    }

    fn last_assistant(&self) -> Option<String> {
        let mut messages = self.state.messages.iter().rev();
        let name = messages.find(|message| message.body.role == "assistant")?.body.name.clone();
        name.filter(|name| !name.is_empty())
    }
}

/// Tells whether a message ends a conversation: one that says nothing else, or says so at its end.
fn termination(message: &Message, text: &str) -> Option<Termination> {
    let content = match &message.body.content {
        Value::String(content) => content.as_str(),
        Value::Array(parts) => parts.last()?.get("text")?.as_str()?,
        _ => return None,
    };
    let ends = !text.is_empty() && content.trim_end().ends_with(text);
    ends.then(|| Termination { sequence: message.sequence, text: text.to_owned() })
}
