use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Outcome, Store};
use records::json::{Digest, ListLimit};
use records::{
    EventId, Item, JsonObject, Location, NewMessage, NewTurn, Segment, TurnId, TurnMessage,
};
use resume::dialect::{Parsed, TranscriptPosition, Yao};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::wire::place_of_message;
use crate::adapters::ForeignQuery;
use crate::api::messages::{placed, read_valid};
use crate::api::turns::{OutcomeField, read_steps};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, LimitedLists, ListJson, required_id};
use crate::openapi::values;
use crate::problem::Problem;
use crate::unset_values::null_as_default;

/// The field with the steps.
const RESUME: &str = "resume";

/// What a request has produced, to save when it ends, whichever way; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SaveChatTurn, example = json!({
    "request_id": "req_abc", "status": "interrupted",
    "messages": [{"role": "user", "type": "user_input", "props": {"content": "Will it rain?"}}],
    "resume": [{"type": "llm", "status": "interrupted", "assistant_id": "weather", "stack_id": "stk_001"}]
}))]
pub(crate) struct SaveTurnRequest {
    /// The id of the request, and its idempotency key.
    #[schema(value_type = values::Name)]
    request_id: Option<TurnId>,
    /// How the request ended.
    #[schema(value_type = values::TurnOutcome)]
    status: OutcomeField,
    /// The messages in order, each with `role`, `type` and `props`.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// The steps in the order in which they began; those that are not completed become resume records.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    resume: Vec<JsonObject>,
    /// The connector that was used last.
    connector: Option<String>,
    /// The mode of the request.
    mode: Option<String>,
}

impl Keyed for SaveTurnRequest {}

impl LimitedLists for SaveTurnRequest {
    const LISTS: &'static [ListLimit] = &[
        ListLimit { field: "messages", items: NewTurn::MAX_MESSAGES },
        ListLimit { field: "resume", items: NewTurn::MAX_STEPS },
    ];
}

/// What was saved.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavedChatTurn)]
pub(crate) struct SavedTurnResponse {
    #[schema(example = "req_abc")]
    request_id: String,
    /// Whether the turn was saved before.
    duplicate: bool,
    /// How many messages the turn has. Events are not stored.
    #[schema(example = 1)]
    saved: usize,
    /// How many resume records it has: none if it was completed.
    #[schema(example = 1)]
    resume: usize,
}

/// Saves all messages of a request and the steps from which it can be resumed, in one write.
#[operation(
    answers = "The turn is stored",
    problems = [CHAT_ENDED, TURN_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn save_turn(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    ListJson(request): ListJson<SaveTurnRequest>,
) -> Result<Json<SavedTurnResponse>, Problem> {
    let parsed = read_valid(&Yao, request.messages).await?;
    let (messages, positions) = without_repeats(parsed)?;
    let messages = messages.into_iter();
    let turn = NewTurn {
        request_id: required_id("request_id", request.request_id)?,
        outcome: request.status.into(),
        messages: messages.map(|it| TurnMessage { body: it.body, author: it.author }).collect(),
        steps: read_steps(RESUME, request.resume.into_iter().map(without_empty_ids).collect())?,
        connector: request.connector.filter(|connector| !connector.is_empty()),
        mode: request.mode.filter(|mode| !mode.is_empty()),
    };
    let turn = store.append_turn(&scope, &chat_id, turn).await;
    let turn = turn.map_err(|error| Problem::located(error, |at| place(at, &positions)))?;
    Ok(Json(SavedTurnResponse {
        request_id: turn.request_id.into(),
        duplicate: turn.outcome == Outcome::Duplicate,
        saved: turn.messages.len(),
        resume: turn.resume_points,
    }))
}

/// Removes the ids of a step that are empty: programs in Go send such a text for a field without a value.
fn without_empty_ids(mut step: JsonObject) -> JsonObject {
    for field in ["assistant_id", "stack_parent_id"] {
        if step.get(field).is_some_and(|id| id == "") {
            step.shift_remove(field);
        }
    }
    step
}

/// Leaves out messages that are there twice, and refuses two messages with one id. A turn has no ids of messages of its own.
fn without_repeats(parsed: Parsed) -> Result<(Vec<NewMessage>, Vec<TranscriptPosition>), Problem> {
    let mut first: HashMap<EventId, Digest> = HashMap::new();
    let (mut messages, mut positions) = (Vec::new(), Vec::new());
    for (message, position) in parsed.messages.into_iter().zip(parsed.positions) {
        let digest = message.body.digest();
        let known = message.event_id.clone().and_then(|id| first.insert(id, digest));
        if known.is_some_and(|known| known != digest) {
            let at = placed(Item::Message(0).into(), &[position]);
            let detail = "has the message_id of another message of the request";
            return Err(Problem::invalid_body(at, detail));
        }
        if known.is_none() {
            messages.push(message);
            positions.push(position);
        }
    }
    Ok((messages, positions))
}

/// Returns where in the request the value is that the store names.
fn place(at: Location, positions: &[TranscriptPosition]) -> Location {
    match at.item {
        Some(Item::Step(index)) => {
            let step = [Segment::key(RESUME), Segment::Index(index)];
            step.into_iter().chain(at.path).collect()
        }
        _ => place_of_message(at, positions),
    }
}
