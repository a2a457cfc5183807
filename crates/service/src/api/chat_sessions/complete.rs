use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{CompletionRequest, transition};
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, StatusProblems};

/// Completes a chat: it has ended successfully.
///
/// Idempotent: completing it again changes nothing. The last context snapshot may be stored in the same call.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/complete", tag = "chat sessions",
    operation_id = "complete_chat", params(ChatPath, FencingHeader), request_body = Option<CompletionRequest>,
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
    OptionalJson(request): OptionalJson<CompletionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    transition(store, chat, ChatStatus::Completed, None, request.context_snapshot).await
}
