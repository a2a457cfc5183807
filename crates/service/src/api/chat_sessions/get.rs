use std::sync::Arc;

use axum::extract::State;
use persistence::{Store, StoreError};

use super::ChatSessionResponse;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// Returns a chat session, without its messages.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}", tag = "chat sessions", operation_id = "get_chat",
    params(ChatPath),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The chat session", body = ChatSessionResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn get_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    Ok(Json(chat.into()))
}
