use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{AppendedTurn, Outcome, Store};
use records::{ChatId, Item, Location};
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{DroppedResponse, ReadTurn, TurnRequest};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, ListJson, Query};
use crate::problem::Problem;
use crate::wire;
use crate::wire::{AppendedResponse, NotedResponse};

/// The result of a turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AppendedTurn)]
pub(crate) struct TurnResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "req_abc")]
    request_id: String,
    /// Whether the turn was stored before.
    duplicate: bool,
    /// The chat's counter afterwards: the sequence of the next message.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each stored message, in order.
    messages: Vec<AppendedResponse>,
    /// The number of resume points.
    #[schema(example = 1)]
    resume_points: usize,
    /// The parts of the turn that are not stored.
    dropped: Vec<DroppedResponse>,
    /// What the caller should know although everything is stored; missing if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    noted: Vec<NotedResponse>,
}

impl TurnResponse {
    fn new(
        chat_id: ChatId,
        turn: AppendedTurn,
        dropped: Vec<DroppedResponse>,
        noted: Vec<NotedResponse>,
    ) -> Self {
        Self {
            chat_id: chat_id.into(),
            request_id: turn.request_id.into(),
            duplicate: turn.outcome == Outcome::Duplicate,
            last_sequence: turn.last_sequence,
            messages: turn.messages.into_iter().map(Into::into).collect(),
            resume_points: turn.resume_points,
            dropped,
            noted,
        }
    }
}

/// Stores a finished turn atomically.
///
/// The messages are appended, with ids derived from the turn. Unless the turn is completed, its unfinished
/// steps become resume points. Idempotent: a repeated `request_id` with the same turn returns the first
/// response, with 200; with another turn it is `turn-conflict`.
///
/// Deltas may follow a message that has a `message_id`. A delta is an item with the same `message_id`,
/// `"delta": true` and a `content`, which is appended at `delta_path`, or replaces the value there with
/// `"delta_action": "replace"`. Deltas are merged into their messages. Messages whose `event_type` is `event`
/// are not stored.
#[operation(
    answers = "The turn is stored",
    repeated = "The turn was stored before",
    problems = [CHAT_ENDED, TURN_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn append_turn(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    ListJson(request): ListJson<TurnRequest>,
) -> Result<(StatusCode, Json<TurnResponse>), Problem> {
    let ReadTurn { turn, dropped, noted, sent_at } = request.into_turn()?;
    let appended = store.append_turn(&scope, &chat_id, turn).await;
    let place = |at: Location| match at.item {
        Some(Item::Message(index)) => Location { item: Some(Item::Message(sent_at[index])), ..at },
        _ => at,
    };
    let turn = appended.map_err(|error| Problem::located(error, place))?;
    let status = wire::write_status([turn.outcome]);
    Ok((status, Json(TurnResponse::new(chat_id, turn, dropped, noted))))
}
