use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::{AppendedTurn, Outcome, Store};
use records::ChatId;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{DroppedResponse, ReadTurn, TurnRequest};
use crate::api::messages::AppendedResponse;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, TurnProblems};
use crate::wire;

/// What came of a turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AppendedTurn)]
pub(crate) struct TurnResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "req_abc")]
    request_id: String,
    /// Whether the chat had the turn already.
    duplicate: bool,
    /// The chat's counter after it: the sequence the next message gets.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each message that is stored, in their order.
    messages: Vec<AppendedResponse>,
    /// How many steps there are to resume from.
    #[schema(example = 1)]
    resume_points: usize,
    /// What of the turn is not stored.
    dropped: Vec<DroppedResponse>,
}

impl TurnResponse {
    fn new(chat_id: ChatId, turn: AppendedTurn, dropped: Vec<DroppedResponse>) -> Self {
        Self {
            chat_id: chat_id.into(),
            request_id: turn.request_id.into(),
            duplicate: turn.outcome == Outcome::Duplicate,
            last_sequence: turn.last_sequence,
            messages: turn.messages.into_iter().map(Into::into).collect(),
            resume_points: turn.resume_points,
            dropped,
        }
    }
}

/// Writes a turn at its end, all of it or nothing.
///
/// Its messages are appended, with ids that follow from the turn. Unless it was completed, the steps that
/// were not done become resume points. Safe to repeat: a turn with the same `request_id` is answered as the
/// first time, with 200; with anything else in it the answer is `turn-conflict`.
///
/// A message with a `message_id` may be followed by deltas: items with the same `message_id`, `"delta": true`,
/// and a `content` that is added at `delta_path`, or takes its place with `"delta_action": "replace"`. They are
/// merged, and neither they nor messages whose `event_type` is `event` are stored.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/turns", tag = "turns",
    operation_id = "append_turn", params(ChatPath, FencingHeader), request_body = TurnRequest,
    responses(
        (status = 201, description = "It is stored", body = TurnResponse),
        (status = 200, description = "The chat had it already", body = TurnResponse),
        TurnProblems,
    ),
)]
pub(crate) async fn append_turn(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(()): Query<()>,
    Json(request): Json<TurnRequest>,
) -> Result<(StatusCode, Json<TurnResponse>), Problem> {
    let ReadTurn { turn, dropped, sent_at } = request.into_turn()?;
    let appended = store.append_turn(&scope, &chat_id, turn).await;
    let sent_at = |place: usize| sent_at.get(place).copied();
    let turn =
        appended.map_err(|error| Problem::from(error).renumber_items("/messages/", sent_at))?;
    let status = wire::write_status([turn.outcome]);
    Ok((status, Json(TurnResponse::new(chat_id, turn, dropped))))
}
