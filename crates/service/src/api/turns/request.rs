use std::borrow::Cow;

use persistence::turn::{TurnBuffer, TurnError};
use records::json::ListLimit;
use records::{
    Item, JsonObject, Location, NewTurn, Segment, StackFrame, StackId, Step, StepKind, StepStatus,
    TurnId, TurnMessage, TurnOutcome,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::api::messages::MessageRequest;
use crate::extract::{IdempotencyKey, Keyed, LimitedLists, required_id, typed};
use crate::openapi;
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{NotedResponse, Stated};

/// A finished turn.
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
    /// The id of the turn within the chat, and its idempotency key. Required, here or as the header `Idempotency-Key`.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<TurnId>,
    #[schema(value_type = values::TurnOutcome)]
    outcome: OutcomeField,
    /// The model connector that was used last.
    connector: Option<String>,
    /// The mode of the turn, such as `chat` or `task`.
    mode: Option<String>,
    /// At most 10,000 messages, together at most 64 MiB, in order. A message may have a `message_id` that is
    /// unique within the turn, and be followed by deltas.
    #[serde(default)]
    #[schema(value_type = Vec<TurnMessageRequest>, max_items = 10000)]
    messages: Vec<JsonObject>,
    /// At most 1,000 steps, together at most 8 MiB, in the order in which they started.
    #[serde(default)]
    #[schema(max_items = 1000)]
    steps: Vec<StepRequest>,
}

impl Keyed for TurnRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("request_id", &mut self.request_id)
    }
}

impl LimitedLists for TurnRequest {
    const LISTS: &'static [ListLimit] = &[ListLimit { field: "steps", items: NewTurn::MAX_STEPS }];
}

/// A message of a turn, or a delta.
pub(crate) enum TurnMessageRequest {}

impl PartialSchema for TurnMessageRequest {
    /// One object, because each of the two refuses the fields of the other.
    fn schema() -> RefOr<Schema> {
        let mut schema = openapi::merged([MessageRequest::schema(), Chunk::schema()]);
        // Is derived from the turn.
        schema.properties.shift_remove("event_id");
        schema.description = Some("A message of a turn, or a delta.".to_owned());
        schema.example = Some(json!({
            "message_id": "msg_1", "role": "assistant", "name": "analyzer", "content": "The data "
        }));
        schema.into()
    }
}

impl ToSchema for TurnMessageRequest {
    fn name() -> Cow<'static, str> {
        "TurnMessage".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        MessageRequest::schemas(schemas);
        Chunk::schemas(schemas);
    }
}

/// The fields that control how an item is merged; they are not stored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the senders use these names")]
pub(crate) struct Chunk {
    /// The id that deltas refer to. A later message with the same id replaces the earlier one.
    message_id: Option<String>,
    /// The number of the chunk; ignored.
    #[expect(dead_code, reason = "is accepted and ignored")]
    chunk_id: Option<Value>,
    /// Whether this item is a delta of the message with that `message_id`.
    #[serde(default)]
    delta: bool,
    /// The path that the delta changes, such as `content` (default) or `content.0.text`.
    delta_path: Option<String>,
    #[serde(default)]
    delta_action: DeltaAction,
}

/// How a delta is merged.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DeltaAction {
    /// The text is appended to the existing text.
    #[default]
    Append,
    /// The value replaces the existing value.
    Replace,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutcomeField {
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
    #[schema(value_type = values::StepType)]
    kind: KindField,
    /// A `running` step gets the outcome of its turn.
    #[schema(value_type = values::StepStatus)]
    status: StatusField,
    /// The assistant that runs the step.
    assistant_id: Option<String>,
    /// The call in the call stack that the step belongs to.
    #[schema(value_type = values::Name)]
    stack_id: StackId,
    /// The parent of that call; omitted for the outermost call.
    #[schema(value_type = Option<values::Name>)]
    stack_parent_id: Option<StackId>,
    /// The depth of that call: 0 for the outermost.
    #[serde(default)]
    stack_depth: u32,
    /// The input of the step.
    #[schema(value_type = Option<Object>)]
    input: Option<JsonObject>,
    /// The output of the step so far.
    #[schema(value_type = Option<Object>)]
    output: Option<JsonObject>,
    /// The shared space at the start of the step.
    #[serde(default)]
    #[schema(value_type = Object)]
    space_snapshot: JsonObject,
    /// The error message, at most 16 KiB.
    error: Option<String>,
    /// Data of the caller that is stored with the step.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: JsonObject,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindField {
    Input,
    HookCreate,
    Llm,
    Tool,
    HookNext,
    Delegate,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// The index in `messages`.
    index: usize,
    /// The reason: `event` for messages that only control a stream.
    #[schema(example = "event")]
    reason: &'static str,
}

/// A parsed turn.
pub(super) struct ReadTurn {
    pub(super) turn: NewTurn,
    /// The messages that are not stored.
    pub(super) dropped: Vec<DroppedResponse>,
    pub(super) noted: Vec<NotedResponse>,
    /// The index in the request of each message of the turn.
    pub(super) sent_at: Vec<usize>,
}

impl TurnRequest {
    /// Returns the turn with its deltas merged.
    pub(super) fn into_turn(self) -> Result<ReadTurn, Problem> {
        let request_id = required_id("request_id", self.request_id)?;
        let mut buffer = TurnBuffer::default();
        (buffer.connector, buffer.mode) = (self.connector, self.mode);
        let (mut dropped, mut noted, mut sent_at) = (Vec::new(), Vec::new(), Vec::new());
        for (index, message) in self.messages.into_iter().enumerate() {
            let place = |at: Location| at.below(Item::Message(index));
            let received = receive(&mut buffer, message);
            match received.map_err(|problem| Problem::located(problem, place))? {
                Received::Message { at, stated } => {
                    noted.extend(NotedResponse::unknown_fields(index, &stated));
                    if at == sent_at.len() { sent_at.push(index) } else { sent_at[at] = index }
                }
                Received::Delta => {}
                Received::Event => {
                    dropped.push(DroppedResponse { index, reason: TurnBuffer::EVENT });
                }
            }
        }
        let steps = self.steps.into_iter().map(Into::into).collect();
        let turn = buffer.finish(request_id, self.outcome.into());
        Ok(ReadTurn { turn: NewTurn { steps, ..turn }, dropped, noted, sent_at })
    }
}

/// The kind of an item in `messages`.
enum Received {
    /// A message, with its index in the turn, and what it says of itself.
    Message { at: usize, stated: Stated },
    /// A delta of a message.
    Delta,
    /// An item that is not stored.
    Event,
}

/// Adds a message or a delta to the buffer.
fn receive(buffer: &mut TurnBuffer, mut message: JsonObject) -> Result<Received, Problem> {
    const CHUNK: [&str; 5] = ["message_id", "chunk_id", "delta", "delta_path", "delta_action"];
    let taken = CHUNK.into_iter().filter_map(|name| message.remove_entry(name));
    let taken: JsonObject = taken.collect();
    let chunk: Chunk = typed(Value::Object(taken))?;
    let key = chunk.message_id.as_deref();
    if !chunk.delta {
        let message = typed::<MessageRequest>(Value::Object(message))?;
        if message.sequence.is_some() {
            let rule = "must be omitted: the messages of a turn follow those of the chat";
            return Err(Problem::invalid_body("/sequence", rule));
        }
        let stated = message.stated();
        let message = message.into_message(None)?;
        if message.event_id.is_some() {
            let rule = "must be omitted: the ids of messages are derived from the turn";
            return Err(Problem::invalid_body("/event_id", rule));
        }
        let index = buffer.add(key, TurnMessage { body: message.body, author: message.author });
        return Ok(index.map_or(Received::Event, |at| Received::Message { at, stated }));
    }
    let key = key.ok_or_else(|| Problem::invalid_body("/message_id", "is required in a delta"))?;
    if buffer.is_of_event(key) {
        return Ok(Received::Event);
    }
    let path = chunk.delta_path.as_deref().unwrap_or("content");
    merge_delta(buffer, key, path, chunk.delta_action, message)
}

/// Merges a delta into the message with a key, at a path.
fn merge_delta(
    buffer: &mut TurnBuffer,
    key: &str,
    path: &str,
    action: DeltaAction,
    mut delta: JsonObject,
) -> Result<Received, Problem> {
    let content = delta.remove("content").unwrap_or_default();
    if let Some(other) = delta.keys().find(|name| *name != "role" && *name != "name") {
        return Err(Problem::invalid_body(
            Segment::key(other.clone()),
            "is not a field of a delta; allowed: message_id, chunk_id, delta, delta_path, delta_action, content, role, name",
        ));
    }
    let merged = match (action, &content) {
        (DeltaAction::Append, Value::String(text)) => buffer.append(key, path, text),
        (DeltaAction::Append, _) => {
            return Err(Problem::invalid_body(
                "/content",
                "must be a string, unless delta_action is replace",
            ));
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

/// Reads the steps that an adapter was sent in a field; other fields of a step are ignored.
pub(crate) fn read_steps(
    field: &'static str,
    steps: Vec<JsonObject>,
) -> Result<Vec<Step>, Problem> {
    const FIELDS: [&str; 11] = [
        "type",
        "status",
        "assistant_id",
        "stack_id",
        "stack_parent_id",
        "stack_depth",
        "input",
        "output",
        "space_snapshot",
        "error",
        "metadata",
    ];
    let read = |(index, mut step): (usize, JsonObject)| {
        step.retain(|name, value| FIELDS.contains(&name.as_str()) && !value.is_null());
        let below = |at: Location| at.below(Segment::Index(index)).below(Segment::key(field));
        let step = typed::<StepRequest>(Value::Object(step));
        step.map(Step::from).map_err(|problem| Problem::located(problem, below))
    };
    steps.into_iter().enumerate().map(read).collect()
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
