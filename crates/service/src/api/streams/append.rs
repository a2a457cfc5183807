use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::json::{ListLimit, measure_within};
use records::{Segment, Stream, StreamId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, ListJson, Path, Query};
use crate::problem::Problem;

/// Chunks to add to a stream.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewChunks, example = json!({"from": 0, "chunks": ["The data ", "shows"]}))]
pub(crate) struct AppendChunksRequest {
    /// The position of the first of these chunks. It is the number of chunks before it.
    from: u64,
    /// At most 1,000 chunks, together at most 1 MiB: chunks of the AI SDK, updates of ACP, or texts. None says that the agent is
    /// still there; a stream that nothing is written to for 30 s counts as stalled.
    #[schema(value_type = Vec<crate::openapi::values::Content>, max_items = 1000)]
    chunks: Vec<Value>,
}

impl Keyed for AppendChunksRequest {
    /// The position makes the request safe to repeat.
    fn set_key(&mut self, _key: &IdempotencyKey) -> Result<(), Problem> {
        Ok(())
    }
}

impl LimitedLists for AppendChunksRequest {
    const LISTS: &'static [ListLimit] = &[ListLimit { field: "chunks", items: Stream::MAX_CHUNKS }];
}

/// Where a stream stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamProgress)]
pub(crate) struct ProgressResponse {
    #[schema(example = "stream_0198d4b2")]
    stream_id: String,
    /// The position of the next chunk.
    #[schema(example = 14)]
    next: u64,
    /// Whether the agent is to stop, and to end the stream as `cancelled`.
    cancel_requested: bool,
}

/// Adds chunks to a stream.
///
/// Idempotent by position: chunks that the stream has are skipped, without a comparison. A position past the end is
/// `stream-conflict`. A chunk that no message could hold is refused. All streams of a service process share one write each 100 ms.
#[operation(
    answers = "The chunks are stored",
    problems = [STREAM_NOT_FOUND, STREAM_CONFLICT, BATCH_TOO_LARGE],
)]
pub(crate) async fn append_chunks(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Path(stream_id): Path<StreamId>,
    Query(()): Query<()>,
    ListJson(request): ListJson<AppendChunksRequest>,
) -> Result<Json<ProgressResponse>, Problem> {
    let AppendChunksRequest { from, chunks } = request;
    for (index, chunk) in chunks.iter().enumerate() {
        measure_within(chunk, Stream::CHUNK_DEPTH).map_err(|refusal| {
            refusal.below(Segment::Index(index)).below(Segment::key("chunks"))
        })?;
    }
    let chunks = chunks.iter().map(Value::to_string).collect();
    let progress = store.append_chunks(&scope, &chat_id, &stream_id, from, chunks).await?;
    Ok(Json(ProgressResponse {
        stream_id: stream_id.into(),
        next: progress.next,
        cancel_requested: progress.is_cancel_requested,
    }))
}
