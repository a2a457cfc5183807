//! The plan to continue a chat.

use std::collections::HashSet;
use std::mem;
use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use records::{
    ChatSession, ChatStatus, JsonObject, LastTurn, Message, MessageBody, ResumePoint, ResumeState,
    StackId, StepStatus, TurnId, TurnOutcome,
};
use serde_json::Value;

use crate::Dropped;
use crate::call_stack::{self, CallStackError};
use crate::pending_calls::{PendingCall, PendingScan};

/// What an orchestrator must do to continue a chat.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
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
#[non_exhaustive]
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

/// What a plan needs to know about the messages of a chat: sees each of them once, in order.
///
/// A scan keeps the calls that have no result so far, and a few bytes, however many messages there are.
#[derive(Debug)]
pub struct PlanScan {
    /// The request of the last turn.
    request_id: Option<TurnId>,
    /// Whether a message belongs to the last turn.
    has_message_of_turn: bool,
    /// The last message that was not deleted.
    last: Option<LastMessage>,
    /// The sequence of the last message of the user.
    last_of_user: u64,
    /// The names in the last message of the user, and of an assistant.
    user: Option<String>,
    assistant: Option<String>,
    pending: PendingScan,
}

/// What a plan needs to know about the last message.
#[derive(Debug, Clone, Copy)]
struct LastMessage {
    author: Author,
    created_at: DateTime<Utc>,
    is_of_turn: bool,
}

/// The author of a message, by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    User,
    Assistant,
    Tool,
    Other,
}

impl PlanScan {
    /// Begins the scan of the messages of a chat.
    pub fn new(chat: &ChatSession) -> Self {
        Self {
            request_id: chat.last_turn.as_ref().map(|turn| turn.request_id.clone()),
            has_message_of_turn: false,
            last: None,
            last_of_user: 0,
            user: None,
            assistant: None,
            pending: PendingScan::default(),
        }
    }

    /// Records the next message.
    pub fn observe(&mut self, message: &Message) {
        self.pending.observe(message);
        let of_turn = self.request_id.as_ref().map(TurnId::as_str);
        let is_of_turn = of_turn.is_some() && of_turn == request_of(message);
        self.has_message_of_turn |= is_of_turn;
        if message.deleted_at.is_some() {
            return;
        }
        let name = message.body.name.as_deref().filter(|name| !name.is_empty());
        let author = match &*message.body.role {
            "user" => {
                self.last_of_user = message.sequence;
                rename(&mut self.user, name);
                Author::User
            }
            "assistant" => {
                rename(&mut self.assistant, name);
                Author::Assistant
            }
            "tool" | "function" => Author::Tool,
            _ => Author::Other,
        };
        self.last = Some(LastMessage { author, created_at: message.created_at, is_of_turn });
    }

    /// Returns the size of the calls that are kept, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.pending.bytes
    }
}

/// Replaces a name, without a new copy if it is the same.
fn rename(name: &mut Option<String>, new: Option<&str>) {
    if name.as_deref() != new {
        *name = new.map(ToOwned::to_owned);
    }
}

/// Returns the plan to continue a chat whose messages were scanned.
///
/// 1. A completed chat needs nothing.
/// 2. While an input request is pending, the orchestrator must wait for its answer.
/// 3. Otherwise the last turn decides, if no message follows it: the step to run again is its last step
///    that was not completed. Steps of earlier turns are obsolete once a newer turn is written.
/// 4. A chat without turns continues after its last message.
pub fn plan(state: &ResumeState, mut messages: PlanScan, default_user_name: &str) -> Plan {
    let pending_calls = mem::take(&mut messages.pending).into_pending();
    let turn = last_turn(state, &messages);
    let input = PlanInput { state, messages, turn };
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
fn last_turn<'a>(state: &'a ResumeState, messages: &PlanScan) -> Option<&'a LastTurn> {
    let turn = state.chat.last_turn.as_ref()?;
    let Some(last) = &messages.last else { return Some(turn) };
    let is_last = last.is_of_turn
        // A turn without messages: only the time of its steps shows whether a message follows it.
        || !messages.has_message_of_turn
            && state.resume_points.first().is_some_and(|point| last.created_at <= point.created_at);
    is_last.then_some(turn)
}

fn request_of(message: &Message) -> Option<&str> {
    message.body.extra.get(MessageBody::REQUEST_ID).and_then(Value::as_str)
}

/// What a plan is derived from.
struct PlanInput<'a> {
    state: &'a ResumeState,
    messages: PlanScan,
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
        match (self.turn.map(|turn| turn.outcome), &self.messages.last) {
            (Some(TurnOutcome::Completed), _) => Action::NothingToDo,
            (Some(TurnOutcome::Failed), _) => Action::Retry,
            (None, None) => Action::Start,
            (None, Some(last)) if last.author == Author::User && !has_open_call => Action::Start,
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
        let since = self.messages.last_of_user;
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
                let user = self.messages.user.as_deref();
                return Some(user.unwrap_or(default_user_name).to_owned());
            }
            Action::Retry | Action::Continue | Action::Start => {}
        }
        if let Some(assistant) = step.and_then(|it| it.point.step.assistant_id.clone()) {
            return Some(assistant);
        }
        if let Some(call) = open_call {
            return call.speaker.clone();
        }
        match self.messages.last?.author {
            // The agent that made the call uses its result; the agent that spoke last answers the user.
            Author::Tool | Author::User => self.messages.assistant.clone(),
            Author::Assistant | Author::Other => None,
        }
    }
}

/// Finds out whether a replay of the conversation would end at once.
///
/// Orchestrators stop when a message ends with a text such as `TERMINATE`. A replay whose last message
/// ends so would stop before it continues anything.
#[derive(Debug, Clone)]
pub struct TerminationCheck {
    text: String,
    /// Runs of consecutive messages that all end with the text, or all do not.
    runs: Vec<(RangeInclusive<u64>, bool)>,
}

impl TerminationCheck {
    /// Begins to find out which messages end with a text; no message ends with the empty text.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), runs: Vec::new() }
    }

    /// Records the next message.
    pub fn observe(&mut self, message: &Message) {
        let (sequence, ends) = (message.sequence, ends_with(message, &self.text));
        match self.runs.last_mut() {
            Some((run, run_ends)) if *run_ends == ends && run.end() + 1 == sequence => {
                *run = *run.start()..=sequence;
            }
            _ => self.runs.push((sequence..=sequence, ends)),
        }
    }

    /// Returns the last rendered message, if it ends with the text; `dropped` are the messages not rendered.
    pub fn last_rendered(&self, dropped: &[Dropped]) -> Option<Termination> {
        let dropped: HashSet<_> = dropped.iter().filter_map(|dropped| dropped.sequence).collect();
        let messages = self.runs.iter().rev();
        let mut messages = messages
            .flat_map(|(run, ends)| run.clone().rev().map(move |sequence| (sequence, *ends)));
        let (sequence, ends) = messages.find(|(sequence, _)| !dropped.contains(sequence))?;
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
