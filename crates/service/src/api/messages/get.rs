use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, PathSequence, Query, Tagged};
use crate::openapi::{ChatPath, IfNoneMatchHeader, MessagePath};
use crate::problem::{MessageProblems, Problem};
use crate::wire::MessageResponse;

/// Returns one message; for a deleted message, its tombstone.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/messages/{sequence}", tag = "messages",
    operation_id = "get_message", params(ChatPath, MessagePath, IfNoneMatchHeader),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The message", body = MessageResponse,
            headers(("ETag", description = "The entity tag of the message"))),
        (status = 304, description = "The caller has it already"),
        MessageProblems,
    ),
)]
pub(crate) async fn get_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    PathSequence(sequence): PathSequence,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let message = store.get_message(&scope, &chat_id, sequence).await?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}
