use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{Transition, transition};
use crate::admission::RequestMemory;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, StatusProblems};
use crate::wire::EmptyRequest;

/// Reopens a chat that has ended or is paused.
///
/// Its status becomes `running`; `completed_at` and `duration_sec` are cleared.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/reopen", tag = "chat sessions",
    operation_id = "reopen_chat", params(ChatPath, FencingHeader), request_body = Option<EmptyRequest>,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The chat session, running", body = ChatSessionResponse),
        StatusProblems,
    ),
)]
pub(crate) async fn reopen_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Run>,
    Query(()): Query<()>,
    memory: RequestMemory,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let running = Transition { next: ChatStatus::Running, reason: None, snapshot: None };
    transition(store, memory, chat, running).await
}
