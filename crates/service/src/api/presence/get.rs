use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::PresenceResponse;

/// Returns who is present in a chat: the persons with an open stream, through any service process.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/presence", tag = "participants",
    operation_id = "get_presence", params(ChatPath),
    security(("bearer_token" = ["read"])),
    responses((status = 200, description = "Who is present", body = PresenceResponse), ChatProblems),
)]
pub(crate) async fn get_presence(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<PresenceResponse>, Problem> {
    let presence = store.presence(&scope, &chat_id).await?;
    Ok(Json(PresenceResponse::new(&chat_id, presence)))
}
