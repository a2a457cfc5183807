use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::transition;
use crate::extract::{InChat, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, Fence};
use crate::problem::{Problem, StatusProblems};
use crate::wire::EmptyRequest;

/// Marks a chat as ended well.
///
/// Completing it again answers as the first time and moves nothing.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/complete", tag = "chat sessions",
    operation_id = "complete_chat", params(ChatPath, Fence), request_body = Option<EmptyRequest>,
    responses(
        (status = 200, description = "The chat session, completed", body = ChatSessionResponse),
        StatusProblems,
    ),
)]
pub(crate) async fn complete_chat(
    State(store): State<Arc<dyn Store>>,
    chat: InChat,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    transition(store, chat, ChatStatus::Completed, None).await
}
