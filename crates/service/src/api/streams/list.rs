use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Serialize;
use utoipa::ToSchema;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::wire::StreamResponse;

/// The streams of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Streams)]
pub(crate) struct StreamsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// Latest first: those that are running, and those that ended within the hour.
    streams: Vec<StreamResponse>,
}

/// Lists the streams of a chat that are running, or ended within the hour.
#[operation(answers = "The streams")]
pub(crate) async fn list_streams(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _memory: Reserve<1>,
) -> Result<Json<StreamsResponse>, Problem> {
    let streams = store.list_streams(&scope, &chat_id).await?;
    let streams = streams.into_iter().map(Into::into).collect();
    Ok(Json(StreamsResponse { chat_id: chat_id.into(), streams }))
}
