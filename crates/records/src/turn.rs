use chrono::{DateTime, Utc};

use crate::call_tree::CallTree;
use crate::ids::is_name;
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{Author, ChatId, Invalid, MessageBody, StackId, TurnId};

/// A request of a user, with all that came of it, to be written at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// Names the turn within its chat; whoever repeats it means the same turn.
    pub request_id: TurnId,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// What was said, in the order in which it came.
    pub messages: Vec<TurnMessage>,
    /// What was done, in the order in which it was begun.
    pub steps: Vec<Step>,
    /// The connector to the model that was used last.
    pub connector: Option<String>,
    /// The mode the turn was in.
    pub mode: Option<String>,
}

/// A message of a turn. Its id follows from its turn and its place in it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnMessage {
    /// What was said, by whom.
    pub body: MessageBody,
    /// The person who wrote it.
    pub author: Option<Author>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// All of it was done.
    Completed,
    /// Somebody broke it off, or it broke off.
    Interrupted,
    /// It met an error.
    Failed,
}

/// A step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// How far it came.
    pub status: StepStatus,
    /// The assistant that carries it out.
    pub assistant_id: Option<String>,
    /// Where in the call stack it is.
    pub frame: StackFrame,
    /// What it is given.
    pub input: Option<JsonObject>,
    /// What came of it, as far as it came.
    pub output: Option<JsonObject>,
    /// The shared space as it was when the step began.
    pub space_snapshot: JsonObject,
    /// What went wrong.
    pub error: Option<String>,
    /// Whatever the caller keeps beside it.
    pub metadata: JsonObject,
}

/// A place in a call stack: assistants call each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFrame {
    /// Names the call.
    pub stack_id: StackId,
    /// The call it was made from; none for the outermost.
    pub parent_id: Option<StackId>,
    /// How many calls it is inside of.
    pub depth: u32,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Takes what the user says.
    Input,
    /// Runs the hook before the model.
    HookCreate,
    /// Calls a model.
    Llm,
    /// Runs a tool.
    Tool,
    /// Runs the hook after the model.
    HookNext,
    /// Has another assistant go on.
    Delegate,
}

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// It was under way when the turn ended, and shares its end.
    Running,
    /// It was done.
    Completed,
    /// It was broken off.
    Interrupted,
    /// It met an error.
    Failed,
}

/// A step of a turn that was not done when the turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenStep {
    /// Which step of its turn it was, from 1.
    pub sequence: u32,
    /// The step.
    pub step: Step,
    /// See [`ResumePoint::stack_path`].
    pub stack_path: Vec<StackId>,
}

/// A step that was not done, from which its turn can be resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePoint {
    /// The chat.
    pub chat_id: ChatId,
    /// The turn.
    pub request_id: TurnId,
    /// Which turn of the chat that was, from 1, in the order in which they were written.
    pub turn: u64,
    /// Which step of its turn it was, from 1.
    pub sequence: u32,
    /// The step; it was [`Interrupted`](StepStatus::Interrupted) or has [`Failed`](StepStatus::Failed).
    pub step: Step,
    /// The end of the path of calls that leads to that of the step: what the other resume points of its
    /// turn do not tell, which may be nothing.
    ///
    /// That of the last resume point of a turn is as long as the steps of the turn tell. A path begins with
    /// the outermost call if it has one call more than the step is deep. What was stored before paths were
    /// cut has that of the last one in each.
    pub stack_path: Vec<StackId>,
    /// When the turn was written.
    pub created_at: DateTime<Utc>,
}

/// The turn of a chat that was written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTurn {
    /// Names it.
    pub request_id: TurnId,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// Which turn of the chat it is, from 1.
    pub turn: u64,
}

impl TurnOutcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Interrupted, Self::Failed];

    /// Returns the word for it, as it stands on the wire and in the store.
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

    /// Returns the word for it, as it stands on the wire and in the store.
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

    /// Returns the word for it, as it stands on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    /// Returns how a step stands once its turn has ended.
    #[must_use]
    pub fn at_end(self, outcome: TurnOutcome) -> Self {
        match (self, outcome) {
            (Self::Running, TurnOutcome::Completed) => Self::Completed,
            (Self::Running, TurnOutcome::Interrupted) => Self::Interrupted,
            (Self::Running, TurnOutcome::Failed) => Self::Failed,
            (ended, _) => ended,
        }
    }
}

impl NewTurn {
    /// Most messages of one turn.
    pub const MAX_MESSAGES: usize = 10_000;
    /// Largest messages of one turn, in bytes.
    pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
    /// Most steps of one turn.
    pub const MAX_STEPS: usize = 1_000;
    /// Largest steps of one turn, in bytes.
    pub const MAX_STEP_BYTES: usize = 8 << 20;
    /// How many calls a step may be inside of.
    pub const MAX_STACK_DEPTH: u32 = 1_000;

    /// Checks all but the messages.
    pub fn check(&self) -> Result<(), Invalid> {
        for (pointer, name) in [("/connector", &self.connector), ("/mode", &self.mode)] {
            check_name(pointer, name.as_deref())?;
        }
        if self.messages.is_empty() && !self.steps.iter().any(|step| self.is_open(step)) {
            let rule = "must hold at least one message, or the turn a step that was not done";
            return Err(Invalid::value("/messages", rule));
        }
        if self.steps.len() > Self::MAX_STEPS {
            let limit = format!("must hold at most {} steps", Self::MAX_STEPS);
            return Err(Invalid::too_large("/steps", limit));
        }
        let mut bytes = 0;
        let calls = CallTree::new(self.steps.iter().map(|step| &step.frame));
        for (index, step) in self.steps.iter().enumerate() {
            bytes += step.check().map_err(|e| e.below(&format!("/steps/{index}")))?;
            if calls.is_cyclic(&step.frame.stack_id) {
                let pointer = format!("/steps/{index}/stack_parent_id");
                return Err(Invalid::value(pointer, "leads back to the call itself"));
            }
        }
        if bytes > Self::MAX_STEP_BYTES {
            let limit = format!("are {bytes} bytes; the limit is {} bytes", Self::MAX_STEP_BYTES);
            return Err(Invalid::too_large("/steps", limit));
        }
        Ok(())
    }

    /// Takes the steps to resume from out of the turn: those that were not done, unless the whole turn
    /// was. No other step is kept.
    pub fn take_open_steps(&mut self) -> Vec<OpenStep> {
        let steps = std::mem::take(&mut self.steps);
        let open: Vec<_> = steps.iter().filter(|step| self.is_open(step)).collect();
        let calls = CallTree::new(steps.iter().map(|step| &step.frame));
        let open_frames: Vec<_> = open.iter().map(|step| &step.frame).collect();
        let mut paths = calls.path_ends(&open_frames).into_iter();
        let numbered = (1..).zip(steps).filter(|(_, step)| self.is_open(step));
        let open = numbered.map(|(sequence, step)| OpenStep {
            sequence,
            step: Step { status: step.status.at_end(self.outcome), ..step },
            stack_path: paths.next().unwrap_or_default(),
        });
        open.collect()
    }

    fn is_open(&self, step: &Step) -> bool {
        let status = step.status.at_end(self.outcome);
        self.outcome != TurnOutcome::Completed && status != StepStatus::Completed
    }
}

impl Step {
    /// A step that has begun.
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

    /// Checks every field, and returns the size of the encoded step in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        check_name("/assistant_id", self.assistant_id.as_deref())?;
        if self.frame.parent_id.as_ref() == Some(&self.frame.stack_id) {
            return Err(Invalid::value("/stack_parent_id", "must be another than the stack_id"));
        }
        if self.frame.parent_id.is_none() != (self.frame.depth == 0) {
            return Err(Invalid::value(
                "/stack_depth",
                "must be 0 without a parent, and only then",
            ));
        }
        if self.frame.depth > NewTurn::MAX_STACK_DEPTH {
            let limit = format!("must be at most {}", NewTurn::MAX_STACK_DEPTH);
            return Err(Invalid::value("/stack_depth", limit));
        }
        let mut bytes = self.error.as_ref().map_or(0, String::len);
        if bytes > Limits::PROMPT_BYTES {
            let limit = format!("is {bytes} bytes; the limit is {} bytes", Limits::PROMPT_BYTES);
            return Err(Invalid::too_large("/error", limit));
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
    /// Returns the digest by which a step is told from another one.
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
    /// The outermost call.
    pub fn root(stack_id: StackId) -> Self {
        Self { stack_id, parent_id: None, depth: 0 }
    }

    /// A call made from this one.
    #[must_use]
    pub fn call(&self, stack_id: StackId) -> Self {
        Self { stack_id, parent_id: Some(self.stack_id.clone()), depth: self.depth + 1 }
    }
}

fn check_name(pointer: &str, name: Option<&str>) -> Result<(), Invalid> {
    if name.is_none_or(is_name) {
        return Ok(());
    }
    Err(Invalid::value(pointer, "must be 1 to 128 characters without control characters"))
}
