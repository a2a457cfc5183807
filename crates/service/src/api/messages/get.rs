use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, PathSequence, Query};
use crate::openapi::{ChatPath, MessagePath};
use crate::problem::{MessageProblems, Problem};
use crate::wire::MessageResponse;

/// Returns one message; for a deleted message, its tombstone.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/messages/{sequence}", tag = "messages",
    operation_id = "get_message", params(ChatPath, MessagePath),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The message", body = MessageResponse),
        MessageProblems,
    ),
)]
pub(crate) async fn get_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    PathSequence(sequence): PathSequence,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Json<MessageResponse>, Problem> {
    let message = store.get_message(&scope, &chat_id, sequence).await?;
    Ok(Json(message.into()))
}
