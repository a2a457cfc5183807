use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{InterruptionRequest, transition};
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, StatusProblems};

/// Pauses a running chat.
///
/// Idempotent: pausing it again changes nothing.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/pause", tag = "chat sessions",
    operation_id = "pause_chat", params(ChatPath, FencingHeader), request_body = Option<InterruptionRequest>,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The chat session, paused", body = ChatSessionResponse),
        StatusProblems,
    ),
)]
pub(crate) async fn pause_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Run>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<InterruptionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    transition(store, chat, ChatStatus::Paused, request.reason, request.context_snapshot).await
}
