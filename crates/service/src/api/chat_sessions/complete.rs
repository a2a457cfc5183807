use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::transition;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, StatusProblems};
use crate::wire::EmptyRequest;

/// Completes a chat: it has ended successfully.
///
/// Idempotent: completing it again changes nothing.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/complete", tag = "chat sessions",
    operation_id = "complete_chat", params(ChatPath, FencingHeader), request_body = Option<EmptyRequest>,
    security(("bearer_token" = ["manage"])),
    responses(
        (status = 200, description = "The chat session, completed", body = ChatSessionResponse),
        StatusProblems,
    ),
)]
pub(crate) async fn complete_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Manage>,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    transition(store, chat, ChatStatus::Completed, None).await
}
