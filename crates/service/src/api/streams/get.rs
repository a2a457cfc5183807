use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::StreamId;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path, Query};
use crate::problem::Problem;
use crate::wire::StreamResponse;

/// Returns a stream.
#[operation(answers = "The stream", problems = [STREAM_NOT_FOUND])]
pub(crate) async fn get_stream(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(stream_id): Path<StreamId>,
    Query(()): Query<()>,
    _memory: Reserve<1>,
) -> Result<Json<StreamResponse>, Problem> {
    Ok(Json(store.get_stream(&scope, &chat_id, &stream_id).await?.into()))
}
