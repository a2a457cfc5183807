use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::ChatStatus;

use super::ChatSessionResponse;
use super::transition::{InterruptionRequest, Transition, transition};
use crate::admission::RequestMemory;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{Problem, StatusProblems};

/// Fails a chat: it has ended with an error.
///
/// Idempotent: failing it again changes nothing.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/fail", tag = "chat sessions",
    operation_id = "fail_chat", params(ChatPath, FencingHeader), request_body = Option<InterruptionRequest>,
    security(("bearer_token" = ["manage"])),
    responses(
        (status = 200, description = "The chat session, failed", body = ChatSessionResponse),
        StatusProblems,
    ),
)]
pub(crate) async fn fail_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Manage>,
    Query(()): Query<()>,
    memory: RequestMemory,
    OptionalJson(request): OptionalJson<InterruptionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let InterruptionRequest { reason, context_snapshot: snapshot } = request;
    transition(store, memory, chat, Transition { next: ChatStatus::Failed, reason, snapshot }).await
}
