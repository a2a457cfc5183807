use persistence::turn::{TurnBuffer, TurnError};
use records::{
    JsonObject, NewTurn, StackFrame, StackId, Step, StepKind, StepStatus, TurnId, TurnMessage,
    TurnOutcome,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::messages::MessageRequest;
use crate::extract::typed;
use crate::problem::Problem;

/// A turn, as it is when it has ended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTurn, example = json!({
    "request_id": "req_abc",
    "outcome": "interrupted",
    "connector": "deepseek.v3",
    "messages": [{"role": "user", "name": "user", "content": "Analyze this data"}],
    "steps": [{
        "type": "llm", "status": "running", "assistant_id": "analyzer", "stack_id": "stk_001",
        "input": {"messages": []}
    }]
}))]
pub(crate) struct TurnRequest {
    /// Names the turn within the chat: whoever repeats it means the same one.
    #[schema(value_type = String)]
    pub(super) request_id: TurnId,
    outcome: OutcomeField,
    /// The connector to the model that was used last.
    connector: Option<String>,
    /// The mode of the turn, such as `chat` or `task`.
    mode: Option<String>,
    /// Up to 10,000 messages, together at most 64 MiB, in the order in which they came. Each may have a
    /// `message_id`, its own within the turn, and be followed by deltas: see the text.
    #[serde(default)]
    #[schema(value_type = Vec<TurnMessageRequest>)]
    messages: Vec<JsonObject>,
    /// Up to 1,000 steps, together at most 8 MiB, in the order in which they were begun.
    #[serde(default)]
    steps: Vec<StepRequest>,
}

/// A message of a turn, or a delta of one.
#[derive(Debug, ToSchema)]
#[schema(as = TurnMessage)]
#[expect(dead_code, reason = "describes what `Chunk` and `MessageRequest` read")]
pub(crate) struct TurnMessageRequest {
    #[serde(flatten)]
    message: MessageRequest,
    #[serde(flatten)]
    chunk: Chunk,
}

/// What says how a message comes, and is not kept.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "they are called so where they come from")]
pub(crate) struct Chunk {
    /// What deltas name the message by. Another message with the same one takes its place.
    message_id: Option<String>,
    /// Whatever the sender numbers its chunks with.
    #[schema(value_type = Option<String>)]
    #[expect(dead_code, reason = "whatever it is, it is not kept")]
    chunk_id: Option<Value>,
    /// Whether this is only a part of the message with that `message_id`: its `content` is added to it.
    #[serde(default)]
    delta: bool,
    /// Where the part belongs, such as `content` (unless said) or `content.0.text`.
    delta_path: Option<String>,
    #[serde(default)]
    delta_action: DeltaAction,
}

/// What is to become of a part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DeltaAction {
    /// The text is added to the one that is there.
    #[default]
    Append,
    /// The value takes the place of the one that is there.
    Replace,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TurnOutcome)]
enum OutcomeField {
    Completed,
    Interrupted,
    Failed,
}

/// A step of a turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewStep)]
struct StepRequest {
    #[serde(rename = "type")]
    kind: KindField,
    /// One that is `running` shares the end of its turn.
    status: StatusField,
    /// The assistant that carries it out.
    assistant_id: Option<String>,
    /// The call of a call stack that it belongs to.
    #[schema(value_type = String)]
    stack_id: StackId,
    /// The call that one was made from; none for the outermost.
    #[schema(value_type = Option<String>)]
    stack_parent_id: Option<StackId>,
    /// How many calls it is inside of: 0 for the outermost.
    #[serde(default)]
    stack_depth: u32,
    /// What it is given.
    #[schema(value_type = Option<Object>)]
    input: Option<JsonObject>,
    /// What came of it, as far as it came.
    #[schema(value_type = Option<Object>)]
    output: Option<JsonObject>,
    /// The shared space as it was when the step began.
    #[serde(default)]
    #[schema(value_type = Object)]
    space_snapshot: JsonObject,
    /// What went wrong: at most 16 KiB.
    error: Option<String>,
    /// Whatever is to be kept beside it.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: JsonObject,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StepType)]
enum KindField {
    Input,
    HookCreate,
    Llm,
    Tool,
    HookNext,
    Delegate,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StepStatus)]
enum StatusField {
    Running,
    Completed,
    Interrupted,
    Failed,
}

/// A message of a turn that is not stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DroppedOfTurn)]
pub(crate) struct DroppedResponse {
    /// Its place in the turn.
    index: usize,
    /// Why: `event` says only how a stream goes on.
    #[schema(example = "event")]
    reason: &'static str,
}

/// A turn that was read.
pub(super) struct ReadTurn {
    pub(super) turn: NewTurn,
    /// What of it is not stored.
    pub(super) dropped: Vec<DroppedResponse>,
    /// Where in the request each of its messages was sent.
    pub(super) sent_at: Vec<usize>,
}

impl TurnRequest {
    /// Returns the turn, its deltas merged.
    pub(super) fn into_turn(self) -> Result<ReadTurn, Problem> {
        let mut buffer = TurnBuffer::default();
        (buffer.connector, buffer.mode) = (self.connector, self.mode);
        let (mut dropped, mut sent_at) = (Vec::new(), Vec::new());
        for (index, message) in self.messages.into_iter().enumerate() {
            let pointer = format!("/messages/{index}");
            match receive(&mut buffer, message)
                .map_err(|problem| problem.prefix_pointers(&pointer))?
            {
                Received::Message(place) if place == sent_at.len() => sent_at.push(index),
                Received::Message(place) => sent_at[place] = index,
                Received::Delta => {}
                Received::Event => {
                    dropped.push(DroppedResponse { index, reason: TurnBuffer::EVENT });
                }
            }
        }
        let steps = self.steps.into_iter().map(Into::into).collect();
        let turn = buffer.finish(self.request_id, self.outcome.into());
        Ok(ReadTurn { turn: NewTurn { steps, ..turn }, dropped, sent_at })
    }
}

/// What an item of the messages was.
enum Received {
    /// A message, which has this place in the turn.
    Message(usize),
    /// A part of one.
    Delta,
    /// Nothing that is stored.
    Event,
}

/// Takes a message or a delta.
fn receive(buffer: &mut TurnBuffer, mut message: JsonObject) -> Result<Received, Problem> {
    const CHUNK: [&str; 5] = ["message_id", "chunk_id", "delta", "delta_path", "delta_action"];
    let taken = CHUNK.into_iter().filter_map(|name| message.remove_entry(name));
    let taken: JsonObject = taken.collect();
    let chunk: Chunk = typed(Value::Object(taken))?;
    let key = chunk.message_id.as_deref();
    if !chunk.delta {
        let message = typed::<MessageRequest>(Value::Object(message))?.into_message(None, "")?;
        if message.event_id.is_some() {
            let rule = "is not for a message of a turn: it follows from the turn";
            return Err(Problem::invalid_body("/event_id", rule));
        }
        let place = buffer.add(key, TurnMessage { body: message.body, author: message.author });
        return Ok(place.map_or(Received::Event, Received::Message));
    }
    let key = key.ok_or_else(|| Problem::invalid_body("/message_id", "is missing in a delta"))?;
    if buffer.is_of_event(key) {
        return Ok(Received::Event);
    }
    let path = chunk.delta_path.as_deref().unwrap_or("content");
    let content = message.remove("content").unwrap_or_default();
    if let Some(other) = message.keys().find(|name| *name != "role" && *name != "name") {
        return Err(Problem::invalid_body(format!("/{other}"), "is no field of a delta"));
    }
    let merged = match (chunk.delta_action, &content) {
        (DeltaAction::Append, Value::String(text)) => buffer.append(key, path, text),
        (DeltaAction::Append, _) => {
            return Err(Problem::invalid_body("/content", "must be a text, to be added to one"));
        }
        (DeltaAction::Replace, _) => buffer.replace(key, path, content),
    };
    let misplaced = |error: TurnError| {
        let field = match error {
            TurnError::NoSuchPath { .. } | TurnError::NotText { .. } => "/delta_path",
            _ => "/message_id",
        };
        Problem::invalid_body(field, error.to_string())
    };
    merged.map(|()| Received::Delta).map_err(misplaced)
}

impl From<StepRequest> for Step {
    fn from(step: StepRequest) -> Self {
        let frame = StackFrame {
            stack_id: step.stack_id,
            parent_id: step.stack_parent_id,
            depth: step.stack_depth,
        };
        Self {
            kind: step.kind.into(),
            status: step.status.into(),
            assistant_id: step.assistant_id,
            frame,
            input: step.input,
            output: step.output,
            space_snapshot: step.space_snapshot,
            error: step.error,
            metadata: step.metadata,
        }
    }
}

impl From<OutcomeField> for TurnOutcome {
    fn from(outcome: OutcomeField) -> Self {
        match outcome {
            OutcomeField::Completed => Self::Completed,
            OutcomeField::Interrupted => Self::Interrupted,
            OutcomeField::Failed => Self::Failed,
        }
    }
}

impl From<KindField> for StepKind {
    fn from(kind: KindField) -> Self {
        match kind {
            KindField::Input => Self::Input,
            KindField::HookCreate => Self::HookCreate,
            KindField::Llm => Self::Llm,
            KindField::Tool => Self::Tool,
            KindField::HookNext => Self::HookNext,
            KindField::Delegate => Self::Delegate,
        }
    }
}

impl From<StatusField> for StepStatus {
    fn from(status: StatusField) -> Self {
        match status {
            StatusField::Running => Self::Running,
            StatusField::Completed => Self::Completed,
            StatusField::Interrupted => Self::Interrupted,
            StatusField::Failed => Self::Failed,
        }
    }
}
