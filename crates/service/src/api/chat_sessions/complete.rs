use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::ChatStatus;

use super::transition::{CompletionRequest, Transition, transition};
use crate::admission::RequestMemory;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// Completes a chat: it has ended successfully.
///
/// Idempotent: completing it again changes nothing. The last context snapshot may be stored in the same call,
/// which needs the permission `run`, too.
#[operation(answers = "The chat session, completed", problems = [ILLEGAL_TRANSITION])]
pub(crate) async fn complete_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Manage, Fenced>,
    Query(()): Query<()>,
    memory: RequestMemory,
    OptionalJson(request): OptionalJson<CompletionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let snapshot = request.context_snapshot;
    let completed = Transition { next: ChatStatus::Completed, reason: None, snapshot };
    transition(store, memory, chat, completed).await
}
