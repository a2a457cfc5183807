use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{CompletionRequest, Transition, transition};
use crate::admission::RequestMemory;
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
    memory: RequestMemory,
    OptionalJson(request): OptionalJson<CompletionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let snapshot = request.context_snapshot;
    let completed = Transition { next: ChatStatus::Completed, reason: None, snapshot };
    transition(store, memory, chat, completed).await
}
