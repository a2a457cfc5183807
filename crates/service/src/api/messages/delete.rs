use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use crate::extract::{ChatScope, Json, PathSequence, Query};
use crate::openapi::{ChatPath, FencingHeader, MessagePath};
use crate::problem::{DeleteMessageProblems, Problem};
use crate::wire::MessageResponse;

/// Deletes a message: a tombstone without content replaces it, and keeps its sequence.
///
/// Idempotent: deleting it again changes nothing.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/messages/{sequence}", tag = "messages",
    operation_id = "delete_message", params(ChatPath, MessagePath, FencingHeader),
    responses(
        (status = 200, description = "The tombstone", body = MessageResponse),
        DeleteMessageProblems,
    ),
)]
pub(crate) async fn delete_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    PathSequence(sequence): PathSequence,
    Query(()): Query<()>,
) -> Result<Json<MessageResponse>, Problem> {
    let message = store.delete_message(&scope, &chat_id, sequence).await?;
    Ok(Json(message.into()))
}
