use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::StreamId;

use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Path, Query};
use crate::problem::Problem;
use crate::wire::StreamResponse;

/// Asks the agent of a stream to stop. Idempotent; a stream that has ended stays as it is.
///
/// The answer to the next chunks of the agent says so. The agent then ends the stream, with what it has produced or without.
#[operation(answers = "The stream", problems = [STREAM_NOT_FOUND])]
pub(crate) async fn cancel_stream(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say>,
    Path(stream_id): Path<StreamId>,
    Query(()): Query<()>,
) -> Result<Json<StreamResponse>, Problem> {
    Ok(Json(store.cancel_stream(&scope, &chat_id, &stream_id).await?.into()))
}
