use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{InterruptionRequest, Transition, transition};
use crate::admission::RequestMemory;
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
    memory: RequestMemory,
    OptionalJson(request): OptionalJson<InterruptionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let InterruptionRequest { reason, context_snapshot: snapshot } = request;
    transition(store, memory, chat, Transition { next: ChatStatus::Paused, reason, snapshot }).await
}
