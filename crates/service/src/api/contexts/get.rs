use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use super::ContextResponse;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::openapi::{ChatPath, IfNoneMatchHeader};
use crate::problem::{ChatProblems, Problem};

/// Returns the context snapshot.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/context", tag = "context snapshot",
    operation_id = "get_context", params(ChatPath, IfNoneMatchHeader),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The context snapshot", body = ContextResponse,
            headers(("ETag", description = "The entity tag of the snapshot: its version"))),
        (status = 304, description = "The caller has it already"),
        ChatProblems,
    ),
)]
pub(crate) async fn get_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<ContextResponse>>, Problem> {
    let versions = store.record_versions(&scope, &chat_id).await?;
    let snapshot = store.load_context_snapshot(&scope, &chat_id).await?;
    let response = Json(ContextResponse::new(chat_id, snapshot));
    Ok(Tagged { tag: Some(versions.context.to_string()), response })
}
