//! The plan to continue a chat.

use std::collections::HashSet;

use records::{
    ChatStatus, JsonObject, LastTurn, Message, MessageBody, ResumePoint, ResumeState, StackId,
    StepStatus, TurnOutcome,
};
use serde_json::Value;

use crate::Dropped;
use crate::call_stack::{self, CallStackError};
use crate::pending_calls::{self, PendingCall};

/// What an orchestrator must do to continue a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The next action.
    pub action: Action,
    /// The step to run again, for [`Action::Retry`] and [`Action::Continue`], if a step is known.
    pub step: Option<StepToRun>,
    /// The content that the shared space must have before the action runs.
    pub space: JsonObject,
    /// The name of the next speaker, if it can be derived.
    pub next_speaker: Option<String>,
    /// The tool calls without results, in order.
    pub pending_calls: Vec<PendingCall>,
    /// Whether the chat must be reopened before anything is written to it.
    pub must_reopen: bool,
}

/// The next action of an orchestrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run the failed step or turn again.
    Retry,
    /// Continue at the point of interruption.
    Continue,
    /// Wait for the answer to an input request.
    AwaitInput,
    /// Start a new turn: nothing was interrupted.
    Start,
    /// Do nothing: the last turn or the chat is completed.
    NothingToDo,
}

/// A step that was not completed, and the calls that lead to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepToRun {
    /// The resume point with the step and its input.
    pub point: ResumePoint,
    /// The calls from the outermost one to that of the step.
    pub stack_path: Result<Vec<StackId>, CallStackError>,
}

/// A message that would end a replay of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    /// The sequence of the message.
    pub sequence: u64,
    /// The text at its end.
    pub text: String,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 5] =
        [Self::Retry, Self::Continue, Self::AwaitInput, Self::Start, Self::NothingToDo];

    /// Returns the name of the action on the wire.
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

/// Returns the plan to continue a chat.
///
/// 1. A completed chat needs nothing.
/// 2. While an input request is pending, the orchestrator must wait for its answer.
/// 3. Otherwise the last turn decides, if no message follows it: the step to run again is its last step
///    that was not completed. Steps of earlier turns are obsolete once a newer turn is written.
/// 4. A chat without turns continues after its last message.
pub fn plan(state: &ResumeState, default_user_name: &str) -> Plan {
    let last = state.messages.iter().rfind(|message| message.deleted_at.is_none());
    let pending_calls = pending_calls::find_pending(&state.messages);
    let input = PlanInput { state, last_message: last, turn: last_turn(state, last) };
    let step = input.step_to_run();
    let open_call = input.open_call(&pending_calls);
    let action = input.action(step.as_ref(), open_call.is_some());
    let step = step.filter(|_| matches!(action, Action::Retry | Action::Continue));
    Plan {
        next_speaker: input.next_speaker(action, step.as_ref(), open_call, default_user_name),
        space: step.as_ref().map(|it| it.point.step.space_snapshot.clone()).unwrap_or_default(),
        must_reopen: state.chat.status.is_ended() && action != Action::NothingToDo,
        action,
        step,
        pending_calls,
    }
}

/// Returns the last turn of the chat, unless a message follows it.
fn last_turn<'a>(state: &'a ResumeState, last: Option<&Message>) -> Option<&'a LastTurn> {
    let turn = state.chat.last_turn.as_ref()?;
    let Some(last) = last else { return Some(turn) };
    let is_of_turn = |message: &Message| request_of(message) == Some(turn.request_id.as_str());
    let is_last = is_of_turn(last)
        // A turn without messages: only the time of its steps shows whether a message follows it.
        || !state.messages.iter().any(is_of_turn)
            && state.resume_points.first().is_some_and(|point| last.created_at <= point.created_at);
    is_last.then_some(turn)
}

fn request_of(message: &Message) -> Option<&str> {
    message.body.extra.get(MessageBody::REQUEST_ID).and_then(Value::as_str)
}

/// What a plan is derived from.
struct PlanInput<'a> {
    state: &'a ResumeState,
    /// The last message that was not deleted.
    last_message: Option<&'a Message>,
    /// The last turn, unless a message follows it.
    turn: Option<&'a LastTurn>,
}

impl PlanInput<'_> {
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
        match (self.turn.map(|turn| turn.outcome), self.last_message) {
            (Some(TurnOutcome::Completed), _) => Action::NothingToDo,
            (Some(TurnOutcome::Failed), _) => Action::Retry,
            (None, None) => Action::Start,
            (None, Some(last)) if last.body.role == "user" && !has_open_call => Action::Start,
            (Some(TurnOutcome::Interrupted), _) | (None, Some(_)) => Action::Continue,
        }
    }

    /// Returns the last incomplete step of the last turn, unless that turn is completed.
    fn step_to_run(&self) -> Option<StepToRun> {
        let turn = self.turn.filter(|turn| turn.outcome != TurnOutcome::Completed)?;
        let is_of_turn =
            |point: &&ResumePoint| point.turn == turn.turn && point.request_id == turn.request_id;
        let point = self.state.resume_points.iter().rfind(is_of_turn)?;
        let stack_path = call_stack::path_of(point, &self.state.resume_points);
        Some(StepToRun { point: point.clone(), stack_path })
    }

    /// Returns the last call that still waits for its result.
    ///
    /// A call does not wait any more if the user spoke after it, or if its turn was completed without
    /// its result: the conversation continued without it.
    fn open_call<'c>(&self, pending: &'c [PendingCall]) -> Option<&'c PendingCall> {
        let user_message = self.last_message_of("user");
        let since = user_message.map_or(0, |message| message.sequence);
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
        match &*self.last_message?.body.role {
            // The agent that made the call uses its result; the agent that spoke last answers the user.
            "tool" | "function" | "user" => self.last_name("assistant"),
            _ => None,
        }
    }

    /// Returns the name of the last speaker with a role.
    fn last_name(&self, role: &str) -> Option<String> {
        let message = self.last_message_of(role)?;
        message.body.name.clone().filter(|name| !name.is_empty())
    }

    /// Returns the last message of a role that was not deleted.
    fn last_message_of(&self, role: &str) -> Option<&Message> {
        let mut messages = self.state.messages.iter().rev();
        messages.find(|message| message.body.role == role && message.deleted_at.is_none())
    }
}

/// Finds out whether a replay of the conversation would end at once.
///
/// Orchestrators stop when a message ends with a text such as `TERMINATE`. A replay whose last message
/// ends so would stop before it continues anything.
#[derive(Debug, Clone)]
pub struct TerminationCheck {
    text: String,
    /// The sequence of every message, and whether the message ends with the text.
    messages: Vec<(u64, bool)>,
}

impl TerminationCheck {
    /// Records which messages end with a text; no message ends with the empty text.
    pub fn new(messages: &[Message], text: &str) -> Self {
        let messages = messages.iter().map(|it| (it.sequence, ends_with(it, text))).collect();
        Self { text: text.to_owned(), messages }
    }

    /// Returns the last rendered message, if it ends with the text; `dropped` are the messages not rendered.
    pub fn last_rendered(&self, dropped: &[Dropped]) -> Option<Termination> {
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
