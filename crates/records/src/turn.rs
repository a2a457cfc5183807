use chrono::{DateTime, Utc};

use crate::call_tree::CallTree;
use crate::ids::{NAME_RULE, is_name};
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{Author, ChatId, Invalid, Item, MessageBody, SizeLimit, StackId, TurnId};

/// A turn to write: a request of a user with all its messages and steps. A turn is written at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// The id of the turn, unique within its chat, which is its idempotency key.
    pub request_id: TurnId,
    /// How the turn ended.
    pub outcome: TurnOutcome,
    /// The messages, in order.
    pub messages: Vec<TurnMessage>,
    /// The steps, in the order of their beginning.
    pub steps: Vec<Step>,
    /// The connector to the model that the turn used last.
    pub connector: Option<String>,
    /// The mode of the turn.
    pub mode: Option<String>,
}

/// A message of a turn. Its id is derived from the turn and from its position in the turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnMessage {
    /// The role, the speaker and the content.
    pub body: MessageBody,
    /// The person who wrote the message.
    pub author: Option<Author>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// All steps were completed.
    Completed,
    /// The turn was interrupted.
    Interrupted,
    /// An error occurred.
    Failed,
}

/// A step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The kind of step.
    pub kind: StepKind,
    /// The status of the step.
    pub status: StepStatus,
    /// The assistant that runs the step.
    pub assistant_id: Option<String>,
    /// The position of the step in the call stack.
    pub frame: StackFrame,
    /// The input of the step.
    pub input: Option<JsonObject>,
    /// The output of the step, possibly incomplete.
    pub output: Option<JsonObject>,
    /// The content of the shared space when the step began.
    pub space_snapshot: JsonObject,
    /// The error of a failed step.
    pub error: Option<String>,
    /// Any data of the caller about the step.
    pub metadata: JsonObject,
}

/// A frame of the call stack in which assistants call each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    /// The id of the call.
    pub stack_id: StackId,
    /// The id of the calling call; `None` for the outermost call.
    pub parent_id: Option<StackId>,
    /// The number of calls that enclose this call.
    pub depth: u32,
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Takes the input of the user.
    Input,
    /// Runs the hook before the model.
    HookCreate,
    /// Calls a model.
    Llm,
    /// Runs a tool.
    Tool,
    /// Runs the hook after the model.
    HookNext,
    /// Delegates to another assistant.
    Delegate,
}

/// The status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// The step was running when the turn ended, so that the outcome of the turn is its own.
    Running,
    /// The step was completed.
    Completed,
    /// The step was interrupted.
    Interrupted,
    /// An error occurred.
    Failed,
}

/// A step that was not completed when its turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenStep {
    /// The number of the step in its turn, from 1.
    pub sequence: u32,
    /// The step.
    pub step: Step,
    /// See [`ResumePoint::stack_path`].
    pub stack_path: Vec<StackId>,
}

/// A stored step that was not completed, from which its turn can be resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePoint {
    /// The id of the chat.
    pub chat_id: ChatId,
    /// The id of the turn.
    pub request_id: TurnId,
    /// The number of the turn in the chat, from 1, in the order of writing.
    pub turn: u64,
    /// The number of the step in its turn, from 1.
    pub sequence: u32,
    /// The step; its status is [`Interrupted`](StepStatus::Interrupted) or [`Failed`](StepStatus::Failed).
    pub step: Step,
    /// The end of the path of calls that leads to the call of the step. It holds only the calls that the
    /// other resume points of its turn do not describe, so that it may be empty.
    ///
    /// The last resume point of a turn has its path as far as the steps of the turn describe it. A path
    /// begins with the outermost call if it has one more call than the depth of the step. Resume points that
    /// were stored before paths were cut have their whole paths, too.
    pub stack_path: Vec<StackId>,
    /// When the turn was written.
    pub created_at: DateTime<Utc>,
}

/// The last turn that was written to a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTurn {
    /// The id of the turn.
    pub request_id: TurnId,
    /// How the turn ended.
    pub outcome: TurnOutcome,
    /// The number of the turn in the chat, from 1.
    pub turn: u64,
}

impl TurnOutcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Interrupted, Self::Failed];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

impl StepKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Input, Self::HookCreate, Self::Llm, Self::Tool, Self::HookNext, Self::Delegate];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::HookCreate => "hook_create",
            Self::Llm => "llm",
            Self::Tool => "tool",
            Self::HookNext => "hook_next",
            Self::Delegate => "delegate",
        }
    }
}

impl StepStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Running, Self::Completed, Self::Interrupted, Self::Failed];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    /// Returns the status of a step after its turn has ended.
    #[must_use]
    pub fn after_turn(self, outcome: TurnOutcome) -> Self {
        match (self, outcome) {
            (Self::Running, TurnOutcome::Completed) => Self::Completed,
            (Self::Running, TurnOutcome::Interrupted) => Self::Interrupted,
            (Self::Running, TurnOutcome::Failed) => Self::Failed,
            (ended, _) => ended,
        }
    }
}

impl NewTurn {
    /// The largest number of messages in one turn.
    pub const MAX_MESSAGES: usize = 10_000;
    /// The largest size of all messages of one turn, in bytes.
    pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
    /// The largest number of steps in one turn.
    pub const MAX_STEPS: usize = 1_000;
    /// The largest size of all steps of one turn, in bytes.
    pub const MAX_STEP_BYTES: usize = 8 << 20;
    /// The largest number of calls that enclose a step.
    pub const MAX_STACK_DEPTH: u32 = 1_000;

    /// Checks everything except the messages.
    pub fn check(&self) -> Result<(), Invalid> {
        for (pointer, name) in [("/connector", &self.connector), ("/mode", &self.mode)] {
            check_name(pointer, name.as_deref())?;
        }
        if self.messages.is_empty() && !self.steps.iter().any(|step| self.is_open(step)) {
            let rule = "must hold at least one message, unless a step is not completed";
            return Err(Invalid::value("/messages", rule));
        }
        if self.steps.len() > Self::MAX_STEPS {
            let limit = format!("must hold at most {} steps", Self::MAX_STEPS);
            return Err(Invalid::too_large(SizeLimit::Batch, "/steps", limit));
        }
        let mut bytes = 0;
        let calls = CallTree::new(self.steps.iter().map(|step| &step.frame));
        for (index, step) in self.steps.iter().enumerate() {
            bytes += step.check().map_err(|e| e.below(Item::Step(index)))?;
            if calls.is_cyclic(&step.frame.stack_id) {
                let detail = "must not be a call that this call makes itself";
                return Err(Invalid::value("/stack_parent_id", detail).below(Item::Step(index)));
            }
        }
        if bytes > Self::MAX_STEP_BYTES {
            let limit = format!("are {bytes} bytes; the limit is {} bytes", Self::MAX_STEP_BYTES);
            return Err(Invalid::too_large(SizeLimit::Batch, "/steps", limit));
        }
        Ok(())
    }

    /// Takes the steps from which the turn can be resumed, and removes all steps from the turn.
    ///
    /// A completed turn has no such steps.
    pub fn take_open_steps(&mut self) -> Vec<OpenStep> {
        let steps = std::mem::take(&mut self.steps);
        let open: Vec<_> = steps.iter().filter(|step| self.is_open(step)).collect();
        let calls = CallTree::new(steps.iter().map(|step| &step.frame));
        let open_frames: Vec<_> = open.iter().map(|step| &step.frame).collect();
        let mut paths = calls.path_ends(&open_frames).into_iter();
        let numbered = (1..).zip(steps).filter(|(_, step)| self.is_open(step));
        let open = numbered.map(|(sequence, step)| OpenStep {
            sequence,
            step: Step { status: step.status.after_turn(self.outcome), ..step },
            stack_path: paths.next().unwrap_or_default(),
        });
        open.collect()
    }

    fn is_open(&self, step: &Step) -> bool {
        let status = step.status.after_turn(self.outcome);
        self.outcome != TurnOutcome::Completed && status != StepStatus::Completed
    }
}

impl Step {
    /// Creates a running step.
    pub fn new(kind: StepKind, frame: StackFrame) -> Self {
        Self {
            kind,
            status: StepStatus::Running,
            assistant_id: None,
            frame,
            input: None,
            output: None,
            space_snapshot: JsonObject::new(),
            error: None,
            metadata: JsonObject::new(),
        }
    }

    /// Checks every field, and returns the size of the step encoded as BSON, in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        check_name("/assistant_id", self.assistant_id.as_deref())?;
        if self.frame.parent_id.as_ref() == Some(&self.frame.stack_id) {
            return Err(Invalid::value("/stack_parent_id", "must differ from stack_id"));
        }
        if self.frame.parent_id.is_none() != (self.frame.depth == 0) {
            return Err(Invalid::value(
                "/stack_depth",
                "must be 0 without stack_parent_id, and greater than 0 with it",
            ));
        }
        if self.frame.depth > NewTurn::MAX_STACK_DEPTH {
            let limit = format!("must be at most {}", NewTurn::MAX_STACK_DEPTH);
            return Err(Invalid::value("/stack_depth", limit));
        }
        let mut bytes = self.error.as_ref().map_or(0, String::len);
        if bytes > Limits::PROMPT_BYTES {
            let limit = format!("is {bytes} bytes; the limit is {} bytes", Limits::PROMPT_BYTES);
            return Err(Invalid::too_large(SizeLimit::Message, "/error", limit));
        }
        let objects = [
            ("/input", self.input.as_ref()),
            ("/output", self.output.as_ref()),
            ("/space_snapshot", Some(&self.space_snapshot)),
            ("/metadata", Some(&self.metadata)),
        ];
        for (pointer, object) in objects {
            let Some(object) = object else { continue };
            bytes += json::measure_object(object).map_err(|e| e.below(pointer))?;
        }
        let StackFrame { stack_id, parent_id, .. } = &self.frame;
        let names = [self.assistant_id.as_deref(), parent_id.as_ref().map(StackId::as_str)];
        let names = names.into_iter().flatten().chain([stack_id.as_str()]);
        Ok(bytes + names.map(str::len).sum::<usize>())
    }
}

impl OpenStep {
    /// Returns the digest that distinguishes a repeated step from another one.
    pub fn digest(&self) -> Digest {
        let (mut hasher, empty) = (Hasher::default(), JsonObject::new());
        let Step { frame: StackFrame { stack_id, parent_id, depth }, .. } = &self.step;
        hasher.field("sequence", &self.sequence.into());
        hasher.field("type", &self.step.kind.as_str().into());
        hasher.field("status", &self.step.status.as_str().into());
        hasher.field("assistant_id", &self.step.assistant_id.as_deref().into());
        hasher.field("stack_id", &stack_id.as_str().into());
        hasher.field("stack_parent_id", &parent_id.as_ref().map(StackId::as_str).into());
        hasher.field("stack_depth", &(*depth).into());
        hasher.object("input", self.step.input.as_ref().unwrap_or(&empty));
        hasher.object("output", self.step.output.as_ref().unwrap_or(&empty));
        hasher.object("space_snapshot", &self.step.space_snapshot);
        hasher.field("error", &self.step.error.as_deref().into());
        hasher.object("metadata", &self.step.metadata);
        hasher.finish()
    }
}

impl StackFrame {
    /// Creates the frame of an outermost call.
    pub fn root(stack_id: StackId) -> Self {
        Self { stack_id, parent_id: None, depth: 0 }
    }

    /// Creates the frame of a call that this call makes.
    #[must_use]
    pub fn call(&self, stack_id: StackId) -> Self {
        Self { stack_id, parent_id: Some(self.stack_id.clone()), depth: self.depth + 1 }
    }
}

fn check_name(pointer: &'static str, name: Option<&str>) -> Result<(), Invalid> {
    if name.is_none_or(is_name) {
        return Ok(());
    }
    Err(Invalid::value(pointer, NAME_RULE))
}
