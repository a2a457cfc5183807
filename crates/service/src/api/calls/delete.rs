use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use crate::extract::{ChatScope, PathCallId, Query};
use crate::openapi::{CallPath, ChatPath, FencingHeader};
use crate::problem::{DeleteCallProblems, Problem};

/// Deletes a call: it counts no longer, and messages that name it as what produced them name none.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/calls/{call_id}", tag = "calls",
    operation_id = "delete_call", params(ChatPath, CallPath, FencingHeader),
    responses((status = 204, description = "It is gone"), DeleteCallProblems),
)]
pub(crate) async fn delete_call(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    PathCallId(call_id): PathCallId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    store.delete_call(&scope, &chat_id, &call_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
