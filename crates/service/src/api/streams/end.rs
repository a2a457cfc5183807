use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AppendedTurn, EndedStream, Outcome, Store, StoreError, StreamRefusal};
use records::{Scope, Stream, StreamEnding, StreamId, StreamState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::assembled::{Assembled, assemble, stored_turn, turn_of};
use crate::admission::RequestMemory;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, Path, Query};
use crate::problem::Problem;
use crate::wire::{AppendedResponse, StreamResponse};

/// How many times the bytes of a stream are in memory: as text, as JSON values and as messages.
const TIMES_STREAM: usize = 6;
/// The memory that the end of any stream takes.
const LEAST_BYTES: usize = 1 << 20;

/// How often the turn of a stream is made that is written to meanwhile.
const MAX_ATTEMPTS: u32 = 8;

/// How a stream ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StreamEnd, example = json!({"state": "finished"}))]
pub(crate) struct EndRequest {
    state: EndState,
    /// Why it failed, at most 4 KiB.
    error: Option<String>,
    /// Whether the messages that the chunks make are stored as a turn; by default unless the stream failed.
    store: Option<bool>,
}

/// How a stream ends: as the agent wanted (`finished`), because of an error (`failed`), or because the agent was asked to stop
/// (`cancelled`).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StreamEndState)]
enum EndState {
    Finished,
    Failed,
    Cancelled,
}

impl Keyed for EndRequest {}

impl From<EndState> for StreamState {
    fn from(state: EndState) -> Self {
        match state {
            EndState::Finished => Self::Finished,
            EndState::Failed => Self::Failed,
            EndState::Cancelled => Self::Cancelled,
        }
    }
}

/// A stream that has ended, and the turn that it became.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndedStream)]
pub(crate) struct EndedResponse {
    stream: StreamResponse,
    /// Null without a message to store.
    turn: Option<StreamTurnResponse>,
    /// The chunks that are none of the format of the stream, and are in no message.
    dropped: Vec<DroppedChunkResponse>,
}

/// The turn that a stream became.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamTurn)]
struct StreamTurnResponse {
    #[schema(example = "req_abc")]
    request_id: String,
    /// Whether the turn was stored before.
    duplicate: bool,
    /// The chat's counter afterwards: the sequence of the next message.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each message, in order.
    messages: Vec<AppendedResponse>,
}

/// A chunk that is in no message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DroppedChunk)]
struct DroppedChunkResponse {
    #[schema(example = 3)]
    position: u64,
    #[schema(example = "must be a string")]
    detail: String,
}

impl From<AppendedTurn> for StreamTurnResponse {
    fn from(turn: AppendedTurn) -> Self {
        Self {
            request_id: turn.request_id.into(),
            duplicate: turn.outcome == Outcome::Duplicate,
            last_sequence: turn.last_sequence,
            messages: turn.messages.into_iter().map(Into::into).collect(),
        }
    }
}

/// Ends a stream, and stores the messages that its chunks make as one turn, atomically.
///
/// The turn has the `request_id` of the stream, or its id. It is `completed` for a finished stream, `interrupted` for a
/// cancelled one and `failed` for a failed one. Those who follow the chat get the messages, and then `stream-finished`.
/// Idempotent: the same request again gets the same answer.
#[operation(
    answers = "The stream has ended",
    problems = [STREAM_NOT_FOUND, STREAM_CONFLICT, CHAT_ENDED, TURN_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn end_stream(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Path(stream_id): Path<StreamId>,
    Query(()): Query<()>,
    memory: RequestMemory,
    Json(request): Json<EndRequest>,
) -> Result<Json<EndedResponse>, Problem> {
    let EndRequest { state, error, store: stores } = request;
    let ending = StreamEnding { error, ..StreamEnding::of(state.into()) };
    let stores = stores.unwrap_or(state != EndState::Failed);
    let (mut attempt, mut reserved) = (0, 0);
    loop {
        attempt += 1;
        let stream = store.get_stream(&scope, &chat_id, &stream_id).await?;
        if stream.mark.is_stopped() && state == EndState::Cancelled {
            // What it answered is over, and its chunks with it.
            let response = EndedResponse { stream: stream.into(), turn: None, dropped: Vec::new() };
            return Ok(Json(response));
        }
        let bytes = usize::try_from(stream.mark.bytes).unwrap_or(usize::MAX);
        let needed = LEAST_BYTES.saturating_add(bytes.saturating_mul(TIMES_STREAM));
        memory.reserve(needed.saturating_sub(reserved)).await?;
        reserved = reserved.max(needed);
        let is_last = attempt == MAX_ATTEMPTS;
        if let Some(ended) = end(&*store, &scope, &stream, &ending, stores, is_last).await? {
            return Ok(Json(ended));
        }
    }
}

/// Ends a stream as it stands. Returns `None` if it was written to while its turn was made, unless this is the last attempt.
async fn end(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
    ending: &StreamEnding,
    stores: bool,
    is_last: bool,
) -> Result<Option<EndedResponse>, Problem> {
    let assembled = if stores {
        assemble(store, scope, stream).await?
    } else {
        Assembled { messages: Vec::new(), dropped: Vec::new() }
    };
    let Assembled { messages, dropped } = assembled;
    let turn = (!messages.is_empty()).then(|| turn_of(stream, ending.state, messages));
    let made_of = stores.then(|| stream.mark.content());
    let as_made = StreamEnding { made_of, ..ending.clone() };
    let (chat_id, stream_id) = (&stream.chat_id, &stream.stream_id);
    let ended = match store.end_stream(scope, chat_id, stream_id, as_made, turn).await {
        Err(conflict @ StoreError::TurnConflict { .. }) => {
            ended_before(store, scope, stream, ending).await?.ok_or(conflict)?
        }
        Err(StoreError::StreamRefused { reason: StreamRefusal::OtherContent, .. }) if !is_last => {
            return Ok(None);
        }
        ended => ended?,
    };
    let dropped =
        dropped.into_iter().map(|(position, detail)| DroppedChunkResponse { position, detail });
    Ok(Some(EndedResponse {
        stream: ended.stream.into(),
        turn: ended.turn.map(Into::into),
        dropped: dropped.collect(),
    }))
}

/// Returns how a stream has ended in the same way. The message that it went on with may have changed since, and what its chunks
/// make is then another turn.
async fn ended_before(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
    StreamEnding { state, error, made_of: _ }: &StreamEnding,
) -> Result<Option<EndedStream>, StoreError> {
    let stream = store.get_stream(scope, &stream.chat_id, &stream.stream_id).await?;
    if stream.mark.state != *state || stream.mark.error != *error {
        return Ok(None);
    }
    let turn = stored_turn(store, scope, &stream).await?;
    Ok(turn.map(|turn| EndedStream { stream, turn: Some(turn) }))
}
