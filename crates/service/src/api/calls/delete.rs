use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::{Store, StoreError};

use crate::extract::needs::Bill;
use crate::extract::{ChatScope, PathCallId, Query};
use crate::openapi::{CallPath, ChatPath, FencingHeader};
use crate::problem::{DeleteCallProblems, Problem};

/// Deletes a call: it is excluded from usage, and `produced_by_call_id` is removed from the messages that
/// name it. Idempotent.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/calls/{call_id}", tag = "calls",
    operation_id = "delete_call", params(ChatPath, CallPath, FencingHeader),
    security(("bearer_token" = ["bill"])),
    responses((status = 204, description = "The chat has no such call"), DeleteCallProblems),
)]
pub(crate) async fn delete_call(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Bill>,
    PathCallId(call_id): PathCallId,
    Query(()): Query<()>,
) -> Result<StatusCode, Problem> {
    match store.delete_call(&scope, &chat_id, &call_id).await {
        Ok(()) | Err(StoreError::CallNotFound { .. }) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(error.into()),
    }
}
