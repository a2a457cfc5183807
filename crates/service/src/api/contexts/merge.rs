use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use super::ContextResponse;
use crate::extract::Json;
use crate::extract::{InChat, MergePatch, Query};
use crate::openapi::{ChatPath, Fence};
use crate::problem::{ContextProblems, Problem};

/// Merges a JSON merge patch (RFC 7386) into the context snapshot.
///
/// Null removes a key, an object merges into an object, anything else replaces. Of patches that
/// race none is lost.
#[utoipa::path(
    patch, path = "/api/chats/{app_id}/{chat_id}/context", tag = "context snapshot",
    operation_id = "merge_context", params(ChatPath, Fence),
    request_body(
        content((Object = "application/json"), (Object = "application/merge-patch+json")),
    ),
    responses(
        (status = 200, description = "The whole snapshot after it", body = ContextResponse),
        ContextProblems,
    ),
)]
pub(crate) async fn merge_context(
    State(store): State<Arc<dyn Store>>,
    InChat { scope, chat_id }: InChat,
    Query(()): Query<()>,
    MergePatch(patch): MergePatch,
) -> Result<Json<ContextResponse>, Problem> {
    let snapshot = store.merge_context_snapshot(&scope, &chat_id, patch).await?;
    Ok(Json(ContextResponse::of(chat_id, snapshot)))
}
